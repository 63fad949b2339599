from __future__ import annotations

from tests.policies.volcano.cluster_objects import hypernode, job, loaded, node, pod
from workbench.model.placement import Placement
from workbench.policies import get_policy

ONE = {"cpu": "1", "memory": "1Gi"}
HARD = {"mode": "hard", "highestTierAllowed": 1}


def tainted(name, cpu, taints):
    item = node(name, cpu=cpu, memory="64Gi")
    item["metadata"]["labels"] = {"name": name}
    item["spec"] = {"taints": [{"key": f"t{i}", "effect": "PreferNoSchedule"} for i in range(taints)]}
    return item


def test_a_stream_scores_taints_by_the_nodes_that_fit_now():
    # Two taints score 0 while a has room. Once a is full, one taint does, and the full b loses to the empty c.
    nodes = [tainted("a", "2", 2), tainted("b", "100", 1), tainted("c", "100", 0)]
    fills_a = job("second", 2, ONE, topology=HARD)
    for item in fills_a[1:]:
        item["spec"]["nodeSelector"] = {"name": "a"}
    scenario = loaded(
        nodes,
        hypernode("s0", 1, "a", "b", "c"),
        pod("x", {"cpu": "90", "memory": "1Gi"}, at="b"),
        job("first", 1, ONE, topology=HARD),
        fills_a,
        job("third", 1, ONE, topology=HARD),
    )
    policy = get_policy("volcano-1.15", binpack_weight=3, binpack_memory=0, least_weight=0, balanced_weight=0)
    ledger, stream = scenario.snapshot.ledger(), policy.stream(scenario.snapshot)
    for place in (lambda gang: policy.place(gang, ledger), stream.place):
        placed = [place(scenario.gang(name)) for name in ("first", "second", "third")]
        assert all(isinstance(each, Placement) for each in placed)
        assert [[pod.node for pod in each.pods()] for each in placed] == [["b"], ["a", "a"], ["c"]]
