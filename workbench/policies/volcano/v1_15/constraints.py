"""Highest tier that a job and each of its sub-groups may use in Volcano 1.15, read from their constraints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from workbench.model.gang import Gang, TopologyConstraint
from workbench.model.notice import Notice
from workbench.model.topology import Topology
from workbench.policies.volcano.v1_15.topology_spec import adjust_constraints, hard_tier

__all__ = ["Limits", "limits_of", "tiers_by_name"]


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

    Parameters
    ----------
    gang : Gang
    topology : Topology
    gradients : bool
        Whether the plugin network-topology-aware chooses the HyperNodes to try. If not, only the virtual top is tried,
        and tier limits have no effect (docs/reference/volcano-topology.md, section 5.6).
    """
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


def _no_limit(constraint: TopologyConstraint | None, who: str) -> str:
    """Text of a warning that a constraint of ``who`` restricts nothing.

    Empty if it does restrict, or if there is none.
    """
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
