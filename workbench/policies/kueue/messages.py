"""Why a request does not fit, and amounts, taints and reasons, as Kueue writes them.

Source: Kueue 0.19, pkg/cache/scheduler/tas_flavor_snapshot.go, notFitMessage, multiLayerNotFitMessage, formatReasons.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache

import numpy as np

from workbench.model.counted import counted
from workbench.model.kueue import SliceLayer
from workbench.model.labels import Taint
from workbench.model.resources import CPU, MEMORY
from workbench.policies.kueue.level_search import NoFit
from workbench.policies.kueue.orders import Domains
from workbench.policies.kueue.query import PlacementQuery

__all__ = ["broken_slices", "cut", "join_reasons", "no_fit_text", "quantity", "resource_order", "taint_text"]


def no_fit_text(
    topology: str,
    levels: Sequence[str],
    domains: Domains,
    query: PlacementQuery,
    miss: NoFit,
    excluded: Mapping[str, int],
) -> str:
    """The sentence that says how much of a request fits and which nodes were excluded.

    `topology`: name of the topology. `domains`: as counted for the request, not changed by a placement. `excluded`:
    number of leaves by the condition that excluded them.
    """
    if len(query.layers) > 1:
        text = f'topology "{topology}" doesn\'t allow to fit' + _by_layer(levels, domains, query, miss.level)
    else:
        unit = "slice(s)" if query.slice_size > 1 else "pod(s)"
        if miss.fitting == 0:
            text = f'topology "{topology}" doesn\'t allow to fit any of {query.n_slices} {unit}'
        else:
            text = f'topology "{topology}" allows to fit only {miss.fitting} out of {query.n_slices} {unit}'
    parts = [f"{name}: {count}" for name, count in excluded.items() if count > 0]
    if not parts:
        return text
    n_leaves = domains.tree.size(domains.tree.depth - 1)
    return f"{text}. Total nodes: {n_leaves}; excluded: {', '.join(sorted(parts))}"


def _by_layer(levels: Sequence[str], domains: Domains, query: PlacementQuery, ended: int) -> str:
    """For each slice layer the slices that fit inside the best domain of the level where the search ended."""
    tree, counts = domains.tree, domains.counts
    slices = counts.slices[ended]
    ids = [",".join(path) for path in tree.paths[ended]]
    best = min(np.flatnonzero(slices == slices.max()).tolist(), key=lambda domain: ids[domain].encode())
    text = ""
    for layer in query.layers:
        level = levels.index(layer.level)
        fitting = int((counts.pods[level][tree.below(ended, best, level)] // layer.size).sum())
        text += f"; {fitting}/{query.count // layer.size} slice(s) fit on level {layer.level}"
    return text


def broken_slices(name: str, count: int, slices: Sequence[SliceLayer]) -> str:
    """Why Kueue leaves pods of a pod set without a place, in our words; empty: they divide into whole slices.

    `slices`: outermost layer first.
    """
    size = slices[0].size if slices else 1
    if size <= 0 or count % size == 0:
        return ""
    pods = counted(count, "pod")
    return f"the slice size {size} does not divide the {pods} of {name}, and Kueue places whole slices only"


#: Most characters of an event.
_LONGEST_EVENT = 1024

_DECIMAL = {-3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P", 18: "E"}
_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


def quantity(resource: str, amount: int) -> str:
    """An amount in base units as Kubernetes writes it canonically: ``1536Mi``, ``500m``, ``2``."""
    in_bytes = resource in (MEMORY, "ephemeral-storage") or resource.startswith("hugepages-")
    if in_bytes and not -1024 < amount < 1024:
        power = 0
        while amount % 1024 == 0 and power + 1 < len(_BINARY):
            amount, power = amount // 1024, power + 1
        return f"{amount}{_BINARY[power]}"
    power = -3 if resource == CPU else 0
    if amount == 0:
        return "0"
    while amount % 1000 == 0 and power + 3 in _DECIMAL:
        amount, power = amount // 1000, power + 3
    return f"{amount}{_DECIMAL[power]}"


def taint_text(taint: Taint) -> str:
    """A taint as Kueue prints it."""
    return f"{{{taint.key} {taint.value} {taint.effect} <nil>}}"


@cache
def resource_order(resource: str) -> int:
    """The place of a resource among the requests of a pod set: its name's 64-bit FNV-1a hash."""
    value = 0xCBF29CE484222325
    for byte in resource.encode():
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return value


def join_reasons(reasons: Iterable[str]) -> str:
    """Reasons of one pod set as one text: sorted as byte strings."""
    return ", ".join(sorted(reasons, key=str.encode))


def cut(message: str) -> str:
    """A message as an event keeps it."""
    return message if len(message) <= _LONGEST_EVENT else f"{message[: _LONGEST_EVENT - 4]} ..."
