"""Runner of building the tree from HyperNodes: `cases/volcano-topology/tree.json`."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from tests.conformance.registry import NotUnderstood, Runners, assert_pinned
from tests.reference.hypernode_tree import HyperNodeTree
from workbench.model.release import Release
from workbench.objects.hypernode import HyperNode, read_hypernode

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
        per_release=True,
    )(events)
    runners.op("tree", "ancestors", given=("hypernodes", "name"), want=("ordered",), per_release=True)(ancestors)
    runners.op("tree", "leaves-under", given=("hypernodes", "name"), want=("names",), per_release=True)(leaves_under)
    runners.op("tree", "leaves-with-pattern", given=("hypernodes",), want=("names",), per_release=True)(
        leaves_with_pattern
    )


def events(given: dict[str, Any], want: dict[str, Any], release: Release) -> None:
    """What the tree holds after the last event, and which events returned an error."""
    tree = tree_of(given["initial_state"], release, given["nodes"])
    if given["initial_ready"] is not None:
        tree.ready = given["initial_ready"]
    errors = [apply(tree, event) for event in given["events"]]
    found = {
        "tiers": {str(tier): names for tier, names in tree.tiers.items()},
        "real_nodes": tree.real_nodes,
        "hypernodes": {name: {"tier": tier, "parent": parent} for name, (tier, parent) in tree.parents.items()},
        "ready": tree.ready,
        "errors": any(errors),
        "last_event_error": bool(errors and errors[-1]),
    }
    sets = {
        key: {name: set(members) for name, members in want[key].items()}
        for key in ("tiers", "real_nodes")
        if want.get(key) is not None
    }
    assert_pinned(found, {**want, **sets})
    if want.get("error_contains"):
        assert any(want["error_contains"] in error for error in errors)


def apply(tree: HyperNodeTree, event: Mapping[str, Any]) -> str:
    match event["op"]:
        case "upsert":
            return tree.upsert(hypernode_of(event["hypernode"]))
        case "delete":
            return tree.delete(event["name"])
        case "node-add":
            return tree.add_node(event["name"])
        case "node-delete":
            return tree.delete_node(event["name"])
    raise NotUnderstood(f"event {event['op']!r}")


def ancestors(given: dict[str, Any], want: dict[str, Any], release: Release) -> None:
    assert tree_of(given["hypernodes"], release).ancestors(given["name"]) == want["ordered"]


def leaves_under(given: dict[str, Any], want: dict[str, Any], release: Release) -> None:
    assert tree_of(given["hypernodes"], release).leaves_under(given["name"]) == set(want["names"])


def leaves_with_pattern(given: dict[str, Any], want: dict[str, Any], release: Release) -> None:
    assert tree_of(given["hypernodes"], release).leaves_with_pattern() == set(want["names"])


def tree_of(hypernodes: Sequence[Mapping[str, Any]], release: Release, nodes: Sequence[str] = ()) -> HyperNodeTree:
    tree = HyperNodeTree(release, {name: {} for name in nodes})
    for entry in hypernodes:
        tree.upsert(hypernode_of(entry))
    return tree


def hypernode_of(entry: Mapping[str, Any]) -> HyperNode:
    """A case's HyperNode, read as the manifest it stands for.

    A pattern that does not compile is kept: admission refuses it and a file with it is bad input, but the tree has a
    rule for it.
    """
    members = entry["members"]
    kept = [{**member, "regexMatch": ""} if "regexMatch" in member else member for member in members]
    read = read_hypernode(hypernode_manifest({**entry, "members": kept}))
    return dataclasses.replace(
        read,
        members=tuple(
            dataclasses.replace(one, selector=dataclasses.replace(one.selector, pattern=member.get("regexMatch")))
            for one, member in zip(read.members, members, strict=True)
        ),
    )


def hypernode_manifest(entry: Mapping[str, Any]) -> dict[str, Any]:
    """The manifest that a case's HyperNode stands for."""
    members = []
    for member in entry["members"]:
        selector = {key: wrap(member[key]) for key, wrap in _SELECTORS.items() if key in member}
        members.append({"type": member["type"], "selector": selector})
    return {
        "kind": "HyperNode",
        "metadata": {"name": entry["name"], "labels": entry.get("labels", {})},
        "spec": {"tier": entry["tier"], "tierName": entry.get("tierName", ""), "members": members},
    }
