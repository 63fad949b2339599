"""Who has to go for whom in Kueue's queues, worked by hand: policies, order, thresholds, and who is spared."""

from __future__ import annotations

import pytest

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
from workbench.policies.kueue.cycle.pending import PendingQueues
from workbench.policies.kueue.cycle.turns import Turn
from workbench.policies.kueue.values import KueueNode

HOST = "kubernetes.io/hostname"


def queue(name: str, quota: int, within: str = "Never", reclaim: str = "Never", **more) -> ClusterQueue:
    more.setdefault("cohort", "c")
    groups = ((FlavorQuotas("f", {"gpu": Quota(quota, more.pop("limit", None))}),),)
    return ClusterQueue(name, groups=groups, within_queue=within, reclaim_in_cohort=reclaim, **more)


def runs(name: str, of: str, gpus: int, priority: int = 0, **more) -> QueuedWorkload:
    """A running workload of one pod; `on`: its node; `since`: seconds at which it got its quota."""
    on = more.pop("on", None)
    plan = None if on is None else TopologyAssignment((HOST,), (((on,), 1),))
    admitted = PodSetAdmission("main", {"gpu": "f"}, {"gpu": gpus}, 1, plan)
    return QueuedWorkload(
        name,
        of,
        (PodSet("main", 1, {"gpu": gpus}),),
        priority,
        more.pop("at", 0.0),
        more.pop("uid", name),
        more.pop("since", 0.0),
        WorkloadAdmission(of, (admitted,)),
        **more,
    )


def wants(gpus: int, priority: int = 9, of: str = "q", at: float = 5.0, count: int = 1, **more) -> QueuedWorkload:
    return QueuedWorkload("new", of, (PodSet("main", count, {"gpu": gpus}, **more),), priority, at)


def turn(queues, new: QueuedWorkload, *running: QueuedWorkload, cohorts=(), of=()) -> Turn:
    flavor = Flavor("f", "t") if of else Flavor("f")
    cluster = CycleCluster(queues, cohorts, [flavor], {"t": (HOST,)}, of)
    for each in running:
        holding = cluster.holding(each)
        assert holding is not None
        cluster.hold(holding)
    (found,) = PendingQueues(cluster, [new]).run()
    return found


def victims(queues, new: QueuedWorkload, *running: QueuedWorkload, **more) -> list[str]:
    return list(turn(queues, new, *running, **more).victims)


class TestInTheOwnQueue:
    @pytest.mark.parametrize(
        ("policy", "priority", "want"),
        [
            ("Never", 9, []),
            ("LowerPriority", 1, ["h"]),
            ("LowerPriority", 0, []),
            ("LowerOrNewerEqualPriority", 1, ["h"]),
            ("LowerOrNewerEqualPriority", 0, ["h"]),
            ("LowerOrNewerEqualPriority", -1, []),
        ],
    )
    def test_the_policy(self, policy: str, priority: int, want: list[str]) -> None:
        # h came at 6, the new one at 5.
        assert victims([queue("q", 2, policy)], wants(1, priority), runs("h", "q", 2, at=6.0)) == want

    @pytest.mark.parametrize("at", [5.0, 4.0])
    def test_an_equal_that_is_not_newer_stays(self, at: float) -> None:
        found = victims([queue("q", 2, "LowerOrNewerEqualPriority")], wants(1, 0), runs("h", "q", 2, at=at))
        assert found == []

    def test_the_lowest_priority_goes_first(self) -> None:
        running = [runs("a", "q", 1, 5), runs("b", "q", 1, 1), runs("c", "q", 1, 3)]
        assert victims([queue("q", 3, "LowerPriority")], wants(1), *running) == ["b"]

    def test_of_equals_the_newest_reservation(self) -> None:
        running = [runs("a", "q", 1, since=10.0), runs("b", "q", 1, since=30.0), runs("c", "q", 1, since=20.0)]
        assert victims([queue("q", 3, "LowerPriority")], wants(2), *running) == ["b", "c"]

    def test_of_equals_again_the_smallest_uid(self) -> None:
        running = [runs("a", "q", 1, uid="3"), runs("b", "q", 1, uid="1"), runs("c", "q", 1, uid="2")]
        assert victims([queue("q", 3, "LowerPriority")], wants(1), *running) == ["b"]

    def test_who_is_on_its_way_out_goes_first(self) -> None:
        running = [runs("a", "q", 1, 1), runs("b", "q", 1, 7, evicted=True)]
        assert victims([queue("q", 2, "LowerPriority")], wants(1), *running) == ["b"]

    def test_who_is_not_needed_in_the_end_is_spared(self) -> None:
        # a (1), b (1) and c (3) go until 3 are free; with c gone, b and a may stay.
        running = [runs("a", "q", 1, 1), runs("b", "q", 1, 2), runs("c", "q", 3, 3)]
        assert victims([queue("q", 5, "LowerPriority")], wants(3), *running) == ["c"]

    def test_the_last_ones_are_spared_first(self) -> None:
        # 4 are wanted: a (2), b (1), c (2) go. From the last but one on: b may stay, a may not.
        running = [runs("a", "q", 2, 1), runs("b", "q", 1, 2), runs("c", "q", 2, 3)]
        assert victims([queue("q", 5, "LowerPriority")], wants(4), *running) == ["a", "c"]

    def test_too_few_are_none(self) -> None:
        running = [runs("a", "q", 2, 1), runs("b", "q", 3, 9)]
        found = turn([queue("q", 5, "LowerPriority")], wants(3), *running)
        assert (found.victims, found.message[-16:]) == ((), "f, 3 more needed")

    def test_the_message_counts_them(self) -> None:
        running = [runs("a", "q", 1), runs("b", "q", 1)]
        found = turn([queue("q", 2, "LowerPriority")], wants(2), *running)
        assert found.message.endswith("2 more needed. Pending the preemption of 2 workload(s)")


