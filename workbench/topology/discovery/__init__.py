"""Make HyperNodes from what a topology discovery source has found, and decide what to create, update and delete.

No network access: the live sources are in `workbench.live`.
"""
