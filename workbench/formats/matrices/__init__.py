"""Bandwidth matrices from what tools print: one file per format, told apart by content."""
