"""Tests that every GPU policy is asked, and that the error of one does not affect the others."""

from __future__ import annotations

import math

import pytest

from tests.machines import koordinator_matrix_a
from tests.notices import said
from workbench.errors import InputError
from workbench.evaluate.gpu_choices import gpu_choices, set_bottleneck_gb_s, slowest_of
from workbench.model.bandwidth import BandwidthMatrix
from workbench.model.best_gpus import best_gpus
from workbench.policies import list_policies, registry
from workbench.policies.gpu.base import GpuPolicy
from workbench.policies.parameters import NoParameters
from workbench.policies.registry import Entry

MATRIX = BandwidthMatrix(koordinator_matrix_a())


def by_name(k, free=None, symmetric="min"):
    return {choice.policy: choice for choice in gpu_choices(MATRIX, k, free, symmetric)}


def test_every_registered_gpu_policy_answers_in_order():
    names = [info.name for info in list_policies() if info.kind == "gpu"]
    assert [choice.policy for choice in gpu_choices(MATRIX, 2)] == names
    assert {"gpu-bottleneck", "gpu-lowest-index"} <= set(names)


@pytest.mark.parametrize("k", range(1, 9))
def test_no_policy_beats_the_exact_answer(k):
    best = best_gpus(MATRIX, k)
    for choice in gpu_choices(MATRIX, k):
        assert choice.bottleneck_gb_s <= best.bottleneck_gb_s
        assert len(choice.gpus) in (0, k)
        assert bool(choice.gpus) or choice.notices


def test_the_lowest_indices_meet_a_slow_pair():
    choice = by_name(2, free=[1, 4, 7])["gpu-lowest-index"]
    assert (choice.gpus, choice.bottleneck_gb_s) == ((1, 4), 4.64)  # 4.64 one way, 16.81 back
    assert by_name(2, [1, 4, 7], "max")["gpu-lowest-index"].bottleneck_gb_s == 16.81


def test_one_gpu_has_no_pair():
    choice = by_name(1)["gpu-lowest-index"]
    assert math.isinf(choice.bottleneck_gb_s)
    assert choice.to_dict()["bottleneck_gb_s"] is None


def test_too_few_free_gpus_are_an_answer():
    assert {(choice.gpus, said(choice.notices)) for choice in gpu_choices(MATRIX, 3, [0, 1])} == {
        ((), ("2 GPUs are free",))
    }


@pytest.mark.parametrize(("k", "free"), [(0, None), (9, None), (2, [0, 8]), (2, [-1, 3])])
def test_what_the_machine_does_not_have_is_bad_input(k, free):
    with pytest.raises(InputError):
        gpu_choices(MATRIX, k, free)


def test_a_policy_that_fails_says_so_beside_the_others(monkeypatch):
    class Broken(GpuPolicy):
        name = "gpu-broken"
        parameters = {}

        def __init__(self, _: NoParameters) -> None: ...

        def score(self, gpus, requests):
            return 0.0

        def choose(self, gpus, requests):
            raise ZeroDivisionError("no links")

    entry = Entry("gpu-broken", "gpu", Broken, NoParameters, "fails", "test")
    monkeypatch.setitem(registry._registered, entry.name, entry)
    found = by_name(2)
    (notice,) = found["gpu-broken"].notices
    assert (notice.code, notice.message) == ("policy-failed", "ZeroDivisionError: no links")
    assert found["gpu-lowest-index"].gpus == (0, 1)


def test_the_slowest_pair_follows_the_direction_rule():
    assert slowest_of(MATRIX, [4, 1, 0]) == (1, 4)
    assert slowest_of(MATRIX, [4, 1, 0], "max") == (0, 4)
    assert slowest_of(MATRIX, [3]) is None
    assert set_bottleneck_gb_s(MATRIX, (0, 1, 4)) == 4.64
