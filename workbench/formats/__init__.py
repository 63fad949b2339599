"""Text to objects and model, one file per format."""
