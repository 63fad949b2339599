"""Readers of GPU bandwidth matrices as tools print them, one module per format; formats are detected by content."""
