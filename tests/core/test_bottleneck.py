"""The ``bottleneck`` kernel: values worked by hand, brute force, networkx, and laws that hold on any machine."""

from __future__ import annotations

import itertools
import math
import random

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.choice import choices
from tests.machines import koordinator_matrix_a, koordinator_matrix_b
from tests.profiles import blocks, max_examples
from tests.reference import bottleneck as reference
from workbench.kernels.bottleneck import UNLIMITED, BottleneckSolver
from workbench.kernels.gpu_sets import indices_of, mask_of

ALL_8 = 0xFF


def both_directions(matrix):
    return np.minimum(matrix, matrix.T)


def embed(weight, link_class, positions, size, rng):
    """The machine at ``positions`` of a larger one whose other devices are noise."""
    outer, _ = reference.random_machine(rng, 0, 59, more=size)
    outer[np.ix_(positions, positions)] = weight
    outer_class = None
    if link_class is not None:
        outer_class = np.zeros((size, size), dtype=np.int32)
        outer_class[np.ix_(positions, positions)] = link_class
    return outer, outer_class


def tiered(n, node, rack, *, noise=0.0, seed=0):
    """Nodes of ``node`` devices in racks of ``rack``: 200 GB/s inside a node, 50 inside a rack, 12 across."""
    i = np.arange(n)
    weight = np.full((n, n), 12.0)
    weight[i[:, None] // rack == i // rack] = 50.0
    weight[i[:, None] // node == i // node] = 200.0
    link_class = np.searchsorted([12.0, 50.0, 200.0], weight).astype(np.int32)
    if noise:
        weight = weight * (1 + noise * np.random.default_rng(seed).standard_normal((n, n)))
    return np.minimum(weight, weight.T), link_class


class TestTheDocumentsMatrices:
    """Values from conformance and docs/decisions.md, decision 1, both directions counted."""

    def test_four_gpus_of_the_first_matrix_are_one_half_or_the_other(self):
        best = BottleneckSolver(both_directions(koordinator_matrix_a())).solve(ALL_8, 4)
        assert best.bottleneck_gb_s == 48.33
        assert [indices_of(tie) for tie in best.ties] == [(0, 1, 2, 3), (4, 5, 6, 7)]
        assert (best.optimal_sets, best.optimal_sets_complete) == (2, True)
        assert best.exact and best.tie_break_complete

    def test_the_halves_leave_each_other_and_the_larger_vector_decides(self):
        # {0,1,2,3}: 48.33 48.38 48.39 ..., {4,5,6,7}: 48.33 48.35 ...: the next-worst link speaks for the first.
        best = BottleneckSolver(both_directions(koordinator_matrix_a())).solve(ALL_8, 4)
        assert indices_of(best.mask) == (0, 1, 2, 3)
        assert best.pair == (0, 2)

    def test_six_gpus_of_the_first_matrix(self):
        best = BottleneckSolver(both_directions(koordinator_matrix_a())).solve(ALL_8, 6)
        assert best.bottleneck_gb_s == 15.52
        assert [indices_of(tie) for tie in best.ties] == [(0, 1, 2, 3, 5, 6), (0, 1, 2, 5, 6, 7)]

    def test_the_slow_direction_of_the_second_matrix_decides_for_the_other_half(self):
        solver = BottleneckSolver(both_directions(koordinator_matrix_b()))
        best = solver.solve(ALL_8, 4)
        assert (indices_of(best.mask), best.bottleneck_gb_s) == ((4, 5, 6, 7), 48.33)
        assert solver.value(0b1111) == 6.02

    def test_the_set_that_the_document_gives_4_64_has_15_52(self):
        solver = BottleneckSolver(both_directions(koordinator_matrix_a()))
        assert solver.value(mask_of([0, 1, 2, 5])) == 15.52

    def test_one_gpu_has_no_pair(self):
        best = BottleneckSolver(both_directions(koordinator_matrix_a())).solve(0b11010, 1)
        assert best.bottleneck_gb_s == math.inf and best.upper_bound_gb_s == math.inf
        assert best.pair is None
        assert best.ties == (0b10, 0b1000, 0b10000) and best.mask == 0b10

    @pytest.mark.parametrize("matrix", [koordinator_matrix_a, koordinator_matrix_b])
    def test_every_state_and_size_agrees_with_brute_force(self, matrix):
        weight = both_directions(matrix())
        solver = BottleneckSolver(weight)
        for free in range(1, 256, 3):
            for k in range(1, free.bit_count() + 1):
                assert solver.choose(free, k) == mask_of(reference.chosen_subset(weight, indices_of(free), k))


class TestTieBreak:
    def test_what_is_left_comes_before_everything_else(self):
        # Fast pairs form the path 0-1-2-3: taking an end leaves the other end, taking the middle strands both.
        weight = np.ones((4, 4))
        for i, j in [(0, 1), (1, 2), (2, 3)]:
            weight[i, j] = weight[j, i] = 5.0
        best = BottleneckSolver(weight).solve(0b1111, 2)
        assert [indices_of(tie) for tie in best.ties] == [(0, 1), (1, 2), (2, 3)]
        assert indices_of(best.mask) == (0, 1)
        middle_only = BottleneckSolver(weight).solve(0b1111, 2, require=0b0110)
        assert indices_of(middle_only.mask) == (1, 2)

    def test_a_set_that_leaves_more_wins_over_lower_indices(self):
        # Fast pairs 2-0-1-3: the middle 0-1 has the lowest indices and strands 2 and 3; 0-2 leaves 1-3.
        weight = np.ones((4, 4))
        for i, j in [(0, 1), (0, 2), (1, 3)]:
            weight[i, j] = weight[j, i] = 5.0
        assert indices_of(BottleneckSolver(weight).choose(0b1111, 2)) == (0, 2)

    def test_the_next_worst_link_decides_when_nothing_is_left(self):
        weight = np.full((4, 4), 9.0)
        for i, j, w in [(0, 1, 1.0), (0, 2, 2.0), (2, 3, 1.0), (1, 3, 3.0)]:
            weight[i, j] = weight[j, i] = w
        # Triples with 0-1 or 2-3 all have bottleneck 1: 0-1-2 1 2 9, 0-1-3 1 3 9, 0-2-3 1 2 9, 1-2-3 1 3 9.
        assert indices_of(BottleneckSolver(weight).choose(0b1111, 3)) == (0, 1, 3)

    def test_equal_machines_give_the_lowest_devices_of_any_size(self):
        for n in (8, 16, 17, 72, 200):
            solver = BottleneckSolver(np.full((n, n), 25.0))
            for k in (1, 2, n // 2, n - 1, n):
                assert solver.choose((1 << n) - 1, k) == (1 << k) - 1
            best = solver.solve((1 << n) - 1, 3)
            assert best.optimal_sets == math.comb(n, 3)
            assert best.optimal_sets_complete and best.tie_break_complete

    def test_the_chosen_set_is_always_among_the_listed_ties(self):
        weight = np.ones((4, 4))
        for i, j in [(0, 1), (0, 2), (1, 3)]:
            weight[i, j] = weight[j, i] = 5.0
        best = BottleneckSolver(weight).solve(0b1111, 2, max_ties=1)
        assert best.ties == (best.mask,) == (0b101,)
        assert best.optimal_sets == 3


class TestLinkClasses:
    def test_the_class_is_maximised_before_the_weight(self):
        # 0-1 is of the better class although 2-3 was measured faster.
        weight = np.ones((4, 4))
        link_class = np.zeros((4, 4), dtype=np.int32)
        for i, j, w, c in [(0, 1, 5.0, 2), (2, 3, 6.0, 1)]:
            weight[i, j] = weight[j, i] = w
            link_class[i, j] = link_class[j, i] = c
        assert indices_of(BottleneckSolver(weight, link_class).choose(0b1111, 2)) == (0, 1)
        assert indices_of(BottleneckSolver(weight).choose(0b1111, 2)) == (2, 3)

    def test_class_numbers_need_not_be_dense(self):
        weight, link_class = reference.random_machine(random.Random(1), 7, 3, 3)
        solvers = [BottleneckSolver(weight, link_class), BottleneckSolver(weight, link_class * 1000 - 7)]
        assert solvers[0].solve(0x7F, 3) == solvers[1].solve(0x7F, 3)

    def test_a_budget_never_touches_the_class(self):
        weight, link_class = tiered(72, 8, 24, noise=0.02)
        solver = BottleneckSolver(weight, link_class)
        for k, want in [(8, 2), (20, 1), (30, 0)]:
            best = solver.solve((1 << 72) - 1, k, budget=0)
            classes = {int(link_class[i, j]) for i, j in itertools.combinations(indices_of(best.mask), 2)}
            assert min(classes) == want
            assert best.exact

    def test_the_weight_inside_the_only_class_has_a_budget_too(self):
        # All links alike but for noise: the question after the weight alone may take for ever.
        weight = both_directions(np.random.default_rng(0).uniform(90, 95, (72, 72)))
        everyone = (1 << 72) - 1
        one_class = BottleneckSolver(weight, np.zeros((72, 72), dtype=np.int32))
        cut, proven = one_class.solve(everyone, 12, budget=0), BottleneckSolver(weight).solve(everyone, 12)
        assert cut.bottleneck_gb_s < proven.bottleneck_gb_s
        assert cut.exact and not cut.tie_break_complete
        assert one_class.solve(everyone, 36).exact


machines = st.tuples(choices(), st.integers(1, 9), st.sampled_from([1, 2, 3, 6, 50]), st.sampled_from([None, 2, 3]))


@max_examples(150)
@given(machines, st.sampled_from([0, 7, 20, 58]), st.data())
def test_everything_equals_brute_force(machine, padding, data):
    rng, n, levels, classes = machine
    weight, link_class = reference.random_machine(rng, n, levels, classes)
    positions = np.sort(rng.sample(range(n + padding), n))
    if padding:
        weight, link_class = embed(weight, link_class, positions, n + padding, rng)
    free = data.draw(st.sets(st.sampled_from(positions.tolist()), min_size=1))
    require = data.draw(st.sets(st.sampled_from(sorted(free)), max_size=2))
    k = data.draw(st.integers(max(1, len(require)), len(free)))
    solver = BottleneckSolver(weight, link_class)

    best = solver.solve(mask_of(free), k, mask_of(require), max_ties=None, budget=UNLIMITED)

    ties = reference.optimal_subsets(weight, free, k, require, link_class)
    assert [indices_of(tie) for tie in best.ties] == ties
    assert (best.optimal_sets, best.optimal_sets_complete) == (len(ties), True)
    assert best.tie_break_complete
    chosen = reference.chosen_subset(weight, free, k, require, link_class)
    assert indices_of(best.mask) == chosen
    assert best.bottleneck_gb_s == reference.bottleneck(weight, chosen) == solver.value(best.mask)
    assert solver.value(mask_of(free)) == reference.bottleneck(weight, sorted(free))
    assert best.upper_bound_gb_s >= best.bottleneck_gb_s
    if k > 1:
        slowest = [p for p in itertools.combinations(chosen, 2) if weight[p] == best.bottleneck_gb_s]
        assert best.pair == slowest[0]


@max_examples(60)
@given(machines, st.sampled_from([0, 7, 20, 70]), st.data())
def test_choose_is_the_set_that_solve_chooses(machine, padding, data):
    rng, n, levels, classes = machine
    weight, link_class = reference.random_machine(rng, n, levels, classes, more=padding)
    solver = BottleneckSolver(weight, link_class)
    free = data.draw(st.integers(1, (1 << (n + padding)) - 1))
    k = data.draw(st.integers(1, min(free.bit_count(), 8)))
    chosen = solver.choose(free, k)
    assert chosen == solver.solve(free, k, max_ties=3).mask
    if solver.n <= 64:
        assert solver.choose_many(np.array([free, free], np.uint64), np.array([k, 99], np.int32)).tolist() == [
            chosen,
            0,
        ]


@max_examples(80)
@given(choices(), st.integers(2, 9), st.sampled_from([2, 4, 50]), st.sampled_from([0, 10, 60]))
def test_relabelling_permutes_the_answer_up_to_the_last_tie_break(rng, n, levels, padding):
    weight, _ = reference.random_machine(rng, n, levels, more=padding)
    order = rng.sample(range(n + padding), n + padding)
    free = rng.sample(range(n + padding), n)
    renamed = weight[np.ix_(order, order)]  # new device i is old device order[i]
    new_name = np.argsort(order)
    k = rng.randint(1, n)
    before = BottleneckSolver(weight).solve(mask_of(free), k, max_ties=None, budget=UNLIMITED)
    after = BottleneckSolver(renamed).solve(mask_of(new_name[free]), k, max_ties=None, budget=UNLIMITED)
    assert {frozenset(new_name[list(indices_of(t))].tolist()) for t in before.ties} == {
        frozenset(indices_of(t)) for t in after.ties
    }
    assert reference.pairs(weight, indices_of(before.mask)) == reference.pairs(renamed, indices_of(after.mask))


@max_examples(60)
@given(machines, st.sampled_from([0, 10, 60]), st.data())
def test_freeing_a_gpu_never_lowers_the_value(machine, padding, data):
    rng, n, levels, _ = machine
    weight, _ = reference.random_machine(rng, n, levels, more=padding)
    n += padding
    solver = BottleneckSolver(weight)
    free = data.draw(st.integers(1, (1 << n) - 1))
    k = data.draw(st.integers(1, min(6, free.bit_count())))
    more = free | 1 << data.draw(st.integers(0, n - 1))
    assert solver.value(solver.choose(more, k)) >= solver.value(solver.choose(free, k))


@pytest.mark.parametrize("n", [60, 72, 130])
@pytest.mark.parametrize("seed", blocks(3))
def test_large_machines_agree_with_networkx_cliques(n, seed):
    rng = np.random.default_rng(seed)
    weight = np.where(rng.random((n, n)) < 0.4, 30.0, np.where(rng.random((n, n)) < 0.4, 20.0, 10.0))
    weight = np.minimum(weight, weight.T)
    free = sorted(rng.permutation(n)[: n - 5].tolist())
    solver = BottleneckSolver(weight)
    for k in (2, 3, 5, 6):
        best = solver.solve(mask_of(free), k, max_ties=None, budget=UNLIMITED)
        for threshold in (30.0, 20.0):
            graph = nx.Graph((i, j) for i, j in itertools.combinations(free, 2) if weight[i, j] >= threshold)
            cliques = {c for m in nx.find_cliques(graph) for c in itertools.combinations(sorted(m), k)}
            if cliques:
                break
        assert best.bottleneck_gb_s == threshold
        assert [indices_of(tie) for tie in best.ties] == sorted(cliques)
        assert best.optimal_sets == len(cliques)


@pytest.mark.parametrize(("n", "node", "rack"), [(72, 4, 24), (96, 8, 48), (130, 8, 64)])
def test_tiered_machines_are_filled_rack_by_rack(n, node, rack):
    weight, link_class = tiered(n, node, rack)
    for solver in (BottleneckSolver(weight), BottleneckSolver(weight, link_class)):
        everything = (1 << n) - 1
        assert indices_of(solver.choose(everything, node)) == tuple(range(node))
        assert indices_of(solver.choose(everything, node + 1)) == tuple(range(node + 1))
        assert indices_of(solver.choose(everything, rack)) == tuple(range(rack))
        best = solver.solve(everything, node)
        assert best.bottleneck_gb_s == best.upper_bound_gb_s == 200.0
        assert best.optimal_sets == n // node
        # Device 0 alone is free in its node: whole nodes have more fast pairs, so it stays out.
        broken = everything & ~mask_of(range(1, node))
        assert indices_of(solver.choose(broken, 2 * node)) == tuple(range(node, 3 * node))


def test_noisy_weights_without_classes_are_exact():
    weight, _ = tiered(40, 8, 40, noise=0.05, seed=3)
    solver = BottleneckSolver(weight)
    best = solver.solve((1 << 40) - 1, 6)
    inside_a_node = [s for node in range(0, 40, 8) for s in itertools.combinations(range(node, node + 8), 6)]
    want = max(reference.bottleneck(weight, s) for s in inside_a_node)
    assert best.bottleneck_gb_s == want
    assert [indices_of(t) for t in best.ties] == [s for s in inside_a_node if reference.bottleneck(weight, s) == want]
    assert best.exact and best.tie_break_complete


def test_a_cut_search_says_so_and_answers_the_same_again():
    # No two disjoint optima and thousands of ties: the look-ahead cannot be settled within 0 units.
    rng = np.random.default_rng(5)
    weight = np.where(rng.random((40, 40)) < 0.7, 2.0, 1.0)
    weight = np.minimum(weight, weight.T)
    solver = BottleneckSolver(weight)
    cut = solver.solve((1 << 40) - 1, 6, budget=0)
    assert cut.exact and not cut.tie_break_complete and not cut.optimal_sets_complete
    assert cut == solver.solve((1 << 40) - 1, 6, budget=0)
    assert cut.bottleneck_gb_s == solver.solve((1 << 40) - 1, 6).bottleneck_gb_s


def test_scratch_memory_of_other_queries_leaves_no_trace():
    weight, link_class = tiered(130, 8, 64, noise=0.02)
    solver = BottleneckSolver(weight, link_class)
    alone = solver.solve((1 << 70) - 1, 8)
    others = [BottleneckSolver(reference.random_machine(random.Random(seed), 90, 40, 2)[0]) for seed in range(4)]
    for other in others:
        other.solve((1 << 90) - 1, 5)
        np.full(200_000, 0x5A5A5A5A5A5A5A5A, dtype=np.uint64)
        assert solver.solve((1 << 70) - 1, 8) == alone
    assert BottleneckSolver(weight, link_class).solve((1 << 70) - 1, 8) == alone


def test_the_matrix_may_change_after_the_solver_was_built():
    weight = both_directions(koordinator_matrix_a())
    solver = BottleneckSolver(weight)
    before = solver.solve(ALL_8, 4)
    weight[:] = 0.0
    assert solver.solve(ALL_8, 4) == before


class TestSplit:
    def test_the_documents_first_matrix_in_two_pods_of_four(self):
        solver = BottleneckSolver(both_directions(koordinator_matrix_a()))
        assert [indices_of(m) for m in solver.split(ALL_8, [4, 4])] == [(0, 1, 2, 3), (4, 5, 6, 7)]

    def test_pods_keep_the_order_they_were_given_in(self):
        solver = BottleneckSolver(both_directions(koordinator_matrix_a()))
        small, large, single = solver.split(0x7F, [2, 4, 1])
        assert (small.bit_count(), large.bit_count(), single.bit_count()) == (2, 4, 1)
        assert small | large | single == 0x7F

    def test_equal_machines_deal_in_order(self):
        solver = BottleneckSolver(np.full((16, 16), 25.0))
        assert solver.split(0xFFFF, [4, 4, 4, 4]) == [0xF, 0xF0, 0xF00, 0xF000]
        assert solver.split(0xFFFF, [2, 6, 8]) == [0xC000, 0x3F00, 0xFF]

    @max_examples(60)
    @given(choices(), st.integers(1, 8), st.sampled_from([1, 2, 4, 50]), st.data())
    def test_group_equals_brute_force(self, rng, n, levels, data):
        weight, link_class = reference.random_machine(rng, n, levels, data.draw(st.sampled_from([None, 2])))
        solver = BottleneckSolver(weight, link_class)
        free = data.draw(st.sets(st.integers(0, n - 1), min_size=1))
        sizes = []
        while sum(sizes) < len(free) and (not sizes or data.draw(st.booleans())):
            sizes.append(data.draw(st.integers(1, len(free) - sum(sizes))))
        sizes.sort(reverse=True)

        group = solver.group(mask_of(free), sizes, max_splits=100_000)

        unions = reference.optimal_subsets(weight, free, sum(sizes), (), link_class)
        want, splits = reference.best_splits(weight, unions, sizes)
        assert list(group.bottlenecks_gb_s) == want
        found = [(indices_of(union), tuple(indices_of(m) for m in masks)) for union, masks in group.optimal_splits]
        assert sorted(found) == splits
        assert group.optimal_splits_complete
        best_unions = {union for union, _ in splits}
        ranked = min(
            best_unions,
            key=lambda s: (
                tuple(-x for x in reference.left_over(weight, link_class, free, s)),
                tuple(-x for x in reference.pairs(weight, s)),
                s,
            ),
        )
        assert indices_of(group.union) == ranked
        first = min(split for union, split in splits if union == ranked)
        assert tuple(indices_of(m) for m in group.masks) == first
        assert solver.split(group.union, sizes) == list(group.masks)

    def test_a_cut_list_of_splits_says_so(self):
        group = BottleneckSolver(np.full((8, 8), 25.0)).group(ALL_8, [2, 2, 2, 2], max_splits=5)
        assert len(group.optimal_splits) == 5 and not group.optimal_splits_complete
        everything = BottleneckSolver(np.full((8, 8), 25.0)).group(ALL_8, [2, 2, 2, 2], max_splits=105)
        assert len(everything.optimal_splits) == 105 and everything.optimal_splits_complete

    def test_required_devices_are_in_the_union(self):
        solver = BottleneckSolver(both_directions(koordinator_matrix_a()))
        group = solver.group(ALL_8, [2, 2], require=1 << 7)
        assert indices_of(group.union) == (4, 5, 6, 7)
