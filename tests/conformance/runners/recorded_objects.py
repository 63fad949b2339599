"""Unpacking of the objects of a recorded scenario to Kubernetes objects; the area's README describes the packing."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["KINDS", "unpacked"]

Json = dict[str, Any]

#: The keys of a scenario that hold objects.
KINDS = ("nodes", "hypernodes", "podgroups", "pods", "queues", "priorityclasses")

_MEMBERS = {"node": "Node", "hypernode": "HyperNode"}


def unpacked(packed: Mapping[str, Any], common: Json) -> list[Json]:
    """The objects of one kind."""
    bodies = [_merged(common, body) for body in packed["bodies"]]
    return [_object(bodies[row[0]], row[1:]) for row in packed["rows"]]


def _merged(common: Json, body: Json) -> Json:
    """A body over what all have in common, mapping by mapping; null takes a key away."""
    whole = dict(common)
    for key, value in body.items():
        if value is None:
            whole.pop(key, None)
        elif isinstance(value, dict) and isinstance(common.get(key), dict):
            whole[key] = _merged(common[key], value)
        else:
            whole[key] = value
    return whole


def _object(body: Json, row: Sequence[str | None]) -> Json:
    """One object: the name, maybe the uid and the node that its row gives."""
    name, uid, node = (*row, None, None)[:3]
    item: Json = json.loads(json.dumps(body).replace('"<name>"', json.dumps(name)))
    item["metadata"]["name"] = name
    if uid is not None:
        item["metadata"]["uid"] = uid
    if node is not None:
        item["spec"]["nodeName"] = node
    if item["kind"] == "Node":
        item["status"].setdefault("capacity", item["status"]["allocatable"])
    if item["kind"] == "HyperNode":
        item["spec"]["members"] = [_member(member) for member in item["spec"]["members"]]
    return item


def _member(member: str | Json) -> Json:
    if not isinstance(member, str):
        return member
    kind, _, name = member.partition(":")
    return {"type": _MEMBERS[kind], "selector": {"exactMatch": {"name": name}}}
