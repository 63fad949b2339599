"""Balanced placement, worked by hand: the threshold, who is left out, which siblings win, and what gets the rest."""

from __future__ import annotations

import pytest

from workbench.policies.kueue.flavor_snapshot import FlavorSnapshot
from workbench.policies.kueue.query import Gates
from workbench.policies.kueue.values import Flavor, KueueNode, PodSet, SliceLayer, TopologyRequest

HOST = "kubernetes.io/hostname"


def placed(rooms: dict[str, int], count: int, *, levels: str = "br", **asked) -> dict[str, int] | str:
    """Pods on each node after one pod set of one-core pods; ``x1a``: node a of rack x1 of block x.

    `levels`: ``br`` for blocks and racks above the nodes, ``r`` for racks alone.
    """
    names = {"b": "block", "r": "rack"}
    keys = (*(names[each] for each in levels), HOST)
    nodes = [
        KueueNode(
            name,
            {"block": name[0], "rack": name[:2], HOST: name},
            {"cpu": cpu, "gpu": asked.get("gpus", {}).get(name, 0), "pods": 99},
        )
        for name, cpu in rooms.items()
    ]
    snapshot = FlavorSnapshot(keys, Flavor("f", "t"), nodes, Gates(TASBalancedPlacement=asked.get("gate", True)))
    layers = tuple(SliceLayer(*each) for each in asked.get("slices", ()))
    group = "g" if "leader" in asked else None
    level = {asked.get("how", "preferred"): asked.get("level", "rack")}
    sets = [PodSet("main", count, {"cpu": 1}, TopologyRequest(**level, slices=layers, group=group))]
    if "leader" in asked:
        sets.append(PodSet("leader", 1, asked["leader"], TopologyRequest(**level, group=group)))
    found = snapshot.place(sets)
    main = found["main"]
    if main.assignment is None:
        return main.reason
    pods = {values[-1]: number for values, number in main.assignment.domains}
    if "leader" in asked:
        led = found["leader"].assignment
        assert led is not None
        pods |= {f"leader {values[-1]}": number for values, number in led.domains}
    return pods


class TestTheThreshold:
    def test_as_few_racks_as_possible_share_evenly(self) -> None:
        # 8 need 2 racks of 6: 8 / 2 = 4 each; without the gate 6 + 2.
        rooms = {"x1a": 6, "x2a": 6, "x3a": 6}
        assert placed(rooms, 8) == {"x1a": 4, "x2a": 4}
        assert placed(rooms, 8, gate=False) == {"x1a": 6, "x2a": 2}

    def test_one_rack_that_holds_all_is_enough(self) -> None:
        assert placed({"x1a": 6, "x2a": 6}, 5) == {"x1a": 5}

    def test_the_rest_goes_to_the_rack_with_most_room(self) -> None:
        # 9 / 2 = 4, and 1 more for x2.
        assert placed({"x1a": 6, "x2a": 7}, 9) == {"x1a": 4, "x2a": 5}

    def test_the_last_rack_limits_it(self) -> None:
        # 8 / 2 = 4, but the second holds 3: 3 each, and 2 more for x1.
        assert placed({"x1a": 6, "x2a": 3}, 8) == {"x1a": 5, "x2a": 3}

    def test_it_is_counted_in_the_order_of_room_without_a_best_fit(self) -> None:
        # After x1 (7) one pod is left, for which x3 would do, but x2 is next: 8 / 2 = 4.
        assert placed({"x1a": 7, "x2a": 5, "x3a": 1}, 8) == {"x1a": 4, "x2a": 4}

    def test_it_is_counted_over_nodes(self) -> None:
        # The nodes of x2 (6) and x1 (3) hold 8: 8 / 2 = 4, but the second holds 3. Two nodes are enough: 3 and 5.
        assert placed({"x1a": 3, "x1b": 3, "x2a": 6}, 8) == {"x1a": 3, "x2a": 5}

    def test_only_a_preferred_level_is_balanced(self) -> None:
        rooms = {"x1a": 6, "x1b": 6, "x1c": 6}
        assert placed(rooms, 8, how="required") == {"x1a": 6, "x1b": 2}

    def test_a_preferred_node_is_balanced_over_nodes(self) -> None:
        assert placed({"x1a": 6, "x1b": 6, "x1c": 6}, 8, level=HOST) == {"x1a": 4, "x1b": 4}


