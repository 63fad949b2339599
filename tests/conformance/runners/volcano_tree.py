"""Building the tree from HyperNodes: `cases/volcano-topology/tree.json`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.conformance.registry import NotUnderstood, Runners
from workbench.objects.hypernode import HyperNode, read_hypernode
from workbench.topology.build import resolve_tree

_SELECTORS = {
    "exactMatch": lambda name: {"name": name},
    "regexMatch": lambda pattern: {"pattern": pattern},
    "labelMatch": lambda labels: labels,
}


def register(runners: Runners) -> None:
    """Add the operations of tree.json to the area's runners."""
    runners.op(
        "tree",
        "events",
        given=("nodes", "initial_state", "initial_ready", "events"),
        want=("tiers", "real_nodes", "hypernodes", "ready", "errors", "last_event_error", "error_contains"),
    )(events)


def events(given: dict[str, Any], want: dict[str, Any]) -> None:
    """HyperNodes that arrive one after another, in any order, end as if they had all been there.

    The workbench builds a tree from all HyperNodes at once. What an update, a deletion, a node event or a failing
    event leaves behind is the event builder's (issue 3), so that such a case is refused instead of being compared
    with a tree that never saw the events.
    """
    added = [event.get("hypernode") for event in given["events"] if event["op"] == "upsert"]
    names = [hypernode["name"] for hypernode in added]
    if given["initial_state"] or len(added) < len(given["events"]) or len(set(names)) < len(names) or want["errors"]:
        raise NotUnderstood("only HyperNodes that are added, each once and without error; the rest needs issue 3")
    tree = resolve_tree([hypernode_of(entry) for entry in added], given["nodes"])
    assert tree.ready == want["ready"]
    tiers: dict[str, set[str]] = {}
    for name, tier in tree.tier.items():
        tiers.setdefault(str(tier), set()).add(name)
    found = {
        "tiers": tiers,
        "real_nodes": tree.real_nodes,
        "hypernodes": {name: {"tier": tier, "parent": tree.parent.get(name, "")} for name, tier in tree.tier.items()},
    }
    pinned = {key: value for key in found if (value := want[key]) is not None}
    for key in pinned.keys() & {"tiers", "real_nodes"}:
        pinned[key] = {name: set(members) for name, members in pinned[key].items()}
    assert {key: found[key] for key in pinned} == pinned


def hypernode_of(entry: Mapping[str, Any]) -> HyperNode:
    """A case's HyperNode, read as the manifest it stands for."""
    members = []
    for member in entry["members"]:
        selector = {key: wrap(member[key]) for key, wrap in _SELECTORS.items() if key in member}
        members.append({"type": member["type"], "selector": selector})
    return read_hypernode(
        {
            "metadata": {"name": entry["name"], "labels": entry.get("labels", {})},
            "spec": {"tier": entry["tier"], "tierName": entry.get("tierName", ""), "members": members},
        }
    )
