"""Keys of the labels and taints that Kubernetes itself puts on nodes."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["CORDON_TAINT", "HOSTNAME_LABEL", "NOT_READY_TAINTS", "PRESSURE_TAINTS"]

#: Label with the node's own name, which differs from node to node.
HOSTNAME_LABEL = "kubernetes.io/hostname"

#: Taint of a cordoned node.
CORDON_TAINT = "node.kubernetes.io/unschedulable"

#: Taint of a node by the condition that means trouble if it holds.
PRESSURE_TAINTS: Mapping[str, str] = {
    "MemoryPressure": "node.kubernetes.io/memory-pressure",
    "DiskPressure": "node.kubernetes.io/disk-pressure",
    "PIDPressure": "node.kubernetes.io/pid-pressure",
    "NetworkUnavailable": "node.kubernetes.io/network-unavailable",
}

#: Taints of nodes that are not ready or under pressure.
NOT_READY_TAINTS = frozenset(
    {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable", *PRESSURE_TAINTS.values()}
)
