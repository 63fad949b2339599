"""A topologyAssignment in the status of a Workload, in the form of v1beta1 and in the compressed one of v1beta2."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.errors import InputError
from workbench.model.kueue import TopologyAssignment
from workbench.objects.fields import MOST_PODS, child, get_count, get_list, get_map, get_maps, get_text, get_text_list

__all__ = ["read_assignment"]


def read_assignment(data: Mapping[str, Any], path: str) -> TopologyAssignment:
    """Read a topologyAssignment.

    Raises InputError: a field of the wrong type, or lists of other lengths than the levels or the number of domains.

    `data`: the parsed field. `path`: its path, for error messages.
    """
    levels = get_text_list(data, "levels", path)
    domains: list[tuple[tuple[str, ...], int]] = []
    for where, item in get_maps(data, "domains", path):
        values = get_text_list(item, "values", where)
        if len(values) != len(levels):
            raise _length(child(where, "values"), len(values), len(levels), "value for each level")
        domains.append((tuple(values), get_count(item, "count", where, 0)))
    for where, item in get_maps(data, "slices", path):
        domains += _slice(item, where, len(levels))
        if len(domains) > MOST_PODS:
            raise InputError("too many domains", where=where, got=str(len(domains)), expected=f"at most {MOST_PODS}")
    return TopologyAssignment(tuple(levels), tuple(domains))


def _slice(item: Mapping[str, Any], path: str, n_levels: int) -> list[tuple[tuple[str, ...], int]]:
    """The domains of one slice, whose values and counts are each given once for all or one by one."""
    number = get_count(item, "domainCount", path, 0)
    columns = [_values(level, where, number) for where, level in get_maps(item, "valuesPerLevel", path)]
    if len(columns) != n_levels:
        raise _length(child(path, "valuesPerLevel"), len(columns), n_levels, "entry for each level")
    where = child(path, "podCounts")
    counts = get_map(item, "podCounts", path)
    if counts.get("universal") is not None:
        pods = [get_count(counts, "universal", where, 0)] * number
    else:
        rows = get_list(counts, "individual", where)
        pods = [get_count({"count": row}, "count", f"{where}.individual[{i}]", 0) for i, row in enumerate(rows)]
    if len(pods) != number:
        raise _length(child(where, "individual"), len(pods), number, "count for each domain")
    return [(tuple(column[k] for column in columns), pods[k]) for k in range(number)]


def _values(level: Mapping[str, Any], path: str, number: int) -> list[str]:
    if level.get("universal") is not None:
        return [get_text(level, "universal", path)] * number
    where = child(path, "individual")
    each = get_map(level, "individual", path)
    before, after = get_text(each, "prefix", where), get_text(each, "suffix", where)
    roots = get_text_list(each, "roots", where)
    if len(roots) != number:
        raise _length(child(where, "roots"), len(roots), number, "root for each domain")
    return [f"{before}{root}{after}" for root in roots]


def _length(path: str, found: int, expected: int, what: str) -> InputError:
    return InputError("a list of the wrong length", where=path, got=str(found), expected=f"{expected}, one {what}")
