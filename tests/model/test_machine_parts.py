"""Which NICs are near some GPUs."""

from __future__ import annotations

import pickle

import pytest

from workbench.errors import InputError
from workbench.model.bandwidth import BandwidthMatrix
from workbench.model.best_gpus import best_gpus
from workbench.model.machine_parts import MachineParts, near_lines
from workbench.model.pod_gpus import split_gpus

# GPU 3 is near to no NIC: all are as far.
PARTS = MachineParts(
    {"a": ("PIX", "PXB", "SYS", "SYS"), "b": ("PXB", "PXB", "SYS", "SYS"), "c": ("SYS", "SYS", "NODE", "SYS")},
    ("0", "0", "10", "2"),
)


def test_the_nearest_nics_of_a_gpu_have_the_nearest_link() -> None:
    assert PARTS.nearest(0) == {"a": "PIX"}
    assert PARTS.nearest(1) == {"a": "PXB", "b": "PXB"}
    assert PARTS.nearest(2) == {"c": "NODE"}
    assert PARTS.nearest(3) == {}


@pytest.mark.parametrize("kind", ["SYS", "SOC", "another"])
def test_a_nic_behind_another_socket_is_near_to_no_gpu(kind: str) -> None:
    parts = MachineParts({"x": (kind, kind, "PIX")}, ("0", "0", "1"))
    assert parts.nearest(0) == {}
    near = parts.near([0, 1, 2])
    assert (near["near_nics"], near["gpus_without_near_nic"]) == ({"x": {"2": "PIX"}}, [0, 1])
    assert near_lines(near) == [
        "near NIC x: GPU 2 (PIX)",
        "no NIC near GPU 0, 1: every NIC is behind another socket",
        "NUMA nodes: 0, 1",
    ]


@pytest.mark.parametrize(
    ("near", "far"), [("PIX", "PXB"), ("PXB", "PHB"), ("PHB", "NODE"), ("NODE", "SYS"), ("NODE", "another")]
)
def test_link_types_have_an_order(near: str, far: str) -> None:
    assert MachineParts({"n": (near,), "f": (far,)}).nearest(0) == {"n": near}


def test_a_nic_is_told_for_the_gpus_to_which_it_is_nearest() -> None:
    near = PARTS.near([0, 1, 2])
    assert near == {
        "near_nics": {"a": {"0": "PIX", "1": "PXB"}, "b": {"1": "PXB"}, "c": {"2": "NODE"}},
        "numa_nodes": ["0", "10"],
    }
    assert PARTS.near([2, 3])["numa_nodes"] == ["2", "10"]
    assert near_lines(near) == [
        "near NIC a: GPU 0 (PIX), GPU 1 (PXB)",
        "near NIC b: GPU 1 (PXB)",
        "near NIC c: GPU 2 (NODE)",
        "NUMA nodes: 0, 10",
    ]


def test_nics_with_the_same_links_share_a_line() -> None:
    parts = MachineParts({"x": ("PIX", "PIX"), "y": ("PIX", "PIX")}, ("1", "1"))
    assert near_lines(parts.near([0, 1])) == ["near NICs x, y: GPU 0, 1 (PIX)", "NUMA nodes: 1"]
    assert near_lines({}) == []


def test_parts_need_not_be_complete() -> None:
    assert MachineParts().near([0]) == {"near_nics": {}, "numa_nodes": []}
    assert MachineParts(numa=("0", "1")).near([1]) == {"near_nics": {}, "numa_nodes": ["1"]}


def test_parts_are_of_the_machine() -> None:
    with pytest.raises(InputError, match="different numbers of GPUs"):
        MachineParts({"a": ("PIX",), "b": ("PIX", "SYS")})
    with pytest.raises(InputError, match="different numbers of GPUs"):
        MachineParts({"a": ("PIX",)}, ("0", "1"))
    with pytest.raises(InputError, match=r"parts of another machine.*found parts for 1 GPU.*expected 2"):
        BandwidthMatrix([[0, 1], [1, 0]], parts=MachineParts(numa=("0",)))


def test_a_matrix_with_parts_tells_what_is_near_its_best_gpus() -> None:
    fast = [[0, 1, 1, 1], [1, 0, 9, 1], [1, 9, 0, 1], [1, 1, 1, 0]]
    matrix = BandwidthMatrix(fast, parts=PARTS)
    assert matrix.near([1, 2]) == PARTS.near([1, 2])
    assert best_gpus(matrix, 2).to_dict().items() >= PARTS.near([1, 2]).items()
    assert split_gpus(matrix, [2]).to_dict().items() >= PARTS.near([1, 2]).items()
    assert pickle.loads(pickle.dumps(matrix)).parts == PARTS
    # Without parts nothing is told, and without GPUs neither.
    assert "near_nics" not in best_gpus(BandwidthMatrix(fast), 2).to_dict()
    assert matrix.near([]) == {} == best_gpus(matrix, 2, free=[0]).matrix.near(())
    with pytest.raises(InputError, match="no such GPU"):
        matrix.near([4])
