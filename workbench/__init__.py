"""Topology Workbench."""
