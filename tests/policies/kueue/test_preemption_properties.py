"""Properties of every preemption: allowed victims, room without them, nobody in vain, usage as found, one answer."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given

from tests.choice import choices
from tests.profiles import max_examples
from workbench.model.kueue import Flavor, PodSet, TopologyAssignment, TopologyRequest
from workbench.model.kueue_queues import (
    ClusterQueue,
    Cohort,
    FlavorQuotas,
    PodSetAdmission,
    QueuedWorkload,
    Quota,
    WorkloadAdmission,
)
from workbench.policies.kueue.cycle.cluster import CycleCluster
from workbench.policies.kueue.cycle.fair_victims import FINAL, INITIAL
from workbench.policies.kueue.cycle.nominate import nominate
from workbench.policies.kueue.cycle.nomination import Mode
from workbench.policies.kueue.values import KueueNode

HOST = "kubernetes.io/hostname"
POLICIES = ("Never", "LowerPriority", "LowerOrNewerEqualPriority")


def random_queues(rng):
    found = []
    for i in range(3):
        cohort = rng.choice(["", "left", "right", "right"])
        limit = rng.choice([None, None, 0, 2]) if cohort else None
        quotas = {name: Quota(rng.randint(1, 4), limit) for name in ("cpu", "gpu")}
        reclaim = rng.choice([*POLICIES, "Any"]) if cohort else "Never"
        borrows = reclaim != "Never" and rng.random() < 0.5
        found.append(
            ClusterQueue(
                f"q{i}",
                cohort,
                ((FlavorQuotas("f", quotas),),),
                rng.choice(POLICIES),
                reclaim,
                borrows,
                rng.choice([None, 1]) if borrows else None,
                weight=rng.choice([None, None, 0.0, 2.0]),
            )
        )
    return found


def random_running(rng, topology):
    """Running workloads that the nodes hold, one pod each."""
    free, found = dict.fromkeys(("a", "b", "c"), 4), []
    for i in range(rng.randint(2, 9)):
        node, amount = rng.choice("abc"), rng.randint(1, 2)
        if free[node] < amount:
            continue
        free[node] -= amount
        plan = TopologyAssignment((HOST,), (((node,), 1),)) if topology else None
        requests = {"cpu": amount, "gpu": rng.randint(0, 1)}
        queue = f"q{rng.randint(0, 2)}"
        admitted = PodSetAdmission("main", dict.fromkeys(requests, "f"), requests, 1, plan)
        found.append(
            QueuedWorkload(
                f"w{i}",
                queue,
                (PodSet("main", 1, requests),),
                rng.randint(0, 3),
                float(rng.randint(0, 5)),
                f"u{i}",
                float(rng.randint(0, 3)),
                WorkloadAdmission(queue, (admitted,)),
                evicted=rng.random() < 0.1,
            )
        )
    return found


def state(queues, running, topology, fair):
    nodes = [KueueNode(name, {HOST: name}, {"cpu": 4, "gpu": 4, "pods": 9}) for name in "abc"]
    flavor = Flavor("f", "t" if topology else None)
    cohorts = [Cohort("left", "top"), Cohort("right", "top")]
    cluster = CycleCluster(queues, cohorts, [flavor], {"t": (HOST,)}, nodes, fair=fair)
    for each in running:
        holding = cluster.holding(each)
        assert holding is not None
        cluster.hold(holding)
    return cluster


def usage(cluster):
    return [
        ({key: used for key, used in node.usage.items() if used}, each.spec.name, node.name)
        for each in cluster.queues.values()
        for node in (each.quota, *each.quota.ancestors())
    ]


def may_go(spec, new, other):
    """Whether the policy of the preemptor's queue allows a victim."""
    policy = spec.within_queue if other.cluster_queue == new.cluster_queue else spec.reclaim_in_cohort
    newer = other.priority == new.priority and other.created > new.created
    return {
        "Never": False,
        "LowerPriority": other.priority < new.priority,
        "LowerOrNewerEqualPriority": other.priority < new.priority or newer,
        "Any": True,
    }[policy]


@max_examples(300)
@given(rng=choices())
def test_what_every_preemption_holds(rng):
    topology = rng.random() < 0.5
    fair = rng.choice([(), (), (FINAL, INITIAL), (FINAL,), (INITIAL,)])
    queues, running = random_queues(rng), random_running(rng, topology)
    request = TopologyRequest(required=HOST) if topology else None
    pods = PodSet("main", rng.randint(1, 3), {"cpu": rng.randint(1, 3), "gpu": rng.randint(0, 1)}, request)
    new = QueuedWorkload("new", f"q{rng.randint(0, 2)}", (pods,), rng.randint(1, 4), float(rng.randint(0, 5)))
    cluster = state(queues, running, topology, fair)
    before = usage(cluster)
    nomination, gone = nominate(cluster, cluster.queues[new.cluster_queue], new)
    assert usage(cluster) == before
    names = [each.workload.key for each in gone]
    again = state(queues, rng.sample(running, len(running)), topology, fair)
    assert [each.workload.key for each in nominate(again, again.queues[new.cluster_queue], new)[1]] == names
    if not gone:
        return
    assert nomination.mode is Mode.PREEMPT
    spec = cluster.queues[new.cluster_queue].spec
    assert all(may_go(spec, new, each.workload) for each in gone)
    short = nomination.needing_preemption
    assert all(each.keys & short for each in gone)

    def mode_without(left):
        kept = [each for each in running if each.key not in left]
        # Nobody may be preempted now: what counts is whether it fits at once.
        calm = [replace(each, within_queue="Never", reclaim_in_cohort="Never") for each in queues]
        rest = state(calm, kept, topology, fair)
        return nominate(rest, rest.queues[new.cluster_queue], new)[0].mode

    assert mode_without(set(names)) is Mode.FIT
    # With one of them left it is too tight again; in a cohort the preemptor may have been forbidden to borrow.
    if not spec.cohort:
        assert all(mode_without(set(names) - {name}) is not Mode.FIT for name in names)
