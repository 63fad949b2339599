from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from workbench.policies.koordinator.network_tree import (
    NODE_LAYER,
    TreeNode,
    candidates,
    comes_before,
    constrain,
    distribute,
    gathered,
    ordered,
)


def tree(*spines):
    """cluster -> spines -> blocks -> nodes; a block is a list of slots, nodes are called n0, n1 ... from the left."""
    root = TreeNode("", "cluster")
    number = 0
    for s, blocks in enumerate(spines):
        spine = root.add(TreeNode(f"s{s}", "spine"))
        for b, slots in enumerate(blocks):
            block = spine.add(TreeNode(f"s{s}b{b}", "block"))
            for offer in slots:
                block.add(TreeNode(f"n{number}", NODE_LAYER, node=number)).count(offer, 0)
                number += 1
    return root


def names(some):
    return [at.name for at in some]


def test_slots_are_summed_upwards():
    assert tree([[1, 2], [3]], [[4]]).offer == 10


def test_the_layer_to_gather_in():
    root = tree([[1], [1]], [[1]])
    assert names(gathered(root, "block")) == ["s0b0", "s0b1", "s1b0"]
    assert gathered(root, "") == [root]
    assert gathered(root, "rack") == []


def test_the_lowest_layer_with_room_wins():
    root = tree([[1, 1], [4]], [[2, 2]])
    assert names(candidates([root], 4)) == ["n2"]
    assert names(candidates([root], 3)) == ["n2"]
    assert names(candidates([root], 5)) == ["s0"]
    assert names(candidates([root], 11)) == []
    assert names(candidates(gathered(root, "spine"), 7)) == []


def test_the_tightest_domain_first_and_the_running_pods_before_it():
    root = tree([[3], [2]], [[2]])
    blocks = gathered(root, "block")
    # s0b1 and s1b0 offer two each; above them s1 has less left than s0.
    assert names(ordered(blocks, fewer_first=True)) == ["s1b0", "s0b1", "s0b0"]
    blocks[0].children[0].count(0, 1)
    assert names(ordered(blocks, fewer_first=True)) == ["s0b0", "s0b1", "s1b0"]


def test_score_and_name_are_the_last_to_decide():
    root = tree([[1, 1, 1]])
    nodes = gathered(root, NODE_LAYER)
    nodes[2].score = 5
    assert names(ordered(nodes, fewer_first=True)) == ["n2", "n0", "n1"]
    assert not comes_before(nodes[0], nodes[0], True)


def test_a_domain_is_filled_with_the_children_that_hold_most_first():
    filled = distribute(tree([[1, 3], [5]]), 7, {})
    assert [(at.name, count) for at, count in filled] == [("n2", 5), ("n1", 2), ("n0", 0)]


def test_a_multiple_can_make_greedy_filling_fall_short():
    root = tree([[3, 3]])
    constrain(root, {"cluster": 2, "block": 3})
    assert root.offer == 6
    assert sum(count for _, count in distribute(root, 4, {"cluster": 2, "block": 3})) == 3


slots = st.lists(st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=3), min_size=1, max_size=3), min_size=1)


@given(slots, st.integers(0, 40), st.dictionaries(st.sampled_from([NODE_LAYER, "block", "spine"]), st.integers(1, 4)))
def test_filling_keeps_to_slots_and_multiples(spines, wanted, multiples):
    root = tree(*spines)
    before = root.offer
    constrain(root, multiples)
    assert root.offer <= before
    filled = distribute(root, wanted, multiples)
    assert sorted(names(at for at, _ in filled)) == sorted(names(gathered(root, NODE_LAYER)))
    assert sum(count for _, count in filled) <= min(wanted, root.offer)
    for at, count in filled:
        assert 0 <= count <= at.offer
        assert count % multiples.get(NODE_LAYER, 1) == 0
    if not multiples:
        assert sum(count for _, count in filled) == min(wanted, root.offer)
