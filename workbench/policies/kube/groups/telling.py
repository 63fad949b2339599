"""What a cycle tells about the placements that it tried, and about the conditions that it leaves on PodGroups."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from workbench.model.counted import counted
from workbench.model.explanation import Candidate, Recorder
from workbench.model.gang import Gang
from workbench.model.kube_group import KubeGroup
from workbench.model.notice import Notice
from workbench.policies.kube.groups.conditions import PodGroupCondition, leaf_outcomes
from workbench.policies.kube.groups.cycle import GroupOutcome, Trial
from workbench.policies.kube.groups.gang_tree import GangTree
from workbench.policies.kube.groups.group_pods import GroupPod
from workbench.policies.kube.groups.levels import Levels
from workbench.policies.kube.groups.submission import submit
from workbench.policies.kube.status import text_of

__all__ = ["condition_text", "record_placements", "without_values"]

Ints = npt.NDArray[np.int32]
Outcome = GroupOutcome[GroupPod, int, Ints]


def record_placements(recorder: Recorder, outcome: Outcome, levels: Levels) -> None:
    """Tell a recorder every placement of a root group with its scores, and those of the groups under it."""
    for each in outcome.walk():
        if not each.group.topology_key:
            continue
        owner = "" if each is outcome else each.group.name
        for trial in each.trials:
            if recorder.ties_only and (owner or not trial.outcome.succeeded):
                continue
            recorder.candidates.append(_candidate(trial, each, owner, levels.tier(each.group.topology_key)))
        if each.untried and not recorder.ties_only:
            placements = counted(each.untried, "placement")
            recorder.note(f"{placements} of {each.group.name} not tried, because they cannot win")
        if len(each.tied) > 1 and not recorder.ties_only:
            recorder.note(f"equal scores of placements of {each.group.name}: {', '.join(each.tied)}")


def _candidate(trial: Trial[GroupPod, int, Ints], outcome: Outcome, owner: str, tier: int | None) -> Candidate:
    found = trial.outcome
    if not found.succeeded:
        why = text_of(found.status)
    elif trial.total is None:
        why = "the only placement with enough room: not scored"
    else:
        count = sum(1 for _ in found.placed())
        why = f"takes {count} {'pod' if count == 1 else 'pods'}"
    kind = "inner" if owner else "domain"
    score = None if trial.total is None else float(trial.total)
    return Candidate(kind, trial.placement.name, tier, found.succeeded, why, score, dict(trial.parts), owner)


def condition_text(tree: GangTree, outcome: Outcome, gang: Gang) -> str:
    """The condition that kube-scheduler leaves on the PodGroup of a gang.

    `outcome`: outcome of the root. `gang`: one of the tree's.
    """
    before = PodGroupCondition("True", "Scheduled") if gang.extra(KubeGroup).scheduled else None
    told = []
    for leaf in leaf_outcomes(tree.groups, outcome):
        pods = [pod for pod in tree.place if pod.group == leaf.group.key]
        if not any(tree.gangs[tree.place[pod][0]] is gang for pod in pods):
            continue
        condition = submit(leaf.status, leaf.pods, pods, before).condition
        message = f": {condition.message}" if condition.message else ""
        told.append(f"{leaf.group.name}: {condition.type} is {condition.status}, {condition.reason}{message}")
    return "; ".join(told)


def without_values(tree: GangTree, outcome: Outcome, levels: Levels) -> tuple[Notice, ...]:
    """That no node has the label of a level: kube-scheduler then says only that it finds no feasible placement.

    `outcome`: of the root.
    """
    if outcome.succeeded:
        return ()
    keys = sorted({group.topology_key for group in tree.groups if group.topology_key})
    return tuple(Notice("level-without-nodes", text) for key in keys if (text := levels.missing(key)))
