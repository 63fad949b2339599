"""Rows of `cases/kueue-tas` about assignments by themselves: the file `assignments`."""

from __future__ import annotations

from typing import Any

from tests.conformance.registry import Runners
from tests.conformance.runners import kueue_values as read
from workbench.policies.kueue.assignments import cut, merge, stale_value
from workbench.policies.kueue.flavor_snapshot import FlavorSnapshot
from workbench.policies.kueue.values import Flavor


def register(runners: Runners) -> None:
    """Register the operations of the file."""
    on_nodes = ("levels", "nodes")
    runners.op("assignments", "stale", given=(*on_nodes, "assignment"), want=("stale", "domain"))(stale)
    runners.op("assignments", "merge", given=(*on_nodes, "a", "b"), want=("assignment",))(merged)
    runners.op("assignments", "truncate", given=("assignment", "count"), want=("assignment",))(truncated)
    runners.op("assignments", "count-pods", given=("assignment",), want=("count",))(count_pods)


def _snapshot(given: dict[str, Any]) -> FlavorSnapshot:
    return FlavorSnapshot(given["levels"], Flavor("flavor", "default"), [read.node(each) for each in given["nodes"]])


def stale(given: dict[str, Any], want: dict[str, Any]) -> None:
    """Whether a domain has no node any more, and the first value of the first such domain."""
    found = stale_value(_snapshot(given).leaves, read.assignment(given["assignment"]))
    assert (found is not None, found or "") == (want["stale"], want["domain"] or "")


def merged(given: dict[str, Any], want: dict[str, Any]) -> None:
    """Two assignments in one."""
    both = (read.assignment(given["a"]), read.assignment(given["b"]))
    assert read.written(merge(_snapshot(given).leaves, *both)) == want["assignment"]


def truncated(given: dict[str, Any], want: dict[str, Any]) -> None:
    """The first pods of an assignment."""
    assert read.written(cut(read.assignment(given["assignment"]), given["count"])) == want["assignment"]


def count_pods(given: dict[str, Any], want: dict[str, Any]) -> None:
    """How many pods an assignment has."""
    found = read.assignment(given["assignment"])
    assert (0 if found is None else found.count) == want["count"]
