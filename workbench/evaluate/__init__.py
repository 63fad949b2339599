"""What a placement is worth: metrics and comparison. Nothing here reads a file or draws a picture."""
