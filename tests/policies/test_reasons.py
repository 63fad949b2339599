from __future__ import annotations

import numpy as np

from tests.fabrics import snapshot
from workbench.model.gang import Gang, Role
from workbench.model.notice import Notice
from workbench.model.topology import Problem
from workbench.policies.demand import Demand
from workbench.policies.gpu.base import GpuQuestions
from workbench.policies.gpu.lowest_index import GpuLowestIndex
from workbench.policies.parameters import NoParameters
from workbench.policies.reasons import fit_reason, gang_text, told_once, topology_not_ready
from workbench.policies.request import Request


def request(cluster, n_pods=2):
    gang = Gang("d", "j", (Role("w", n_pods, {"cpu": 4000, "nvidia.com/gpu": 1}),), n_pods)
    ledger = cluster.ledger()
    gpus = GpuQuestions(GpuLowestIndex(NoParameters()), ledger)
    return Request(gang, ledger, Demand(gang, ledger, gpus), gpus, None)


CLUSTER = snapshot(["a", "b", "c"], cpu=4000, used={"a": (1, 0, 0, 0)}, free_gpus={"b": 0}, cordoned=["c"])


def test_the_fit_error_sorts_its_causes_as_texts_and_takes_the_commonest_code():
    asked = request(CLUSTER)
    reason = fit_reason(asked, 0, asked.demand.idle)
    want = "0/3 nodes are unavailable: 1 Insufficient cpu, 1 Insufficient nvidia.com/gpu, 1 node(s) were unschedulable."
    assert (reason.message, reason.numbers["count"]) == (want, 3)


def test_it_may_look_at_some_nodes_only():
    asked = request(CLUSTER)
    node = np.array([asked.snapshot.topology.node("a")], dtype=np.int32)
    assert fit_reason(asked, 0, asked.demand.idle, node).message == "0/1 nodes are unavailable: 1 Insufficient cpu."


def test_a_cluster_without_nodes_has_a_reason_too():
    asked = request(snapshot([]))
    assert fit_reason(asked, 0, asked.demand.idle).message == "0/0 nodes are unavailable: the cluster has no nodes."


def test_the_gang_text_counts_what_is_missing_of_all_tasks():
    asked = request(CLUSTER, 5)
    reason = gang_text(asked, 3, 0, asked.demand.idle)
    assert reason.message.startswith("3/5 tasks in gang unschedulable: 0/3 nodes are unavailable: ")
    assert (reason.code, reason.numbers["count"]) == ("gang-unschedulable", 3)


def test_the_sentence_about_the_gang_stands_for_the_one_about_the_nodes_that_it_quotes():
    asked = request(CLUSTER, 5)
    fit = fit_reason(asked, 0, asked.demand.idle)
    gang, other = gang_text(asked, 3, 0, asked.demand.idle), Notice("refused", "not today")
    assert fit.message in gang.message and fit.numbers["nodes"] == 3
    assert told_once((other, fit, gang, other)) == (other, gang)
    elsewhere = fit_reason(asked, 0, asked.demand.idle, np.array([0], dtype=np.int32))
    assert told_once((elsewhere, gang)) == (elsewhere, gang)


def test_a_topology_that_is_not_ready_names_its_first_problem():
    problems = (Problem("cycle", "s0", "s0 contains itself"), Problem("overlap", "s1", "x"))
    reason = topology_not_ready(snapshot(["a"], problems=problems, ready=False).topology)
    assert reason.message == "the network topology is not ready: s0 contains itself (2 problems in all)"
    assert (reason.code, reason.numbers["count"]) == ("topology-not-ready", 2)
