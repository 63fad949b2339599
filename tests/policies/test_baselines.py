from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fabrics import snapshot
from tests.profiles import max_examples
from workbench.model.gang import Gang, Role
from workbench.policies import get_policy


def job(n, *, cpu=1000, min_available=None):
    return Gang("d", "j", (Role("w", n, {"cpu": cpu}),), n if min_available is None else min_available)


def nodes(policy, gang, cluster, **parameters):
    placement = get_policy(policy, **parameters).place(gang, cluster.ledger())
    return [cluster.topology.node_names[n] if n >= 0 else "" for n in placement.node]


FULLER = {"b": (2000, 0, 0, 0)}

CASES = {
    "gang fills node after node by name, not by number": ("gang", ["n2", "n10", "n1"], {}, 5, "n1 n1 n10 n10 n2"),
    "gang leaves out only what is beyond the minimum": ("gang", ["a"], {}, 3, "a a -"),
    "binpack prefers the fuller node": ("binpack", ["a", "b", "c"], FULLER, 3, "b b a"),
    "binpack takes the smallest name among equals": ("binpack", ["c", "b", "a"], {}, 3, "a a b"),
    "spread prefers the emptier node": ("spread", ["a", "b", "c"], FULLER, 4, "a c a c"),
}


@pytest.mark.parametrize(("policy", "names", "used", "count", "want"), CASES.values(), ids=CASES.keys())
def test_choice(policy, names, used, count, want):
    cpu = 4000 if used else 2000
    cluster = snapshot(names, cpu=cpu, used=used)
    gang = job(count, min_available=2)
    assert nodes(policy, gang, cluster) == [n.replace("-", "") for n in want.split()]


@pytest.mark.parametrize("policy", ["gang", "binpack", "spread"])
def test_roles_are_tried_by_pod_priority(policy):
    low = Role("low", 2, {"cpu": 1000})
    high = Role("high", 1, {"cpu": 1000}, priority=1)
    gang = Gang("d", "j", (low, high), 2)
    assert nodes(policy, gang, snapshot(["a"], cpu=2000)) == ["a", "", "a"]


@pytest.mark.parametrize("policy", ["gang", "binpack", "spread"])
def test_a_role_is_placed_whole_before_the_next(policy):
    gang = Gang("d", "j", tuple(Role(name, 2, {"cpu": 1000}) for name in ("first", "second")), 2)
    assert nodes(policy, gang, snapshot(["a"], cpu=2000)) == ["a", "a", "", ""]


# By spread memory and GPUs, of which nothing is used, count for 100 each.
@pytest.mark.parametrize(("policy", "want"), [("binpack", {"a": 25.0, "b": 75.0}), ("spread", {"a": 91.0, "b": 75.0})])
def test_nodes_are_explained_with_the_scores_that_they_were_chosen_by(policy, want):
    cluster = snapshot(["a", "b", "c"], cpu=4000, used={"b": (2000, 0, 0, 0), "c": (4000, 0, 0, 0)})
    told = get_policy(policy).explain(job(1), cluster)
    assert {node.name: node.score for node in told.nodes if node.kept} == want
    assert [node.name for node in told.nodes if not node.kept] == ["c"]
    assert told.decision.result.score == max(want.values())


def test_random_depends_on_seed_and_gang_only():
    names = [f"n{i}" for i in range(30)]
    cluster = snapshot(names, cpu=4000)
    first = nodes("random", job(10), cluster)
    assert first == nodes("random", job(10), snapshot(names[::-1], cpu=4000))
    assert first != nodes("random", job(10), cluster, seed=1)
    assert first != nodes("random", dataclasses.replace(job(10), name="other"), cluster)
    session = get_policy("random").schedule([dataclasses.replace(job(1), name="aaa"), job(10)], snapshot(names))
    alone = get_policy("random").schedule([job(10)], snapshot(names))
    assert np.array_equal(session[1].result.node, alone[0].result.node)


@max_examples(50)
@given(st.integers(0, 1000))
def test_random_never_overfills_and_uses_every_slot_when_needed(seed):
    cluster = snapshot(["a", "b"], cpu=4000, used={"a": (3000, 0, 0, 0)})
    chosen = nodes("random", job(5), cluster, seed=seed)
    assert sorted(chosen) == ["a", "b", "b", "b", "b"]


def test_refusals_say_how_far_it_went():
    refusal = get_policy("gang").place(job(3), snapshot(["a"], cpu=2000).ledger())
    assert [r.message for r in refusal.reasons] == [
        "2 of the 3 pods needed find a node",
        "3/3 tasks in gang unschedulable: 0/1 nodes are unavailable: 1 Insufficient cpu.",
    ]
