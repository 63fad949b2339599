"""Searches that stop once a share of the nodes takes the pod: where they begin and stop, and what is told of them."""

from __future__ import annotations

import pytest

from tests.fabrics import snapshot
from tests.notices import codes
from tests.policies.kube.test_order_of_arrival import GROUP, TWINS, decided, node, pod
from workbench.model.extras import extras_of
from workbench.model.gang import Gang, Role
from workbench.model.kube_group import KubeGroup
from workbench.model.labels import NODE_NAME_FIELD, NodeFilter, Requirement
from workbench.policies.registry import get_policy

# 50 % less 250 / 125: a search needs 48 % of 250 nodes, which are 120.
NAMES = [f"n{i:03}" for i in range(250)]
PODS = [pod(f"p{i}", group="") for i in range(3)]


def nodes(*closed):
    """Equal nodes, of which some take no pod."""
    return [node(name) | {"unschedulable": i in closed} for i, name in enumerate(NAMES)]


def on(name, node_name):
    """A pod that names its node."""
    field = {"key": "metadata.name", "operator": "In", "values": [node_name]}
    terms = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": [field]}]}}
    return pod(name, group="", affinity={"nodeAffinity": terms})


@pytest.mark.parametrize("twin", TWINS)
def test_a_search_goes_on_where_that_of_the_job_before_stopped(tmp_path, twin):
    # All nodes are equal, so that the first one that is looked at is taken; n240 is followed by n000.
    assert decided(tmp_path, twin, nodes(), PODS) == {"p0": "n000", "p1": "n120", "p2": "n240"}


@pytest.mark.parametrize("twin", TWINS)
def test_a_search_stops_at_the_first_node_that_it_does_not_need(tmp_path, twin):
    # n000 to n119 are enough. Behind them ten nodes fail before one comes that would be one too many.
    assert decided(tmp_path, twin, nodes(*range(120, 130)), PODS[:2]) == {"p0": "n000", "p1": "n130"}


@pytest.mark.parametrize("twin", TWINS)
def test_a_pod_that_fits_nowhere_has_looked_at_all_nodes(tmp_path, twin):
    pods = [PODS[0], pod("large", "100", group=""), PODS[1]]
    assert decided(tmp_path, twin, nodes(), pods) == {"p0": "n000", "p1": "n120"}


@pytest.mark.parametrize("twin", TWINS)
def test_for_a_pod_that_names_its_node_only_that_one_is_looked_at(tmp_path, twin):
    found = decided(tmp_path, twin, nodes(), [on("p9", "n200"), *PODS[:2]])
    assert found == {"p9": "n200", "p0": "n001", "p1": "n121"}


@pytest.mark.parametrize("twin", TWINS)
def test_pods_of_a_group_follow_each_other_as_single_ones_do(tmp_path, twin):
    pods = [pod("g-0"), pod("g-1"), PODS[0]]
    assert decided(tmp_path, twin, nodes(), pods, {**GROUP, "gang": 2}) == {"g-0": "n000", "g-1": "n120", "p0": "n240"}


def test_a_placement_of_few_nodes_moves_the_place_by_their_number(tmp_path):
    # The search of p0 ends before n120. 120 mod 10 is 0: n000 is the first of its rack that is looked at.
    racked = [{**one, "labels": {**one["labels"], "rack": f"r{i // 10}"}} for i, one in enumerate(nodes())]
    group = {**GROUP, "topology_key": "rack"}
    running = [pod("run", "7", group="g", node="n003")]
    found = decided(tmp_path, TWINS[1], racked, [PODS[0], pod("g-0"), PODS[1]], group, running=running)
    # n000 holds p0. Of the others n001 is the first; the place is 120 mod 10 + 10, mod 10, so 0 for p1, too, whose heap
    # has n007 on top once n000, n001 and n003 are worse. From n120 on it would be n120.
    assert found == {"p0": "n000", "g-0": "n001", "p1": "n007"}


def test_where_a_pod_names_its_node_the_others_are_told_as_not_looked_at():
    named = NodeFilter(any_of=((Requirement(NODE_NAME_FIELD, "In", ("n001",)),),))
    role = Role("w", 1, {"cpu": 1000}, filter=named)
    cluster = snapshot(NAMES[:5], gpus=0, used={"n001": (64_000, 0, 0, 0)})
    result = get_policy("kube-default").place(Gang("d", "j", (role,), 1), cluster.ledger())
    text = "0/5 nodes are available: 1 Insufficient cpu, 4 node(s) didn't satisfy plugin(s) [NodeAffinity]."
    assert result.reasons[0].message == text


@pytest.mark.parametrize("twin", TWINS)
def test_that_a_search_is_limited_is_told(twin):
    wanted = Gang("d", "j", (Role("w", 2, {"cpu": 1000}),), 2)

    def told(names, **parameters):
        result = get_policy(twin, **parameters).place(wanted, snapshot(names, gpus=0).ledger())
        return "share-of-nodes" in codes(result.warnings)

    assert told(NAMES, percentage=0)
    assert told(NAMES, percentage=60)
    assert not told(NAMES)
    # 100 nodes are looked at in any case.
    assert not told(NAMES[:100], percentage=0)


def test_a_search_in_racks_looks_at_each_rack_as_a_whole():
    labels = {name: {"rack": f"r{i // 4}"} for i, name in enumerate(NAMES)}
    extras = extras_of(KubeGroup(given=True, topology_key="rack"))
    wanted = Gang("d", "j", (Role("w", 2, {"cpu": 1000}),), 2, kind="PodGroup", extras=extras)
    cluster = snapshot(NAMES, gpus=0, labels=labels)
    result = get_policy("kube-1.37-topology", percentage=0).place(wanted, cluster.ledger())
    assert result.n_placed == 2 and "share-of-nodes" not in codes(result.warnings)


@pytest.mark.parametrize("twin", TWINS)
def test_one_question_does_not_move_the_next_one(twin):
    wanted = Gang("d", "j", (Role("w", 2, {"cpu": 1000}),), 2)
    ledger = snapshot(NAMES, gpus=0).ledger()
    policy = get_policy(twin, percentage=0)
    first = policy.node.assign(policy.node.request(wanted, ledger, policy._gpu_questions(wanted, ledger), None))
    again = policy.node.assign(policy.node.request(wanted, ledger, policy._gpu_questions(wanted, ledger), None))
    assert first.node.tolist() == again.node.tolist()
