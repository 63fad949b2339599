"""Topology constraints as Volcano 1.15 applies them: tier names become numbers, soft constraints hard ones.

Source: docs/reference/volcano-topology.md, sections 3 and 3.2. 1.13 reads constraints as they are, with its schema's
default.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from workbench.model.gang import TopologyConstraint

__all__ = ["adjust_constraints", "hard_tier", "is_soft", "soft_to_hard", "translate_tier_name"]


def hard_tier(constraint: TopologyConstraint | None) -> int | None:
    """The highest tier of a hard constraint; None if it restricts nothing.

    A hard constraint without a tier number restricts nothing in either release, also if its tier name was not found.
    """
    return constraint.highest_tier if constraint is not None and constraint.mode == "hard" else None


def is_soft(constraint: TopologyConstraint | None) -> bool:
    """Whether a constraint is soft; one without a mode is neither soft nor hard."""
    return constraint is not None and constraint.mode == "soft"


def translate_tier_name(
    constraint: TopologyConstraint | None, tier_of_name: Mapping[str, int]
) -> TopologyConstraint | None:
    """The constraint with its tier name replaced by the tier's number; unchanged without a known tier name.

    A constraint that has a number already is unchanged, too.
    """
    if constraint is None or constraint.highest_tier is not None:
        return constraint
    tier = tier_of_name.get(constraint.highest_tier_name or "")
    return constraint if tier is None else replace(constraint, highest_tier=tier, highest_tier_name=None)


def soft_to_hard(constraint: TopologyConstraint | None, tier: int) -> TopologyConstraint | None:
    """A soft constraint as a hard one up to `tier`, whatever tier it had; any other constraint unchanged."""
    if constraint is None or not is_soft(constraint):
        return constraint
    return replace(constraint, mode="hard", highest_tier=tier)


def adjust_constraints(
    job: TopologyConstraint | None,
    sub_groups: Sequence[TopologyConstraint | None],
    tier_of_name: Mapping[str, int],
    top_tier: int,
) -> tuple[TopologyConstraint | None, tuple[TopologyConstraint | None, ...]]:
    """Constraints of a job and of its sub-groups as the session applies them.

    Parameters
    ----------
    job : TopologyConstraint, optional
        Constraint of the whole job.
    sub_groups : sequence of (TopologyConstraint or None)
        Constraint of each sub-group.
    tier_of_name : mapping of str to int
        tierName of the HyperNodes to their tier.
    top_tier : int
        Tier of the virtual top.

    Returns
    -------
    job : TopologyConstraint or None
        A soft constraint has become a hard one up to the tier of the virtual top.
    sub_groups : tuple of (TopologyConstraint or None)
        A soft constraint has become a hard one up to the job's highest tier (the virtual top's if the job has none), so
        that a soft sub-group never leaves the HyperNode that its job may use.
    """
    job = soft_to_hard(translate_tier_name(job, tier_of_name), top_tier)
    below = top_tier if job is None or job.highest_tier is None else job.highest_tier
    return job, tuple(soft_to_hard(translate_tier_name(one, tier_of_name), below) for one in sub_groups)
