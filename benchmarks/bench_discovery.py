"""Benchmark of topology discovery on 20,000 nodes up to the plan of changes, compared with grouping the nodes in dicts.

The baseline only assigns each node to its rack or leaf: no HyperNodes, names, groups of leaves, or comparison with
existing HyperNodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from measure import microseconds, row

from workbench.topology.discovery.label import discover_label
from workbench.topology.discovery.reconcile import reconcile
from workbench.topology.discovery.result import DiscoveryResult
from workbench.topology.discovery.roce import RoceLink, discover_roce
from workbench.topology.discovery.ufm import UfmPort, discover_ufm

N_NODES, PER_LEAF, PER_SPINE = 20_000, 25, 20
REPEATS = 5
GOAL_US = 0.4e6
TYPES = {"fabric": ("spine", "rack", "kubernetes.io/hostname")}


def rows() -> Iterator[dict[str, object]]:
    """One row of the result table per discovery source; the goal is 0.4 s."""
    names = [f"node-{i:05d}" for i in range(N_NODES)]
    leaf = {name: f"leaf-{i // PER_LEAF:03d}" for i, name in enumerate(names)}
    spine = {leaf[name]: f"spine-{i // PER_LEAF // PER_SPINE:02d}" for i, name in enumerate(names)}
    nodes = {name: {"rack": leaf[name], "spine": spine[leaf[name]], "kubernetes.io/hostname": name} for name in names}
    ports = [UfmPort("Computer IB Port", name, leaf[name]) for name in names]
    links = [RoceLink(leaf[name], node=name) for name in names]
    links += [RoceLink(below, spine=above) for below, above in spine.items()]
    sources: list[tuple[str, Callable[[], DiscoveryResult]]] = [
        ("label", lambda: discover_label(TYPES, nodes)),
        ("ufm", lambda: discover_ufm(ports)),
        ("roce", lambda: discover_roce(links)),
    ]
    for source, discover in sources:
        existing = discover().hypernodes or ()
        ours = microseconds(lambda d=discover, e=existing: reconcile(d(), e), REPEATS)
        plain = microseconds(lambda: _grouped(leaf), 3)
        note = f"{len(existing)} HyperNodes found and compared with as many"
        yield row(
            f"discover {source}", f"{N_NODES} nodes", ours, "nodes by leaf in a dict", min(plain), GOAL_US, note, "p50"
        )


def _grouped(leaf: dict[str, str]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for node, name in leaf.items():
        groups.setdefault(name, []).append(node)
    return groups
