from __future__ import annotations

import math

import pytest

from workbench.errors import InputError
from workbench.model.best_gpus import best_gpus

#: Two fast pairs joined by slow links, one of them slow in one direction only.
PAIRS = [
    [0, 100, 10, 10],
    [100, 0, 10, 10],
    [10, 10, 0, 100],
    [10, 10, 2, 0],
]


def test_a_slow_direction_counts_unless_told_otherwise():
    assert best_gpus(PAIRS, 2).gpus == (0, 1)
    assert best_gpus(PAIRS, 2).ties == ((0, 1),)
    assert best_gpus(PAIRS, 2, symmetric="max").ties == ((0, 1), (2, 3))


def test_one_gpu_has_no_pair_and_json_says_null():
    best = best_gpus(PAIRS, 1)
    assert best.bottleneck_gb_s == math.inf
    assert best.to_dict()["bottleneck_gb_s"] is None
    assert best.bottleneck_pair is None
    assert best.optimal_sets == 4


def test_required_and_avoided_gpus_bind_the_choice():
    assert best_gpus(PAIRS, 2, require=[2]).gpus == (0, 2)
    assert best_gpus(PAIRS, 2, avoid=[0]).gpus == (1, 2)
    assert best_gpus(PAIRS, 3, require=[2], avoid=[3]).gpus == (0, 1, 2)


def test_noise_inside_a_link_class_does_not_decide_between_classes_but_breaks_ties():
    # 10 and 10.5 are one class. Raw and link-class agree on the value here, and say which was maximised.
    noisy = [[0, 10, 10.5], [10, 0, 10], [10.5, 10, 0]]
    assert best_gpus(noisy, 2).gpus == (0, 2)
    assert best_gpus(noisy, 2, link_classes=True).objective == "link-class"
    assert best_gpus(noisy, 2, link_classes=True).bottleneck_gb_s == 10.5


def test_too_few_free_gpus_is_a_state_not_an_error():
    best = best_gpus(PAIRS, 3, free=[0, 1])
    assert best.gpus == ()
    assert best.optimal_sets == 0
    assert best.n_free == 2
    assert not best.exact and best.to_dict()["exact"] is False
    assert best.shortage == f"no such set: only 2 of {len(best.matrix)} GPUs are free"
    assert best_gpus(PAIRS, 2).shortage == "" and best_gpus(PAIRS, 2).exact


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"k": 5}, "k does not fit the machine"),
        ({"k": 0}, "k does not fit the machine"),
        ({"k": 2, "free": [7]}, "no such GPU"),
        ({"k": 2, "require": [0], "avoid": [0]}, "required GPUs are not free"),
        ({"k": 1, "require": [0, 1]}, "more GPUs are required"),
        ({"k": 2, "symmetric": "median"}, "unknown direction rule"),
    ],
)
def test_wrong_arguments_are_refused_with_the_place(arguments, message):
    with pytest.raises(InputError, match=message):
        best_gpus(PAIRS, **arguments)
