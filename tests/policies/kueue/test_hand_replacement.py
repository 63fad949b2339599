"""Pods of a failed node placed again, and workloads that grow and shrink, worked by hand."""

from __future__ import annotations

import pytest

from workbench.model.kueue_queues import (
    ClusterQueue,
    FlavorQuotas,
    PodSetAdmission,
    QueuedWorkload,
    Quota,
    WorkloadAdmission,
)
from workbench.policies.kueue.cycle.cluster import CycleCluster
from workbench.policies.kueue.cycle.pending import PendingQueues
from workbench.policies.kueue.cycle.turns import Fate, Turn
from workbench.policies.kueue.flavor_snapshot import FlavorSnapshot, usage_of
from workbench.policies.kueue.query import Gates
from workbench.policies.kueue.values import (
    Assignment,
    Flavor,
    KueueNode,
    Outcome,
    PodSet,
    Replacement,
    SliceLayer,
    TopologyRequest,
)

HOST = "kubernetes.io/hostname"
LEVELS = ("block", "rack", HOST)
#: Blocks of two racks of two nodes.
NODES = {"a": "x1", "b": "x1", "c": "x2", "d": "x2", "e": "y1", "f": "y1", "g": "y2", "h": "y2"}
ELASTIC = Gates(ElasticJobsViaWorkloadSlices=True, ElasticJobsViaWorkloadSlicesWithTAS=True)


def nodes(room: int, failed: str = "", **rooms: int) -> list[KueueNode]:
    return [
        KueueNode(
            name,
            {"block": rack[0], "rack": rack, HOST: name},
            {"cpu": rooms.get(name, room), "pods": 99},
            ready=name not in failed,
        )
        for name, rack in NODES.items()
    ]


def plan(**counts: int) -> Assignment:
    return Assignment((HOST,), tuple(((name,), count) for name, count in counts.items()))


def told(outcome: Outcome) -> dict[str, int] | str:
    return (
        outcome.reason
        if outcome.assignment is None
        else {values[-1]: count for values, count in outcome.assignment.domains}
    )


def replaced(
    request: TopologyRequest, held: Assignment, room: int = 4, gates: Gates | None = None, **more
) -> dict[str, int] | str:
    """The nodes of a pod set, one core for each pod, after its node a failed; `rooms`: free cores of each node."""
    snapshot = FlavorSnapshot(LEVELS, Flavor("f", "t"), nodes(room, "a", **more.get("rooms", {})), gates)
    pods = PodSet("main", held.count, {"cpu": 1}, request)
    for usage in usage_of(pods, held):
        snapshot.add(usage)
    owned = more.get("owned_by_pod", False)
    return told(snapshot.place([pods], replacement=Replacement(("a",), {"main": held}, owned))["main"])


def slices(*layers: tuple[str, int], **asked: str) -> TopologyRequest:
    return TopologyRequest(**asked, slices=tuple(SliceLayer(*layer) for layer in layers))


