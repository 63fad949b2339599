"""The ConfigMap tor-share-cm of Ascend, in which the scheduler publishes the state of every leaf switch.

Source: Ascend's document, "Instructions" (fields IsSharedTor, IsHealthy); docs/reference/switch-affinity.md, section
1.4 (the other fields).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workbench.errors import InputError
from workbench.objects.fields import child, get_int, get_maps, get_text, get_text_list, get_texts, shown, wrong
from workbench.objects.metadata import Metadata, read_metadata

__all__ = ["TorShare", "TorShareConfig", "TorShareNode", "parse_tor_share", "read_tor_share", "share_payload"]

KEY = "global-tor-info"


@dataclass(frozen=True)
class TorShareNode:
    """A node under a leaf switch: its address, its name, and the names of the jobs on it."""

    address: str
    name: str
    jobs: tuple[str, ...]


@dataclass(frozen=True)
class TorShare:
    """Published state of one leaf switch in the ConfigMap tor-share-cm.

    `shared`: state of the switch: 0 idle, 1 shared, 2 exclusive. `unhealthy`: health of the switch: 0 healthy, 1
    unhealthy.
    """

    shared: int
    unhealthy: int
    nodes: tuple[TorShareNode, ...] = ()


@dataclass(frozen=True)
class TorShareConfig:
    """The ConfigMap tor-share-cm: its metadata, and the state of each leaf switch by tor_ip."""

    metadata: Metadata
    switches: Mapping[str, TorShare]


def read_tor_share(data: Mapping[str, Any]) -> TorShareConfig:
    """Read the ConfigMap tor-share-cm from a parsed manifest; an InputError names the key inside ``data``."""
    metadata = read_metadata(data, namespaced=True)
    texts = get_texts(data, "data", "")
    where = child("data", KEY)
    if not texts.get(KEY):
        raise wrong(where, texts.get(KEY), "JSON text")
    return TorShareConfig(metadata, parse_tor_share(texts[KEY], where))


def parse_tor_share(text: str, where: str = "") -> dict[str, TorShare]:
    """Read the states of the leaf switches from the JSON text of tor-share-cm, by tor_ip, in the order of the text.

    `where` is the key of the ConfigMap that holds the text, for error messages.

    Raises InputError: no JSON, a field that is missing or of the wrong type, an unknown state, or a node under two
    switches.
    """
    try:
        payload = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"not JSON: {error}", where=where, expected="an object of switches by tor_ip") from None
    if type(payload) is not dict:
        raise InputError("not the state of switches", where=where, got=shown(payload), expected="an object by tor_ip")
    found = {}
    home: dict[str, str] = {}
    for address, item in payload.items():
        path = f"{where}[{address!r}]"
        if type(item) is not dict:
            raise wrong(path, item, "an object")
        rows = [(place, _node(node, place)) for place, node in get_maps(item, "nodes", path)]
        for place, node in rows:
            identity = node.address or node.name
            first = home.setdefault(identity, place) if identity else place
            if first != place:
                got, expected = f"the same node as {first}", "each node under one switch"
                raise InputError(f"the node {identity} is listed twice", where=place, got=got, expected=expected)
        nodes = tuple(node for _, node in rows)
        found[address] = TorShare(_code(item, "IsSharedTor", path, 2), _code(item, "IsHealthy", path, 1), nodes)
    return found


def _code(item: Mapping[str, Any], key: str, path: str, most: int) -> int:
    value = get_int(item, key, path)
    if value is None or not 0 <= value <= most:
        raise wrong(child(path, key), value, f"a whole number from 0 to {most}")
    return value


def _node(item: Mapping[str, Any], path: str) -> TorShareNode:
    jobs = get_text_list(item, "JobName", path)
    return TorShareNode(get_text(item, "NodeIp", path), get_text(item, "NodeName", path), tuple(jobs))


def share_payload(switches: Mapping[str, TorShare]) -> dict[str, Any]:
    """The JSON content of tor-share-cm for the given switch states; `parse_tor_share` reads it back as equal values."""
    return {
        address: {
            "IsHealthy": switch.unhealthy,
            "IsSharedTor": switch.shared,
            "nodes": [
                {"NodeIp": node.address, "NodeName": node.name, "JobName": list(node.jobs)} for node in switch.nodes
            ],
        }
        for address, switch in switches.items()
    }
