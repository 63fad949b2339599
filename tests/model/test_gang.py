from __future__ import annotations

import dataclasses

import pytest

from workbench.errors import InputError
from workbench.model.gang import Gang, Role, SubGroup

MIXED = Gang("d", "g", (Role("m", 1, {"cpu": 1}), Role("w", 2, {"cpu": 1})), 3, order=("g-w-0", "g-m-0", "g-w-1"))


@pytest.mark.parametrize("pods", ["m-0 w-0", "m-0 w-0 w-0", "m-0 w-0 w-2", "m-0 w-0 w-1 w-2"])
def test_an_order_that_does_not_name_each_pod_once_is_refused(pods: str) -> None:
    order = tuple(f"g-{pod}" for pod in pods.split())
    with pytest.raises(InputError, match="gang d/g: order names other pods"):
        dataclasses.replace(MIXED, order=order)


@pytest.mark.parametrize("roles", ["w:2", "a:1 w:2", "w:1 m:2"])
def test_a_copy_with_other_pods_needs_another_order(roles: str) -> None:
    named = (role.split(":") for role in roles.split())
    others = tuple(Role(name, int(count), {"cpu": 1}) for name, count in named)
    with pytest.raises(InputError, match=r"order=\(\), too"):
        dataclasses.replace(MIXED, roles=others)
    assert dataclasses.replace(MIXED, roles=others, order=()).n_pods == sum(role.count for role in others)


def test_sub_groups_need_sub_group_policies() -> None:
    group = SubGroup("pp-0", (0,), None, 1)
    with pytest.raises(InputError, match="found 1 sub-group, sub_grouped=False"):
        dataclasses.replace(MIXED, sub_groups=(group,))
    assert dataclasses.replace(MIXED, sub_groups=(group,), sub_grouped=True).sub_groups == (group,)
