"""Why a request does not fit, in Kueue's words.

Source: Kueue 0.19, pkg/cache/scheduler/tas_flavor_snapshot.go, notFitMessage, multiLayerNotFitMessage, formatReasons.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from workbench.model.counted import counted
from workbench.model.kueue import SliceLayer
from workbench.policies.kueue.level_search import NoFit
from workbench.policies.kueue.orders import Domains
from workbench.policies.kueue.query import PlacementQuery

__all__ = ["broken_slices", "no_fit_text"]


def no_fit_text(
    topology: str,
    levels: Sequence[str],
    domains: Domains,
    query: PlacementQuery,
    miss: NoFit,
    excluded: Mapping[str, int],
) -> str:
    """The sentence that says how much of a request fits and which nodes were excluded.

    Parameters
    ----------
    topology : str
        Name of the topology.
    domains : Domains
        As counted for the request, not changed by a placement.
    excluded : mapping of str to int
        Number of leaves by the condition that excluded them.
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

    Parameters
    ----------
    slices : sequence of SliceLayer
        Outermost layer first.
    """
    size = slices[0].size if slices else 1
    if size <= 0 or count % size == 0:
        return ""
    pods = counted(count, "pod")
    return f"the slice size {size} does not divide the {pods} of {name}, and Kueue places whole slices only"
