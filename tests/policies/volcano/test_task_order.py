"""The order in which the pods of a gang are tried."""

from __future__ import annotations

import dataclasses

from workbench.model.gang import Gang, Role
from workbench.policies.volcano.parts.task_order import task_rank

MIXED = Gang("d", "g", (Role("m", 1, {"cpu": 1}), Role("w", 2, {"cpu": 1})), 3, order=("g-w-0", "g-m-0", "g-w-1"))


def test_an_order_goes_before_the_order_of_the_roles() -> None:
    assert task_rank(MIXED).tolist() == [1, 0, 2]


def test_an_order_goes_along_with_the_same_pods_in_other_roles() -> None:
    turned = dataclasses.replace(MIXED, roles=MIXED.roles[::-1])
    assert task_rank(turned).tolist() == [0, 2, 1]


def test_pods_of_a_role_go_by_the_indices_that_all_their_names_end_in() -> None:
    def ranks(*names: str) -> list[int]:
        role = Role("w", len(names), {"cpu": 1}, pod_names=names)
        ranked: list[int] = task_rank(Gang("d", "g", (role,), len(names))).tolist()
        return ranked

    assert ranks("j-w-10", "j-w-9", "j-w-" + "9" * 18) == [1, 0, 2]
    # No index, as in Volcano: two parts, a number that does not fit, no number.
    for without in ("x-7", "j-w-" + "9" * 5000, "j-w-", "j-w-²"):
        assert ranks("j-w-10", "j-w-9", without) == [0, 1, 2]
