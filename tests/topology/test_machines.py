"""Bandwidth matrices of well-known machines."""

from __future__ import annotations

import numpy as np
import pytest

from workbench.errors import InputError, UnknownNameError
from workbench.model.links import link_class_table, suspicious_links
from workbench.topology.machines import (
    MACHINES,
    dgx1_v100,
    hgx_h100,
    machine,
    resource_of,
    with_degraded_links,
    with_noise,
)


def test_every_v100_has_six_nvlinks():
    gb_s = dgx1_v100().gb_s
    links = np.where(gb_s == 50.0, 2, np.where(gb_s == 25.0, 1, 0))
    assert links.sum(axis=1).tolist() == [6] * 8
    assert np.array_equal(gb_s, gb_s.T)


def test_the_cube_mesh_has_three_link_classes_and_nvswitch_one():
    assert dgx1_v100().class_floors_gb_s.tolist() == [10.0, 25.0, 50.0]
    assert hgx_h100().class_floors_gb_s.tolist() == [450.0]


def test_noise_is_repeatable_small_and_different_per_direction():
    clean = dgx1_v100()
    first, again = (with_noise(clean, 0.02, np.random.default_rng(7)) for _ in range(2))
    assert first == again
    assert first != with_noise(clean, 0.02, np.random.default_rng(8))
    assert np.abs(first.gb_s / clean.gb_s - 1.0).max() <= 0.0605
    assert (first.asymmetry() < 1.0).any()


def test_two_percent_noise_leaves_the_link_classes_apart():
    noisy = with_noise(dgx1_v100(), 0.02, np.random.default_rng(1))
    assert np.array_equal(noisy.link_classes(), dgx1_v100().link_classes())


def test_bad_arguments_are_refused():
    with pytest.raises(InputError, match="noise out of range"):
        with_noise(hgx_h100(), 0.9, np.random.default_rng(0))
    with pytest.raises(UnknownNameError, match="did you mean hgx-h100"):
        machine("hgx-h10")


#: Machine: devices, and per link class its name, GB/s and directed links.
WANT = {
    "dgx1-v100": (8, [("SYS", 10, 24), ("NV1", 25, 16), ("NV2", 50, 16)]),
    "dgx2": (16, [("NV6", 150, 240)]),
    "dgx-a100": (8, [("NV12", 300, 56)]),
    "hgx-h100": (8, [("NV18", 450, 56)]),
    "pcie-1-socket": (8, [("PHB", 12.1, 32), ("PIX", 14.8, 24)]),
    "pcie-2-sockets": (8, [("SYS", 10, 32), ("NODE", 11, 16), ("PIX", 14.8, 8)]),
    "mi300x": (8, [("XGMI", 64, 56)]),
    "ascend-910b": (8, [("HCCS", 28, 56)]),
    "ascend-910c": (16, [("HCCS_SW", 196, 224), ("SIO", 270, 16)]),
    "nvl72": (72, [("NV18", 900, 72 * 71)]),
    "supernode-384": (384, [("HCCS_SW", 380, 384 * 383)]),
    "cube-mesh-16": (16, [("SYS", 10, 176), ("NV1/NV2", 25, 42), ("NV2", 50, 22)]),
}


def test_every_machine_has_its_expectation():
    assert list(WANT) == list(MACHINES)


@pytest.mark.parametrize("name", WANT)
def test_machines_have_the_links_of_their_datasheets(name):
    matrix = machine(name)
    assert (len(matrix), [(c.name, c.low_gb_s, c.n_links) for c in link_class_table(matrix)]) == WANT[name]
    assert (matrix.gb_s == matrix.gb_s.T).all()
    assert suspicious_links(matrix) == ()


def test_neighbours_share_the_innermost_part():
    assert machine("pcie-2-sockets").gb_s[0].tolist() == [0, 14.8, 11, 11, 10, 10, 10, 10]
    assert machine("supernode-384").gb_s[8, [7, 9, 15, 16]].tolist() == [380, 392, 392, 380]


def test_degraded_links_are_slow_one_way_and_found():
    clean = machine("dgx-a100")
    first, again = (with_degraded_links(clean, 3, 0.25, np.random.default_rng(5)) for _ in range(2))
    assert first == again != clean
    assert first.link_types == clean.link_types
    (slow,) = suspicious_links(first)
    assert len(slow.pairs) == 3
    assert {float(first.gb_s[pair]) for pair in slow.pairs} == {75.0}


def test_degraded_both_ways_is_a_class_and_not_suspicious():
    slow = with_degraded_links(machine("dgx-a100"), 2, 0.5, np.random.default_rng(0), directions=2)
    assert suspicious_links(slow) == ()
    assert [(c.low_gb_s, c.n_links) for c in link_class_table(slow)] == [(150, 4), (300, 52)]


@pytest.mark.parametrize(
    "arguments", [{"n_links": 29}, {"n_links": -1}, {"factor": 1.5}, {"factor": -0.1}, {"directions": 3}]
)
def test_degraded_links_out_of_range_are_refused(arguments):
    given = {"n_links": 1, "factor": 0.5, "directions": 1, **arguments}
    with pytest.raises(InputError, match="out of range"):
        with_degraded_links(machine("dgx-a100"), rng=np.random.default_rng(0), **given)


def test_devices_are_requested_by_their_vendors_resource():
    assert [resource_of(name) for name in ("dgx2", "mi300x", "ascend-910c")] == [
        "nvidia.com/gpu",
        "amd.com/gpu",
        "huawei.com/Ascend910",
    ]
