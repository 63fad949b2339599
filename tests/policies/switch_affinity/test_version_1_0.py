"""Version 1.0 and single-layer beyond the conformance cases; switches of four positions."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.runners.switch_affinity import place, reschedule

#: Name -> free positions, crossed by another job, only common jobs.
Row = tuple[str, list[int], bool, bool]


def case(rows: list[Row], kind: str, pods: int) -> dict[str, Any]:
    switches = [
        {"name": name, "available_positions": free, "has_other_cross_job": crossed, "only_common_jobs": common}
        for name, free, crossed, common in rows
    ]
    return {
        "version": "1.0",
        "nodes_per_switch": 4,
        "switches": switches,
        "job": {"name": "J", "kind": kind, "pods": pods},
    }


FULL = [0, 1, 2, 3]
#: Logical switches: S1-n0 S2-n1 S2-n2 S1-n3, and S3-n0 S3-n1 S4-n2.
SCATTERED = {"S1": [0, 3], "S2": [1, 2], "S3": [0, 1], "S4": [2]}

CASES = {
    "a crossed switch is closed to a cross-switch job": (
        case([("S1", FULL, True, False), ("S2", FULL, False, False), ("S3", FULL, False, False)], "foundation", 8),
        {"outcome": "scheduled", "placement": {"S2": 4, "S3": 4}},
    ),
    "a crossed switch is open to a job that fits into it": (
        case([("S1", FULL, True, False), ("S2", [0], False, False)], "foundation", 4),
        {"outcome": "scheduled", "placement": {"S1": 4}},
    ),
    "common jobs share switches of common jobs": (
        case([("S1", FULL, True, True), ("S2", FULL, False, False)], "common", 8),
        {"outcome": "scheduled", "placement": {"S1": 4, "S2": 4}},
    ),
    "foundation jobs do not": (
        case([("S1", FULL, True, True), ("S2", FULL, False, False)], "foundation", 8),
        {"outcome": "pending"},
    ),
    "full switches first, then some of the next": (
        case([("S1", [0, 1], False, False), ("S2", FULL, False, False), ("S3", FULL, False, False)], "foundation", 6),
        {"outcome": "scheduled", "placement": {"S2": 4, "S3": 2}, "rank_ranges": {"S2": [0, 3], "S3": [4, 5]}},
    ),
    "a small job without a switch for itself gets one logical switch": (
        case([("S1", [0, 1], False, False), ("S2", [2], False, False)], "common", 3),
        {"outcome": "scheduled", "placement": {"S1": 2, "S2": 1}, "position_histogram": {"0": 1, "1": 1, "2": 1}},
    ),
    "the smallest logical switch that holds it": (
        case([(name, free, False, False) for name, free in SCATTERED.items()], "common", 3),
        {"outcome": "scheduled", "position_histogram": {"0": 1, "1": 1, "2": 1}, "placement": {"S3": 2, "S4": 1}},
    ),
    "nothing is said about states": (
        case([("S1", FULL, False, False)], "padding", 2),
        {"outcome": "scheduled", "states_after": "unchanged"},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_places(name: str) -> None:
    given, want = CASES[name]
    place(given, want)


def lost(kind: str, free: dict[str, list[int]], crossed: tuple[str, ...] = ()) -> dict[str, Any]:
    """A job on all positions of S1 and S2; the pod of rank 1 (position 1 of S1) lost its node."""
    pods = [
        {"rank": 4 * s + p, "node": f"S{s + 1}-n{p}", "switch": f"S{s + 1}", "node_faulty": (s, p) == (0, 1)}
        for s in range(2)
        for p in range(4)
    ]
    given = case([(name, positions, name in crossed, False) for name, positions in free.items()], kind, 8)
    del given["job"]
    return {**given, "running_job": {"name": "J", "kind": kind, "pods": pods}}


def test_a_lost_pod_moves_to_the_position_that_the_others_use_least() -> None:
    given = lost("foundation", {"S1": [], "S2": [], "S3": FULL})
    want = {"outcome": "rescheduled", "keeps_nodes": True, "position_histogram": {"0": 2, "1": 2, "2": 2, "3": 2}}
    reschedule(given, want)


def test_not_under_a_switch_that_another_job_crosses() -> None:
    given = lost("foundation", {"S1": [], "S2": [], "S3": FULL}, crossed=("S3",))
    reschedule(given, {"outcome": "pending", "reason_contains": "node sliceId is not meet task require"})


def test_padding_jobs_are_not_moved_pod_by_pod() -> None:
    given = lost("padding", {"S1": [], "S2": [], "S3": FULL})
    given["running_job"]["pods"] = given["running_job"]["pods"][:3]
    reschedule(given, {"outcome": "pending", "reason_contains": "large model job can not over tor"})


def single(rows: list[tuple[str, int]], pods: int) -> dict[str, Any]:
    switches = [{"name": name, "total": 8, "free": free} for name, free in rows]
    return {
        "version": "single_layer",
        "nodes_per_switch": 8,
        "switches": switches,
        "job": {"name": "J", "kind": "foundation", "pods": pods},
    }


def test_single_layer_takes_the_smallest_switch_that_holds_the_job() -> None:
    rows = [("S1", 8), ("S2", 5), ("S3", 5), ("S4", 3)]
    place(single(rows, 4), {"outcome": "scheduled", "placement": {"S2": 4}, "states_after": "unchanged"})
    place(single(rows, 8), {"outcome": "scheduled", "placement": {"S1": 8}})
    place(single(rows, 9), {"outcome": "pending", "reason_contains": "bigger than torCount"})
