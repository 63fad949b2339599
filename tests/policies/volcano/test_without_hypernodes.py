"""A cluster without HyperNodes: its topology is not ready for 1.13, and ready for Volcano 1.15."""

from __future__ import annotations

import workbench as wb
from tests.policies.volcano.cluster_objects import config, hypernode, job, loaded, node, nodes_of

PLUGINS = config("priority", "gang", "predicates", "network-topology-aware")
HARD = {"mode": "hard", "highestTierAllowed": 1}
NODES = [node("a", cpu="4", memory="8Gi")]
JOBS = [*job("j1", 1, {"cpu": "1"}, topology=HARD, created=1), *job("j2", 1, {"cpu": "1"}, created=2)]


def test_a_hard_job_takes_its_queue_out_of_the_session_in_1_13():
    scenario = loaded(NODES, JOBS)
    assert nodes_of(scenario, "volcano-1.13", PLUGINS) == {"j1": [], "j2": []}
    # With a HyperNode, or asked the other way round, the plain job is placed.
    assert nodes_of(loaded(NODES, hypernode("h", 1, "a"), JOBS), "volcano-1.13", PLUGINS) == {"j1": ["a"], "j2": ["a"]}
    reverse = loaded(NODES, job("j1", 1, {"cpu": "1"}, topology=HARD, created=2), job("j2", 1, {"cpu": "1"}, created=1))
    assert nodes_of(reverse, "volcano-1.13", PLUGINS) == {"j1": [], "j2": ["a"]}


def test_the_refusal_says_that_there_are_no_hypernodes():
    scenario = loaded(NODES, JOBS)
    answer = wb.place(scenario.gang("j1"), scenario.snapshot, "volcano-1.13")
    assert [(r.code, r.message) for r in answer.reasons] == [
        ("topology-not-ready", "the network topology is not ready: there are no HyperNodes")
    ]


def test_soft_and_plain_jobs_need_no_hypernodes_in_1_13():
    scenario = loaded(NODES, job("j1", 1, {"cpu": "1"}, topology={"mode": "soft"}), job("j2", 1, {"cpu": "1"}))
    assert nodes_of(scenario, "volcano-1.13", PLUGINS) == {"j1": ["a"], "j2": ["a"]}


def test_1_15_has_the_virtual_top():
    assert nodes_of(loaded(NODES, JOBS), "volcano-1.15", PLUGINS) == {"j1": ["a"], "j2": ["a"]}
