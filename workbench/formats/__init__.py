"""Text to objects and model, one file per format; the only inner room that opens files."""
