r"""HyperJobs on the tree of the design documents, case by case.

tier 3              s6
                 /      \
tier 2        s4          s5
             /  \        /  \
tier 1     s0    s1    s2    s3
          0 1    2 3   4 5   6 7
"""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

from tests.fabrics import document_tree, snapshot
from tests.notices import codes, said
from tests.policies.hyper_job.cases import GPU, POLICIES, hard, hyper, hypernodes, job, renamed
from workbench.formats.snapshot_file import parse_snapshot
from workbench.formats.snapshot_record import snapshot_text
from workbench.model.gang import Gang, Role, TopologyConstraint
from workbench.model.ledger import Ledger
from workbench.model.placement import Placement, Refusal
from workbench.model.running_pod import RunningPod
from workbench.model.snapshot import ClusterSnapshot, Queue
from workbench.model.topology import VIRTUAL_TOP
from workbench.policies import get_policy
from workbench.policies.composed import Composed
from workbench.policies.function import FunctionPolicy
from workbench.policies.gpu.lowest_index import GpuLowestIndex
from workbench.policies.hyper_job.place import place_hyper_job
from workbench.policies.parameters import NoParameters

every_policy = pytest.mark.parametrize("policy", POLICIES)


def occupied(*nodes: str) -> ClusterSnapshot:
    """The tree with a pod of one GPU on some nodes."""
    used = dict.fromkeys(nodes, (0, 0, 1, 1))
    return document_tree(used=used, free_gpus=dict.fromkeys(used, 0xFE))


def placed(gang: Gang, cluster: ClusterSnapshot, policy: str = "gang") -> Placement:
    result = get_policy(policy).place(gang, cluster.ledger())
    assert isinstance(result, Placement), result
    return result


def refused(gang: Gang, cluster: ClusterSnapshot, policy: str = "gang") -> Refusal:
    result = get_policy(policy).place(gang, cluster.ledger())
    assert isinstance(result, Refusal), result
    return result


@every_policy
def test_each_job_alone_in_the_lowest_common_hypernode(policy: str) -> None:
    result = placed(hyper([job(0), job(1)]), document_tree(), policy)
    assert hypernodes(result) == ["s0", "s1"]
    assert (result.hypernode, result.tier) == ("s4", 2)
    assert result.records == {"ml/h": "s4", "ml/h/h-m-0": "s0", "ml/h/h-m-1": "s1"}
    names = [result.topology.node_names[node] for node in result.node]
    assert (sorted(names[:2]), sorted(names[2:])) == (["node0", "node1"], ["node2", "node3"])
    assert [each.name for each in result.pods()] == [f"h-m-{i}-w-{k}" for i in range(2) for k in range(2)]
    assert all(pod.gpus == tuple(range(8)) for pod in result.pods())


@every_policy
def test_an_occupied_hypernode_is_no_candidate(policy: str) -> None:
    assert hypernodes(placed(hyper([job(0), job(1)]), occupied("node0"), policy)) == ["s2", "s3"]
    result = placed(hyper([job(0, 1), job(1, 1)]), occupied("node0", "node7"), policy)
    # One free HyperNode on either side: both Jobs are placed, and s6 is the lowest around them.
    assert (hypernodes(result), result.hypernode) == (["s1", "s2"], "s6")


@every_policy
def test_jobs_go_to_one_tier(policy: str) -> None:
    # The larger Job needs a HyperNode of tier 2, so the smaller one gets one of its own there.
    result = placed(hyper([job(0, 2), job(1, 3)]), document_tree(), policy)
    assert (hypernodes(result), result.tier) == (["s4", "s5"], 3)
    # If one Job is enough, the lowest tier at which one fits decides, and the larger Job waits.
    result = placed(hyper([job(0, 3), job(1, 2)], 1), document_tree(), policy)
    assert hypernodes(result) == [None, "s0"]
    assert [one.position for one in result.unplaced] == [0, 1, 2]
    assert [(note.code, note.subject) for one in result.unplaced for note in one.reasons] == [
        ("job-left-out", "h-m-0")
    ] * 3


