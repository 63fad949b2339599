"""Custom resources that define network levels by node labels: Topology of Kueue and KAI, ClusterNetworkTopology of
Koordinator.

Sources: Kueue KEP 2724; KAI Scheduler, "Topology Aware Scheduling"; Koordinator, API ClusterNetworkTopology v1alpha1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workbench.errors import InputError
from workbench.model.labels import HOSTNAME_LABEL
from workbench.objects.fields import child, get_list, get_map, get_maps, get_text, wrong
from workbench.objects.metadata import Metadata, read_metadata

__all__ = [
    "NODE_LAYER",
    "Level",
    "LevelTopology",
    "read_cluster_network_topology",
    "read_kai_topology",
    "read_kueue_topology",
]


#: Koordinator's built-in layers: the node and the cluster.
NODE_LAYER, CLUSTER_LAYER = "NodeTopologyLayer", "ClusterTopologyLayer"


@dataclass(frozen=True)
class Level:
    """One level of a network: its name, and node label keys.

    A node's domain is the value of the first key that it has.
    """

    name: str
    keys: tuple[str, ...]


@dataclass(frozen=True)
class LevelTopology:
    """A custom resource that lists the levels of a cluster's network (Kueue, KAI or Koordinator).

    `owner`: ``kueue``, ``kai`` or ``koordinator``. `levels`: widest first; the level of the node itself is left out.
    `down_to_hosts`: whether the node itself is the lowest level.
    """

    metadata: Metadata
    owner: str
    levels: tuple[Level, ...]
    down_to_hosts: bool = False


def read_kueue_topology(data: Mapping[str, Any]) -> LevelTopology:
    """Read a Kueue Topology (kueue.x-k8s.io) from a parsed manifest.

    Raises InputError: no level, a level without a label, one label twice, the host name above another level.
    """
    return _topology(data, "kueue")


def read_kai_topology(data: Mapping[str, Any]) -> LevelTopology:
    """Read a KAI Topology (kai.scheduler), which has the fields of a Kueue Topology, from a parsed manifest."""
    return _topology(data, "kai")


def _topology(data: Mapping[str, Any], owner: str) -> LevelTopology:
    spec = get_map(data, "spec", "")
    keys: list[str] = []
    for path, item in get_maps(spec, "levels", "spec"):
        key = get_text(item, "nodeLabel", path)
        if not key or key in keys or HOSTNAME_LABEL in keys:
            raise wrong(child(path, "nodeLabel"), item.get("nodeLabel"), f"a label, each once, {HOSTNAME_LABEL} last")
        keys.append(key)
    if not keys:
        raise wrong("spec.levels", spec.get("levels"), "at least one level")
    levels = tuple(Level(key, (key,)) for key in keys if key != HOSTNAME_LABEL)
    return LevelTopology(read_metadata(data, namespaced=False), owner, levels, HOSTNAME_LABEL in keys)


def read_cluster_network_topology(data: Mapping[str, Any]) -> LevelTopology:
    """Read a Koordinator ClusterNetworkTopology from a parsed manifest.

    The layers are followed upwards from NodeTopologyLayer; layers that are not reached are not part of the tree.

    Raises InputError: no NodeTopologyLayer, a layer twice or inside itself, a parent that is not there, a layer without
    a label.
    """
    spec = get_map(data, "spec", "")
    layers: dict[str, tuple[str, tuple[str, ...], str]] = {}
    for path, item in get_maps(spec, "networkTopologySpec", "spec"):
        name = get_text(item, "topologyLayer", path)
        if not name or name in layers:
            raise wrong(child(path, "topologyLayer"), item.get("topologyLayer"), "a layer, each once")
        labels = get_list(item, "labelKey", path)
        if any(type(key) is not str for key in labels):
            raise wrong(child(path, "labelKey"), labels, "a list of text")
        layers[name] = (get_text(item, "parentTopologyLayer", path), tuple(labels), path)
    if NODE_LAYER not in layers:
        raise wrong("spec.networkTopologySpec", spec.get("networkTopologySpec"), f"a layer {NODE_LAYER}")
    levels: list[Level] = []
    parent, _, below = layers[NODE_LAYER]
    while parent and parent != CLUSTER_LAYER:
        where = child(below, "parentTopologyLayer")
        if parent not in layers:
            raise wrong(where, parent, "a layer of the same list")
        if parent == NODE_LAYER or parent in (level.name for level in levels):
            raise InputError("a layer inside itself", where=where, got=parent, expected="layers that rise to a top")
        above, keys, below = layers[parent]
        if not keys:
            raise wrong(child(below, "labelKey"), None, "at least one label")
        levels.append(Level(parent, keys))
        parent = above
    return LevelTopology(read_metadata(data, namespaced=False), "koordinator", tuple(levels[::-1]))
