"""Pods of one role fail together, in both releases."""

from __future__ import annotations

import pytest

from tests.fabrics import snapshot
from workbench.model.gang import Gang, Role, TopologyConstraint
from workbench.policies import get_policy


def placed(policy, names, constraint):
    """Which roles of a job that needs one pod get a node of 4 CPU; those of the first ask for 5."""
    roles = tuple(Role(name, 1, {"cpu": 5000 if i == 0 else 1000}) for i, name in enumerate(names))
    cluster = snapshot(["n1"], [("rack", 1, ["n1"], "")], cpu=4000)
    answer = get_policy(policy).place(Gang("ns", "job", roles, 1, constraint), cluster.ledger())
    return [int(node >= 0) for node in answer.node] if hasattr(answer, "node") else None


@pytest.mark.parametrize(
    ("policy", "constraint"),
    [
        ("allocate", None),
        ("volcano-1.13", None),
        ("volcano-1.13", TopologyConstraint("soft")),
        ("volcano-1.13", TopologyConstraint("hard", 1)),
        # With a topology its pre-filter asks for the room of both pods before any is tried.
        ("volcano-1.15", None),
    ],
)
def test_another_shape_of_a_role_that_failed_is_skipped(policy, constraint):
    assert placed(policy, ["w", "w#2"], constraint) is None
    assert placed(policy, ["w", "v"], constraint) == [0, 1]
    # As pods that name no role are called: each shape for itself.
    assert placed(policy, ["pod", "pod-2"], constraint) == [0, 1]
