"""Behaviour of the ``domains`` kernel against loops and a full rescan for every pod."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.profiles import max_examples
from tests.reference import domains as reference
from workbench.kernels.domains import (
    NO_RECORD,
    Fill,
    ScoreWeights,
    TopologyScores,
    domain_counts,
    domain_counts_spans,
    lowest_tier_with_fit,
    pods_per_node,
)
from workbench.kernels.tiers import Forest, tier_scores

#                      s6                        tier 3
#             s4                s5               tier 2
#         s0      s1        s2      s3           tier 1
#       n0  n1  n2  n3    n4  n5  n6  n7
PARENT = np.array([4, 4, 5, 5, 6, 6, -1], dtype=np.int32)
TIER = np.array([1, 1, 1, 1, 2, 2, 3], dtype=np.int32)
SPANS = np.array([[0, 2], [2, 4], [4, 6], [6, 8], [0, 4], [4, 8], [0, 8]], dtype=np.int32)
LEAF = np.array([0, 0, 1, 1, 2, 2, 3, 3], dtype=np.int32)


def int64(values: object) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def document_fill(gpus_idle: list[int], leaf: np.ndarray | None = LEAF, weight: float = 0.0) -> Fill:
    """Eight nodes of eight GPUs, one resource; without a binpack weight only topology and name decide."""
    total = np.full((8, 1), 8, dtype=np.int64)
    idle = int64(gpus_idle).reshape(8, 1)
    weights = ScoreWeights(binpack=weight, binpack_resources=np.ones(1))
    nodes = np.arange(8, dtype=np.int32)
    return Fill(nodes, idle, total - idle, total, nodes, leaf=leaf, weights=weights)


def document_scores(weight: float = 1.0) -> TopologyScores:
    return TopologyScores(Forest(PARENT, TIER), tier_scores(TIER, 1, 3, flat=0.0), weight=weight)


def test_pods_per_node_by_hand() -> None:
    idle = int64([[10, 4, 0], [7, 9, 0], [-1, 9, 0], [10, 4, 0]])
    request = int64([3, 2, 0])
    assert pods_per_node(idle, request).tolist() == [2, 2, 0, 2]
    feasible = np.array([1, 1, 1, 0], dtype=np.uint8)
    assert pods_per_node(idle, request, feasible=feasible, cap=1).tolist() == [1, 1, 0, 0]
    assert pods_per_node(idle, int64([0, 0, 0])).tolist() == [2**31 - 1] * 4


def test_counts_and_lowest_tier_on_the_document_tree() -> None:
    per_node = int64([1, 0, 1, 1, 0, 0, 1, 1])
    counts = domain_counts_spans(per_node, SPANS)
    assert counts.tolist() == [1, 2, 0, 2, 3, 2, 5]
    tier, domains = lowest_tier_with_fit(counts, TIER, 2) or pytest.fail("fits")
    assert (tier, domains.tolist()) == (1, [1, 3])
    tier, domains = lowest_tier_with_fit(counts, TIER, 3, highest_tier=2) or pytest.fail("fits")
    assert (tier, domains.tolist()) == (2, [4])
    assert lowest_tier_with_fit(counts, TIER, 4, highest_tier=2) is None
    assert lowest_tier_with_fit(counts, TIER, 6) is None


small = st.integers(-2, 12)


@given(st.data())
def test_pods_per_node_agrees_with_the_loop(data: st.DataObject) -> None:
    n, r = data.draw(st.integers(0, 6)), data.draw(st.integers(1, 3))
    idle = data.draw(st.lists(st.lists(small, min_size=r, max_size=r), min_size=n, max_size=n))
    request = data.draw(st.lists(st.integers(0, 4), min_size=r, max_size=r))
    feasible = data.draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    cap = data.draw(st.integers(0, 9))
    got = pods_per_node(int64(idle).reshape(n, r), int64(request), feasible=np.array(feasible, dtype=np.uint8), cap=cap)
    assert got.tolist() == reference.pods_per_node(idle, request, feasible, cap)


@given(st.data())
def test_domain_counts_agree_with_the_loop_for_overlapping_domains(data: st.DataObject) -> None:
    per_node = data.draw(st.lists(st.integers(0, 9), min_size=1, max_size=9))
    node = st.integers(0, len(per_node) - 1)
    domains = data.draw(st.lists(st.lists(node, max_size=6, unique=True), max_size=6))
    start = np.cumsum([0] + [len(members) for members in domains], dtype=np.int64)
    members = np.array([x for domain in domains for x in domain], dtype=np.int32)
    want = reference.domain_counts(per_node, domains)
    assert domain_counts(int64(per_node), start, members).tolist() == want


@given(st.data())
def test_spans_agree_with_the_loop(data: st.DataObject) -> None:
    per_node = data.draw(st.lists(st.integers(0, 9), max_size=9))
    edge = st.integers(0, len(per_node))
    spans = [sorted(pair) for pair in data.draw(st.lists(st.tuples(edge, edge), max_size=6))]
    want = reference.domain_counts(per_node, [list(range(*span)) for span in spans])
    assert domain_counts_spans(int64(per_node), np.array(spans, dtype=np.int32).reshape(-1, 2)).tolist() == want


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(-1, 4)), max_size=8),
    st.integers(0, 5),
    st.one_of(st.none(), st.integers(-1, 4)),
)
def test_lowest_tier_agrees_with_the_loop(domains: list[tuple[int, int]], need: int, highest: int | None) -> None:
    counts, tiers = [c for c, _ in domains], [t for _, t in domains]
    got = lowest_tier_with_fit(int64(counts), np.array(tiers, dtype=np.int32), need, highest_tier=highest)
    want = reference.lowest_tier_with_fit(counts, tiers, need, highest)
    assert (got and (got[0], got[1].tolist())) == want


def test_binpack_fills_the_fullest_node_first_and_equal_nodes_by_name() -> None:
    fill = document_fill([8, 8, 4, 8, 4, 8, 8, 8], weight=1.0)
    shape = fill.add_shape(int64([4]))
    placed = fill.place(shape, 4)
    assert placed.positions.tolist() == [2, 4, 0, 0]
    assert placed.scores.tolist() == [100.0, 100.0, 50.0, 100.0]
    assert placed.score_sum == 350.0


def test_a_sole_candidate_is_taken_unscored() -> None:
    fill = document_fill([0, 0, 0, 8, 0, 0, 0, 0], weight=1.0)
    shape = fill.add_shape(int64([4]))
    placed = fill.place(shape, 5)
    assert (placed.positions.tolist(), placed.scores.tolist(), placed.score_sum) == ([3, 3], [0.0, 0.0], 0.0)
    fill.rollback()
    assert fill.place(shape, 1, sole_unscored=False).score_sum == 50.0


def test_a_soft_job_starts_unscored_then_keeps_to_its_leaf_and_widens() -> None:
    fill = document_fill([0, 8, 8, 8, 8, 8, 8, 8])
    shape = fill.add_shape(int64([8]))
    fill.set_topology(document_scores(), record=NO_RECORD, total_tasks=6, update_record=True)
    placed = fill.place(shape, 4)
    # n1 opens s0, whose only other node is full; record s0: n2 and n3 share the greatest base (0.5, nobody in s1 yet);
    # then record s4: LCA of s1 and s4 is s4, n3 alone has 0.5; all others meet in s6.
    assert placed.positions.tolist() == [1, 2, 3, 4]
    assert placed.scores.tolist() == [0.0, 50.0, 50.0, 0.0]
    assert fill.record == 6
    assert fill.tasks_in_group.tolist() == [1, 2, 1, 0]
    # Record s6: everything left has base 0 and shares it; n5 has a task of the job beside it.
    assert fill.place(shape, 1).scores.tolist() == [(0.0 + 1 / 6) * 100.0 * 1.0]
    fill.rollback(1)
    assert (fill.record, fill.tasks_in_group.tolist()) == (0, [1, 0, 0, 0])


def test_nodes_that_share_the_greatest_base_gain_by_tasks_in_their_leaf() -> None:
    fill = document_fill([8] * 8)
    shape = fill.add_shape(int64([8]))
    fill.set_topology(
        document_scores(weight=2.0),
        record=5,
        tasks_in_group=int64([5, 5, 1, 3]),
        total_tasks=10,
        update_record=False,
    )
    placed = fill.place(shape, 5)
    # s3 has more tasks than s2; n5 alone has no equal any more and loses its share; outside s5 five tasks in s0.
    assert placed.positions.tolist() == [6, 7, 4, 5, 0]
    share = [(0.5 + 0.3) * 200, (0.5 + 4 / 10) * 200, (0.5 + 1 / 10) * 200, 100.0, (0.0 + 5 / 10) * 200]
    assert placed.scores.tolist() == pytest.approx(share)
    assert fill.record == 5


def test_another_tree_empties_the_record_in_1_13_and_lifts_it_to_the_top_later() -> None:
    forest = Forest(np.array([-1, -1], dtype=np.int32), np.array([1, 1], dtype=np.int32))
    leaf = np.array([0, 1, 1, 1, 1, 1, 1, 1], dtype=np.int32)
    for roots_meet, want_record in ((False, NO_RECORD), (True, -1)):
        fill = document_fill([0, 8, 0, 0, 0, 0, 0, 8], leaf=leaf)
        shape = fill.add_shape(int64([8]))
        scores = TopologyScores(forest, np.ones(2), roots_meet=roots_meet)
        fill.set_topology(scores, record=0, total_tasks=2, update_record=True)
        fill.place(shape, 1)
        assert fill.record == want_record


@dataclass
class Case:
    """One random fill: the kernel's and the oracle's, built from the same numbers."""

    kernel: Fill
    oracle: reference.RescanFill
    shapes: int


@st.composite
def cases(draw: st.DrawFn) -> Case:
    n, r = draw(st.integers(1, 9)), draw(st.integers(1, 4))
    chosen = draw(st.permutations(range(n)))[: draw(st.integers(1, n))]
    row = st.lists(st.integers(0, 10), min_size=r, max_size=r)
    allocatable = draw(st.lists(row, min_size=n, max_size=n))
    used = draw(st.lists(st.lists(st.integers(0, 4), min_size=r, max_size=r), min_size=n, max_size=n))
    if draw(st.booleans()):
        idle = [[a - u for a, u in zip(x, y, strict=True)] for x, y in zip(allocatable, used, strict=True)]
    else:
        idle = draw(st.lists(st.lists(st.integers(-1, 12), min_size=r, max_size=r), min_size=n, max_size=n))
    rank = draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))
    d = draw(st.integers(1, 6))
    parent = [draw(st.integers(-1, i - 1)) for i in range(d)]
    leaf = draw(st.lists(st.integers(-1, d - 1), min_size=n, max_size=n))
    weight = st.sampled_from([0.0, 1.0, 0.7, 3.0])
    per_resource = st.lists(st.integers(0, 3), min_size=r, max_size=r)
    weights = reference.Weights(
        draw(weight),
        [w * 0.7 for w in draw(per_resource)],
        draw(weight),
        draw(weight),
        draw(per_resource),
        draw(weight),
        draw(st.lists(st.integers(0, 2), min_size=r, max_size=r)),
    )
    kernel = Fill(
        np.array(chosen, dtype=np.int32),
        int64(idle),
        int64(used),
        int64(allocatable),
        np.array(rank, dtype=np.int32),
        leaf=np.array(leaf, dtype=np.int32),
        weights=ScoreWeights(
            binpack=weights.binpack,
            binpack_resources=np.array(weights.binpack_by),
            least_requested=weights.least,
            most_requested=weights.most,
            request_resources=int64(weights.request_by),
            balanced=weights.balanced,
            balanced_resources=np.array(weights.balanced_by, dtype=np.uint8),
        ),
    )
    oracle = reference.RescanFill(
        [list(idle[i]) for i in chosen],
        [list(used[i]) for i in chosen],
        [allocatable[i] for i in chosen],
        [rank[i] for i in chosen],
        [leaf[i] for i in chosen],
        weights,
    )
    shapes = draw(st.integers(1, 3))
    for _ in range(shapes):
        request = draw(st.lists(st.integers(0, 3), min_size=r, max_size=r))
        feasible = draw(st.one_of(st.none(), st.lists(st.integers(0, 1), min_size=n, max_size=n)))
        extra = draw(st.one_of(st.none(), st.lists(st.sampled_from([0.0, 0.1, 5.5, -3.0]), min_size=n, max_size=n)))
        kernel.add_shape(
            int64(request),
            feasible=None if feasible is None else np.array(feasible, dtype=np.uint8),
            extra=None if extra is None else np.array(extra),
        )
        oracle.shapes.append(
            (
                request,
                [1] * len(chosen) if feasible is None else [feasible[i] for i in chosen],
                None if extra is None else [extra[i] for i in chosen],
            )
        )
    if draw(st.booleans()):
        value = draw(st.lists(st.sampled_from([0.0, 0.5, 1 / 3, 1.0]), min_size=d, max_size=d))
        own, top = draw(st.sampled_from([0.0, 1.0])), draw(st.sampled_from([0.0, 0.25]))
        roots_meet, update = draw(st.booleans()), draw(st.booleans())
        record = draw(st.integers(-2 if update or not roots_meet else -1, d - 1))
        plugin, total = draw(st.sampled_from([0.0, 1.0, 2.5])), draw(st.integers(1, 12))
        tasks = {leaf_: draw(st.integers(0, 4)) for leaf_ in kernel.groups.tolist()}
        # Every leaf that holds a node: its own, and others where leaves overlap.
        more = draw(st.lists(st.integers(0, d - 1), min_size=n, max_size=n))
        leaves = [[] if own_ < 0 else sorted({own_, other}) for own_, other in zip(leaf, more, strict=True)]
        overlap = int64(np.cumsum([0, *map(len, leaves)])), np.array([x for y in leaves for x in y], dtype=np.int32)
        overlaps = draw(st.booleans())
        forest = Forest(np.array(parent, dtype=np.int32), np.ones(d, dtype=np.int32))
        kernel.set_topology(
            TopologyScores(forest, np.array(value), own=own, top=top, weight=plugin, roots_meet=roots_meet),
            record=record,
            tasks_in_group=int64(list(tasks.values())),
            total_tasks=total,
            update_record=update,
            leaves=overlap if overlaps else None,
        )
        oracle.topology = reference.Topology(
            parent, value, own, top, plugin, roots_meet, update, record, dict(tasks), total
        )
        if overlaps:
            oracle.topology.leaves = [leaves[i] for i in chosen]
    return Case(kernel, oracle, shapes)


def place_both(case: Case, shape: int, count: int, sole: bool) -> None:
    want = []
    while len(want) < count:
        # A pod that asks for nothing always fits: count bounds it.
        one = case.oracle.place(shape, sole)
        if one is None:
            break
        want.append(one)
    got = case.kernel.place(shape, count, sole_unscored=sole)
    assert got.positions.tolist() == [position for position, _ in want]
    assert got.scores.tolist() == [score for _, score in want]
    total = 0.0
    for _, score in want:
        total += score
    assert got.score_sum == total
    assert case.kernel.idle.tolist() == case.oracle.idle
    if case.oracle.topology is not None:
        assert case.kernel.record == case.oracle.topology.record


@max_examples(200)
@given(cases(), st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9), st.booleans()), max_size=8))
def test_filling_equals_a_full_rescan_bit_for_bit(case: Case, steps: list[tuple[int, int, bool]]) -> None:
    for shape, count, sole in steps:
        place_both(case, shape % case.shapes, count, sole)


@given(cases(), st.lists(st.integers(0, 2), max_size=12), st.booleans())
def test_placing_each_of_a_sequence_equals_a_full_rescan(case: Case, sequence: list[int], sole: bool) -> None:
    shapes = [shape % case.shapes for shape in sequence]
    want = [case.oracle.place(shape, sole) or (-1, 0.0) for shape in shapes]
    got = case.kernel.place_each(np.array(shapes, dtype=np.int32), sole_unscored=sole)
    assert got.positions.tolist() == [position for position, _ in want]
    assert got.scores.tolist() == [score for _, score in want]
    total = 0.0
    for _, score in want:
        total += score
    assert got.score_sum == total
    assert case.kernel.placed == sum(position >= 0 for position, _ in want)
    assert case.kernel.idle.tolist() == case.oracle.idle


@max_examples(150)
@given(cases(), st.lists(st.tuples(st.integers(0, 2), st.integers(0, 5)), min_size=1, max_size=8), st.data())
def test_after_a_rollback_the_same_steps_give_the_same_answers(
    case: Case, steps: list[tuple[int, int]], data: st.DataObject
) -> None:
    kernel = case.kernel
    before = kernel.idle.tolist(), kernel.record, kernel.tasks_in_group.tolist()
    cut = data.draw(st.integers(0, len(steps)))
    answers, mark = [], 0
    for i, (shape, count) in enumerate(steps):
        if i == cut:
            mark = kernel.placed
        answers.append(kernel.place(shape % case.shapes, count))
    if cut < len(steps):
        kernel.rollback(mark)
        assert kernel.placed == mark
        assert_same(answers[cut:], [kernel.place(shape % case.shapes, count) for shape, count in steps[cut:]])
    kernel.rollback()
    assert (kernel.idle.tolist(), kernel.record, kernel.tasks_in_group.tolist()) == before
    # The oracle, which was never rolled back, sees the same fresh state.
    for shape, count in steps:
        place_both(case, shape % case.shapes, count, True)


def assert_same(left: list, right: list) -> None:
    for one, other in zip(left, right, strict=True):
        assert one.positions.tolist() == other.positions.tolist()
        assert one.scores.tolist() == other.scores.tolist()


@st.composite
def tight_cases(draw: st.DrawFn) -> Case:
    """Nodes of one or two pods in few leaves, all scores from the topology: which nodes share the greatest base
    changes with nearly every pod."""
    n, d = draw(st.integers(2, 8)), draw(st.integers(2, 4))
    total = draw(st.lists(st.integers(1, 2), min_size=n, max_size=n))
    leaf = draw(st.lists(st.integers(-1, d - 1), min_size=n, max_size=n))
    parent = [draw(st.integers(-1, i - 1)) for i in range(d)]
    value = draw(st.lists(st.sampled_from([0.0, 0.5]), min_size=d, max_size=d))
    record = draw(st.integers(NO_RECORD, d - 1))
    update, roots_meet = draw(st.booleans()), draw(st.booleans())
    amounts = int64(total).reshape(n, 1)
    rank = np.arange(n, dtype=np.int32)
    kernel = Fill(
        rank,
        amounts,
        np.zeros_like(amounts),
        amounts,
        rank,
        leaf=np.array(leaf, dtype=np.int32),
        weights=ScoreWeights(),
    )
    oracle = reference.RescanFill(
        amounts.tolist(),
        [[0] for _ in total],
        amounts.tolist(),
        list(range(n)),
        leaf,
        reference.Weights(0.0, [0.0], 0.0, 0.0, [0], 0.0, [0]),
    )
    for request in (1, 2):
        feasible = draw(st.lists(st.sampled_from([1, 1, 1, 0]), min_size=n, max_size=n))
        kernel.add_shape(int64([request]), feasible=np.array(feasible, dtype=np.uint8))
        oracle.shapes.append(([request], feasible, None))
    tasks = {group: draw(st.integers(1, 4)) for group in kernel.groups.tolist()}
    kernel.set_topology(
        TopologyScores(
            Forest(np.array(parent, dtype=np.int32), np.ones(d, dtype=np.int32)), np.array(value), roots_meet=roots_meet
        ),
        record=record,
        tasks_in_group=int64(list(tasks.values())),
        total_tasks=7,
        update_record=update,
    )
    oracle.topology = reference.Topology(parent, value, 1.0, 0.0, 1.0, roots_meet, update, record, dict(tasks), 7)
    return Case(kernel, oracle, 2)


@max_examples(300)
@given(
    tight_cases(), st.lists(st.tuples(st.sampled_from(["place", "place", "roll back"]), st.integers(0, 5)), max_size=12)
)
def test_shares_follow_the_nodes_that_still_fit_also_across_rollbacks(case: Case, steps: list[tuple[str, int]]) -> None:
    states = [(0, copy.deepcopy(case.oracle))]
    for step, number in steps:
        if step == "place":
            place_both(case, number % 2, 1 + number // 2, True)
            states.append((case.kernel.placed, copy.deepcopy(case.oracle)))
        else:
            del states[max(1, len(states) - number) :]
            case.kernel.rollback(states[-1][0])
            case.oracle = copy.deepcopy(states[-1][1])


def test_the_last_node_of_two_sharing_leaves_loses_its_share() -> None:
    # n0 (s0) and n2 (s1) are as far from record s4 and each has a task beside it; when n0 is taken n2 is alone.
    fill = document_fill([8, 0, 8, 0, 8, 0, 0, 0])
    shape = fill.add_shape(int64([8]))
    fill.set_topology(
        document_scores(), record=4, tasks_in_group=int64([1, 1, 0, 0]), total_tasks=4, update_record=False
    )
    assert fill.place(shape, 2).scores.tolist() == [75.0, 50.0]


def test_of_equal_totals_the_higher_node_part_wins_before_the_name() -> None:
    # n0: 50 for its leaf + 0; n4: 0 for its leaf + 50 of its own.
    fill = document_fill([8, 0, 0, 0, 8, 0, 0, 0])
    shape = fill.add_shape(int64([8]), extra=np.array([0.0, 0, 0, 0, 50.0, 0, 0, 0]))
    fill.set_topology(document_scores(), record=1, total_tasks=2, update_record=False)
    part, total = fill.node_scores(shape)
    assert (part[[0, 4]].tolist(), total[[0, 4]].tolist()) == ([0.0, 50.0], [50.0, 50.0])
    assert fill.place(shape, 1).positions.tolist() == [4]


def test_a_node_freed_by_a_rollback_takes_the_share_from_others() -> None:
    # Shape b waits while shape a fills s0 and gives it back: the greatest base is s0's again, alone, not s2's and s3's.
    fill = document_fill([8, 0, 0, 0, 8, 0, 8, 0])
    shape_a, shape_b = fill.add_shape(int64([8])), fill.add_shape(int64([4]))
    fill.set_topology(
        document_scores(), record=0, tasks_in_group=int64([1, 1, 2, 2]), total_tasks=4, update_record=False
    )
    fill.place(shape_a, 1)
    assert fill.place(shape_b, 1).scores.tolist() == [50.0]
    fill.rollback()
    assert fill.place(shape_b, 3).scores.tolist() == [100.0, 100.0, 50.0]


@max_examples(50)
@given(cases(), st.integers(0, 6))
def test_node_scores_are_those_of_the_next_pod(case: Case, count: int) -> None:
    place_both(case, 0, count, True)
    for shape in range(case.shapes):
        part, total = case.kernel.node_scores(shape)
        fitting = [i for i in range(len(case.oracle.idle)) if case.oracle.fits(shape, i)]
        assert case.kernel.n_fitting(shape) == len(fitting)
        assert np.flatnonzero(np.isfinite(part)).tolist() == fitting
        offset = case.oracle.offsets(fitting, shape) if fitting else {}
        for i in fitting:
            assert part[i] == case.oracle.node_part(shape, i)
            assert total[i] == part[i] + offset[i]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_a_large_fill_equals_a_full_rescan(seed: int) -> None:
    """Trees of many levels and of odd sizes, a log that overflows, amounts of a real machine."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(150, 260))
    parent = np.array([-1, 0, 0, 0] + [int(rng.integers(1, 4)) for _ in range(20)], dtype=np.int32)
    leaf = rng.integers(3, 24, n).astype(np.int32)
    leaf[leaf == 3] = -1
    total = np.tile(int64([64_000, 512 * 2**30, 8]), (n, 1))
    used = rng.integers(0, 3, (n, 1)) * int64([8_000, 64 * 2**30, 1])
    rank = rng.permutation(n).astype(np.int32)
    weights = reference.Weights(1.0, [1.0, 1.0, 5.0], 1.0, 0.0, [1, 1, 0], 1.0, [1, 1, int(seed % 3)])
    kernel = Fill(
        np.arange(n, dtype=np.int32),
        total - used,
        used,
        total,
        rank,
        leaf=leaf,
        weights=ScoreWeights(
            binpack=1.0,
            binpack_resources=np.array(weights.binpack_by),
            least_requested=1.0,
            request_resources=int64(weights.request_by),
            balanced=1.0,
            balanced_resources=np.array(weights.balanced_by, dtype=np.uint8),
        ),
    )
    oracle = reference.RescanFill(
        (total - used).tolist(), used.tolist(), total.tolist(), rank.tolist(), leaf.tolist(), weights
    )
    for request in ([4_000, 16 * 2**30, 1], [8_000, 100 * 2**30, 2], [1_000, 2**30, 0]):
        kernel.add_shape(int64(request))
        oracle.shapes.append((request, [1] * n, None))
    value = np.linspace(0.0, 1.0, 24).round(1)
    kernel.set_topology(
        TopologyScores(Forest(parent, np.ones(24, dtype=np.int32)), value),
        record=NO_RECORD,
        total_tasks=900,
        update_record=True,
    )
    oracle.topology = reference.Topology(
        parent.tolist(), value.tolist(), 1.0, 0.0, 1.0, False, True, NO_RECORD, {}, 900
    )
    case = Case(kernel, oracle, 3)
    for shape, count in [(0, 40), (1, 30), (2, 1), (0, n + 20), (2, 10), (1, 3), (0, 2), (1, 100)]:
        place_both(case, shape, count, True)
