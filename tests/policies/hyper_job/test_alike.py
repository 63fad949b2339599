"""HyperNodes that differ in names and labels alone are asked about once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.fabrics import snapshot
from tests.policies.hyper_job.cases import hyper, hypernodes, job
from workbench.model.labels import NodeFilter, NodeLabels, Requirement
from workbench.model.placement import Placement
from workbench.policies import get_policy
from workbench.policies.composed import Composed
from workbench.policies.function import FunctionPolicy
from workbench.policies.gpu.lowest_index import GpuLowestIndex
from workbench.policies.hyper_job.place import place_hyper_job
from workbench.policies.parameters import NoParameters

LEAVES = [(f"s{i}", 1, [f"n{i}{j}" for j in range(3)], "") for i in range(4)]
NODES = [node for _, _, members, _ in LEAVES for node in members]


def cluster(**parts):
    made = snapshot(NODES, LEAVES)
    return replace(made, **parts)


def counted(monkeypatch, policy):
    """The number of nodes that the node policy is asked about, call by call; only the trials ask it to assign."""
    asked = []
    assign = type(policy.node).assign

    def told(self, request):
        asked.append(request.snapshot.n_nodes)
        return assign(self, request)

    monkeypatch.setattr(type(policy.node), "assign", told)
    return asked


@pytest.mark.parametrize(
    "name", ["volcano-1.13", "volcano-1.15", "switch-affinity", "koordinator-gpu", "gang", "random"]
)
def test_equal_hypernodes_are_asked_about_once(monkeypatch, name):
    policy = get_policy(name)
    asked = counted(monkeypatch, policy)
    found = policy.place(hyper([job(i) for i in range(4)]), cluster().ledger())
    assert isinstance(found, Placement)
    assert asked == [3]
    assert sorted(hypernodes(found)) == ["s0", "s1", "s2", "s3"]
    inside = {name: set(NODES[3 * i : 3 * i + 3]) for i, (name, *_) in enumerate(LEAVES)}
    for number, leaf in enumerate(hypernodes(found)):
        names = {found.topology.node_names[node] for node in found.node[2 * number : 2 * number + 2].tolist()}
        assert names <= inside[leaf]


def test_a_hypernode_with_a_node_that_is_cordoned_is_asked_about_by_itself(monkeypatch):
    policy, unschedulable = get_policy("volcano-1.13"), np.zeros(12, dtype=np.bool_)
    unschedulable[4] = True
    asked = counted(monkeypatch, policy)
    found = policy.place(hyper([job(i) for i in range(4)]), cluster(unschedulable=unschedulable).ledger())
    assert len(asked) == 2
    assert 4 not in found.node


def test_pods_that_select_by_label_are_tried_everywhere(monkeypatch):
    labels = NodeLabels.from_rows(NODES, [{"disk": "fast" if i % 3 else "slow"} for i in range(12)])
    jobs = [job(i) for i in range(4)]
    fast = NodeFilter(required=(Requirement("disk", "In", ("fast",)),))
    jobs = [replace(each, roles=tuple(replace(role, filter=fast) for role in each.roles)) for each in jobs]
    policy = get_policy("gang")
    asked = counted(monkeypatch, policy)
    found = policy.place(hyper(jobs), cluster(labels=labels).ledger())
    assert len(asked) == 4
    assert set((found.node % 3).tolist()) == {1, 2}


def test_a_function_of_a_user_is_asked_about_every_hypernode_because_it_may_read_names():
    seen = []

    def by_name(gang, ledger):
        seen.append(ledger.topology.domain_names)
        return sorted(range(3), key=lambda node: ledger.topology.node_names[node])[1:]

    policy = Composed("by-name", FunctionPolicy("by-name", by_name), GpuLowestIndex(NoParameters()), place_hyper_job)
    found = policy.place(hyper([job(i) for i in range(4)]), cluster().ledger())
    assert seen == [("s0",), ("s1",), ("s2",), ("s3",)]
    assert set((found.node % 3).tolist()) == {1, 2}
