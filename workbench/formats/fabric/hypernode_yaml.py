"""HyperNodes as manifests: members by exact names, or by patterns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.formats.fabric.base import FabricFormat, Written
from workbench.formats.fabric.patterns import exact_patterns
from workbench.formats.fabric.writing import losses_beside, shape_of
from workbench.formats.write_manifests import to_yaml
from workbench.model.snapshot import ClusterSnapshot

__all__ = ["HYPERNODES", "HYPERNODES_REGEX", "hypernode_manifest"]

Members = list[dict[str, Any]]

_KEEPS = frozenset({"tiers", "tier-names", "empty"})


def hypernode_manifest(name: str, tier: int, tier_name: str, members: Members) -> dict[str, Any]:
    """A HyperNode (topology.volcano.sh/v1alpha1)."""
    spec: dict[str, Any] = {"tier": tier}
    spec |= {"tierName": tier_name} if tier_name else {}
    spec["members"] = members
    return {
        "apiVersion": "topology.volcano.sh/v1alpha1",
        "kind": "HyperNode",
        "metadata": {"name": name},
        "spec": spec,
    }


def exact(kind: str, name: str) -> dict[str, Any]:
    """A member by its name."""
    return {"type": kind, "selector": {"exactMatch": {"name": name}}}


def _exact_nodes(nodes: Sequence[str]) -> Members:
    return [exact("Node", name) for name in nodes]


def _nodes_by_pattern(groups: Sequence[Sequence[str]], known: Sequence[str]) -> list[Members]:
    # One node says its name more plainly than any pattern.
    several = [group for group in groups if len(group) > 1]
    patterns = iter(exact_patterns(known, several))
    return [
        [{"type": "Node", "selector": {"regexMatch": {"pattern": pattern}}}]
        if len(group) > 1 and (pattern := next(patterns)) is not None
        else _exact_nodes(group)
        for group in groups
    ]


def _written(snapshot: ClusterSnapshot, *, by_pattern: bool) -> Written:
    topology = snapshot.topology
    shape = shape_of(topology)
    if by_pattern:
        nodes = _nodes_by_pattern(shape.own, topology.node_names)
    else:
        nodes = [_exact_nodes(own) for own in shape.own]
    manifests = [
        hypernode_manifest(
            shape.names[j],
            int(topology.tier[j]),
            topology.tier_names[j],
            [exact("HyperNode", shape.names[c]) for c in shape.children[j]] + nodes[j],
        )
        for j in sorted(range(topology.n_domains), key=lambda j: (int(topology.tier[j]), j))
    ]
    return Written(to_yaml(manifests), tuple(losses_beside(snapshot, shape, _KEEPS)))


def _write(snapshot: ClusterSnapshot) -> Written:
    return _written(snapshot, by_pattern=False)


def _write_patterns(snapshot: ClusterSnapshot) -> Written:
    return _written(snapshot, by_pattern=True)


HYPERNODES = FabricFormat("hypernodes", "Volcano HyperNodes with exact members", write=_write)
HYPERNODES_REGEX = FabricFormat(
    "hypernodes-regex", "Volcano HyperNodes with the shortest patterns that match exactly", write=_write_patterns
)
