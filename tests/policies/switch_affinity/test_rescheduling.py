"""Rescheduling beyond the conformance cases, told in their words: switches of eight nodes, pods by rank."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.runners.switch_affinity import reschedule

Row = tuple[str, int, str]
Pod = tuple[str, bool]


def case(
    rows: list[Row], kind: str, pods: list[Pod], max_shared: int = 2, restart: str | None = None
) -> dict[str, Any]:
    """Switches as (name, free nodes, state), pods as (node, faulty)."""
    switches = []
    for name, free, state in rows:
        base, _, health = state.partition("/")
        switches.append(
            {"name": name, "total": 8, "free": free, "state": base, "healthy": health != "unhealthy", "jobs": []}
        )
    running = [
        {"rank": i, "node": node, "switch": node.partition("-")[0], "node_faulty": faulty}
        for i, (node, faulty) in enumerate(pods)
    ]
    job: dict[str, Any] = {"name": "J", "kind": kind, "pods": running}
    if restart:
        job["restart"] = restart
    return {
        "version": "2.0",
        "nodes_per_switch": 8,
        "max_shared_switches": max_shared,
        "switches": switches,
        "running_job": job,
    }


def pods(switch: str, first: int, last: int, *faulty: int) -> list[Pod]:
    return [(f"{switch}-n{i}", i in faulty) for i in range(first, last + 1)]


KEPT = {"outcome": "rescheduled", "keeps_nodes": True, "keeps_ranks": True}

CASES = {
    "after a whole-job restart healthy pods go back and the other one moves as if it were alone": (
        case(
            [("S1", 0, "exclusive"), ("S2", 3, "shared/healthy"), ("S3", 8, "idle")],
            "foundation",
            [*pods("S1", 0, 7, 2), *pods("S2", 0, 3)],
            restart="whole-job",
        ),
        {**KEPT, "moved_pods_per_switch": {"S2": 1}, "states_after": "unchanged"},
    ),
    "a whole-job restart without room elsewhere stays pending as a whole": (
        case(
            [("S1", 0, "exclusive"), ("S2", 0, "exclusive")],
            "common",
            [*pods("S1", 0, 7, 2), *pods("S2", 0, 3)],
            restart="whole-job",
        ),
        {"outcome": "pending", "moved_pods_per_switch": {}, "states_after": "unchanged"},
    ),
    "a shared switch that only faulty pods used is still preferred to an unused one": (
        case(
            [("S1", 0, "exclusive"), ("S2", 2, "shared/healthy"), ("S3", 8, "idle")],
            "foundation",
            [*pods("S1", 0, 7), ("S2-n0", True)],
        ),
        {**KEPT, "moved_pods_per_switch": {"S2": 1}},
    ),
    "a common job over the limit moves inside its own switches": (
        case(
            [("S1", 0, "exclusive"), ("S2", 1, "shared/unhealthy"), ("S3", 2, "shared/unhealthy"), ("S4", 8, "idle")],
            "common",
            [*pods("S1", 0, 7, 0), *pods("S2", 0, 2), *pods("S3", 0, 2)],
            max_shared=1,
        ),
        {**KEPT, "moved_pods_per_switch": {"S2": 1}, "states_after": "unchanged"},
    ),
    "a foundation job takes no further node of its switch that has become unhealthy": (
        case(
            [("S1", 0, "exclusive"), ("S2", 5, "shared/unhealthy"), ("S3", 8, "idle")],
            "foundation",
            [*pods("S1", 0, 7, 0), *pods("S2", 0, 1)],
        ),
        {
            **KEPT,
            "moved_pods_per_switch": {"S3": 1},
            "forbidden_switches": ["S2"],
            "states_after": {"S3": "shared/healthy"},
        },
    ),
    "healthy shared switches come before unhealthy ones of the same job": (
        case(
            [("S1", 3, "shared/unhealthy"), ("S2", 3, "shared/healthy")],
            "common",
            [*pods("S1", 0, 4, 0), *pods("S2", 0, 4)],
        ),
        {**KEPT, "moved_pods_per_switch": {"S2": 1}},
    ),
    "a padding job that lost every node starts anew on one switch": (
        case([("S1", 1, "idle"), ("S2", 4, "idle")], "padding", pods("S1", 0, 1, 0, 1)),
        {"outcome": "rescheduled", "moved_pods_per_switch": {"S2": 2}, "one_switch": True, "keeps_ranks": True},
    ),
    "a job that lost every node prefers its old switch": (
        case([("S1", 2, "idle"), ("S2", 2, "exclusive")], "padding", pods("S1", 0, 1, 0, 1)),
        {"outcome": "rescheduled", "moved_pods_per_switch": {"S1": 2}, "keeps_ranks": True},
    ),
    "two shared switches are added at most, as many as the limit leaves": (
        case(
            [("S1", 0, "exclusive"), ("S2", 0, "exclusive"), ("S3", 1, "shared/healthy"), ("S4", 1, "shared/healthy")],
            "foundation",
            [*pods("S1", 0, 7, 0, 1), *pods("S2", 0, 7)],
        ),
        {**KEPT, "moved_pods_per_switch": {"S3": 1, "S4": 1}},
    ),
    "the same with one shared switch in use leaves one": (
        case(
            [
                ("S1", 0, "exclusive"),
                ("S2", 0, "shared/healthy"),
                ("S3", 1, "shared/healthy"),
                ("S4", 1, "shared/healthy"),
            ],
            "foundation",
            [*pods("S1", 0, 7, 0, 1), *pods("S2", 0, 3)],
        ),
        {"outcome": "pending", "states_after": "unchanged"},
    ),
    "a cross-switch job whose switch carries no mark makes it its own": (
        case([("S1", 2, "idle"), ("S2", 0, "exclusive")], "foundation", [*pods("S1", 0, 4), *pods("S2", 0, 7, 0)]),
        {**KEPT, "moved_pods_per_switch": {"S1": 1}, "states_after": {"S1": "shared/healthy"}},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_moves(name: str) -> None:
    given, want = CASES[name]
    reschedule(given, want)
