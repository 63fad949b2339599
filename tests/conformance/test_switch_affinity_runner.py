"""Tests of the switch-affinity runner on forms that the committed cases do not have."""

from __future__ import annotations

import pytest

from tests.conformance.runners.switch_affinity import RUNNERS

LEAVES = [{"name": name, "total": 4, "free": 4} for name in "AB"]
POSITIONS = [
    {"name": name, "available_positions": [0, 1, 2, 3], "has_other_cross_job": False, "only_common_jobs": True}
    for name in "ABC"
]


def submit(name, kind, pods, **expected):
    return {"submit": {"name": name, "kind": kind, "pods": pods}, "expected": expected}


@pytest.mark.parametrize(
    ("version", "switches", "steps"),
    [
        pytest.param(
            "single_layer",
            LEAVES,
            [
                submit("a", "common", 3, outcome="scheduled", placement={"A": 3}),
                submit("b", "foundation", 5, outcome="pending"),
                {"end": "a"},
                submit("c", "foundation", 4, placement={"A": 4}),
            ],
            id="one switch per job",
        ),
        pytest.param(
            "1.0",
            POSITIONS,
            [
                submit("a", "foundation", 6, outcome="scheduled", placement={"A": 4, "B": 2}),
                submit("b", "foundation", 6, outcome="pending"),
                {"end": "a"},
                {"retry": "b", "expected": {"outcome": "scheduled"}},
            ],
            id="one cross-switch job per switch",
        ),
    ],
)
def test_sequences_of_the_other_versions(version, switches, steps):
    given = {"op": "sequence", "version": version, "nodes_per_switch": 4, "switches": switches}
    RUNNERS.run("sequences", {"id": "a", "input": given, "steps": steps})


@pytest.mark.parametrize(("kind", "allowed"), [("foundation", False), ("common", True), ("padding", True)])
def test_who_enters_an_unhealthy_switch_with_all_its_pods(kind, allowed):
    given = {
        "op": "may-enter",
        "entering": [{"kind": kind, "by": "single-switch"}],
        "switches": [{"state": "shared/unhealthy", "jobs": ["common"]}, {"state": "exclusive", "jobs": ["common"]}],
    }
    RUNNERS.run("states", {"id": "a", "input": given, "expected": {"allowed": [[allowed, True]]}})


def test_switches_shared_with_other_peoples_jobs():
    other = {"name": "o", "kind": "common", "cross": True}
    switches = [
        {"name": name, "total": 8, "free": free, "state": "shared", "healthy": True, "jobs": [other]}
        for name, free in (("S", 4), ("T", 5))
    ]
    given = {
        "op": "place",
        "version": "2.0",
        "nodes_per_switch": 4,
        "max_shared_switches": 2,
        "switches": switches,
        "job": {"name": "j", "kind": "foundation", "pods": 4},
    }
    for count in (0, 1, 2):
        case = {"id": "a", "input": given, "expected": {"shares_switches_with": {"job": "o", "count": count}}}
        if count == 1:
            RUNNERS.run("foundation", case)
        else:
            with pytest.raises(AssertionError):
                RUNNERS.run("foundation", case)
