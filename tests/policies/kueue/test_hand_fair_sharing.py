"""Fair sharing worked by hand: shares, whose turn it is, and who has to go.

A queue's share is what it borrows, in thousandths of what its cohort could lend, divided by its weight. The cohort has
8 GPUs: 2 of q, 2 of r, 4 that nobody of `lender` uses; so each that is borrowed is 125 thousandths.
"""

from __future__ import annotations

import pytest

from workbench.model.kueue import Flavor, PodSet
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
from workbench.policies.kueue.cycle.fair_shares import share_of
from workbench.policies.kueue.cycle.fair_victims import FINAL, INITIAL
from workbench.policies.kueue.cycle.pending import PendingQueues

BOTH = (FINAL, INITIAL)


def queue(name: str, quota: int, reclaim: str = "Never", **more) -> ClusterQueue:
    more.setdefault("cohort", "c")
    groups = ((FlavorQuotas("f", {"gpu": Quota(quota)}),),)
    return ClusterQueue(name, groups=groups, reclaim_in_cohort=reclaim, **more)


def cohort(**more) -> list[ClusterQueue]:
    """q, r and lender; `q`, `r`: fields of these."""
    return [queue("q", 2, **more.get("q", {})), queue("r", 2, **more.get("r", {})), queue("lender", 4)]


def wants(gpus: int, of: str, priority: int = 0) -> QueuedWorkload:
    return QueuedWorkload(f"new-{of}", of, (PodSet("main", 1, {"gpu": gpus}),), priority, 50.0)


def state(queues, running=(), fair=BOTH, cohorts=()) -> CycleCluster:
    """`running`: name, queue, GPUs, priority of each."""
    cluster = CycleCluster(queues, cohorts, [Flavor("f")], {}, [], (), None, fair)
    for name, of, gpus, priority in running:
        plan = WorkloadAdmission(of, (PodSetAdmission("main", {"gpu": "f"}, {"gpu": gpus}, 1),))
        pods = (PodSet("main", 1, {"gpu": gpus}),)
        holding = cluster.holding(QueuedWorkload(name, of, pods, priority, 0.0, name, 0.0, plan))
        assert holding is not None
        cluster.hold(holding)
    return cluster


def order(queues, running, *new: QueuedWorkload, **more) -> list[str]:
    turns = PendingQueues(state(queues, running, **more), new).run()
    return [turn.workload.cluster_queue for turn in turns]


def victims(queues, running, new: QueuedWorkload, **more) -> list[str]:
    (turn,) = PendingQueues(state(queues, running, **more), [new]).run()
    return list(turn.victims)


class TestShares:
    @pytest.mark.parametrize(
        ("uses", "weight", "share"),
        [(2, None, 0.0), (3, None, 125.0), (6, None, 500.0), (6, 2.0, 250.0), (6, 0.5, 1000.0)],
    )
    def test_what_is_borrowed_by_the_weight(self, uses: int, weight: float | None, share: float) -> None:
        cluster = state(cohort(q={"weight": weight}), [("a", "q", uses, 0)])
        assert share_of(cluster.queues["q"].quota).weighted == share

    def test_a_weight_of_0_is_more_than_any_share_once_it_borrows(self) -> None:
        cluster = state(cohort(q={"weight": 0.0}), [("a", "q", 3, 0), ("b", "r", 5, 0)])
        assert share_of(cluster.queues["q"].quota).order > share_of(cluster.queues["r"].quota).order

    def test_a_weight_of_0_within_the_quota_is_no_share(self) -> None:
        cluster = state(cohort(q={"weight": 0.0}), [("a", "q", 2, 0)])
        assert share_of(cluster.queues["q"].quota).order == (False, 0.0)

    def test_the_root_has_none(self) -> None:
        cluster = state(cohort(), [("a", "q", 8, 0)])
        parent = cluster.queues["q"].quota.parent
        assert parent is not None and share_of(parent).weighted == 0.0


