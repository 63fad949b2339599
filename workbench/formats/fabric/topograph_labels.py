"""Derive HyperNodes from the labels that topograph writes on Kubernetes nodes."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from workbench.formats.fabric.base import FabricFormat, FabricRecords
from workbench.formats.fabric.topograph import DOMAIN_LABEL, insert_level, stays_inside
from workbench.model.counted import counted
from workbench.model.notice import Notice
from workbench.objects.hypernode import HyperNode, make_hypernode
from workbench.objects.kinds import ClusterObjects

__all__ = ["FAMILIES", "TOPOGRAPH_LABELS", "LabelFamily", "derive_topograph_labels"]


@dataclass(frozen=True)
class LabelFamily:
    """The label keys that one generation of topograph writes.

    `switches`: keys of the switch labels from the leaf outwards. A key that ends in ``-`` is the prefix of numbered
    keys, 0 for the leaf. `accelerators`: keys of NVLink domains, from the smallest.
    """

    switches: tuple[str, ...]
    accelerators: tuple[str, ...]


_NVIDIA = "network.topology.nvidia.com/"

#: The families, newest first: release 1.0 and later; those before it, whose tiers were numbered or named; release 0.1.
FAMILIES = (
    LabelFamily(("fabric.topograph.run/tier-",), ("accelerator.topograph.run/sub-domain", DOMAIN_LABEL)),
    LabelFamily((f"{_NVIDIA}tier-",), (f"{_NVIDIA}sub-domain", f"{_NVIDIA}accelerator")),
    LabelFamily(tuple(f"{_NVIDIA}{level}" for level in ("leaf", "spine", "core")), (f"{_NVIDIA}accelerator",)),
    LabelFamily(tuple(f"{_NVIDIA}{level}" for level in ("block", "spine", "datacenter")), (f"{_NVIDIA}accelerator",)),
)

#: NVLink domains as NVIDIA's GPU operator labels them, where topograph leaves its own label out.
_CLIQUE = "nvidia.com/gpu.clique"


def derive_topograph_labels(cluster: ClusterObjects) -> FabricRecords | None:
    """Derive HyperNodes from topograph's node labels; None if no node has such labels.

    Returns
    -------
    FabricRecords or None
        The label keys are those of the first entry of `FAMILIES` whose leaf label some node has, or else whose NVLink
        label some node has. A node's labels are used up to the first one that it lacks. A HyperNode is named after the
        label's value, or ``leaf-s1`` (last part of the key, then value) if another key has that value too; its tier
        name is the key. NVLink domains become a tier if they nest with the switches and differ from every tier
        (`insert_level`); without switch labels they are the only tier. None if no node has such labels.

    Notes
    -----
    Source: topograph, docs/reference "Node labels and annotations", releases 0.1 and 1.0; docs/engines/k8s.
    """
    labels = {name: node.metadata.labels for name, node in cluster.nodes.items()}
    # Most clusters have none of these keys: which there are is asked once, not of every node for every key.
    present = set[str]().union(*labels.values())
    found = [
        (_chains(labels, _keys(family, present)), _levels_of(labels, filter(present.__contains__, family.accelerators)))
        for family in FAMILIES
    ]
    # Families share the key of the NVLink domains: the switches tell which one it is.
    for fabric, domains in found:
        if fabric:
            return _records(fabric, domains or _levels_of(labels, (_CLIQUE,)), len(labels))
    # A clique alone says nothing of topograph.
    return next((_records([], domains, len(labels)) for _, domains in found if domains), None)


def _levels_of(labels: Mapping[str, Mapping[str, str]], keys: Iterable[str]) -> list[tuple[str, dict[str, str]]]:
    """For each label key that some node has: the key, and its value for each node."""
    levels = [(key, {node: found[key] for node, found in labels.items() if found.get(key)}) for key in keys]
    return [(key, of_node) for key, of_node in levels if of_node]


def _keys(family: LabelFamily, present: Collection[str]) -> list[str]:
    """Label keys of the switch tiers, closest first, including numbered keys among those that the nodes have."""
    if not family.switches[0].endswith("-"):
        return list(family.switches) if family.switches[0] in present else []
    pattern = re.compile(re.escape(family.switches[0]) + r"(0|[1-9][0-9]{0,3})\Z", re.ASCII)
    return [m[0] for m in sorted(filter(None, map(pattern.match, present)), key=lambda m: int(m[1]))]


def _chains(labels: Mapping[str, Mapping[str, str]], keys: list[str]) -> list[tuple[str, dict[str, str]]]:
    """For each label key its value by node; a node is left out after the first key that it lacks."""
    levels: list[tuple[str, dict[str, str]]] = []
    nodes = list(labels)
    for key in keys:
        nodes = [node for node in nodes if labels[node].get(key)]
        if not nodes:
            break
        levels.append((key, {node: labels[node][key] for node in nodes}))
    return levels


def _records(
    levels: list[tuple[str, dict[str, str]]], domains: list[tuple[str, dict[str, str]]], n_nodes: int
) -> FabricRecords:
    notes = []
    for key, of_node in domains:
        nested = all(stays_inside(a[1], b[1]) for a, b in pairwise(levels))
        position = insert_level([of for _, of in levels], of_node) if nested else "stand beside tiers that are no tree"
        if isinstance(position, int):
            levels = [*levels[:position], (key, of_node), *levels[position:]]
        else:
            notes.append(
                Notice(
                    "nvlink-domains-dropped", f"the NVLink domains of {key} {position}: no HyperNodes", f"label {key}"
                )
            )
    if levels:
        without = n_nodes - len(set().union(*(of for _, of in levels)))
        notes.append(
            Notice(
                "derived-hypernodes",
                f"HyperNodes derived from the labels {', '.join(key for key, _ in levels)} on the nodes",
            )
        )
        if without:
            notes.append(
                Notice(
                    "nodes-without-labels",
                    f"{counted(without, 'node has', 'nodes have')} none of these labels",
                    numbers={"count": without},
                )
            )
    return FabricRecords(_hypernodes(levels), notes=tuple(notes))


def _hypernodes(levels: list[tuple[str, dict[str, str]]]) -> tuple[HyperNode, ...]:
    keys_of: dict[str, set[str]] = {}
    for key, of_node in levels:
        for value in of_node.values():
            keys_of.setdefault(value, set()).add(key)

    def name(key: str, value: str) -> str:
        return value if len(keys_of[value]) == 1 else f"{key.rpartition('/')[2]}-{value}"

    made = []
    below: dict[str, str] = {}
    for tier, (key, of_node) in enumerate(levels, start=1):
        members: dict[str, tuple[dict[str, None], list[str]]] = {}
        for node, value in of_node.items():
            children, own = members.setdefault(name(key, value), ({}, []))
            if node in below:
                children[below[node]] = None
            else:
                own.append(node)
        made += [make_hypernode(n, tier, nodes=own, children=c, tier_name=key) for n, (c, own) in members.items()]
        below |= {node: name(key, value) for node, value in of_node.items()}
    return tuple(sorted(made, key=lambda h: (h.tier, h.name.encode())))


TOPOGRAPH_LABELS = FabricFormat(
    "topograph-labels", "node labels written by topograph (Kubernetes Nodes)", derive=derive_topograph_labels
)
