from __future__ import annotations

import json
from typing import Any

import pytest

from workbench.errors import InputError
from workbench.model.bandwidth import BandwidthMatrix
from workbench.objects import device as device_module
from workbench.objects.device import device_manifest, read_device


def device(matrix: Any, n: int = 2, **more: Any) -> dict[str, Any]:
    text = matrix if isinstance(matrix, str) else json.dumps(matrix)
    gpus = [{"type": "gpu", "minor": i, "health": i != 1} for i in range(n)]
    spec = {"devices": [*gpus, {"type": "rdma", "minor": 0}], **more}
    return {
        "metadata": {"name": "host04"},
        "spec": {"topologies": {"gpu": [{"name": "bandwidth", "topology": text}]}} | spec,
    }


def test_healthy_gpus_and_matrix() -> None:
    found = read_device(device([[0, 5], [6.5, 0]]))
    assert (found.healthy_gpus, found.all_gpus) == ((0,), (0, 1))
    assert found.bandwidth is not None
    assert found.bandwidth.gb_s.tolist() == [[0, 5], [6.5, 0]]


def test_a_device_without_a_matrix() -> None:
    assert read_device(device("", topologies=None)).bandwidth is None


def test_devices_with_the_same_text_share_their_matrix() -> None:
    assert read_device(device([[0, 5], [5, 0]])).bandwidth is read_device(device([[0, 5], [5, 0]])).bandwidth


@pytest.mark.parametrize(
    ("matrix", "where", "message"),
    [
        ([[0, 1], [1]], "row 1", "not square"),
        ([[0, 1]], "row 0", "not square"),
        ([[0, -1], [1, 0]], "row 0, column 1", "not a bandwidth"),
        ("[[0, NaN], [1, 0]]", "row 0, column 1", "not a bandwidth"),
        ([[0, None], [1, 0]], "row 0, column 1", "missing"),
        ([[0, "5"], [1, 0]], "row 0, column 1", "missing or wrong"),
        ("[[0, 1" + "0" * 400 + "], [1, 0]]", "row 0, column 1", "wrong entry"),
        ("[[0, 1", "topology", "no JSON"),
        ("[" * 100_000, "topology", "no JSON"),
        ([], "topology", "no list of rows"),
        ([[0, 1, 1], [1, 0, 1], [1, 1, 0]], "topology", "another number of GPUs"),
        ([[0]], "topology", "another number of GPUs"),
        ([[1] * 1025] * 1025, "topology", "too many GPUs"),
    ],
)
def test_a_matrix_that_is_none_is_bad_input(matrix: Any, where: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read_device(device(matrix))
    assert caught.value.where is not None
    assert caught.value.where.startswith("spec.topologies.gpu[0].topology")
    assert caught.value.where.endswith(where)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("minor", [None, -1, 1024, 0, "1", True])
def test_minor_numbers_are_distinct_and_in_range(minor: object) -> None:
    broken = device([[0]], n=1)
    broken["spec"]["devices"].append({"type": "gpu", "minor": minor})
    with pytest.raises(InputError, match=r"spec.devices\[2\].minor"):
        read_device(broken)


def test_what_is_written_is_read_back() -> None:
    matrix = BandwidthMatrix([[1.0, 5.25], [0.1, 2.0]])
    found = read_device(device_manifest("host04", (1, 0), matrix, unhealthy=(1,)))
    assert (found.name, found.healthy_gpus, found.all_gpus) == ("host04", (0,), (0, 1))
    assert found.bandwidth == matrix
    assert read_device(device_manifest("host05", range(3))).bandwidth is None


def test_equal_matrices_are_one_object_and_few_characters_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(number: float) -> BandwidthMatrix:
        found = read_device(device([[0, number], [number, 0]])).bandwidth
        assert found is not None
        return found

    monkeypatch.setattr(device_module, "_recent", {})
    assert read(1.5) is read(1.5)
    for number in range(300):
        read(number)
    assert len(device_module._recent) == 256
    length = len(next(iter(device_module._recent)))
    monkeypatch.setattr(device_module, "_MOST_CHARACTERS", 10 * length)
    for number in range(300, 400):
        read(number)
    assert sum(map(len, device_module._recent)) <= 10 * length
    assert read(399) is read(399)
    assert read(300) == read(300)