@every_policy
def test_as_many_jobs_as_fit_beyond_the_minimum(policy: str) -> None:
    gang = hyper([job(i) for i in range(6)], 2)
    assert hypernodes(placed(gang, document_tree(), policy)) == ["s0", "s1", "s2", "s3", None, None]
    limited = replace(gang, constraint=hard(2))
    assert hypernodes(placed(limited, document_tree(), policy)) == ["s0", "s1", None, None, None, None]
    # Most Jobs decide before the smaller tier: s4 holds one Job, s5 two.
    assert hypernodes(placed(limited, occupied("node0"), policy)) == ["s2", "s3", None, None, None, None]


def test_the_constraint_across_the_jobs() -> None:
    three = [job(i) for i in range(3)]
    assert placed(hyper(three), document_tree()).hypernode == "s6"
    assert placed(hyper(three, constraint=hard(3)), document_tree()).hypernode == "s6"
    assert placed(hyper(three, constraint=TopologyConstraint("soft", 1)), document_tree()).hypernode == "s6"
    named = TopologyConstraint("hard", highest_tier_name="zone")
    assert placed(hyper(three, constraint=named), document_tree()).hypernode == "s6"
    result = refused(hyper(three, constraint=hard(2)), document_tree())
    assert said(result.reasons) == (
        "tier 1: 2 of the 3 HyperNodes needed are free and hold 2 pods × 8 GPUs inside one HyperNode of tier 2 or "
        "below; 4 of 4 are free of accelerator pods; h-m-2 waits: s2 holds it and lies outside s4, where the "
        "other Jobs are",
        "tier 2: 1 of the 3 HyperNodes needed are free and hold 2 pods × 8 GPUs inside one HyperNode of tier 2 or "
        "below; 2 of 2 are free of accelerator pods",
    )
    (miss,) = result.nearest_misses
    assert (miss.tier, miss.domain, miss.holds, miss.needs) == (2, "s4", 4, 6)
    assert dict(result.reasons[0].numbers) == {"tier": 1, "count": 2, "needed": 3}


def test_two_trees_are_crossed_only_if_the_constraint_is_not_hard() -> None:
    nodes = ["n0", "n1"]
    cluster = snapshot(nodes, [("a", 1, ["n0"], ""), ("b", 1, ["n1"], "")])
    gang = hyper([job(0, 1), job(1, 1)])
    result = placed(gang, cluster)
    assert (hypernodes(result), result.hypernode) == (["a", "b"], VIRTUAL_TOP)
    assert refused(replace(gang, constraint=hard(1)), cluster).nearest_misses[0].holds == 1


@every_policy
def test_a_jobs_own_constraint_bounds_its_hypernode(policy: str) -> None:
    gang = hyper([job(0, 3, tier=2), job(1, 3, tier=2)])
    assert hypernodes(placed(gang, document_tree(), policy)) == ["s4", "s5"]
    result = refused(hyper([job(0, 3, tier=1), job(1, 2, tier=1)]), document_tree(), policy)
    assert [miss.tier for miss in result.nearest_misses] == [1]
    assert result.nearest_misses[0].holds == 2
    none = refused(hyper([job(0, 1, tier=0)]), document_tree(), policy)
    assert codes(none.reasons) == ("tier-too-small",)


@every_policy
def test_nobody_else_gets_an_accelerator_there(policy: str) -> None:
    chosen = get_policy(policy)
    ledger = document_tree().ledger()
    # The Job leaves a node and a half idle.
    result = chosen.place(hyper([job(0, 1, 4)]), ledger)
    assert isinstance(result, Placement) and hypernodes(result) == ["s0"]
    mine = set(ledger.topology.nodes_of(ledger.topology.domain("s0")).tolist())
    other = Gang("ml", "other", (Role("w", 6, {GPU: 8}, container_gpus=(8,)),), 6)
    after = chosen.place(other, ledger)
    assert isinstance(after, Placement) and not mine & set(after.node.tolist())
    one = replace(other, name="more", roles=(replace(other.roles[0], count=1),), min_available=1)
    assert isinstance(chosen.place(one, ledger), Refusal)


@every_policy
def test_two_hyper_jobs_in_one_session(policy: str) -> None:
    first, second = hyper([job(0), job(1)]), hyper([job(0), job(1)])
    second = renamed(second, "k")
    third = renamed(first, "l")
    decisions = get_policy(policy).schedule([second, first, third], document_tree())
    assert [hypernodes(decision.result) for decision in decisions] == [["s2", "s3"], ["s0", "s1"], []]
    assert sorted(decision.turn for decision in decisions) == [0, 1, 2]
    last = decisions[2].result
    assert isinstance(last, Refusal)
    # Volcano's queue holds every GPU that it deserves by then.
    volcano = policy in ("allocate", "volcano-1.13", "volcano-1.15")
    assert codes(last.reasons)[0] == ("queue-overused" if volcano else "no-hypernode-per-job")


