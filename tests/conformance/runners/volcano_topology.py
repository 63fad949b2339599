"""Runner of Volcano's network topology: `cases/volcano-topology`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.conformance.registry import Runners, assert_pinned
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
from workbench.model.release import Release
from workbench.model.topology import VIRTUAL_TOP, DomainSpec, Topology
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


@RUNNERS.op("lca", "lca", given=("hypernodes", "a", "b"), want=("lca",), per_release=True)
def lca(given: dict[str, Any], want: dict[str, Any], release: Release) -> None:
    """Ours meets in the virtual top where Volcano's answer (both releases, without the top) is empty.

    A name that no HyperNode has is its own only ancestor upstream; ours has no index for it, so it is added to the
    forest as a root, which says the same.
    """
    a, b = given["a"], given["b"]
    if not (a and b):
        # An empty partner means "no record yet": Volcano 1.15 then keeps the other one.
        assert want["lca"] == ("" if release is Release.V1_13 else a or b)
        return
    parent = {entry["name"]: entry["parent"] for entry in given["hypernodes"] if entry["name"] != VIRTUAL_TOP}
    has_top = len(parent) < len(given["hypernodes"])
    for name in (a, b, *parent.values()):
        if name and name != VIRTUAL_TOP:
            parent = {**parent, name: parent.get(name, "")}
    specs = [DomainSpec(n, 1, (), parent="" if above == VIRTUAL_TOP else above) for n, above in parent.items()]
    topology = Topology.build((), specs)
    found = topology.lca(topology.domain(a), topology.domain(b))
    assert ("" if found < 0 and not has_top else topology.domain_name(found)) == want["lca"]


@RUNNERS.op("selector", "resolve-selector", given=("selector", "nodes"), want=("members",))
def resolve(given: dict[str, Any], want: dict[str, Any]) -> None:
    found = resolve_selector(selector_of(given["selector"]), index_of(given["nodes"]))
    assert sorted(found) == sorted(want["members"])


@RUNNERS.op(
    "selector", "node-matches-hypernode", given=("hypernodes", "nodes", "node", "hypernode"), want=("match", "error")
)
def node_matches(given: dict[str, Any], want: dict[str, Any]) -> None:
    """Upstream asks this for a node that came or went: of one that is not listed a pattern sees the name."""
    members = {entry["name"]: entry["members"] for entry in given["hypernodes"]}
    listed = {entry["name"]: entry.get("labels", {}) for entry in given["nodes"]}
    if given["hypernode"] not in members:
        assert (want["match"], want["error"]) == (False, True)
        return
    index = NameIndex([given["node"]], [listed.get(given["node"], {})])
    asked = ("regexMatch", "labelMatch") if given["node"] in listed else ("regexMatch",)
    found = any(
        resolve_selector(selector_of(member), index)
        for member in members[given["hypernode"]]
        if member["type"] == "Node" and not member.keys().isdisjoint(asked)
    )
    assert (found, False) == (want["match"], want["error"])


@RUNNERS.op(
    "cluster-top", "cluster-top", given=("hypernodes", "nodes"), want=("name", "tier", "children", "real_nodes")
)
def cluster_top(given: dict[str, Any], want: dict[str, Any]) -> None:
    topology = Topology.build(
        given["nodes"], [DomainSpec(h["name"], h["tier"], (), parent=h["parent"]) for h in given["hypernodes"]]
    )
    found = {
        "name": topology.domain_name(-1),
        "tier": topology.top_tier,
        "children": [topology.domain_name(j) for j in topology.children[-1]],
        "real_nodes": sorted(names_under(topology, -1)),
    }
    sets = {key: sorted(want[key]) for key in ("children", "real_nodes") if want.get(key) is not None}
    assert_pinned(found, {**want, **sets})


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
    # Upstream looks at the first tier of the list, even if it is empty.
    specs += [DomainSpec("no-node", tier, ()) for tier in given["hyperNodesTiers"][:1]]
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
