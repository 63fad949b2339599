"""Scheduling cycles of Kueue: what upstream's tables do not pin (deeper cohorts, strict queues), and invariants."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given

from tests.choice import choices
from workbench.errors import InputError
from workbench.model.kueue import Flavor, PodSet, TopologyRequest
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
from workbench.policies.kueue.cycle.hopeless import Hopeless
from workbench.policies.kueue.cycle.nomination import Nomination
from workbench.policies.kueue.cycle.pending import PendingQueues
from workbench.policies.kueue.cycle.turns import Fate, Turn
from workbench.policies.kueue.messages import quantity
from workbench.policies.kueue.quota import quota_nodes
from workbench.policies.kueue.values import KueueNode

HOST = "kubernetes.io/hostname"
CPU = ("f", "cpu")


class Queues(PendingQueues):
    """Queues of which the last turn of each workload is looked at."""

    def run_all(self, most: int) -> list[Turn]:
        last: dict[str, Turn] = {}
        for turns in self.cycles(most):
            last |= {turn.workload.key: turn for turn in turns}
        return list(last.values())


def group(
    amount: int,
    *flavors: str,
    borrowing: int | None = None,
    lending: int | None = None,
    gpus: int | None = None,
):
    quotas = {"cpu": Quota(amount, borrowing, lending)} | ({} if gpus is None else {"gpu": Quota(gpus)})
    return (tuple(FlavorQuotas(name, quotas) for name in flavors or ("f",)),)


def nodes(count: int, cpu: int = 4, **labels: str) -> list[KueueNode]:
    return [
        KueueNode(f"n{i}", {HOST: f"n{i}", "rack": f"r{i // 2}", **labels}, {"cpu": cpu, "gpu": 4, "pods": 100})
        for i in range(count)
    ]


def cluster(queues: list[ClusterQueue], *, flavors: tuple[Flavor, ...] = (Flavor("f"),), cohorts=(), of=()):
    return CycleCluster(queues, cohorts, flavors, {"t": ("rack", HOST)}, list(of))


def wanting(name: str, queue: str, cpu: int, priority: int = 0, created: float = 0.0, **more) -> QueuedWorkload:
    return QueuedWorkload(name, queue, (PodSet("main", 1, {"cpu": cpu}, **more),), priority, created)


def admitted(pending: Queues) -> list[str]:
    return [turn.workload.key for turn in pending.run_all(50) if turn.fate is Fate.ADMITTED]


class TestQuota:
    def test_a_parent_cohort_lends_to_its_children_and_limits_hold_on_the_way(self) -> None:
        queues = [ClusterQueue("a", "left", group(1)), ClusterQueue("b", "right", group(5, lending=3))]
        cohorts = [Cohort("left", "top"), Cohort("right", "top"), Cohort("top", groups=group(2))]
        found = quota_nodes(queues, cohorts)
        assert found["a"].largest(CPU) == 1 + 3 + 2
        found["a"].add(CPU, 4)
        assert (found["a"].free(CPU), found["b"].free(CPU)) == (2, 2 + 2)
        assert found["a"].borrowing_height(CPU, 1)[0] == 2
        found["a"].remove(CPU, 4)
        assert found["b"].free(CPU) == 5 + 1 + 2

    def test_a_borrowing_limit_is_above_the_nominal_quota(self) -> None:
        found = quota_nodes([ClusterQueue("a", "all", group(1, borrowing=1)), ClusterQueue("b", "all", group(9))])
        assert (found["a"].largest(CPU), found["a"].free(CPU)) == (2, 2)

    def test_a_cohort_inside_itself_is_refused(self) -> None:
        with pytest.raises(InputError, match="a cohort inside itself"):
            quota_nodes([ClusterQueue("a", "x", group(1))], [Cohort("x", "y"), Cohort("y", "x")])

    @given(choices())
    def test_giving_back_undoes_taking(self, rng: random.Random) -> None:
        queues = [
            ClusterQueue(f"q{i}", rng.choice(["", "x", "y"]), group(rng.randrange(9), lending=rng.choice([None, 0, 2])))
            for i in range(4)
        ]
        found = quota_nodes(queues, [Cohort("x", "top"), Cohort("y", "top", group(rng.randrange(5)))])
        for node in found.values():
            node.add(CPU, rng.randrange(6))
        before = {name: node.free(CPU) for name, node in found.items()}
        taken = []
        for _ in range(6):
            name = rng.choice(list(found))
            # A workload above a borrowing limit reserves a negative amount, down to that limit.
            taken.append((name, rng.randrange(-min(found[name].used(CPU), 3), 5)))
            found[name].add(CPU, taken[-1][1])
        for name, amount in reversed(taken):
            found[name].remove(CPU, amount)
        assert {name: node.free(CPU) for name, node in found.items()} == before


class TestOrder:
    def test_higher_priority_first_then_the_oldest(self) -> None:
        waiting = [wanting("new", "q", 1, created=2.0), wanting("old", "q", 1, created=1.0), wanting("high", "q", 1, 5)]
        turns = Queues(cluster([ClusterQueue("q", groups=group(9))]), waiting).run_all(50)
        assert [turn.workload.key for turn in turns] == ["high", "old", "new"]

    @pytest.mark.parametrize("strict", [True, False])
    def test_a_strict_queue_waits_behind_its_first_workload(self, strict: bool) -> None:
        queue = ClusterQueue("q", groups=group(3), strict=strict)
        first = replace(wanting("first", "q", 2, created=0.0))
        pending = Queues(
            cluster([queue]), [first, wanting("big", "q", 2, created=1.0), wanting("small", "q", 1, created=2.0)]
        )
        assert admitted(pending) == (["first"] if strict else ["first", "small"])

    def test_who_need_not_borrow_comes_before_who_must(self) -> None:
        queues = [ClusterQueue("a", "all", group(1)), ClusterQueue("b", "all", group(3))]
        waiting = [wanting("borrows", "a", 3, priority=9), wanting("own", "b", 3)]
        assert admitted(Queues(cluster(queues), waiting)) == ["own"]


class TestFlavors:
    def test_the_next_flavor_is_tried_if_the_topology_of_the_first_has_no_room(self) -> None:
        flavors = (Flavor("f", "t", {"pool": "small"}), Flavor("g", "t", {"pool": "large"}))
        of = [
            *nodes(1, 1, pool="small"),
            replace(nodes(1, 4, pool="large")[0], name="m", labels={HOST: "m", "rack": "r9", "pool": "large"}),
        ]
        queue = ClusterQueue("q", groups=group(9, "f", "g"))
        pending = Queues(
            cluster([queue], flavors=flavors, of=of),
            [wanting("w", "q", 3, topology=TopologyRequest(required="rack"))],
        )
        assert [turn.fate for turn in pending.run()] == [Fate.REQUEUED]
        (turn,) = pending.run()
        assert turn.admission is not None
        (pods,) = turn.admission.pod_sets
        assert pods.flavors == {"cpu": "g"} and pods.assignment is not None
        assert pods.assignment.domains == ((("m",), 1),)

    def test_borrowing_may_be_worse_than_the_next_flavor(self) -> None:
        for other, expected in ((False, "f"), (True, "g")):
            groups = ((FlavorQuotas("f", {"cpu": Quota(1)}), FlavorQuotas("g", {"cpu": Quota(9)})),)
            queues = [
                ClusterQueue("q", "all", groups, try_next_if_borrowing=other),
                ClusterQueue("r", "all", group(9)),
            ]
            pending = Queues(cluster(queues, flavors=(Flavor("f"), Flavor("g"))), [wanting("w", "q", 3)])
            (turn,) = pending.run()
            assert turn.admission is not None and turn.admission.pod_sets[0].flavors == {"cpu": expected}

    def test_a_resource_that_no_group_covers_is_named(self) -> None:
        pending = Queues(
            cluster([ClusterQueue("q", groups=group(9))]), [QueuedWorkload("w", "q", (PodSet("main", 1, {"gpu": 1}),))]
        )
        (turn,) = pending.run()
        assert turn.message == "couldn't assign flavors to pod set main: resource gpu unavailable in ClusterQueue"

    @pytest.mark.parametrize("flavors", [(), (Flavor("f", "missing", {"a": "b"}),)])
    def test_a_queue_with_an_unknown_flavor_or_topology_is_inactive(self, flavors: tuple[Flavor, ...]) -> None:
        pending = Queues(cluster([ClusterQueue("q", groups=group(9))], flavors=flavors), [wanting("w", "q", 1)])
        (turn,) = pending.run()
        assert (turn.fate, turn.message) == (Fate.PARKED, "ClusterQueue q is inactive")


@given(choices())
def test_quota_and_nodes_are_never_exceeded_and_the_answer_is_the_same_again(rng: random.Random) -> None:
    def session() -> tuple[CycleCluster, list[QueuedWorkload], list]:
        of = nodes(6, 3)
        queues = [ClusterQueue(f"q{i}", rng_choices[i], group(amounts[i])) for i in range(3)]
        made = cluster(queues, flavors=(Flavor("f", "t"),), of=of)
        return made, waiting, Queues(made, waiting).run_all(200)

    rng_choices = [rng.choice(["", "all"]) for _ in range(3)]
    amounts = [rng.randrange(8) for _ in range(3)]
    requests = [
        None,
        TopologyRequest(required="rack"),
        TopologyRequest(preferred="rack"),
        TopologyRequest(required=HOST),
    ]
    waiting = [
        QueuedWorkload(
            f"w{i}",
            f"q{rng.randrange(3)}",
            (
                PodSet(
                    "main",
                    rng.randrange(1, 5),
                    {"cpu": rng.randrange(1, 4)},
                    rng.choice(requests),
                    min_count=rng.choice([None, 1]),
                ),
            ),
            rng.randrange(3),
            float(rng.randrange(3)),
        )
        for i in range(rng.randrange(1, 9))
    ]
    made, _, turns = session()
    used: Counter[str] = Counter()
    for turn in turns:
        if turn.admission is None:
            assert turn.message
            continue
        (pods,) = turn.admission.pod_sets
        (asked,) = turn.workload.pod_sets
        assert pods.assignment is not None and pods.assignment.count == pods.count
        assert pods.count == asked.count or (asked.min_count or 99) <= pods.count
        for values, number in pods.assignment.domains:
            used[values[-1]] += number * asked.requests["cpu"]
        if asked.topology is not None and asked.topology.required == "rack":
            assert len({int(values[-1][1:]) // 2 for values, _ in pods.assignment.domains}) == 1
    assert all(amount <= 3 for amount in used.values())
    for queue in made.queues.values():
        quota = queue.quota
        assert quota.free(CPU) >= 0 and quota.used(CPU) <= quota.largest(CPU)
    assert [(turn.workload.key, turn.fate, turn.message, turn.admission) for turn in session()[2]] == [
        (turn.workload.key, turn.fate, turn.message, turn.admission) for turn in turns
    ]


@given(choices())
def test_remembering_hopeless_workloads_changes_no_answer(rng: random.Random) -> None:
    """The oracle nominates every workload anew in every cycle; workloads end, and others are tried again."""
    gpus = rng.choice([None, rng.randrange(9)])
    kinds = [
        (
            rng.randrange(1, 4),
            {"cpu": rng.randrange(1, 4)} | ({} if gpus is None else {"gpu": rng.randrange(3)}),
            rng.choice([None, "rack"]),
        )
        for _ in range(3)
    ]
    names = rng.choice((("f",), ("f", "g")))
    queues = [
        ClusterQueue(
            f"q{i}",
            rng.choice(["", "all", "all"]),
            group(rng.randrange(9), *names, gpus=gpus),
            rng.choice(("Never", "LowerPriority", "LowerOrNewerEqualPriority")),
            rng.choice(("Never", "LowerPriority", "Any")),
        )
        for i in range(2)
    ]
    waiting = [
        QueuedWorkload(
            f"w{i}",
            f"q{rng.randrange(2)}",
            (PodSet("main", count, requests, None if level is None else TopologyRequest(required=level)),),
            rng.randrange(2),
            float(i),
        )
        for i, (count, requests, level) in enumerate(rng.choice(kinds) for _ in range(rng.randrange(2, 14)))
    ]
    flavors = (Flavor("f", "t", {"pool": "a"}), Flavor("g", "t", {"pool": "b"}))
    of = [*nodes(4, 3, pool="a"), replace(nodes(1, 2, pool="b")[0], name="m")]
    ending = [rng.randrange(9) for _ in range(6)]

    def told() -> list[object]:
        made, found = cluster(queues, flavors=flavors, of=of), list[Turn]()
        pending = Queues(made, waiting)
        for number in (0, *ending):
            found += pending.run_all(200)
            running = sorted(key for queue in made.queues.values() for key in queue.holdings)
            if running:
                holding = made.holding_of(running[number % len(running)])
                assert holding is not None
                made.release(holding)
                pending.ended(holding)
        return [
            (turn.workload.key, turn.fate, turn.message, turn.admission, turn.victims, turn.tried) for turn in found
        ]

    remembered = told()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Hopeless, "kind_of", lambda self, queue, workload: None)
        patch.setattr(Nomination, "whole", False)
        assert told() == remembered


def test_of_two_resources_of_one_flavor_one_is_short_in_vain() -> None:
    made = cluster([ClusterQueue("q", groups=group(4, gpus=8))])
    few = [QueuedWorkload(f"few{i}", "q", (PodSet("main", 1, {"cpu": 2, "gpu": 1}),), 1, float(i)) for i in range(3)]
    last = Queues(made, few).run_all(50)[-1]
    assert (last.workload.key, last.fate) == ("few2", Fate.PARKED)
    assert last.message.endswith("pod set main: insufficient unused quota for cpu in flavor f, 2m more needed")


def test_a_workload_above_a_borrowing_limit_leaves_no_quota_behind() -> None:
    queues = [ClusterQueue("a", "all", group(2, borrowing=0)), ClusterQueue("b", "all", group(6))]
    made = cluster(queues)
    above = QueuedWorkload("above", "a", (PodSet("main", 1, {"cpu": 4}),))
    flavors = PodSetAdmission("main", {"cpu": "f"}, {"cpu": 4}, 1)
    holding = made.holding(replace(above, admission=WorkloadAdmission("a", (flavors,))))
    assert holding is not None
    made.hold(holding)
    # It is asked to wait for its preemption, and reserves what is left below the limit: -2.
    assert Queues(made, [wanting("w", "a", 1)]).run_all(50)[-1].fate is Fate.PARKED
    assert made.queues["b"].free(CPU) == 8 - 4


def test_a_workload_that_stays_short_of_quota_says_what_is_missing_now() -> None:
    made = cluster([ClusterQueue("q", groups=group(4))])
    few = [wanting(f"few{i}", "q", 1, priority=1, created=float(i)) for i in range(4)]
    pending = Queues(made, [*few, wanting("all", "q", 4)])
    for missing in (4, 3, 2):
        turn = pending.run_all(50)[-1]
        assert turn.message.endswith(
            f"insufficient unused quota for cpu in flavor f, {quantity('cpu', missing)} more needed"
        )
        holding = made.holding_of(f"few{missing - 1}")
        assert holding is not None
        made.release(holding)
        pending.ended(holding)