@every_policy
def test_a_plain_job_before_it_takes_hypernodes(policy: str) -> None:
    plain = Gang("ml", "a", (Role("w", 1, {GPU: 1}, container_gpus=(1,)),), 1, priority=9)
    decisions = get_policy(policy).schedule([hyper([job(i) for i in range(4)]), plain], document_tree())
    assert isinstance(decisions[0].result, Refusal) and isinstance(decisions[1].result, Placement)
    assert decisions[1].turn == 0


def running(name: str, cluster: ClusterSnapshot, nodes: list[str], gpus: int = 8) -> ClusterSnapshot:
    """The cluster with a Job of the HyperJob running on some nodes, in the HyperNode around them."""
    used, free = cluster.used.copy(), cluster.gpu_free.copy()
    pods = []
    for i, node in enumerate(nodes):
        at = cluster.topology.node(node)
        used[at] += np.array([0, 0, 1, gpus])
        free[at] &= ~np.uint64((1 << gpus) - 1)
        pods.append(
            RunningPod("ml", f"{name}-w-{i}", at, {GPU: gpus}, gang=f"ml/{name}", role="w", gpu_mask=(1 << gpus) - 1)
        )
    around = cluster.topology.smallest_around(np.array([cluster.topology.node(node) for node in nodes], dtype=np.int32))
    held = {**cluster.exclusive, f"ml/h/{name}": cluster.topology.domain_name(around)}
    return replace(cluster, used=used, gpu_free=free, running=(*cluster.running, *pods), exclusive=held)


@every_policy
def test_one_job_is_restarted_without_the_others(policy: str) -> None:
    cluster = running("h-m-1", running("h-m-0", document_tree(), ["node4", "node5"]), ["node0", "node1"], 4)
    gang = hyper([None, None, job(2)])
    result = placed(gang, cluster, policy)
    # s1 and s3 are free; the walk by names meets s1 first, and s6 is around either.
    assert (hypernodes(result), result.hypernode) == (["s1"], "s6")
    limited = hyper([None, job(1)], constraint=hard(2))
    assert hypernodes(placed(limited, running("h-m-0", document_tree(), ["node4", "node5"]), policy)) == ["s3"]
    # Running Jobs hold HyperNodes of tier 1, so no other tier comes into question.
    result = refused(hyper([None, job(1, 3)]), running("h-m-0", document_tree(), ["node4", "node5"]), policy)
    assert [note.numbers["tier"] for note in result.reasons] == [1] and not result.nearest_misses


@pytest.mark.parametrize("policy", ["gang", "volcano-1.13", "volcano-1.15", "binpack"])
def test_a_pod_of_a_running_job_comes_back_to_its_hypernode(policy: str) -> None:
    cluster = running("h-m-0", document_tree(), ["node4", "node5"], 4)
    again = replace(job(0, 1, 4, needs=3), ready=2)
    result = placed(hyper([again]), cluster, policy)
    assert hypernodes(result) == ["s2"]
    assert [result.topology.node_names[node] for node in result.node] == ["node4"]
    # Everybody else stays outside, before and after.
    ledger = cluster.ledger()
    mine = ledger.topology.nodes_of(ledger.topology.domain("s2"))
    assert (ledger.idle[mine, 3] == 0).all()
    get_policy(policy).place(hyper([again]), ledger)
    assert (ledger.idle[mine, 3] == 0).all() and not ledger.gpu_free[mine].any()
    # The Job fits nowhere: the ledger is as it was.
    ledger = cluster.ledger()
    assert isinstance(get_policy(policy).place(hyper([replace(job(0, 9, 4, needs=11), ready=2)]), ledger), Refusal)
    assert (ledger.idle[mine, 3] == 0).all() and not ledger.gpu_free[mine].any()


