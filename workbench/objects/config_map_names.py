"""Names of ConfigMaps that say something about a cluster: they are told apart from others by their names alone."""

from __future__ import annotations

__all__ = ["TOR_NODE_CONFIG_MAP", "TOR_SHARE_CONFIG_MAP"]

#: Ascend's switch table (`workbench.objects.tor_node`); the namespace, kube-system or volcano-system, is ignored.
TOR_NODE_CONFIG_MAP = "basic-tor-node-cm"
#: The states of its leaf switches (`workbench.objects.tor_share`); the namespace, volcano-system, is ignored.
TOR_SHARE_CONFIG_MAP = "tor-share-cm"
