"""Kueue's objects and annotations (kueue.x-k8s.io), read from manifests."""