class TestWhoseTurn:
    #: q borrows 1 GPU, r none; with one more each q would borrow 2 (250), r 1 (125).
    RUNNING = (("a", "q", 3, 0), ("b", "r", 2, 0))

    def test_the_smaller_share_goes_first_whatever_its_priority(self) -> None:
        new = (wants(1, "q", 9), wants(1, "r"))
        assert order(cohort(), self.RUNNING, *new) == ["r", "q"]
        assert order(cohort(), self.RUNNING, *new, fair=()) == ["q", "r"]

    def test_the_weight_counts(self) -> None:
        # 250 / 4 = 62.5.
        assert order(cohort(q={"weight": 4.0}), self.RUNNING, wants(1, "q"), wants(1, "r")) == ["q", "r"]

    def test_equal_shares_go_by_priority(self) -> None:
        running = (("a", "q", 2, 0), ("b", "r", 2, 0))
        assert order(cohort(), running, wants(1, "q"), wants(1, "r", 5)) == ["r", "q"]

    def test_who_need_not_borrow_goes_first(self) -> None:
        # q would stay within its quota with 1 more; r would borrow 1, though its weight makes that next to nothing.
        queues = cohort(r={"weight": 1000.0})
        assert order(queues, (("b", "r", 2, 0),), wants(1, "r", 9), wants(1, "q")) == ["q", "r"]

    def test_shares_are_those_after_the_turns_before(self) -> None:
        # s has 1 of 1 in use. r goes first (125 with 1 more); then q (250) before s (375), which wants 3.
        queues = [*cohort(), queue("s", 1)]
        running = (*self.RUNNING, ("c", "s", 1, 0))
        assert order(queues, running, wants(1, "q"), wants(1, "r"), wants(3, "s")) == ["r", "q", "s"]

    def test_a_branch_is_judged_as_a_whole(self) -> None:
        # `left` (q, 2 of its own) borrows 3 with q's, `right` (r, s) 1 with s's: s goes first, and r before q.
        queues = [
            queue("q", 2, cohort="left"),
            queue("r", 2, cohort="right"),
            queue("s", 2, cohort="right"),
            queue("lender", 4, cohort="top"),
        ]
        cohorts = (Cohort("left", "top"), Cohort("right", "top"))
        running = (("a", "q", 4, 0), ("b", "r", 3, 0), ("c", "s", 1, 0))
        new = (wants(1, "q", 9), wants(1, "r"), wants(1, "s"))
        assert order(queues, running, *new, cohorts=cohorts) == ["s", "r", "q"]


class TestWhoHasToGo:
    """4 GPUs: q 1, r 1, lender 2; each that is borrowed is 250 thousandths. r uses them all, one each."""

    QUEUES = (queue("q", 1, "Any"), queue("r", 1), queue("lender", 2))
    RUNNING = (("a", "r", 1, 3), ("b", "r", 1, 2), ("c", "r", 1, 1), ("d", "r", 1, 4))

    def gone(self, gpus: int, fair=BOTH) -> list[str]:
        return victims(self.QUEUES, self.RUNNING, wants(gpus, "q"), fair=fair)

    @pytest.mark.parametrize("fair", [BOTH, (FINAL,), (INITIAL,)])
    def test_within_its_quota_a_queue_takes_back_what_is_its_own(self, fair: tuple[str, ...]) -> None:
        # The lowest priority goes.
        assert self.gone(1, fair) == ["c"]

    @pytest.mark.parametrize("fair", [BOTH, (FINAL,), (INITIAL,)])
    def test_shares_may_become_equal(self, fair: tuple[str, ...]) -> None:
        # q would have 250. r has 750; after c 500, after b 250.
        assert self.gone(2, fair) == ["b", "c"]

    @pytest.mark.parametrize("fair", [BOTH, (FINAL,), (INITIAL,)])
    def test_but_not_the_other_way_round(self, fair: tuple[str, ...]) -> None:
        # q would have 500. r has 750 and, after c, 500; a second victim would leave it 250.
        assert self.gone(3, fair) == []

    def test_without_fair_sharing_a_queue_does_not_borrow_by_preempting(self) -> None:
        assert self.gone(2, ()) == []

    def test_the_first_strategy_prefers_small_victims_and_the_second_takes_a_large_one(self) -> None:
        # r has one of 4 (750). q wants 2 (250). Without it r has 0: less than 250, so that the first strategy says no.
        # The second asks what r had before: 250 < 750.
        running = (("big", "r", 4, 0),)
        assert victims(self.QUEUES, running, wants(2, "q"), fair=(FINAL,)) == []
        assert victims(self.QUEUES, running, wants(2, "q"), fair=BOTH) == ["big"]
        assert victims(self.QUEUES, running, wants(2, "q"), fair=(INITIAL,)) == ["big"]

    def test_the_queue_with_the_largest_share_gives_first(self) -> None:
        # 6 GPUs: q 0, r 1, s 1, lender 4. r uses 4 (borrows 3), s 2 (borrows 1), and low priority is on s.
        queues = (queue("q", 0, "Any"), queue("r", 1), queue("s", 1), queue("lender", 4))
        running = (("a", "r", 2, 9), ("b", "r", 2, 9), ("c", "s", 2, 0))
        assert victims(queues, running, wants(1, "q")) == ["a"]

    def test_the_policy_of_the_queue_counts_first(self) -> None:
        queues = (queue("q", 1, "LowerPriority"), queue("r", 1), queue("lender", 2))
        assert victims(queues, self.RUNNING, wants(1, "q", 1)) == []
        assert victims(queues, self.RUNNING, wants(1, "q", 2)) == ["c"]

    def test_in_the_own_queue_priority_decides(self) -> None:
        queues = (queue("q", 2, within_queue="LowerPriority"), queue("r", 2))
        running = (("a", "q", 2, 1), ("b", "r", 2, 0))
        assert victims(queues, running, wants(1, "q", 2)) == ["a"]
