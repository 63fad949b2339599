"""Kubernetes kinds as typed values: reading, defaults, admission and selectors; no files, no sockets."""
