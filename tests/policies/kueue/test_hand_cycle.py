"""Scheduling cycles worked by hand: which flavor, why not, in whose turn, and what an admission leaves to others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from workbench.model.kueue import Flavor, PodSet, SliceLayer, TopologyAssignment, TopologyRequest
from workbench.model.kueue_queues import (
    ClusterQueue,
    FlavorQuotas,
    PodSetAdmission,
    QueuedWorkload,
    Quota,
    WorkloadAdmission,
)
from workbench.model.labels import Requirement, Taint, Toleration
from workbench.policies.kueue.cycle.cluster import CycleCluster
from workbench.policies.kueue.cycle.pending import PendingQueues
from workbench.policies.kueue.cycle.turns import Fate, Turn
from workbench.policies.kueue.messages import cut
from workbench.policies.kueue.query import Gates
from workbench.policies.kueue.values import KueueNode

HOST = "kubernetes.io/hostname"
PLAIN = Flavor("f")


def nodes(**rooms: int) -> list[KueueNode]:
    """Nodes named by rack and letter: ``x1a`` is in rack x1."""
    return [
        KueueNode(name, {HOST: name, "rack": name[:2], "pool": name[0]}, {"gpu": room, "pods": 99})
        for name, room in rooms.items()
    ]


def queue(name: str = "q", quota: int = 9, flavors: str = "f", **more) -> ClusterQueue:
    """A queue with as many GPUs of each flavor (a letter each), in their order."""
    limit = more.pop("limit", None)
    return ClusterQueue(
        name, groups=(tuple(FlavorQuotas(each, {"gpu": Quota(quota, limit)}) for each in flavors),), **more
    )


def wish(name: str, count: int = 1, of: str = "q", priority: int = 0, at: float | None = 0.0, **more) -> QueuedWorkload:
    """A workload of pods with one GPU each."""
    return QueuedWorkload(name, of, (PodSet("main", count, {"gpu": more.pop("gpu", 1)}, **more),), priority, at)


class Cycles:
    """Queues that wait, cycle after cycle."""

    def __init__(self, queues, waiting, flavors=(PLAIN,), of=(), gates: Gates | None = None) -> None:
        self.cluster = CycleCluster(queues, (), flavors, {"t": ("rack", HOST)}, of, (), gates)
        self.queues = PendingQueues(self.cluster, waiting)

    def run(self) -> dict[str, Turn]:
        """The turns of the next cycle, in their order."""
        return {turn.workload.key: turn for turn in self.queues.run()}

    def one(self) -> str:
        """The message of the only workload, after the words that all of them begin with."""
        (turn,) = self.run().values()
        return turn.message.removeprefix("couldn't assign flavors to pod set main: ")


def hold(cluster: CycleCluster, workload: QueuedWorkload, count: int, usage: int) -> None:
    admitted = PodSetAdmission("main", {"gpu": "f"}, {"gpu": usage}, count)
    holding = cluster.holding(replace(workload, admission=WorkloadAdmission(workload.cluster_queue, (admitted,))))
    assert holding is not None
    cluster.hold(holding)


class TestHeads:
    def test_the_highest_priority_then_the_oldest_one_of_each_queue(self) -> None:
        waiting = [wish("low", at=1.0), wish("late", priority=5, at=3.0), wish("early", priority=5, at=2.0)]
        waiting.append(wish("other", of="r"))
        assert sorted(Cycles([queue(), queue("r")], waiting).run()) == ["early", "other"]

    def test_a_workload_without_a_time_is_the_oldest(self) -> None:
        assert list(Cycles([queue()], [wish("w", at=-9.0), wish("none", at=None)]).run()) == ["none"]

    def test_all_heads_see_the_same_snapshot(self) -> None:
        # Both fit by themselves; the quota of the cohort holds one.
        queues = [queue("q", 2, cohort="c"), queue("r", 0, cohort="c")]
        found = Cycles(queues, [wish("a", 2), wish("b", 2, of="r")]).run()
        assert found["a"].fate is Fate.ADMITTED
        assert (found["b"].fate, found["b"].message) == (
            Fate.REQUEUED,
            "Workload no longer fits after processing another workload",
        )


class TestUsage:
    @pytest.mark.parametrize(("count", "free"), [(6, 0), (4, 2), (3, 3)])
    def test_a_workload_with_fewer_pods_by_now_uses_a_part(self, count: int, free: int) -> None:
        # Admitted with 6 pods and 6 GPUs: 1 each.
        cycles = Cycles([queue(quota=6)], [])
        hold(cycles.cluster, wish("w", count), 6, 6)
        assert cycles.cluster.queues["q"].free(("f", "gpu")) == free

    def test_the_part_is_rounded_down_pod_by_pod(self) -> None:
        # 8 GPUs for 3 pods: 8 div 3 = 2 each, 4 for two.
        cycles = Cycles([queue(quota=8)], [])
        hold(cycles.cluster, wish("w", 2), 3, 8)
        assert cycles.cluster.queues["q"].free(("f", "gpu")) == 4


class TestUnsuitableFlavors:
    NODE = nodes(x1a=4)
    TREE = Flavor("f", "t", {"pool": "x"})

    def why(self, flavor: Flavor, topology: TopologyRequest | None = None, flavors=None, **more) -> str:
        return Cycles(
            [queue(flavors=flavors or "f")], [wish("w", topology=topology, **more)], (flavor,), self.NODE
        ).one()

    def test_a_flavor_without_a_topology(self) -> None:
        want = 'Flavor "f" does not support TopologyAwareScheduling'
        assert self.why(PLAIN, TopologyRequest(required="rack")) == want

    @pytest.mark.parametrize(
        "topology",
        [
            TopologyRequest(required="zone"),
            TopologyRequest(preferred="zone"),
            TopologyRequest(slices=(SliceLayer("zone", 1),)),
        ],
    )
    def test_a_level_that_the_topology_lacks(self, topology: TopologyRequest) -> None:
        assert self.why(self.TREE, topology) == 'Flavor "f" does not contain the requested level'

    def test_a_pod_set_without_a_wish_and_a_flavor_with_a_topology(self) -> None:
        # Only where the queue has other flavors, too: else the topology is implied.
        queues = [queue(flavors="fg", quota=0)]
        found = Cycles(queues, [wish("w")], (self.TREE, Flavor("g")), self.NODE).one()
        assert found.startswith(
            'Flavor "f" supports only TopologyAwareScheduling, insufficient quota for gpu in flavor g'
        )
        assert Cycles([queue()], [wish("w")], (self.TREE,), self.NODE).run()["w"].fate is Fate.ADMITTED

    def test_a_taint(self) -> None:
        taint = Taint("k", "v", "NoSchedule")
        assert self.why(Flavor("f", taints=(taint,))) == "untolerated taint {k v NoSchedule <nil>} in flavor f"

    @pytest.mark.parametrize(
        "flavor",
        [
            Flavor("f", taints=(Taint("k", "v", "PreferNoSchedule"),)),
            Flavor("f", taints=(Taint("k", "v", "NoSchedule"),), tolerations=(Toleration("k", "Exists"),)),
        ],
    )
    def test_a_taint_that_does_no_harm(self, flavor: Flavor) -> None:
        assert self.why(flavor) == ""

    def test_a_selector_against_the_flavors_labels(self) -> None:
        flavor = Flavor("f", None, {"pool": "x"})
        assert self.why(flavor, node_selector={"pool": "y"}) == "flavor f doesn't match node affinity"
        assert self.why(flavor, node_selector={"pool": "x", "zone": "z"}) == ""

    def test_an_affinity_against_them_unless_one_term_holds(self) -> None:
        flavor = Flavor("f", None, {"pool": "x"})
        wrong, right = (Requirement("pool", "In", ("y",)),), (Requirement("pool", "In", ("x",)),)
        other = (Requirement("zone", "In", ("z",)),)
        assert self.why(flavor, required_affinity=(wrong,)) == "flavor f doesn't match node affinity"
        assert self.why(flavor, required_affinity=(wrong, right)) == ""
        assert self.why(flavor, required_affinity=(other,)) == ""


class TestQuota:
    def test_more_than_there_will_ever_be(self) -> None:
        want = (
            "insufficient quota for gpu in flavor f, previously considered podsets requests (0) + current podset "
            "request (4) > maximum capacity (3)"
        )
        assert Cycles([queue(quota=3)], [wish("w", 4)]).one() == want

    def test_the_cohort_counts_as_capacity_up_to_the_limit(self) -> None:
        # 3 of its own, 5 of the other, of which 1 may be borrowed.
        queues = [queue("q", 3, cohort="c", limit=1), queue("r", 5, cohort="c")]
        assert Cycles(queues, [wish("w", 5)]).one().endswith("(5) > maximum capacity (4)")

    def test_more_than_there_is_now(self) -> None:
        cycles = Cycles([queue(quota=5)], [wish("w", 4)])
        hold(cycles.cluster, wish("h", 3), 3, 3)
        assert cycles.one() == "insufficient unused quota for gpu in flavor f, 2 more needed"

    def test_pod_sets_before_it_count(self) -> None:
        sets = (PodSet("main", 3, {"gpu": 1}), PodSet("second", 2, {"gpu": 1}))
        (turn,) = Cycles([queue(quota=4)], [QueuedWorkload("w", "q", sets)]).run().values()
        want = (
            "couldn't assign flavors to pod set second: insufficient quota for gpu in flavor f, previously considered "
            "podsets requests (3) + current podset request (2) > maximum capacity (4)"
        )
        assert turn.message == want

    def test_pod_sets_after_one_without_a_flavor_are_not_looked_at(self) -> None:
        sets = (PodSet("main", 9, {"gpu": 1}), PodSet("second", 8, {"gpu": 1}))
        (turn,) = Cycles([queue(quota=4)], [QueuedWorkload("w", "q", sets)]).run().values()
        assert "second" not in turn.message

    def test_a_resource_of_no_group_counts_unless_none_is_asked(self) -> None:
        for amount, fate in ((0, Fate.ADMITTED), (1, Fate.PARKED)):
            workload = QueuedWorkload("w", "q", (PodSet("main", 1, {"gpu": 1, "odd": amount}),))
            assert Cycles([queue()], [workload]).run()["w"].fate is fate


class TestFlavors:
    """Two flavors, f before g."""

    BOTH = (Flavor("f"), Flavor("g"))

    def chosen(self, cycles: Cycles) -> str:
        (turn,) = cycles.run().values()
        assert turn.admission is not None
        return turn.admission.pod_sets[0].flavors["gpu"]

    def test_the_first_that_fits(self) -> None:
        assert self.chosen(Cycles([queue(flavors="fg")], [wish("w")], self.BOTH)) == "f"

    def test_the_second_where_the_first_has_no_quota_left(self) -> None:
        cycles = Cycles([queue(flavors="fg", quota=3)], [wish("w", 2)], self.BOTH)
        hold(cycles.cluster, wish("h", 2), 2, 2)
        assert self.chosen(cycles) == "g"

    @pytest.mark.parametrize(("on", "want"), [(False, "f"), (True, "g")])
    def test_borrowing_or_the_next_flavor(self, on: bool, want: str) -> None:
        mine = ClusterQueue(
            "q",
            "c",
            ((FlavorQuotas("f", {"gpu": Quota(1)}), FlavorQuotas("g", {"gpu": Quota(2)})),),
            try_next_if_borrowing=on,
        )
        assert self.chosen(Cycles([mine, queue("r", 5, "fg", cohort="c")], [wish("w", 2)], self.BOTH)) == want

    @pytest.mark.parametrize(("on", "victims"), [(False, ("h",)), (True, ())])
    def test_preempting_or_the_next_flavor(self, on: bool, victims: tuple[str, ...]) -> None:
        mine = queue(flavors="fg", quota=2, within_queue="LowerPriority", try_next_if_preempting=on)
        cycles = Cycles([mine], [wish("w", 2, priority=1)], self.BOTH)
        hold(cycles.cluster, wish("h", 2), 2, 2)
        assert cycles.run()["w"].victims == victims

    @pytest.mark.parametrize(("rather", "victims"), [(False, ()), (True, ("h",))])
    def test_borrowing_before_preempting_or_the_other_way_round(self, rather: bool, victims: tuple[str, ...]) -> None:
        # f: 2 of its own, taken by h, which may be preempted. g: none of its own, 5 to borrow.
        mine = ClusterQueue(
            "q",
            "c",
            ((FlavorQuotas("f", {"gpu": Quota(2)}), FlavorQuotas("g", {"gpu": Quota(0)})),),
            "LowerPriority",
            try_next_if_borrowing=True,
            preempts_before_borrowing=rather,
        )
        lender = ClusterQueue("r", "c", ((FlavorQuotas("g", {"gpu": Quota(5)}),),))
        cycles = Cycles([mine, lender], [wish("w", 2, priority=1)], self.BOTH)
        hold(cycles.cluster, wish("h", 2), 2, 2)
        assert cycles.run()["w"].victims == victims

    def test_a_preemption_that_is_not_possible_is_never_better_than_borrowing(self) -> None:
        mine = ClusterQueue(
            "q",
            "c",
            ((FlavorQuotas("f", {"gpu": Quota(2)}), FlavorQuotas("g", {"gpu": Quota(0)})),),
            try_next_if_borrowing=True,
            preempts_before_borrowing=True,
        )
        lender = ClusterQueue("r", "c", ((FlavorQuotas("g", {"gpu": Quota(5)}),),))
        cycles = Cycles([mine, lender], [wish("w", 2, priority=1)], self.BOTH)
        hold(cycles.cluster, wish("h", 2), 2, 2)
        assert self.chosen(cycles) == "g"

    def test_quota_decides_and_room_on_nodes_only_in_the_next_cycle(self) -> None:
        flavors = (Flavor("f", "t", {"pool": "x"}), Flavor("g", "t", {"pool": "y"}))
        workload = wish("w", 2, topology=TopologyRequest(required=HOST))
        cycles = Cycles([queue(flavors="fg")], [workload], flavors, nodes(x1a=2, y1a=2))
        busy = replace(wish("h", 1), admission=None)
        plan = PodSetAdmission("main", {"gpu": "f"}, {"gpu": 1}, 1, TopologyAssignment((HOST,), ((("x1a",), 1),)))
        holding = cycles.cluster.holding(replace(busy, admission=WorkloadAdmission("q", (plan,))))
        assert holding is not None
        cycles.cluster.hold(holding)
        first = cycles.run()["w"]
        assert first.fate is Fate.REQUEUED
        assert first.message.endswith('topology "t" allows to fit only 1 out of 2 pod(s)')
        assert self.chosen(cycles) == "g"


class TestFewerPods:
    """A workload of 6 pods that needs at least 2."""

    @pytest.mark.parametrize(("quota", "want"), [(6, 6), (5, 5), (2, 2), (1, None)])
    def test_as_few_as_possible_are_taken_away(self, quota: int, want: int | None) -> None:
        (turn,) = Cycles([queue(quota=quota)], [wish("w", 6, min_count=2)]).run().values()
        assert (None if turn.admission is None else turn.admission.pod_sets[0].count) == want

    def test_victims_for_all_pods_come_before_fewer_pods(self) -> None:
        cycles = Cycles([queue(quota=6, within_queue="LowerPriority")], [wish("w", 6, priority=1, min_count=2)])
        hold(cycles.cluster, wish("h", 2), 2, 2)
        assert cycles.run()["w"].victims == ("h",)


class TestTurns:
    def order(self, *waiting: QueuedWorkload) -> list[str]:
        queues = [queue(name, 2, cohort="c") for name in "qrs"]
        return list(Cycles(queues, waiting).run())

    def test_who_need_not_borrow_comes_first(self) -> None:
        assert self.order(wish("a", 3, priority=9), wish("b", 2, of="r")) == ["b", "a"]

    def test_then_the_higher_priority_then_the_older(self) -> None:
        found = self.order(wish("a", at=1.0), wish("b", of="r", priority=1, at=9.0), wish("c", of="s", at=0.0))
        assert found == ["b", "c", "a"]

    @pytest.mark.parametrize(("reclaim", "fate"), [("Never", Fate.REQUEUED), ("Any", Fate.ADMITTED)])
    def test_a_workload_without_victims_keeps_its_quota_unless_it_can_take_it_back(
        self, reclaim: str, fate: Fate
    ) -> None:
        # q may use 4, of which 1 is in use. a wants 4 and finds no victim; b, which would fit with 3, comes after it.
        queues = [queue("q", 4, cohort="c", reclaim_in_cohort=reclaim), queue("s", 0, cohort="c")]
        cycles = Cycles(queues, [wish("a", 4, priority=9), wish("b", 3, of="s")])
        hold(cycles.cluster, wish("h", 1), 1, 1)
        found = cycles.run()
        assert (found["a"].fate, found["b"].fate) == (Fate.PARKED, fate)

    @pytest.mark.parametrize("again", [True, False])
    def test_nodes_that_another_took_in_the_same_cycle(self, again: bool) -> None:
        # Both heads choose x1a, the best fit for 2; the second finds y1a in the same cycle, or only in the next.
        asked = TopologyRequest(required=HOST)
        waiting = [wish("a", 2, topology=asked), wish("b", 2, of="r", at=1.0, topology=asked)]
        gates = Gates(TASRecomputeAssignmentWithinSchedulingCycle=again)
        found = Cycles([queue("q"), queue("r")], waiting, (Flavor("f", "t"),), nodes(x1a=2, y1a=3), gates).run()
        assert found["a"].fate is Fate.ADMITTED
        assert found["b"].fate is (Fate.ADMITTED if again else Fate.REQUEUED)


def test_a_message_is_cut_after_1024_characters() -> None:
    assert cut("x" * 1024) == "x" * 1024
    assert cut("x" * 1025) == "x" * 1020 + " ..."