class TestTheBound:
    def test_a_required_level_binds_to_the_domain_of_the_pods_that_remain(self) -> None:
        assert replaced(TopologyRequest(required="rack"), plan(a=2, b=1)) == {"b": 3}

    def test_the_domain_without_room_refuses_though_others_have_some(self) -> None:
        # b has 2 - 1 cores left; c to h are outside.
        want = 'topology "t" allows to fit only 1 out of 2 pod(s). Total nodes: 7; excluded: topologyDomain: 6'
        assert replaced(TopologyRequest(required="rack"), plan(a=2, b=1), 2) == want

    def test_a_wider_required_level_binds_less(self) -> None:
        # Best fit for 2 among b (1 left), c (2) and d (2): c.
        assert replaced(TopologyRequest(required="block"), plan(a=2, b=1), 2) == {"b": 1, "c": 2}

    def test_a_preferred_level_binds_to_nothing(self) -> None:
        # Rack x1 has 1 left, x2 4, y1 4, y2 1: two pods go where least is enough and the path is first.
        found = replaced(TopologyRequest(preferred="rack"), plan(a=2, b=1), 2, rooms={"g": 1, "h": 0, "d": 0})
        assert found == {"b": 1, "c": 2}

    def test_where_nothing_remains_nothing_binds(self) -> None:
        # Racks: x1 1 (b), x2 3, y1 4, y2 2: best fit for 2 is y2.
        rooms = {"b": 1, "c": 3, "d": 0, "g": 2, "h": 0, "e": 4, "f": 0}
        assert replaced(TopologyRequest(required="rack"), plan(a=2), 0, rooms=rooms) == {"g": 2}

    def test_the_same_node_gets_more_and_the_order_is_that_of_paths(self) -> None:
        # Least free capacity first: c with 1 left holds both? no: 1; b with 2 left does.
        found = replaced(TopologyRequest(unconstrained=True), plan(a=2, b=2, c=3), rooms={"d": 9})
        assert found == {"b": 4, "c": 3}


class TestSlices:
    def test_an_incomplete_slice_is_completed_in_its_domain(self) -> None:
        # Slices of 2 per rack: x1 keeps 1 of 2, y1 its 2. One pod goes to x1, though c has less room.
        assert replaced(slices(("rack", 2), preferred="block"), plan(a=1, b=1, e=2), rooms={"c": 1}) == {"b": 2, "e": 2}

    def test_of_several_domains_that_it_would_complete_the_first(self) -> None:
        # x1 keeps 1, and so does x2: upstream takes either, here it is the one with the smallest path.
        assert replaced(slices(("rack", 2), preferred="block"), plan(a=1, b=1, c=1)) == {"b": 2, "c": 1}

    def test_where_slices_were_all_that_was_asked_no_level_is_left_for_a_part_of_one(self) -> None:
        # One pod is no whole slice, so that the request becomes one without slices, level or wish.
        assert replaced(slices(("rack", 2)), plan(a=1, b=1, e=2)) == "topology level not specified"

    def test_a_whole_slice_may_go_anywhere(self) -> None:
        # Slices alone: the block with fewest slices, y (1 + 1), and of it the first rack.
        found = replaced(slices(("rack", 2)), plan(a=2, c=2), rooms=dict.fromkeys("efgh", 1))
        assert found == {"c": 2, "e": 1, "f": 1}

    def test_a_whole_slice_stays_in_a_required_level(self) -> None:
        # Block y would be the better fit. Of x, b holds 2 slices in x1, and x2 3: the better fit is x1.
        found = replaced(slices(("rack", 2), required="block"), plan(a=2, c=2), rooms=dict.fromkeys("efgh", 1))
        assert found == {"b": 2, "c": 2}

    def test_of_two_layers_the_innermost_that_is_incomplete_binds(self) -> None:
        # 4 per rack, 2 per node: 2 are lost, which completes x1 (2 + 2) by a slice of the inner layer, on one node: b.
        request = slices(("rack", 4), (HOST, 2))
        assert replaced(request, plan(a=2, b=2, e=4)) == {"b": 4, "e": 4}

    def test_and_the_inner_layer_holds_for_what_is_placed_again(self) -> None:
        request = slices(("rack", 4), (HOST, 2))
        want = 'topology "t" doesn\'t allow to fit any of 1 slice(s). Total nodes: 7; excluded: topologyDomain: 6'
        assert replaced(request, plan(a=2, b=2, e=4), 3, rooms={"e": 4}) == want


class TestWithoutPlacing:
    @pytest.mark.parametrize(("gate", "want"), [(True, {"a": 2}), (False, {"b": 2})])
    def test_the_workload_of_one_pod_keeps_its_assignment(self, gate: bool, want: dict[str, int]) -> None:
        gates = Gates(SkipReassignmentForPodOwnedWorkloads=gate)
        rooms = dict.fromkeys("cdefgh", 1)
        assert replaced(TopologyRequest(required="rack"), plan(a=2), 2, gates, owned_by_pod=True, rooms=rooms) == want

    def test_a_domain_that_no_longer_exists(self) -> None:
        why = "Cannot replace the node, because the existing topologyAssignment is invalid, as it contains"
        assert replaced(TopologyRequest(required="rack"), plan(a=1, z=1)) == f"{why} the stale domain z"


