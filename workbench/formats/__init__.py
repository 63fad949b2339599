"""Text to values, one file per format; the only inner room that opens files."""
