from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from workbench.policies.koordinator.node_set import NodeClass, choose_nodes

INF = float("inf")


def room(free, gpus, counts):
    ranges = [range(count + 1) for count in counts]
    return tuple(q for q in itertools.product(*ranges) if sum(n * g for n, g in zip(q, gpus)) <= free)


def one_each(frees, gpus, counts, values=None):
    """A class per node; the rank of a name is its number."""
    return [
        NodeClass((i,), (i,), free, room(free, gpus, counts), values[i] if values else (INF,) * (free + 1))
        for i, free in enumerate(frees)
    ]


def brute_force(classes, counts, gpus):
    """Every set of nodes and every way to deal the pods: (nodes, left, -worst value, ranks) of the best."""
    by_node = {node: (c, rank) for c in classes for node, rank in zip(c.nodes, c.ranks)}
    wanted = sum(n * g for n, g in zip(counts, gpus))
    best = None
    for m in range(1, sum(counts) + 1):
        for some in itertools.combinations(sorted(by_node), m):
            for dealt in itertools.product(*(by_node[node][0].room for node in some)):
                if tuple(map(sum, zip(*dealt))) != counts or not all(any(q) for q in dealt):
                    continue
                worst = min(
                    by_node[node][0].values[sum(n * g for n, g in zip(q, gpus))] for node, q in zip(some, dealt)
                )
                left = sum(by_node[node][0].free for node in some) - wanted
                key = (m, left, -worst, tuple(sorted(by_node[node][1] for node in some)))
                best = key if best is None else min(best, key)
        if best is not None:
            return best
    return None


def key_of(found, classes, gpus):
    by_node = {node: (c, rank) for c in classes for node, rank in zip(c.nodes, c.ranks)}
    worst = min(by_node[node][0].values[sum(n * g for n, g in zip(q, gpus))] for node, q in found.nodes)
    return (len(found.nodes), found.left, -worst, tuple(sorted(by_node[node][1] for node, _ in found.nodes)))


@st.composite
def groups(draw):
    shapes = draw(st.integers(1, 2))
    gpus = tuple(draw(st.lists(st.integers(0, 3), min_size=shapes, max_size=shapes)))
    counts = tuple(draw(st.lists(st.integers(1, 3), min_size=shapes, max_size=shapes)))
    frees = draw(st.lists(st.integers(0, 5), min_size=1, max_size=5))
    values = [
        tuple(sorted(draw(st.lists(st.sampled_from([1.0, 2.0, 3.0]), min_size=f + 1, max_size=f + 1)), reverse=True))
        for f in frees
    ]
    return gpus, counts, frees, values


@given(groups())
def test_the_node_set_is_the_best_of_all(case):
    gpus, counts, frees, values = case
    classes = one_each(frees, gpus, counts, values)
    found = choose_nodes(classes, counts, gpus)
    want = brute_force(classes, counts, gpus)
    assert (found is None) == (want is None)
    if found is not None:
        assert found.proven
        assert key_of(found, classes, gpus) == want
        assert tuple(map(sum, zip(*(q for _, q in found.nodes)))) == counts


@given(st.lists(st.sampled_from([2, 4, 8]), min_size=1, max_size=6), st.integers(1, 5))
def test_nodes_of_one_class_are_as_good_as_a_class_each(frees, count):
    gpus, counts = (2,), (count,)
    apart = choose_nodes(one_each(frees, gpus, counts), counts, gpus)
    merged = [
        NodeClass(nodes, nodes, free, room(free, gpus, counts), (INF,) * (free + 1))
        for free in sorted(set(frees))
        for nodes in [tuple(i for i, f in enumerate(frees) if f == free)]
    ]
    together = choose_nodes(merged, counts, gpus)
    assert (apart is None) == (together is None)
    if apart is not None and together is not None:
        assert [node for node, _ in apart.nodes] == [node for node, _ in together.nodes]


def test_bandwidth_only_breaks_ties():
    """Two fast half-free nodes lose against one slow free one: fewest nodes come first."""
    values = [(INF, INF, 9.0), (INF, INF, 9.0), (INF, INF, 1.0, 1.0, 1.0)]
    classes = one_each([2, 2, 4], (2,), (2,), values)
    found = choose_nodes(classes, (2,), (2,))
    assert [node for node, _ in found.nodes] == [2]


def test_of_equal_nodes_the_one_with_the_wider_links_is_taken():
    values = [(INF, INF, 1.0), (INF, INF, 9.0), (INF, INF, 9.0)]
    found = choose_nodes(one_each([2, 2, 2], (2,), (1,), values), (1,), (2,))
    assert found.nodes == ((1, (1,)),)


def test_a_search_that_is_too_long_takes_the_fullest_nodes_and_says_so(monkeypatch):
    monkeypatch.setattr("workbench.policies.koordinator.node_set._MOST_WORK", 1)
    found = choose_nodes(one_each([3, 4, 3, 4], (1,), (7,)), (7,), (1,))
    assert not found.proven
    assert found.nodes == ((0, (3,)), (1, (4,)))
    assert found.left == 0
    assert choose_nodes(one_each([1, 1], (1,), (3,)), (3,), (1,)) is None


def test_nodes_of_one_bandwidth_need_no_second_search(monkeypatch):
    monkeypatch.setattr("workbench.policies.koordinator.node_set._MOST_WORK", 3)
    found = choose_nodes(one_each([3, 4, 3, 4], (1,), (7,)), (7,), (1,))
    assert (found.nodes, found.proven) == (((0, (3,)), (1, (4,))), True)


def test_a_set_whose_bandwidth_could_not_be_compared_says_so(monkeypatch):
    values = [(INF, INF, 1.0), (INF, INF, 9.0)]
    classes = one_each([2, 2], (2,), (1,), values)
    monkeypatch.setattr("workbench.policies.koordinator.node_set._MOST_WORK", 1)
    found = choose_nodes(classes, (1,), (2,))
    assert (found.nodes, found.proven) == (((0, (1,)),), False)


@given(st.permutations(range(8)), st.lists(st.integers(1, 4), min_size=8, max_size=8), st.integers(1, 14))
def test_the_node_that_is_not_filled_is_the_last_of_its_class_whatever_other_classes_are_alike(ranks, frees, count):
    """Nodes of two classes with equal offers are chosen together, and filled class by class."""
    gpus, counts = (1,), (count,)
    nodes = sorted(range(8), key=ranks.__getitem__)
    classes = [
        NodeClass(tuple(mine), tuple(ranks[i] for i in mine), free, room(free, gpus, counts), (speed,) * (free + 1))
        for free in range(1, 5)
        for speed in (1.0, 2.0)
        if (mine := [i for i in nodes if frees[i] == free and 1.0 + i % 2 == speed])
    ]
    found = choose_nodes(classes, counts, gpus)
    assert (found is None) == (sum(frees) < count)
    if found is not None:
        free = {node: c.free for c in classes for node in c.nodes}
        filled = [taken == free[node] for node, (taken,) in found.nodes]
        assert sum(taken for _, (taken,) in found.nodes) == count
        assert filled.count(False) <= 1
