"""Wrong arguments of the GPU sharing kernel are refused by its checked interface."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from workbench.errors import InputError
from workbench.kernels.gpu_sharing import GpuSharing, SharingNodes, Typical, Weights

NODES = SharingNodes(
    np.array([8000, 8000]),
    np.array([[10], [10]]),
    np.array([[1000, 1000], [1000, 0]], dtype=np.int32),
    np.array([2, 1], dtype=np.int32),
    np.zeros(2, dtype=np.int32),
    np.zeros((2, 3), dtype=np.int32),
    np.array([1, 0], dtype=np.int32),
)
TYPICAL = Typical(
    np.array([1000]),
    np.array([500], dtype=np.int32),
    np.array([1], dtype=np.int32),
    np.array([1], dtype=np.uint64),
    np.array([1.0]),
)


@pytest.mark.parametrize(
    "changed, message",
    [
        ({"cpu": np.array([8000.0, 1.0])}, "wrong dtype"),
        ({"others": np.array([[10]])}, "wrong length"),
        ({"free": np.array([[1001, 0], [0, 0]], dtype=np.int32)}, "out of range"),
        ({"gpus": np.array([3, 1], dtype=np.int32)}, "out of range"),
        ({"model": np.array([64, 0], dtype=np.int32)}, "out of range"),
        ({"kinds": np.zeros((2, 2), dtype=np.int32)}, "wrong number of columns"),
        ({"order": np.array([0, 0], dtype=np.int32)}, "every node once"),
        ({"free": np.zeros((2, 65), dtype=np.int32), "kinds": np.zeros((2, 66), dtype=np.int32)}, "number of columns"),
    ],
)
def test_nodes(changed: dict[str, np.ndarray], message: str) -> None:
    with pytest.raises(InputError, match=message):
        GpuSharing(dataclasses.replace(NODES, **changed), TYPICAL, "fgd")


def test_rules_and_weights() -> None:
    with pytest.raises(InputError, match="no such rule"):
        GpuSharing(NODES, TYPICAL, "worst-fit")
    with pytest.raises(InputError, match="not above 0"):
        GpuSharing(NODES, TYPICAL, "headroom", weights=Weights(scale=0))
    with pytest.raises(InputError, match="wrong length"):
        GpuSharing(NODES, dataclasses.replace(TYPICAL, frequency=np.array([0.5, 0.5])), "fgd")


def test_shapes_and_pods() -> None:
    state = GpuSharing(NODES, TYPICAL, "fgd")
    for wrong in ((0, 500, 2), (0, 0, 1), (0, 1001, 1), (-1, 0, 0), (0, 1000, 65)):
        with pytest.raises(InputError):
            state.shape(*wrong)
    with pytest.raises(InputError, match="wrong length"):
        state.shape(0, 500, 1, np.ones(3, dtype=np.uint8))
    with pytest.raises(InputError, match="shapes"):
        state.fill(np.zeros(1, dtype=np.int32), np.zeros((1, 1), dtype=np.int64))
    number = state.shape(1000, 500, 1)
    with pytest.raises(InputError, match="wrong number of columns"):
        state.fill(np.array([number], dtype=np.int32), np.zeros((1, 2), dtype=np.int64))
    with pytest.raises(InputError, match="no such shape or node"):
        state.give_back(number, 2, 1, np.zeros(1, dtype=np.int64))
    assert np.isnan(state.scores(state.shape(9000, 500, 1))).all()
    assert state.allocated == 0