class TestWhoIsLeftOut:
    def test_nodes_below_the_threshold_hold_nothing(self) -> None:
        # The nodes with 5 and 4 hold 8: 4 each, and 5 + 3 without the gate. The one with a single core holds nothing.
        rooms = {"x1a": 5, "x1b": 1, "x2a": 4}
        assert placed(rooms, 8) == {"x1a": 4, "x2a": 4}
        assert placed(rooms, 8, gate=False) == {"x1a": 5, "x2a": 3}

    def test_a_rack_with_such_nodes_is_not_chosen(self) -> None:
        # x1 holds 3 + 3, x2 and x3 6: without x1 the others share.
        assert placed({"x1a": 3, "x1b": 3, "x2a": 6, "x3a": 6}, 8) == {"x2a": 4, "x3a": 4}


class TestWhichSiblings:
    def test_the_larger_threshold(self) -> None:
        # Block x: racks of 4, 4 and 4: 9 / 3 = 3. Block y: 5 and 5: 9 / 2 = 4, but the second has 5: 4.
        assert placed({"x1a": 4, "x2a": 4, "x3a": 4, "y1a": 5, "y2a": 5}, 9) == {"y1a": 5, "y2a": 4}

    def test_of_equals_the_first_by_path(self) -> None:
        assert placed({"y1a": 5, "y2a": 5, "x1a": 5, "x2a": 5}, 8) == {"x1a": 4, "x2a": 4}

    def test_siblings_of_one_block_hold_it_or_nobody_does(self) -> None:
        # No block holds 12: the usual way, up to the whole cluster.
        assert placed({"x1a": 5, "x2a": 5, "y1a": 5, "y2a": 5}, 12) == {"x1a": 5, "x2a": 5, "y1a": 2}

    def test_at_the_top_all_domains_are_siblings(self) -> None:
        assert placed({"x1a": 5, "x2a": 5, "y1a": 5}, 9, levels="r") == {"x1a": 5, "x2a": 4}


class TestSlices:
    def test_slices_count_not_pods(self) -> None:
        # Slices of 2 per node; both nodes of the rack hold 3: 4 / 2 = 2 slices each.
        found = placed({"x1a": 6, "x1b": 7}, 8, level=HOST, slices=((HOST, 2),))
        assert found == {"x1a": 4, "x1b": 4}

    def test_above_the_slices_the_members_children_share(self) -> None:
        # Preferred rack, slices of 2 per node: nodes of 2 slices each. 4 slices need 2 nodes: 2 each; rack x1 has both.
        rooms = {"x1a": 4, "x1b": 4, "x2a": 5}
        assert placed(rooms, 8, slices=((HOST, 2),)) == {"x1a": 4, "x1b": 4}

    @pytest.mark.parametrize("count", [1, 3])
    def test_a_count_below_one_slice_is_where_upstream_stops(self, count: int) -> None:
        assert "integer divide by zero" in str(placed({"x1a": 9}, count, slices=((HOST, 4),)))


class TestALeader:
    def test_its_rack_is_the_one_that_has_room_for_it(self) -> None:
        # The leader needs a GPU, which x2 has. 8 workers: 4 each.
        found = placed({"x1a": 6, "x2a": 6}, 8, leader={"gpu": 1}, gpus={"x2a": 1})
        assert found == {"x1a": 4, "x2a": 4, "leader x2a": 1}

    def test_beside_it_there_is_less_room(self) -> None:
        # The leader takes 3 of 6 cores: its rack holds 3, so that the threshold is 3, and 2 more go to the other.
        found = placed({"x1a": 6, "x2a": 6}, 8, leader={"gpu": 1, "cpu": 3}, gpus={"x2a": 1})
        assert found == {"x1a": 5, "x2a": 3, "leader x2a": 1}
