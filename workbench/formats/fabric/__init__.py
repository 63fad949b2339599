"""Fabric descriptions that are not HyperNode manifests: files of other tools, and node labels; one file per format."""