class TestElastic:
    """Pods that were placed before stay; only those that are more are placed."""

    def resized(self, count: int, held: Assignment, gates: Gates = ELASTIC, room: int = 4) -> dict[str, int] | str:
        pods = PodSet("main", count, {"cpu": 1}, TopologyRequest(unconstrained=True), previous=held)
        return told(FlavorSnapshot(LEVELS, Flavor("f", "t"), nodes(room), gates).place([pods])["main"])

    def test_more(self) -> None:
        # h keeps 3, and has least room for the fourth.
        assert self.resized(4, plan(h=3)) == {"h": 4}

    def test_more_than_the_nodes_hold(self) -> None:
        want = 'topology "t" allows to fit only 7 out of 8 pod(s). Total nodes: 8; excluded: resource "cpu": 1'
        assert self.resized(9, plan(h=1), room=1) == want

    def test_fewer_are_the_first(self) -> None:
        assert self.resized(3, plan(b=2, h=2)) == {"b": 2, "h": 1}

    def test_as_many(self) -> None:
        assert self.resized(4, plan(b=2, h=2)) == {"b": 2, "h": 2}

    def test_with_a_domain_that_no_longer_exists_all_are_placed_afresh(self) -> None:
        assert self.resized(4, plan(h=2, z=1)) == {"a": 4}

    def test_without_the_gates_all_are_placed_afresh(self) -> None:
        assert self.resized(4, plan(h=3), Gates()) == {"a": 4}


class TestSecondPass:
    """A workload of a cycle whose node failed: it keeps its flavors; nobody is preempted for it."""

    def turn(self, room: int, gates: Gates | None = None) -> Turn:
        quotas = ((FlavorQuotas("f", {"cpu": Quota(99)}),),)
        queue = ClusterQueue("q", "", quotas, "LowerPriority")
        cluster = CycleCluster([queue], (), [Flavor("f", "t")], {"t": LEVELS}, nodes(room, "a"), (), gates)
        for key, priority, held, failed in (("hurt", 9, plan(a=2, b=1), ("a",)), ("low", 0, plan(b=1), ())):
            pods = PodSet("main", held.count, {"cpu": 1}, TopologyRequest(required="rack"))
            admitted = PodSetAdmission("main", {"cpu": "f"}, {"cpu": held.count}, held.count, held)
            workload = QueuedWorkload(
                key,
                "q",
                (pods,),
                priority,
                admission=WorkloadAdmission("q", (admitted,)),
                admitted=True,
                unhealthy_nodes=failed,
            )
            holding = cluster.holding(workload)
            assert holding is not None
            cluster.hold(holding)
        hurt = cluster.queues["q"].holdings["hurt"].workload
        (turn,) = PendingQueues(cluster, [hurt]).run()
        return turn

    def test_other_nodes_of_the_rack(self) -> None:
        turn = self.turn(4)
        assert turn.fate is Fate.ADMITTED and turn.admission is not None
        assert turn.admission.pod_sets[0].assignment == plan(b=3)

    def test_no_room_ends_the_workload_at_once(self) -> None:
        # b has 3 - 1 - 1 cores left for 2 pods; with `low` gone there were 2.
        turn = self.turn(3)
        text = "Workload was evicted as there was no replacement for unhealthy node(s): a"
        assert (turn.fate, turn.message, turn.victims) == (Fate.EVICTED, text, ())

    def test_or_is_tried_again_without_that_gate(self) -> None:
        assert self.turn(3, Gates(TASFailedNodeReplacementFailFast=False)).fate is Fate.RETRIED
