from __future__ import annotations

import pytest

from tests.hand_made import document_tree, gang_of, placement_of, snapshot_of, tree
from workbench.model.notice import Notice
from workbench.model.placement import Decision, Placement, Refusal
from workbench.policies import get_policy
from workbench.report.occupancy import Held, occupancy, occupancy_of_running, placements_in

TOPOLOGY = document_tree()


def test_jobs_share_a_node_in_the_order_of_their_colours() -> None:
    a, b = gang_of("a", 2, 2), gang_of("b", 1, 4)
    who = occupancy(
        [placement_of(b, TOPOLOGY, [0], [0xF0]), placement_of(a, TOPOLOGY, [0, 1], [0b11, 0b11])],
        snapshot_of(TOPOLOGY, busy={0: 0b100}),
        jobs=["default/a", "default/b"],
    )
    assert who.jobs == ("default/a", "default/b")
    assert who.held[0] == [Held(0, 1, 2, (0, 1)), Held(1, 1, 4, (4, 5, 6, 7))]
    assert (who.n_gpus[0], who.n_busy[0], who.busy[0]) == (8, 1, (2,))


def test_jobs_that_were_not_named_follow_those_that_were() -> None:
    placement = placement_of(gang_of("z", 1), TOPOLOGY, [0])
    assert occupancy([placement], jobs=["default/a"]).jobs == ("default/a", "default/z")


def test_large_clusters_count_gpus_without_listing_them() -> None:
    topology = tree((10, 10))
    who = occupancy([placement_of(gang_of("a", 1), topology, [3], [0xFF])], snapshot_of(topology))
    assert who.held[3] == [Held(0, 1, 8, ())]
    assert who.gpus == {}


def test_running_gangs_are_jobs_and_their_gpus_are_not_counted_twice() -> None:
    placement = placement_of(gang_of("a", 1, 4), TOPOLOGY, [2], [0x0F])
    snapshot = snapshot_of(TOPOLOGY, busy={2: 0x30}).with_placement(placement)
    who = occupancy_of_running(snapshot)
    assert who.jobs == ("default/a",)
    assert who.held[2] == [Held(0, 1, 4, (0, 1, 2, 3))]
    assert (who.n_busy[2], who.busy[2]) == (2, (4, 5))


def test_placements_are_found_in_decisions_and_lists_and_refusals_left_out() -> None:
    gang = gang_of("a", 1)
    placement = placement_of(gang, TOPOLOGY, [0])
    refusal = Refusal(gang, "p", {}, (Notice("c", "m"),))
    given = [Decision(gang, placement), Decision(gang, refusal), placement]
    assert placements_in(given) == [placement, placement]
    assert placements_in(None) == []


@pytest.mark.parametrize("policy", ["volcano-1.15+gpu-bottleneck", "binpack+gpu-lowest-index"])
def test_a_placement_knows_which_gpus_the_nodes_have_and_which_were_in_use(policy) -> None:
    snapshot = snapshot_of(TOPOLOGY, busy={0: 0xFF, 2: 0x0F})
    placement = get_policy(policy).schedule([gang_of("a", 2, 4)], snapshot)[0].result
    assert isinstance(placement, Placement)
    alone, given = occupancy([placement]), occupancy([placement], snapshot)
    assert alone == given and alone.n_busy == {0: 8, 2: 4} and len(alone.gpus) == 8


def test_placements_of_one_session_share_what_they_know_and_others_do_not() -> None:
    snapshot = snapshot_of(TOPOLOGY, busy={0: 0xFF})
    policy = get_policy("binpack+gpu-lowest-index")
    first, second = (d.result for d in policy.schedule([gang_of("a", 1), gang_of("b", 1)], snapshot))
    assert occupancy([first, second]) == occupancy([first, second], snapshot)
    later = policy.schedule([gang_of("c", 1)], snapshot.with_placement(first))[0].result
    assert occupancy([first, later]).n_gpus == {}
    assert occupancy([]).n_gpus == {}
