from __future__ import annotations

import dataclasses

import pytest

from workbench.errors import InputError
from workbench.model.gang import Gang, Role

MIXED = Gang("d", "g", (Role("m", 1, {"cpu": 1}), Role("w", 2, {"cpu": 1})), 3, order=(1, 0, 2))


def test_an_order_goes_before_the_order_of_the_roles() -> None:
    assert MIXED.task_rank.tolist() == [1, 0, 2]


@pytest.mark.parametrize("order", [(0, 1), (0, 1, 1), (0, 1, 3), (-1, 0, 1), (0, 1, 2, 3)])
def test_an_order_that_does_not_name_each_pod_once_is_refused(order: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match="gang d/g: order is no permutation"):
        dataclasses.replace(MIXED, order=order)


def test_a_copy_with_other_pods_needs_another_order() -> None:
    one = (Role("w", 2, {"cpu": 1}),)
    with pytest.raises(InputError, match=r"order=\(\), too"):
        dataclasses.replace(MIXED, roles=one)
    assert dataclasses.replace(MIXED, roles=one, order=()).task_rank.tolist() == [0, 1]
