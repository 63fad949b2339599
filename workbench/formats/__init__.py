"""Readers and writers of files, one module per format: text to objects and values of the model, and back.

Apart from the command line, widgets and live sources, only this package opens files.
"""
