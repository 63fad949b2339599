"""Convert a cluster's Kubernetes objects to a snapshot and gangs, all at once or change by change.

Works on objects in memory only: no files and no network.
"""
