"""Rows of `cases/kueue-tas` about single steps on domains with given counts: the files `order` and `balanced-steps`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.conformance.registry import NotUnderstood, Runners
from tests.conformance.runners import kueue_values as read
from workbench.policies.kueue.balanced import best_balance, prune, spread
from workbench.policies.kueue.domain_counts import DomainCounts
from workbench.policies.kueue.domain_sets import entropy_order, smallest_set
from workbench.policies.kueue.level_tree import LevelTree
from workbench.policies.kueue.orders import Domains
from workbench.policies.kueue.query import PlacementQuery

Json = Mapping[str, Any]

_COUNTS = {
    "pods": "pods",
    "slices": "slices",
    "pods_with_leader": "pods_with_leader",
    "slices_with_leader": "slices_with_leader",
    "leaders": "leaders",
    "affinity": "affinity",
}


def register(runners: Runners) -> None:
    """Register the operations of both files."""
    runners.op("order", "order", given=("by", "gates", "unconstrained", "domains"), want=("order",))(order)
    runners.op("order", "compare-paths", given=("a", "b"), want=("sign",))(compare_paths)
    common = ("domains", "slices", "leaders", "slice_size")
    steps = "balanced-steps"
    runners.op(steps, "balanced-select", given=(*common, "by_entropy"), want=("ids", "ordered"))(select)
    runners.op(steps, "balanced-spread", given=(*common, "threshold"), want=("slices", "pods", "order"))(spread_evenly)
    runners.op(
        steps,
        "balanced-prune",
        given=("domains", "threshold", "slice_size", "slice_level", "level", "leaders"),
        want=("counts",),
    )(prune_domains)
    runners.op(
        steps,
        "balanced-best",
        given=("domains", "count", "slice_size", "leaders", "requested_level", "slice_level"),
        want=("threshold", "domains"),
    )(best)


@dataclass
class _Given:
    """The domains of a row, as a tree with counts, and their ids level by level."""

    domains: Domains
    ids: list[list[str]]

    def named(self, level: int, chosen: Sequence[int]) -> list[str]:
        return [self.ids[level][domain] for domain in chosen]

    def counts(self, name: str) -> dict[str, int]:
        """One kind of count of every domain, by id."""
        columns = getattr(self.domains.counts, _COUNTS[name])
        rows = zip(self.ids, columns, strict=True)
        return {key: int(count) for ids, column in rows for key, count in zip(ids, column, strict=True)}


def _given(rows: list[Json], least_free: bool = False, by_affinity: bool = False) -> _Given:
    levels = list(_levels(rows))
    paths = tuple(tuple(tuple(row["path"]) for _, row in level) for level in levels)
    parents = tuple(np.array([above for above, _ in level], dtype=np.int64) for level in levels)
    tree = LevelTree.of(paths, parents)
    counts = DomainCounts.zeros(tree)
    for each, level in enumerate(levels):
        for name, column in _COUNTS.items():
            getattr(counts, column)[each][:] = [row["counts"][name] for _, row in level]
    return _Given(Domains(tree, counts, least_free, by_affinity), [[row["id"] for _, row in level] for level in levels])


def _levels(rows: list[Json]) -> Iterator[list[tuple[int, Json]]]:
    """Per level the index of each domain's parent, and the domain."""
    level = [(0, row) for row in rows]
    while level:
        yield level
        level = [(above, child) for above, (_, row) in enumerate(level) for child in row["children"]]


def _query(level: int, slice_level: int, slice_size: int, n_slices: int, leaders: int) -> PlacementQuery:
    count = n_slices * slice_size
    return PlacementQuery(level, False, False, slice_level, slice_size, (), (), count, n_slices, leaders, False, False)


def order(given: dict[str, Any], want: dict[str, Any]) -> None:
    """Ids in one of the three orders."""
    gates = read.gates(given["gates"])
    least_free = given["unconstrained"] and gates.TASProfileMixed
    found = _given(given["domains"], least_free, gates.TASRespectNodeAffinityPreferred)
    every = np.arange(len(given["domains"]))
    if given["by"] == "with-leader":
        ordered = found.domains.with_leader_order(0, every)
    elif given["by"] == "plain":
        ordered = found.domains.plain_order(0, every)
    elif given["by"] == "entropy":
        ordered = entropy_order(found.domains, 0, every)
    else:
        raise NotUnderstood(f"order {given['by']}")
    assert found.named(0, ordered.tolist()) == want["order"]


def compare_paths(given: dict[str, Any], want: dict[str, Any]) -> None:
    """The sign of a comparison of two paths."""
    paths = (tuple(given["a"]), tuple(given["b"]))
    tree = LevelTree.of((paths,), (np.zeros(2, dtype=np.int64),))
    first, second = tree.rank[0].tolist()
    assert (0 if paths[0] == paths[1] else 1 if first > second else -1) == want["sign"]


def select(given: dict[str, Any], want: dict[str, Any]) -> None:
    """The smallest set of domains that holds a request with least room to spare."""
    found = _given(given["domains"])
    every = np.arange(len(given["domains"]))
    if given["by_entropy"]:
        ordered = entropy_order(found.domains, 0, every)
    else:
        ordered = np.argsort(found.domains.tree.rank[0])
    chosen = smallest_set(found.domains, 0, ordered, given["slices"], given["leaders"], given["slice_size"])
    ids = found.named(0, chosen or [])
    assert (ids if want["ordered"] else sorted(ids)) == (want["ids"] if want["ordered"] else sorted(want["ids"]))


def spread_evenly(given: dict[str, Any], want: dict[str, Any]) -> None:
    """Check the slices and pods that balanced placement gives each chosen domain."""
    found = _given(given["domains"])
    query = _query(0, 0, given["slice_size"], given["slices"], given["leaders"])
    chosen = spread(found.domains, query, 0, np.arange(len(given["domains"])), given["threshold"])
    ids = found.named(0, [] if chosen is None else chosen.tolist())
    for name in ("slices", "pods"):
        assert {key: found.counts(name)[key] for key in ids} == want[name]
    assert want["order"] is None or ids == want["order"]


def prune_domains(given: dict[str, Any], want: dict[str, Any]) -> None:
    """Counts after domains with too few slices were emptied."""
    found = _given(given["domains"])
    query = _query(given["level"], given["slice_level"], given["slice_size"], 0, given["leaders"])
    prune(found.domains, query, given["level"], 0, len(given["domains"]), given["threshold"])
    counts = {key: {name: found.counts(name)[key] for name in names} for key, names in want["counts"].items()}
    assert counts == want["counts"]


def best(given: dict[str, Any], want: dict[str, Any]) -> None:
    """The best threshold, and how many of the siblings hold the request."""
    found = _given(given["domains"])
    n_slices = given["count"] // given["slice_size"]
    query = _query(given["requested_level"], given["slice_level"], given["slice_size"], n_slices, given["leaders"])
    balance = best_balance(found.domains, query)
    assert balance is not None
    assert (balance.threshold, balance.used) == (want["threshold"], want["domains"])
