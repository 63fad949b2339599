"""Machine link tables."""

from __future__ import annotations

import numpy as np
import pytest

from workbench.errors import InputError, UnknownNameError
from workbench.topology.machines import MACHINES, dgx1_v100, hgx_h100, machine, with_noise


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
    assert [len(machine(name)) for name in MACHINES] == [8, 8]