class TestInTheCohort:
    """q and r have 2 each; r borrows 1 of q."""

    def reclaimed(self, policy: str, new: QueuedWorkload, *running: QueuedWorkload, **more) -> list[str]:
        return victims([queue("q", 2, reclaim=policy, **more), queue("r", 2)], new, *running)

    @pytest.mark.parametrize(
        ("policy", "priority", "want"),
        [("Never", 9, []), ("LowerPriority", 6, ["b"]), ("LowerPriority", 5, []), ("Any", 0, ["b"])],
    )
    def test_the_policy(self, policy: str, priority: int, want: list[str]) -> None:
        running = [runs("a", "r", 2, 9), runs("b", "r", 1, 5)]
        assert self.reclaimed(policy, wants(2, priority), *running) == want

    def test_a_queue_within_its_quota_is_left_alone(self) -> None:
        assert self.reclaimed("Any", wants(2), runs("own", "q", 2), runs("a", "r", 2)) == []

    def test_a_queue_is_left_alone_once_it_is_within_its_quota(self) -> None:
        # r uses 4 of 2. After a (2) it no longer borrows: b stays, and 2 of 4 are free.
        running = [runs("a", "r", 2, 1), runs("b", "r", 2, 2)]
        assert self.reclaimed("Any", wants(2), *running) == ["a"]

    def test_others_go_before_the_own(self) -> None:
        queues = [queue("q", 2, "LowerPriority", "Any"), queue("r", 2)]
        running = [runs("own", "q", 1, 0), runs("a", "r", 1, 7), runs("b", "r", 2, 8)]
        assert victims(queues, wants(1), *running) == ["a"]

    def test_who_must_borrow_does_not_reclaim(self) -> None:
        # 3 are more than the 2 of q.
        assert self.reclaimed("Any", wants(3), runs("a", "r", 2), runs("b", "r", 1)) == []

    @pytest.mark.parametrize(
        ("threshold", "priority", "want"), [(None, 9, ["b"]), (5, 9, ["b"]), (4, 9, []), (None, 5, []), (5, 5, [])]
    )
    def test_unless_borrowing_while_preempting_allows_it(
        self, threshold: int | None, priority: int, want: list[str]
    ) -> None:
        # Of 4, r uses 3. 3 need 2 of them: b (5), if that is below the preemptor's and not above the threshold.
        more = {"borrows_while_preempting": True, "borrow_max_priority": threshold}
        running = [runs("a", "r", 1, 9), runs("b", "r", 2, 5)]
        assert self.reclaimed("Any", wants(3, priority), *running, **more) == want

    def test_a_borrowing_limit_holds_for_the_preemptor(self) -> None:
        more = {"borrows_while_preempting": True, "limit": 0}
        assert self.reclaimed("Any", wants(3), runs("a", "r", 1), runs("b", "r", 2), **more) == []


class TestATreeOfCohorts:
    """q and r in `left` with 1 each, s in `right` with 2; both below `top`."""

    QUEUES = (
        queue("q", 1, reclaim="LowerPriority", cohort="left"),
        queue("r", 1, cohort="left"),
        queue("s", 2, cohort="right"),
    )
    COHORTS = (Cohort("left", "top"), Cohort("right", "top"))

    def test_a_borrower_beyond_the_own_cohort(self) -> None:
        # s uses 4 of 2, all there is.
        running = [runs("a", "s", 1, 1), runs("b", "s", 3, 2)]
        assert victims(self.QUEUES, wants(1), *running, cohorts=self.COHORTS) == ["a"]

    def test_a_cohort_within_its_quota_is_left_alone(self) -> None:
        # s uses 2 of 2, r 2 of 1: only r borrows, from q.
        running = [runs("a", "s", 2, 1), runs("b", "r", 2, 2)]
        assert victims(self.QUEUES, wants(1), *running, cohorts=self.COHORTS) == ["b"]


class TestNodes:
    """Victims have to free quota and, for a topology, room on the nodes."""

    def on(self, **rooms: int) -> list[KueueNode]:
        return [KueueNode(name, {HOST: name}, {"gpu": room, "pods": 9}) for name, room in rooms.items()]

    def test_victims_of_one_node(self) -> None:
        # Two GPUs on one node: x has a (priority 1) and c (3), y has b (2). a and b free one each; c makes two on x.
        running = [runs("a", "q", 1, 1, on="x"), runs("b", "q", 1, 2, on="y"), runs("c", "q", 1, 3, on="x")]
        new = wants(2, topology=TopologyRequest(required=HOST))
        found = victims([queue("q", 9, "LowerPriority")], new, *running, of=self.on(x=2, y=1))
        assert found == ["a", "c"]

    def test_no_victims_where_not_even_empty_nodes_hold_it(self) -> None:
        new = wants(3, topology=TopologyRequest(required=HOST))
        found = turn([queue("q", 9, "LowerPriority")], new, runs("a", "q", 2, on="x"), of=self.on(x=2))
        assert (found.victims, "topology" in found.message) == ((), True)

    def test_quota_that_is_free_does_not_spare_who_is_on_the_node(self) -> None:
        new = wants(2, topology=TopologyRequest(required=HOST))
        found = turn([queue("q", 9, "LowerPriority")], new, runs("a", "q", 1, on="x"), of=self.on(x=2))
        assert found.victims == ("a",)
        assert found.message.startswith("couldn't assign flavors to pod set main: topology")
