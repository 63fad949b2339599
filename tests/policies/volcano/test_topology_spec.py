"""Constraints as a session reads them; upstream's own rows are in the conformance cases."""

from __future__ import annotations

import pytest

from workbench.model.gang import TopologyConstraint
from workbench.policies.volcano.v1_15.constraints import adjust_constraints, hard_tier, translate_tier_name

SOFT = TopologyConstraint("soft")
NAMED = TopologyConstraint("hard", None, "rack")


@pytest.mark.parametrize(
    ("job", "want"),
    [
        (TopologyConstraint("hard", 2), 2),
        (TopologyConstraint("soft", 2), 4),
        (TopologyConstraint("hard"), 4),
        (TopologyConstraint("", 2), 2),
        (NAMED, 1),
        (TopologyConstraint("hard", None, "unknown"), 4),
        (None, 4),
    ],
)
def test_a_soft_sub_group_stays_within_what_its_job_may_use(job: TopologyConstraint | None, want: int) -> None:
    _, (found,) = adjust_constraints(job, [SOFT], {"rack": 1}, 4)
    assert found == TopologyConstraint("hard", want)


def test_a_number_wins_over_a_name_and_an_unknown_name_restricts_nothing() -> None:
    both = TopologyConstraint("hard", 3, "rack")
    assert translate_tier_name(both, {"rack": 1}) is both
    assert hard_tier(translate_tier_name(NAMED, {})) is None
    assert translate_tier_name(None, {"": 1}) is None
