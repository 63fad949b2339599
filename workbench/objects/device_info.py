"""Faulty NPUs as Ascend's device plugin reports them: in a ConfigMap for each node, or in annotations of the Node.

Source: MindCluster, scheduling guide, "Fault Information" of the Ascend Device Plugin; Ascend/mind-cluster,
``component/ascend-for-volcano/plugin/node.go``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from workbench.errors import InputError
from workbench.model.bandwidth import MAX_GPUS
from workbench.model.number_text import whole_number
from workbench.objects.fields import get_map, get_texts, shown, wrong
from workbench.objects.metadata import read_metadata

__all__ = [
    "DEVICE_INFO_PREFIX",
    "DeviceInfo",
    "FaultyNpus",
    "NpuNames",
    "faulty_npus",
    "lists_faulty_npus",
    "npu_names",
    "read_device_info",
]

#: The name of a node's ConfigMap is this text followed by the name of the node.
DEVICE_INFO_PREFIX = "mindx-dl-deviceinfo-"

#: Key of the ConfigMap whose text is read.
_KEY = "DeviceInfoCfg"

_UNHEALTHY, _NETWORK_UNHEALTHY = "-Unhealthy", "-NetworkUnhealthy"

#: Names of NPUs by the key that lists them, such as ``huawei.com/Ascend910-Unhealthy``.
NpuNames = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class DeviceInfo:
    """The ConfigMap ``mindx-dl-deviceinfo-NODE``: the faulty NPUs of one node. `names`: as `npu_names` returns them."""

    name: str
    names: NpuNames


class FaultyNpus(NamedTuple):
    """Numbers of the faulty NPUs of one node.

    `network_unhealthy`: NPUs that cannot reach other nodes; an NPU that is unhealthy itself is in the other set only.
    `unknown`: names that no NPU of the node has, such as those of virtual NPUs.
    """

    unhealthy: frozenset[int]
    network_unhealthy: frozenset[int]
    unknown: int


def lists_faulty_npus(key: str) -> bool:
    """Whether the value under a key lists faulty NPUs: ``huawei.com/KIND-Unhealthy``, ``…-NetworkUnhealthy``."""
    return key.endswith((_UNHEALTHY, _NETWORK_UNHEALTHY)) and key.startswith("huawei.com/")


def npu_names(texts: Mapping[str, str]) -> NpuNames:
    """Read which NPUs are listed as faulty, by key.

    `texts`: annotations of a Node, or the DeviceList of its ConfigMap. Other keys than those of `lists_faulty_npus` are
    left out; the values are names separated by commas.
    """
    return {
        key: tuple(name for part in text.split(",") if (name := part.strip()))
        for key, text in texts.items()
        if lists_faulty_npus(key)
    }


def read_device_info(data: Mapping[str, Any]) -> DeviceInfo:
    """Read the ConfigMap of a node's NPUs from a parsed manifest.

    Raises InputError: no node in the name, no JSON under ``data.DeviceInfoCfg``, or a field of the wrong type.
    """
    name = read_metadata(data, namespaced=True).name
    node = name.removeprefix(DEVICE_INFO_PREFIX)
    if not node:
        raise wrong("metadata.name", name, f"{DEVICE_INFO_PREFIX} and the name of a node")
    where = f"data.{_KEY}"
    text = get_texts(data, "data", "").get(_KEY)
    if not text:
        raise wrong(where, text, "JSON text with DeviceInfo")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"not JSON: {error}", where=where, expected="an object with DeviceInfo") from None
    if not isinstance(value, dict) or not isinstance(value.get("DeviceInfo"), dict):
        raise InputError("not the NPUs of a node", where=where, got=shown(value), expected="an object with DeviceInfo")
    listed = get_texts(get_map(value, "DeviceInfo", where), "DeviceList", f"{where}.DeviceInfo")
    return DeviceInfo(node, npu_names(listed))


def faulty_npus(annotated: NpuNames, reported: NpuNames, count: int) -> FaultyNpus:
    """Tell which NPUs of a node are faulty.

    `annotated`, `reported`: names by key, from the annotations of the Node and from its ConfigMap. A key of the
    ConfigMap overrules the same key of the annotations, also if it lists nothing. `count`: number of NPUs of the node,
    faulty ones included. They are called ``KIND-0`` to ``KIND-(count - 1)``, or by the number alone.
    """
    names = {**annotated, **reported}
    unhealthy, wrong_names = _numbers((key for key in names if key.endswith(_UNHEALTHY)), names, count)
    network, wrong_too = _numbers((key for key in names if key.endswith(_NETWORK_UNHEALTHY)), names, count)
    return FaultyNpus(unhealthy, network - unhealthy, wrong_names + wrong_too)


def _numbers(keys: Iterable[str], names: NpuNames, count: int) -> tuple[frozenset[int], int]:
    found, unknown = set(), 0
    for name in (name for key in keys for name in names[key]):
        match = re.fullmatch(r"(?:[A-Za-z]\w*-)?(\d{1,4})", name, re.ASCII)
        number = whole_number(match[1]) if match else None
        if number is None or number >= min(count, MAX_GPUS):
            unknown += 1
        else:
            found.add(number)
    return frozenset(found), unknown
