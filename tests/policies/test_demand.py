from __future__ import annotations

import numpy as np

from tests.fabrics import snapshot
from workbench.model.gang import Gang, Role
from workbench.model.labels import NodeFilter, Requirement, Taint, Toleration
from workbench.policies.demand import Demand, node_reasons
from workbench.policies.gpu.base import GpuQuestions
from workbench.policies.gpu.lowest_index import GpuLowestIndex
from workbench.policies.parameters import NoParameters


def demand(cluster, *roles):
    ledger = cluster.ledger()
    return Demand(Gang("d", "j", roles, 1), ledger, GpuQuestions(GpuLowestIndex(NoParameters()), ledger))


def test_each_node_is_counted_for_the_first_thing_that_excludes_it():
    cluster = snapshot(
        ["cordoned", "tainted", "unlabelled", "small", "full", "fits"],
        cpu=4000,
        cordoned=["cordoned"],
        taints={"tainted": (Taint("k", "v", "NoSchedule"),), "cordoned": (Taint("k", "v", "NoSchedule"),)},
        labels={n: {"zone": "a"} for n in ("cordoned", "tainted", "small", "full", "fits")},
        used={"small": (3500, 0, 0, 0), "full": (0, 0, 110, 0)},
    )
    role = Role("w", 1, {"cpu": 1000}, filter=NodeFilter((Requirement("zone", "Exists"),)))
    asked = demand(cluster, role)
    everywhere = np.arange(6, dtype=np.int32)
    reasons = node_reasons(asked, 0, asked.idle, everywhere)
    assert [(r.code, r.message, r.numbers["count"]) for r in reasons] == [
        ("unschedulable", "1 node(s) were unschedulable", 1),
        ("taint", "1 node(s) had untolerated taints", 1),
        ("node-affinity", "1 node(s) didn't match Pod's node affinity/selector", 1),
        ("insufficient", "1 Insufficient cpu", 1),
        ("insufficient", "1 Too many pods", 1),
    ]
    assert asked.feasible(0).sum() == 3
    assert asked.capacity(0, asked.idle, 10).sum() == 4


def test_a_resource_that_no_node_has_is_insufficient_everywhere():
    asked = demand(snapshot(["a", "b"]), Role("w", 1, {"example.com/fpga": 1}))
    assert not asked.feasible(0).any()
    (reason,) = node_reasons(asked, 0, asked.idle, np.arange(2, dtype=np.int32))
    assert reason.message == "2 Insufficient example.com/fpga"


def test_gpus_are_counted_by_number_too_where_pods_ask_for_them():
    cluster = snapshot(["a"], free_gpus={"a": 0b111})
    assert demand(cluster, Role("w", 1, {"nvidia.com/gpu": 1})).idle[0, 3] == 3
    plain = demand(cluster, Role("w", 1, {"cpu": 1}))
    assert plain.idle is plain.ledger.idle


def test_roles_come_by_priority_and_those_without_requests_apart():
    asked = demand(
        snapshot(["a"]), Role("x", 1, {"cpu": 1}), Role("nothing", 1, {}), Role("y", 1, {"cpu": 1}, priority=2)
    )
    assert asked.order == (2, 0)
    assert asked.best_effort == (1,)


def test_tolerated_taints_do_not_count():
    cluster = snapshot(["a"], taints={"a": (Taint("k", "v", "NoSchedule"),)})
    tolerant = NodeFilter(tolerations=(Toleration("k", "Exists"),))
    asked = demand(cluster, Role("w", 1, {"cpu": 1}, filter=tolerant))
    assert asked.feasible(0).all()
    assert node_reasons(asked, 0, asked.idle, np.arange(1, dtype=np.int32)) == ()


def test_a_search_is_given_a_mask_only_where_it_leaves_out_a_node():
    cluster = snapshot(["a", "b"], labels={"a": {"zone": "a"}})
    choosy = NodeFilter((Requirement("zone", "Exists"),))
    asked = demand(cluster, Role("any", 1, {"cpu": 1}), Role("choosy", 1, {"cpu": 1}, filter=choosy))
    assert asked.restriction(0) is None
    assert asked.restriction(1) is asked.feasible(1)
    assert asked.feasible(1).tolist() == [1, 0]