def test_a_started_placement_stays_exclusive() -> None:
    cluster = document_tree()
    result = placed(hyper([job(0, 1, 4)]), cluster)
    after = cluster.with_placement(result)
    assert after.exclusive == {"ml/h/h-m-0": "s0"}
    assert hypernodes(placed(renamed(hyper([job(0)]), "k"), after)) == ["s1"]
    plain = Gang("ml", "p", (Role("w", 7, {GPU: 8}, container_gpus=(8,)),), 7)
    assert isinstance(get_policy("gang").place(plain, after.ledger()), Refusal)
    assert parse_snapshot(snapshot_text(after), "file").exclusive == after.exclusive
    assert after.without("ml/h").exclusive == {}
    assert after.without("ml/hh").exclusive == after.exclusive


@every_policy
def test_a_stream_gives_everything_back(policy: str) -> None:
    cluster = document_tree()
    stream = get_policy(policy).stream(cluster)
    gang = hyper([job(i, 1, 4) for i in range(4)])
    first = stream.place(gang)
    assert isinstance(first, Placement)
    assert isinstance(stream.place(renamed(gang, "k")), Refusal)
    stream.give_back(first)
    assert np.array_equal(stream.ledger.used, cluster.used) and np.array_equal(stream.ledger.gpu_free, cluster.gpu_free)
    again = stream.place(gang)
    assert isinstance(again, Placement) and np.array_equal(again.node, first.node)


@pytest.mark.parametrize("policy", ["gang", "volcano-1.13", "volcano-1.15"])
def test_without_a_tree_it_waits(policy: str) -> None:
    for cluster in (snapshot(["n0"]), document_tree(ready=False)):
        assert codes(refused(hyper([job(0, 1)]), cluster, policy).reasons) == ("topology-not-ready",)


@every_policy
def test_explaining_names_every_hypernode_and_changes_nothing(policy: str) -> None:
    cluster, gang = occupied("node0"), hyper([job(0), job(1)])
    told = get_policy(policy).explain(gang, cluster)
    result = told.decision.result
    assert isinstance(result, Placement)
    assert np.array_equal(result.node, placed(gang, cluster, policy).node)
    assert {each.name: (each.kept, each.why) for each in told.domains} == {
        "s0": (False, "occupied: 1 node with accelerator pods"),
        "s1": (False, "free and not needed"),
        "s2": (True, "holds h-m-0"),
        "s3": (True, "holds h-m-1"),
    }
    assert told.notes == ("tier 1: 2 of 2 Jobs find a HyperNode, 2 are needed",)


@pytest.mark.parametrize("policy", ["volcano-1.13", "volcano-1.15"])
def test_its_queue_takes_it_as_a_whole(policy: str) -> None:
    gangs = [replace(hyper([job(0), job(1)]), queue="q")]
    for most, fits in ((32, True), (31, False)):
        cluster = replace(document_tree(), queues={"q": Queue("q", capability={GPU: most})})
        (decision,) = get_policy(policy).schedule(gangs, cluster)
        assert isinstance(decision.result, Placement) == fits
        if not fits:
            assert isinstance(decision.result, Refusal) and "queue-limit" in codes(decision.result.reasons)


def test_pods_without_accelerators_do_not_occupy_a_hypernode() -> None:
    cluster = document_tree(used={"node0": (1000, 0, 1, 0)})
    assert hypernodes(placed(hyper([job(0)]), cluster)) == ["s0"]


def test_a_function_of_a_user_places_the_jobs_too() -> None:
    def last_nodes(gang: Gang, ledger: Ledger) -> list[int]:
        # It sees one HyperNode alone.
        assert ledger.topology.n_nodes == 2 and len(ledger.topology.domain_names) == 1
        return list(range(ledger.topology.n_nodes))[-gang.n_pods :]

    policy = Composed("last", FunctionPolicy("last", last_nodes), GpuLowestIndex(NoParameters()), place_hyper_job)
    result = policy.place(hyper([job(0, 1), job(1, 1)]), document_tree().ledger())
    assert isinstance(result, Placement) and hypernodes(result) == ["s0", "s1"]
    assert [result.topology.node_names[node] for node in result.node] == ["node1", "node3"]


def test_placements_survive_the_way_to_another_process() -> None:
    result = placed(hyper([job(0), job(1), job(2, 9)], 2), document_tree())
    again = pickle.loads(pickle.dumps(result))
    assert hypernodes(again) == hypernodes(result) == ["s0", "s1", None]
    assert np.array_equal(again.node, result.node) and again.gang.jobs[2].gang.n_pods == 9
