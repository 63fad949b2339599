"""Benchmark of the linter with all rules on 20,000 nodes, without and with mistakes.

Baseline: a plain overlap search.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from measure import microseconds, row

from workbench.objects.hypernode_manifest import hypernode_manifest
from workbench.objects.kinds import ClusterObjects
from workbench.topology.generate import Fabric, NodeShape
from workbench.topology.lint import RULES, Subject, lint

REPEATS = 7


def objects(damaged: bool) -> ClusterObjects:
    """840 HyperNodes over 20,000 nodes; if `damaged`, each tenth leaf also lists a node of its neighbour by pattern."""
    shape = NodeShape(labels={"kubernetes.io/arch": "amd64", "example.com/zone": "a"})
    fabric = Fabric((25, 20, 40), shape=shape)
    cluster = ClusterObjects()
    for i, manifest in enumerate(fabric.hypernodes()):
        members = manifest["spec"]["members"]
        if damaged and manifest["spec"]["tier"] == 1 and i % 10 == 0:
            last = members[-1]["selector"]["exactMatch"]["name"]
            neighbour = f"node{(int(last[4:]) + 1) % 20_000:05d}"
            members[-1] = {"type": "Node", "selector": {"regexMatch": {"pattern": f"^({last}|{neighbour})$"}}}
        cluster.add(manifest)
    for manifest in fabric.nodes():
        cluster.add(manifest)
    return cluster


def manifests(cluster: ClusterObjects) -> dict[str, dict[str, Any]]:
    """Manifests of the HyperNodes by name, for the lint rule that runs admission."""
    return {name: hypernode_manifest(hypernode) for name, hypernode in cluster.hypernodes.items()}


def pairwise_overlaps(cluster: ClusterObjects) -> int:
    """Baseline: number of pairs of leaves with a common node, found by comparing the sets of every two leaves."""
    leaves = [
        {m.selector.exact for m in h.members if m.type == "Node"} for h in cluster.hypernodes.values() if h.tier == 1
    ]
    return sum(bool(a & b) for i, a in enumerate(leaves) for b in leaves[:i])


def rows() -> Iterator[dict[str, object]]:
    """Two rows of the result table, for a sound and a damaged topology; the goal is issue 4's."""
    for name, damaged in (("sound", False), ("80 leaves damaged", True)):
        cluster = objects(damaged)
        written = manifests(cluster)
        ours = microseconds(lambda c=cluster, w=written: lint(Subject.of_objects(c, {}, w)), REPEATS)
        plain = microseconds(lambda c=cluster: pairwise_overlaps(c), 3)
        found = len(lint(Subject.of_objects(cluster, {}, written)).findings)
        yield row(
            "lint a topology",
            f"20000 nodes, {name}",
            ours,
            "every two leaves compared, nothing else",
            float(sorted(plain)[1]),
            2e6,
            f"{len(RULES)} rules, {found} findings",
        )
