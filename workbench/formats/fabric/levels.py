"""Convert network levels that are named by node labels (Kueue, KAI, Koordinator) to HyperNodes, and back.

A level's name becomes the tier name, so that a topology constraint by name means the same in both forms.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from workbench.errors import InputError
from workbench.formats.fabric.base import FabricFormat, FabricRecords, Written
from workbench.formats.fabric.writing import TopologyShape, listed, losses_beside, node_manifests, shape_of
from workbench.formats.write_manifests import to_yaml
from workbench.model.labels import HOSTNAME_LABEL, NODE_NAME_FIELD
from workbench.model.notice import Notice
from workbench.model.snapshot import ClusterSnapshot
from workbench.objects.hypernode import HyperNode, make_hypernode
from workbench.objects.kinds import ClusterObjects
from workbench.objects.level_topology import NODE_LAYER, Level
from workbench.objects.node import Node

__all__ = ["KAI", "KOORDINATOR", "KUEUE", "level_hypernodes"]

#: Label of a tier that has no name which is a label key.
TIER_LABEL = "topology.workbench/tier-{}"

_LABEL_KEY = re.compile(
    r"(?:[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?/)?[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?\Z"
)
_LABEL_VALUE = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?\Z")


def level_hypernodes(
    levels: Sequence[Level], nodes: Mapping[str, Node], *, by_path: bool
) -> tuple[tuple[HyperNode, ...], list[str]]:
    """Make HyperNodes from the values that nodes have for the levels' labels.

    `levels`: the levels, widest first; the narrowest becomes tier 1. `by_path`: what a value is that occurs under two
    parents. True: two domains (Kueue, KAI). False: one domain with two parents, so that the HyperNodes form no tree
    (Koordinator, where a domain is identified by its layer and name).

    Returns
    -------
    hypernodes : tuple of HyperNode
        HyperNodes named after the label's value; if one value names several of them, after the values from the widest
        level down, joined by dots.
    outside : list of str
        Names of the nodes that lack some level's label; as in these schedulers, they are in no HyperNode.
    """
    paths: dict[str, tuple[str, ...]] = {}
    outside = []
    for name, node in nodes.items():
        values = [next((v for key in level.keys if (v := node.metadata.labels.get(key))), "") for level in levels]
        if all(values) and values:
            paths[name] = tuple(values)
        else:
            outside.append(name)
    domains: dict[tuple[str, ...], dict[str, None]] = {}
    leaves: dict[tuple[str, ...], list[str]] = {}
    for name, path in paths.items():
        for depth in range(1, len(path) + 1):
            here, above = _identity(path, depth, by_path), _identity(path, depth - 1, by_path)
            domains.setdefault(here, {})
            if depth > 1:
                domains[above][_key(here)] = None
        leaves.setdefault(_identity(path, len(path), by_path), []).append(name)
    names = _names(list(domains))
    by_key = {_key(domain): names[domain] for domain in domains}
    made = [
        make_hypernode(
            names[domain],
            len(levels) - _depth(domain) + 1,
            nodes=leaves.get(domain, ()),
            children=[by_key[key] for key in below],
            tier_name=levels[_depth(domain) - 1].name,
        )
        for domain, below in domains.items()
    ]
    return tuple(made), outside


# A domain is known by its depth, then its path or its last value alone.
def _identity(path: tuple[str, ...], depth: int, by_path: bool) -> tuple[str, ...]:
    return (str(depth), *(path[:depth] if by_path else path[depth - 1 : depth]))


def _depth(domain: tuple[str, ...]) -> int:
    return int(domain[0])


def _key(domain: tuple[str, ...]) -> str:
    return "\0".join(domain)


def _names(domains: Sequence[tuple[str, ...]]) -> dict[tuple[str, ...], str]:
    by_value: dict[str, int] = {}
    for domain in domains:
        by_value[domain[-1]] = by_value.get(domain[-1], 0) + 1
    names: dict[tuple[str, ...], str] = {}
    taken: set[str] = {value for value, count in by_value.items() if count == 1}
    for domain in domains:
        name = domain[-1]
        if by_value[name] > 1:
            name = ".".join(domain[1:])
            while name in taken:
                name = f"{name}.{domain[0]}"
            taken.add(name)
        names[domain] = name
    return names


def _derive(owner: str, kind: str, by_path: bool) -> Callable[[ClusterObjects], FabricRecords | None]:
    def derive(cluster: ClusterObjects) -> FabricRecords | None:
        found = [t for t in cluster.accepted_topologies if t.owner == owner]
        if not found:
            return None
        # One cluster has one tree: Koordinator reads the one called default, and so do we before the smallest name.
        found.sort(key=lambda t: (t.metadata.name != "default", t.metadata.name.encode()))
        chosen = found[0]
        hypernodes, outside = level_hypernodes(chosen.levels, cluster.nodes, by_path=by_path)
        text = f"HyperNodes are derived from {kind} {chosen.metadata.name} and the labels of the nodes"
        notes = [Notice("derived-hypernodes", text, f"{kind} {chosen.metadata.name}")]
        if len(found) > 1:
            names = ", ".join(t.metadata.name for t in found[1:])
            notes.append(Notice("left-aside", f"{kind} objects left aside: {names}", numbers={"count": len(found) - 1}))
        if outside:
            text = f"{listed('node', outside)} without a label of every level of {chosen.metadata.name}: no HyperNode"
            notes.append(Notice("nodes-without-labels", text, numbers={"count": len(outside)}))
        return FabricRecords(hypernodes, notes=tuple(notes))

    return derive


def _write(owner: str, manifest: Callable[[Sequence[Level]], dict[str, Any]]) -> Callable[[ClusterSnapshot], Written]:
    def write(snapshot: ClusterSnapshot) -> Written:
        shape = shape_of(snapshot.topology)
        levels, labels, losses = _labelled(snapshot, shape, owner)
        objects = [manifest(levels), *node_manifests(snapshot, labels)]
        return Written(to_yaml(objects), tuple(losses))

    return write


def _labelled(
    snapshot: ClusterSnapshot, shape: TopologyShape, owner: str
) -> tuple[list[Level], dict[str, dict[str, str]], list[str]]:
    """What to write to express a topology by node labels.

    Returns the levels, widest first; the labels to add to each node; and sentences about what the format cannot hold.
    """
    topology = snapshot.topology
    tiers = topology.tiers[::-1]
    per_tier = [topology.domain_of_node(tier) for tier in tiers]
    whole = np.logical_and.reduce([domains >= 0 for domains in per_tier]) if tiers else np.zeros(0, dtype=np.bool_)
    levels: list[Level] = []
    labels: dict[str, dict[str, str]] = {}
    renamed = []
    for tier, domains in zip(tiers, per_tier, strict=True):
        names = {topology.tier_names[j] for j in topology.domains_at(tier)}
        name = names.pop() if len(names) == 1 else ""
        held = [key for level in levels for key in level.keys]
        known = _matching_label(snapshot, shape, tier, name, held, by_path=owner != "koordinator")
        key, level = _label_key(name, tier, owner, held, [level.name for level in levels], known)
        if name != level:
            renamed.append(f"tier {tier}" + (f" ({name})" if name else ""))
        levels.append(Level(level, (key,)))
        if key == known:
            continue
        for node in np.flatnonzero(domains >= 0):
            value = shape.names[domains[node]]
            if not _LABEL_VALUE.match(value):
                expected = "at most 63 letters, digits, '-', '_' and '.'"
                raise InputError(
                    "a HyperNode's name that no label can hold", source=owner, got=value, expected=expected
                )
            labels.setdefault(topology.node_names[node], {})[key] = value
    keeps = {"resources", "labels", "taints", "tier-names", "tiers", "free"}
    losses = losses_beside(snapshot, shape, frozenset(keeps))
    some = np.logical_or.reduce([domains >= 0 for domains in per_tier]) if tiers else whole
    partial = [topology.node_names[i] for i in np.flatnonzero(some & ~whole)]
    if partial:
        losses.append(
            f"not written: {listed('node', partial)} not in a HyperNode of every tier: left out of the levels"
        )
    if any(tier != i for i, tier in enumerate(reversed(tiers), 1)):
        losses.append("changed: tiers are numbered anew from 1")
    if renamed:
        losses.append(f"changed: {owner} needs a label for each level: {', '.join(renamed)} got a name of its own")
    if not topology.laminar:
        losses.append("not written: HyperNodes that overlap; a node stays in the first by name")
    return levels, labels, losses


def _matching_label(
    snapshot: ClusterSnapshot, shape: TopologyShape, tier: int, preferred: str, held: Sequence[str], *, by_path: bool
) -> str:
    """Key of a node label whose values already name the HyperNodes of a tier; empty if there is none.

    `preferred` is taken if it fits, otherwise the smallest key that fits. `held` are label keys that must not be used.
    With `by_path` a value need name a HyperNode only within its parent.
    """
    topology = snapshot.topology
    domains = [int(j) for j in topology.domains_at(tier) if len(topology.nodes_of(int(j)))]
    keys = sorted(
        set(snapshot.labels.columns) - {NODE_NAME_FIELD, HOSTNAME_LABEL, *held}, key=lambda k: (k != preferred, k)
    )
    for key in keys:
        codes, values = snapshot.labels.columns[key]
        seen: set[tuple[int, int]] = set()
        for j in domains:
            mine = codes[topology.nodes_of(j)]
            value = values[mine[0]] if mine[0] >= 0 and (mine == mine[0]).all() else ""
            name = shape.names[j]
            place = (int(topology.parent[j]) if by_path else -1, int(mine[0]))
            if not value or place in seen or not (value == name or (by_path and name.endswith(f".{value}"))):
                break
            seen.add(place)
        else:
            return key
    return ""


def _label_key(
    name: str, tier: int, owner: str, held: Sequence[str], taken: Sequence[str], known: str
) -> tuple[str, str]:
    """The label key and level name to write for a tier with the tier name `name`.

    `owner` is ``kueue``, ``kai`` or ``koordinator``. `held` are label keys and `taken` level names that must not be
    used; `known` is a label that already names the tier's HyperNodes, or empty.
    """
    fallback = known or TIER_LABEL.format(tier)
    own = name if _LABEL_KEY.match(name) and name not in (*held, HOSTNAME_LABEL) else ""
    if owner == "koordinator":
        level = name if name and name not in taken and name != NODE_LAYER else f"Tier{tier}Layer"
        return (own if own and "/" in own and not known else fallback), level
    key = own or fallback
    return key, key


def _topology_manifest(version: str, levels: Sequence[Level]) -> dict[str, Any]:
    rows = [{"nodeLabel": level.keys[0]} for level in levels] + [{"nodeLabel": HOSTNAME_LABEL}]
    return {"apiVersion": version, "kind": "Topology", "metadata": {"name": "default"}, "spec": {"levels": rows}}


def _koordinator_manifest(levels: Sequence[Level]) -> dict[str, Any]:
    rows: list[dict[str, Any]] = []
    parent: dict[str, str] = {}
    for level in levels:
        rows.append({"topologyLayer": level.name, **parent, "labelKey": list(level.keys)})
        parent = {"parentTopologyLayer": level.name}
    rows.append({"topologyLayer": NODE_LAYER, **parent})
    return {
        "apiVersion": "scheduling.koordinator.sh/v1alpha1",
        "kind": "ClusterNetworkTopology",
        "metadata": {"name": "default"},
        "spec": {"networkTopologySpec": rows},
    }


KUEUE = FabricFormat(
    "kueue",
    "Kueue Topology with node labels",
    derive=_derive("kueue", "Kueue Topology", by_path=True),
    write=_write("kueue", lambda levels: _topology_manifest("kueue.x-k8s.io/v1beta1", levels)),
)
KAI = FabricFormat(
    "kai",
    "KAI Topology with node labels",
    derive=_derive("kai", "KAI Topology", by_path=True),
    write=_write("kai", lambda levels: _topology_manifest("kai.scheduler/v1alpha1", levels)),
)
KOORDINATOR = FabricFormat(
    "koordinator",
    "Koordinator ClusterNetworkTopology with node labels",
    derive=_derive("koordinator", "ClusterNetworkTopology", by_path=False),
    write=_write("koordinator", _koordinator_manifest),
)
