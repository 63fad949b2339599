"""Readers of bandwidth matrices that tools print: one file per format, detected by content."""
