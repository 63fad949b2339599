"""Kubernetes kinds as typed values: parsing manifests, filling in defaults, admission checks and selectors.

Works on parsed YAML only: no files and no network.
"""
