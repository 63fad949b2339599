"""Fabric descriptions other than HyperNode manifests: files of other tools, and node labels; one file per format."""
