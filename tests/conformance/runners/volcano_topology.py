"""Volcano's network topology: `cases/volcano-topology`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.conformance.registry import Runners
from tests.conformance.runners import (
    volcano_admission,
    volcano_allocate,
    volcano_discovery,
    volcano_e2e,
    volcano_gradients,
    volcano_scores,
    volcano_sub_groups,
    volcano_tree,
)
from tests.conformance.runners.volcano_tree import hypernode_of
from workbench.model.topology import DomainSpec, Topology
from workbench.objects.selectors import NameIndex, Selector, read_label_selector, resolve_selector
from workbench.topology.build import build_topology

RUNNERS = Runners("volcano-topology")
volcano_tree.register(RUNNERS)
volcano_admission.register(RUNNERS)
volcano_sub_groups.register(RUNNERS)
volcano_allocate.register(RUNNERS)
volcano_e2e.register(RUNNERS)
volcano_gradients.register(RUNNERS)
volcano_scores.register(RUNNERS)
volcano_discovery.register(RUNNERS)


@RUNNERS.op("lca", "lca", given=("hypernodes", "a", "b"), want=("lca",))
def lca(given: dict[str, Any], want: dict[str, Any]) -> None:
    """Ours meets in the virtual top where Volcano's answer (both releases, without the top) is empty.

    A name that no HyperNode has is its own only ancestor upstream; ours has no index for it, so it is added to the
    forest as a root, which says the same.
    """
    known = {entry["name"]: entry for entry in given["hypernodes"]}
    for name in (given["a"], given["b"]):
        if name:
            known.setdefault(name, {"name": name, "tier": 1, "parent": ""})
    topology = Topology.build(
        (), [DomainSpec(name, entry["tier"], (), parent=entry["parent"]) for name, entry in known.items()]
    )
    # An empty partner means "no record yet": the newest release then keeps the other one.
    a, b = given["a"] or given["b"], given["b"] or given["a"]
    found = topology.lca(topology.domain(a), topology.domain(b)) if a else -1
    assert ("" if found < 0 else topology.domain_name(found)) == want["lca"]


@RUNNERS.op("selector", "resolve-selector", given=("selector", "nodes"), want=("members",))
def resolve(given: dict[str, Any], want: dict[str, Any]) -> None:
    found = resolve_selector(selector_of(given["selector"]), index_of(given["nodes"]))
    assert sorted(found) == sorted(want["members"])


@RUNNERS.op(
    "selector", "node-matches-hypernode", given=("hypernodes", "nodes", "node", "hypernode"), want=("match", "error")
)
def node_matches(given: dict[str, Any], want: dict[str, Any]) -> None:
    """Upstream asks this for a node that came or went, so a pattern sees its name even when the node is not listed."""
    members = {entry["name"]: entry["members"] for entry in given["hypernodes"]}
    listed = {entry["name"]: entry.get("labels", {}) for entry in given["nodes"]}
    if given["hypernode"] not in members:
        assert (want["match"], want["error"]) == (False, True)
        return
    index = NameIndex([given["node"]], [listed.get(given["node"], {})])
    found = any(
        resolve_selector(selector_of(member), index)
        for member in members[given["hypernode"]]
        if member["type"] == "Node" and "exactMatch" not in member
    )
    assert (found, False) == (want["match"], want["error"])


@RUNNERS.op(
    "cluster-top", "cluster-top", given=("hypernodes", "nodes"), want=("name", "tier", "children", "real_nodes")
)
def cluster_top(given: dict[str, Any], want: dict[str, Any]) -> None:
    topology = Topology.build(
        given["nodes"], [DomainSpec(h["name"], h["tier"], (), parent=h["parent"]) for h in given["hypernodes"]]
    )
    assert topology.domain_name(-1) == want["name"]
    assert topology.top_tier == want["tier"]
    assert {topology.domain_name(j) for j in topology.children[-1]} == set(want["children"])
    assert names_under(topology, -1) == set(want["real_nodes"])


@RUNNERS.op(
    "helper",
    "leaf-of-node",
    given=("nodeName", "hyperNodes", "hyperNodesTiers", "hyperNodesSetByTier"),
    want=("hypernode",),
)
def leaf_of_node(given: dict[str, Any], want: dict[str, Any]) -> None:
    sets = given["hyperNodes"]
    names = sorted({given["nodeName"], *(node for nodes in sets.values() for node in nodes)})
    specs = [
        DomainSpec(name, tier, [names.index(node) for node in sets.get(name, ())])
        for tier in given["hyperNodesTiers"]
        for name in given["hyperNodesSetByTier"].get(str(tier), ())
    ]
    topology = Topology.build(names, specs)
    leaf = int(topology.leaf_of_node[topology.node(given["nodeName"])])
    assert ("" if leaf < 0 else topology.domain_name(leaf)) == want["hypernode"]


@RUNNERS.op("helper", "nodes-in-snapshot", given=("real_nodes", "all_nodes"), want=("nodes",))
def nodes_in_snapshot(given: dict[str, Any], want: dict[str, Any]) -> None:
    hypernodes = [
        hypernode_of(
            {"name": name, "tier": 1, "members": [{"type": "Node", "exactMatch": node} for node in nodes]},
        )
        for name, nodes in given["real_nodes"].items()
    ]
    topology = build_topology(hypernodes, given["all_nodes"])
    found = {name: names_under(topology, j) for j, name in enumerate(topology.domain_names)}
    assert found == {name: set(nodes) for name, nodes in want["nodes"].items()}


def names_under(topology: Topology, domain: int) -> set[str]:
    return {topology.node_names[i] for i in topology.nodes_of(domain)}


def selector_of(member: Mapping[str, Any]) -> Selector:
    """A case's selector as a value; patterns that do not compile are kept, they select nothing."""
    labels = member.get("labelMatch")
    return Selector(
        exact=member.get("exactMatch"),
        pattern=member.get("regexMatch"),
        labels=None if labels is None else read_label_selector(labels, "labelMatch"),
    )


def index_of(nodes: Sequence[Mapping[str, Any]]) -> NameIndex:
    return NameIndex([node["name"] for node in nodes], [node.get("labels", {}) for node in nodes])
