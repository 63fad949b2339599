"""The value of placements: metrics, comparison, regret. Nothing here reads a file or draws a picture."""
