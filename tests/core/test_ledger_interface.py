from __future__ import annotations

import numpy as np
import pytest

from workbench.errors import InputError
from workbench.kernels.ledger import add_pods, lowest_gpus, whole_nodes


def add(**other):
    given = {
        "sign": 1,
        "nodes": np.array([0, 1], dtype=np.int32),
        "rows": np.ones((1, 3), dtype=np.int64),
        "words": None,
        "used": np.zeros((2, 3), dtype=np.int64),
        "idle": np.zeros((2, 3), dtype=np.int64),
        "gpu_free": np.zeros((2, 1), dtype=np.uint64),
    } | other
    add_pods(**given)
    return given


def test_read_only_rows_are_taken():
    rows = np.ones((1, 3), dtype=np.int64)
    rows.flags.writeable = False
    assert add(rows=rows)["used"].tolist() == [[1, 1, 1], [1, 1, 1]]


def test_no_pods():
    changed = add(nodes=np.zeros(0, dtype=np.int32), rows=np.zeros((0, 3), dtype=np.int64))
    assert not changed["used"].any() and not changed["idle"].any() and not changed["gpu_free"].any()


@pytest.mark.parametrize(
    ("other", "message"),
    [
        pytest.param({"nodes": [0, 1]}, "not a numpy array", id="a list"),
        pytest.param({"nodes": np.array([0, 1])}, "wrong dtype", id="int64 nodes"),
        pytest.param({"nodes": np.array([0, 2], dtype=np.int32)}, "pod 1: no such node.*2", id="no such node"),
        pytest.param({"nodes": np.array([0, -1], dtype=np.int32)}, "pod 1: no such node.*-1", id="a negative node"),
        pytest.param({"rows": np.ones(3, dtype=np.int64)}, "number of dimensions", id="a bare row"),
        pytest.param({"rows": np.ones((3, 3), dtype=np.int64)}, "wrong length", id="three rows for two pods"),
        pytest.param({"rows": np.ones((1, 2), dtype=np.int64)}, "number of columns", id="two columns of three"),
        pytest.param({"words": np.ones((2, 2), dtype=np.uint64)}, "number of columns", id="wider GPUs"),
        pytest.param({"words": np.ones((1, 1), dtype=np.uint64)}, "wrong length", id="GPUs of one pod"),
        pytest.param({"idle": np.zeros((3, 2), dtype=np.int64).T}, "not C-contiguous", id="the other order"),
        pytest.param({"gpu_free": np.zeros((3, 1), dtype=np.uint64)}, "wrong length", id="another cluster's GPUs"),
    ],
)
def test_wrong_input_is_refused_and_nothing_is_changed(other, message):
    used = np.zeros((2, 3), dtype=np.int64)
    with pytest.raises(InputError, match=message):
        add(used=used, **other)
    assert not used.any()


def test_a_pod_without_such_a_node_takes_no_whole_node():
    assert whole_nodes(np.array([2], dtype=np.int32), 0, np.zeros((2, 1), dtype=np.uint64)) is None


def test_whole_nodes_of_another_kind_are_refused():
    with pytest.raises(InputError, match="wrong dtype"):
        whole_nodes(np.array([0]), 1, np.ones((1, 1), dtype=np.uint64))
    with pytest.raises(InputError, match="number of dimensions"):
        whole_nodes(np.array([0], dtype=np.int32), 1, np.ones(1, dtype=np.uint64))


@pytest.mark.parametrize(
    ("other", "message"),
    [
        pytest.param({"node": np.array([0, 1])}, "node: wrong dtype", id="int64 nodes"),
        pytest.param({"node": np.array([0, 2], dtype=np.int32)}, "node.*entry 1.*2", id="no such node"),
        pytest.param({"role": np.array([0, 1], dtype=np.int32)}, "role.*entry 1.*1", id="no such role"),
        pytest.param({"role": np.zeros(3, dtype=np.int32)}, "wrong length", id="three roles for two pods"),
        pytest.param({"n_gpus": np.array([-1])}, "n_gpus.*entry 0.*-1", id="a negative number"),
        pytest.param({"gpu_free": np.zeros(2, dtype=np.uint64)}, "number of dimensions", id="bare words"),
    ],
)
def test_what_is_no_question_for_the_lowest_gpus(other, message):
    given = {
        "node": np.array([0, 1], dtype=np.int32),
        "role": np.zeros(2, dtype=np.int32),
        "n_gpus": np.array([1]),
        "gpu_free": np.ones((2, 1), dtype=np.uint64),
    }
    assert lowest_gpus(**given)[0].tolist() == [[1], [1]]
    with pytest.raises(InputError, match=message):
        lowest_gpus(**(given | other))


def test_the_lowest_gpus_of_no_pods():
    nobody = np.zeros(0, dtype=np.int32)
    words, n_nodes = lowest_gpus(nobody, nobody, np.array([1]), np.ones((2, 3), dtype=np.uint64))
    assert (words.shape, n_nodes) == ((0, 3), 0)
