"""Where the released Volcano leaves its design documents, and what of that concerns the jobs of a session."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from workbench.model.extras import VolcanoMemory
from workbench.model.gang import Gang

__all__ = ["DEPARTURES", "DOCUMENTS", "departures_for"]

#: The policy that follows the documents.
DOCUMENTS = "volcano-documents"

_TIER = "highestTierAllowed, which is 1 in the documents where a job does not say"
_LCA = "the score of a HyperNode, in the documents 100/50/0 by the tier of its LCA with the job's recorded HyperNode"
_FILTER = "highestTierAllowed, in the documents also for the LCA of a HyperNode with the job's recorded HyperNode"

#: By policy, the rules of the documents that it does not follow.
DEPARTURES: Mapping[str, tuple[str, ...]] = {
    "volcano-1.13": (f"{_TIER} (only jobs that a cluster stores)", "nodeCount, in the documents of all nodes below"),
    "volcano-1.15": (
        _LCA,
        f"{_FILTER} (where no pod runs)",
        _TIER,
        "the record of a plain Job's HyperNode on its PodGroup, which is written for sub-groups alone",
        "nodeCount, in the documents of all nodes below",
    ),
}


def departures_for(policy: str, gangs: Iterable[Gang]) -> str:
    """One sentence on the rules of Volcano's design documents that a policy breaks for some gangs; empty: none.

    `policy`: name of the node policy; only `volcano-1.13` and `volcano-1.15` break any. `gangs`: those of the session;
    only gangs with a topology constraint count. The rules: to score by the lowest common HyperNode (LCA) with the
    recorded one, for gangs with pods or a record; to measure ``highestTierAllowed`` from that LCA, for hard gangs
    without pods; and tier 1 where a hard constraint names no tier.
    """
    if policy not in DEPARTURES:
        return ""
    is_1_15 = policy == "volcano-1.15"
    asking = [gang for gang in gangs if gang.constraint is not None]
    rules = []
    if is_1_15 and any(gang.extra(VolcanoMemory).record or gang.ready for gang in asking):
        rules.append(_LCA)
    hard = [gang for gang in asking if gang.constraint is not None and gang.constraint.mode == "hard"]
    if is_1_15 and any(gang.extra(VolcanoMemory).record and not gang.ready for gang in hard):
        rules.append(_FILTER)
    without = [gang for gang in hard if gang.constraint is not None and gang.constraint.highest_tier is None]
    without = [gang for gang in without if gang.constraint is not None and not gang.constraint.highest_tier_name]
    if any(is_1_15 or gang.stored for gang in without):
        rules.append(_TIER)
    if not rules:
        return ""
    return f"{policy} does not follow the design documents, but {DOCUMENTS} does: {'; '.join(rules)}"
