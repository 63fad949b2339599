"""Arguments of the plugin network-topology-aware, as a scheduler configuration gives them (volcano-topology.md 8)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["TopologyArguments", "read_topology_arguments"]

_PREFIX = "hypernode.binpack."
_TRUE, _FALSE = frozenset({"1", "t", "true"}), frozenset({"0", "f", "false"})


@dataclass(frozen=True)
class TopologyArguments:
    """Effective values after defaults; what cannot be read or is negative counts as absent.

    Attributes
    ----------
    weight, cpu, memory : int
    resources : mapping of str to int
        Weights of other resources: only those that are listed.
    normal_pod_enable : bool
    normal_pod_fading : float
    max_hypernodes_for_eviction : int
    """

    weight: int = 1
    cpu: int = 1
    memory: int = 1
    resources: Mapping[str, int] = field(default_factory=dict)
    normal_pod_enable: bool = True
    normal_pod_fading: float = 0.8
    max_hypernodes_for_eviction: int = 8

    def parameters(self) -> dict[str, Any]:
        """As parameters of `volcano-1.15`."""
        return {
            "weight": self.weight,
            "hypernode_binpack_cpu": self.cpu,
            "hypernode_binpack_memory": self.memory,
            "hypernode_binpack_resources": self.resources,
            "normal_pod_enable": self.normal_pod_enable,
            "normal_pod_fading": self.normal_pod_fading,
        }


def read_topology_arguments(arguments: Mapping[str, object]) -> TopologyArguments:
    """The newest plugin's arguments; 1.13 reads only the weight (and takes a negative one as it is)."""
    names = str(arguments.get(f"{_PREFIX}resources") or "").split(",")
    resources = {}
    for name in (name.strip() for name in names):
        if name:
            resources[name] = _count(arguments, f"{_PREFIX}resources.{name}", 1)
    most = _count(arguments, "hypernode.gradient.evict.max-hypernodes", 8)
    return TopologyArguments(
        weight=_count(arguments, "weight", 1),
        cpu=_count(arguments, f"{_PREFIX}cpu", 1),
        memory=_count(arguments, f"{_PREFIX}memory", 1),
        resources=resources,
        normal_pod_enable=_flag(arguments, f"{_PREFIX}normal-pod.enable", True),
        normal_pod_fading=_number(arguments, f"{_PREFIX}normal-pod.fading", 0.8),
        max_hypernodes_for_eviction=most or 8,
    )


def _number(arguments: Mapping[str, object], name: str, default: float) -> float:
    try:
        value = float(str(arguments.get(name, default)))
    except ValueError:
        return default
    return value if value >= 0 else default


def _count(arguments: Mapping[str, object], name: str, default: int) -> int:
    value = _number(arguments, name, default)
    return int(value) if value == int(value) else default


def _flag(arguments: Mapping[str, object], name: str, default: bool) -> bool:
    text = str(arguments.get(name, default)).lower()
    return True if text in _TRUE else False if text in _FALSE else default
