"""Highest tier that a job and each of its sub-groups may use in Volcano 1.15, read from their constraints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from workbench.model.gang import Gang, TopologyConstraint
from workbench.model.notice import Notice
from workbench.model.topology import Topology

__all__ = [
    "Limits",
    "adjust_constraints",
    "hard_tier",
    "is_soft",
    "limits_of",
    "soft_to_hard",
    "tiers_by_name",
    "translate_tier_name",
]


class Limits(NamedTuple):
    """Highest tiers that one gang and its sub-groups may use; None where no tier limit applies.

    Attributes
    ----------
    job : int, optional
        Highest tier of the HyperNode of the whole job.
    sub_groups : tuple of (int or None)
        Highest tier of each sub-group's HyperNode, in the order of `Gang.sub_groups`.
    warnings : tuple of Notice
        Warnings about constraints that restrict nothing (docs/decisions.md, decision 10).
    top_only : bool
        Whether the gang asks for a limit but no plugin of the configuration chooses HyperNodes: the limits are dropped,
        and only the virtual top is tried.
    """

    job: int | None
    sub_groups: tuple[int | None, ...]
    warnings: tuple[Notice, ...]
    top_only: bool = False


def tiers_by_name(topology: Topology) -> dict[str, int]:
    """Tier of each tier name; if HyperNodes disagree, that of the HyperNode with the smallest name (upstream: any)."""
    found: dict[str, int] = {}
    for name, tier in zip(topology.tier_names, topology.tier, strict=True):
        if name:
            found.setdefault(name, int(tier))
    return found


def limits_of(gang: Gang, topology: Topology, *, gradients: bool = True) -> Limits:
    """Read the highest tiers that a gang and its sub-groups may use from their topology constraints.

    A soft sub-group never leaves the limit of its job.

    `gradients`: whether the plugin network-topology-aware chooses the HyperNodes to try. If not, only the virtual top
    is tried, and tier limits have no effect (docs/reference/volcano-topology.md, section 5.6).
    """
    if gradients and (numbered := _numbered_limits(gang)) is not None:
        return numbered
    # Sub-groups of one policy share their wish, which is looked at once.
    numbers: dict[TopologyConstraint | None, int] = {}
    number_of_group = [numbers.setdefault(group.constraint, len(numbers)) for group in gang.sub_groups]
    constraints = list(numbers)
    tiers = tiers_by_name(topology) if _name_a_tier([gang.constraint, *constraints]) else {}
    job, adjusted = adjust_constraints(gang.constraint, constraints, tiers, topology.top_tier)
    highest = [hard_tier(wish) for wish in adjusted]
    warnings = {_no_limit(job, "the job"): None}
    if None in highest:
        for group, number in zip(gang.sub_groups, number_of_group, strict=True):
            warnings[_no_limit(adjusted[number], f"sub-group policy {group.policy or group.name}")] = None
    top_only = not gradients and any(limit is not None for limit in (hard_tier(job), *highest))
    if top_only:
        job, highest = None, [None] * len(highest)
        text = "the plugin network-topology-aware gives no gradients: networkTopology restricts nothing"
        warnings[text] = None
    notices = [Notice("constraint-without-effect", text) for text in warnings if text]
    return Limits(hard_tier(job), tuple([highest[number] for number in number_of_group]), tuple(notices), top_only)


def _numbered_limits(gang: Gang) -> Limits | None:
    """The limits of a gang of which each is a number, as of most gangs; None if a wish is soft or has no number."""
    job = gang.constraint
    if job is not None and (job.highest_tier is None or job.mode != "hard"):
        return None
    highest: list[int | None] = []
    for group in gang.sub_groups:
        wish = group.constraint
        if wish is not None and (wish.highest_tier is None or wish.mode != "hard"):
            return None
        highest.append(None if wish is None else wish.highest_tier)
    return Limits(None if job is None else job.highest_tier, tuple(highest), ())


def _no_limit(constraint: TopologyConstraint | None, who: str) -> str:
    """Text of a warning that a constraint of `who` restricts nothing; empty if it restricts, or there is none."""
    if constraint is None or hard_tier(constraint) is not None:
        return ""
    if constraint.mode != "hard":
        return f"networkTopology of {who} has no mode: it restricts nothing"
    if constraint.highest_tier_name:
        name = f"highestTierName '{constraint.highest_tier_name}'"
        return f"{name} of {who} is no tier of this cluster: it restricts nothing"
    return f"{who} is hard without highestTierAllowed: it restricts nothing"


def _name_a_tier(constraints: Sequence[TopologyConstraint | None]) -> bool:
    return any(constraint is not None and constraint.highest_tier_name for constraint in constraints)


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

    `job`: constraint of the whole job. `sub_groups`: sequence of (TopologyConstraint or None); constraint of each
    sub-group. `tier_of_name`: tierName of the HyperNodes to their tier. `top_tier`: tier of the virtual top.

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
    return job, tuple([soft_to_hard(translate_tier_name(one, tier_of_name), below) for one in sub_groups])
