"""Convert text to objects and values of the model, one file per format; the only inner room that opens files."""
