"""Volcano's network topology: `cases/volcano-topology`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.conformance.registry import Runners
from tests.conformance.runners import volcano_tree
from workbench.model.topology import DomainSpec, Topology
from workbench.objects.selectors import NameIndex, Selector, read_label_selector, resolve_selector

RUNNERS = Runners("volcano-topology")
volcano_tree.register(RUNNERS)


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
