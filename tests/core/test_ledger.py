from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.reference import ledger as oracle
from workbench.kernels.ledger import add_pods, lowest_gpus, whole_nodes
from workbench.model.placement import words_to_mask
from workbench.model.snapshot import gpu_words


@given(st.data())
def test_pods_one_by_one_and_taking_them_out_again(data):
    n, r = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 3))
    amounts = st.lists(st.integers(-5, 9), min_size=r, max_size=r)
    used, idle = (data.draw(st.lists(amounts, min_size=n, max_size=n)) for _ in range(2))
    nodes = data.draw(st.lists(st.integers(0, n - 1), max_size=8))
    each = data.draw(st.booleans())
    rows = data.draw(st.lists(amounts, min_size=len(nodes) if each else 1, max_size=len(nodes) if each else 1))
    with_gpus = data.draw(st.booleans())
    # Disjoint sets: pod i has GPU i.
    masks = [1 << i if with_gpus else 0 for i in range(len(nodes))]
    before = [np.array(used), np.array(idle), np.full((n, 1), 255, dtype=np.uint64)]
    after = [array.copy() for array in before]
    words = np.array(masks, dtype=np.uint64).reshape(-1, 1) if with_gpus else None
    pods = (np.array(nodes, dtype=np.int32), np.array(rows, dtype=np.int64).reshape(-1, r), words)
    add_pods(1, *pods, *after)
    want = oracle.add_pods(1, nodes, rows, masks, used, idle, [255] * n)
    assert (after[0].tolist(), after[1].tolist(), after[2][:, 0].tolist()) == want
    add_pods(-1, *pods, *after)
    assert all((a == b).all() for a, b in zip(after, before, strict=True))


def test_gpus_of_several_words():
    sums = [np.zeros((2, 1), dtype=np.int64), np.zeros((2, 1), dtype=np.int64), np.full((2, 2), 3, dtype=np.uint64)]
    words = np.array([[1, 2]], dtype=np.uint64)
    add_pods(1, np.array([1], dtype=np.int32), np.array([[4]]), words, *sums)
    assert [array.tolist() for array in sums] == [[[0], [4]], [[0], [-4]], [[3, 3], [2, 1]]]


@given(st.data())
def test_pods_that_take_all_that_is_free_on_nodes_of_their_own(data):
    free = data.draw(st.lists(st.sampled_from([0, 3, 5, 1 << 64, (1 << 64) + 1, 7]), min_size=1, max_size=5))
    nodes = data.draw(st.lists(st.integers(-1, len(free) - 1), max_size=4))
    n_gpus = data.draw(st.integers(0, 3))
    words = np.array([[mask % (1 << 64), mask >> 64] for mask in free], dtype=np.uint64)
    found = whole_nodes(np.array(nodes, dtype=np.int32), n_gpus, words)
    masks = None if found is None else [int(low) + (int(high) << 64) for low, high in found]
    assert masks == oracle.whole_nodes(nodes, n_gpus, free)


@given(st.data())
def test_the_lowest_gpus_pod_by_pod(data):
    n, width = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 2))
    masks = data.draw(st.lists(st.integers(0, (1 << 64 * width) - 1), min_size=n, max_size=n))
    n_gpus = data.draw(st.lists(st.sampled_from([0, 1, 2, 8, 40, 70]), min_size=1, max_size=3))
    node = data.draw(st.lists(st.integers(-1, n - 1), max_size=8))
    role = data.draw(st.lists(st.integers(0, len(n_gpus) - 1), min_size=len(node), max_size=len(node)))
    free = [{bit for bit in range(64 * width) if mask >> bit & 1} for mask in masks]
    words, n_nodes = lowest_gpus(
        np.array(node, dtype=np.int32), np.array(role, dtype=np.int32), np.array(n_gpus), gpu_words(masks, width)
    )
    want = oracle.lowest_gpus(node, role, n_gpus, free)
    if want is None:
        assert n_nodes == -1
        return
    assert words.shape == (len(node), width)
    assert [words_to_mask(row) for row in words] == [sum(1 << gpu for gpu in gpus) for gpus in want]
    assert n_nodes == len({at for at, gpus in zip(node, want, strict=True) if gpus})
