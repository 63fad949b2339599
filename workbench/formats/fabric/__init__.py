"""Descriptions of a fabric that are no Kubernetes manifests, or kinds that say it by labels: one file per format."""
