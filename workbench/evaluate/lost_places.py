"""`lost_places`: which job got the place that a job has by another policy, proved by a session without that job."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.cancel import check
from workbench.evaluate.compare import Comparison, ComparisonRow
from workbench.evaluate.differences import differences, pod_counts
from workbench.model.placement import Placement
from workbench.policies.contract import Policy

__all__ = ["LostPlace", "lost_places"]

#: Sessions that are run at most to prove who took a place.
_MOST_SESSIONS = 24


@dataclass(frozen=True)
class LostPlace:
    """A job that a policy would place where another policy does, were it not for one other job.

    `job`, `to`: the job that lost the place and the one that got it, as ``namespace/name``. `policy`: the policy under
    which the place went to the other job. `place_by`: the policy that gives the place to `job`.
    """

    job: str
    to: str
    policy: str
    place_by: str

    @property
    def text(self) -> str:
        """The loss in words, with what proves it."""
        return (
            f"{self.job}, {self.policy}: its place by {self.place_by} went to {self.to} "
            f"(in a session without {self.to} it gets that place)"
        )

    def to_dict(self) -> dict[str, Any]:
        return {"job": self.job, "to": self.to, "policy": self.policy, "place_by": self.place_by}


def lost_places(comparison: Comparison, policies: Sequence[Policy]) -> tuple[LostPlace, ...]:
    """Find out to which single jobs the jobs that policies place differently lost their places.

    `policies`: those of the comparison, in its order. Returns: lost places in the order of the jobs. A job is named
    only if the policy, run without it, puts the other one on exactly the nodes that it has by the other policy; of
    several such jobs the one that was decided first. At most 24 sessions are run, so that of many different jobs only
    the first are looked at.
    """
    found: list[LostPlace] = []
    left = _MOST_SESSIONS
    for job in (one.job for one in differences(comparison)):
        for number, row in enumerate(comparison.rows):
            for other in comparison.rows:
                wanted = pod_counts(other, job) if _nodes(other, job) else None
                if other is row or wanted is None or row.error is not None or wanted == pod_counts(row, job):
                    continue
                for rival in _rivals(row, job, _nodes(other, job)):
                    if not left:
                        return tuple(found)
                    left -= 1
                    if _counts_without(comparison, policies[number], row, rival, job) == wanted:
                        found.append(LostPlace(job, rival, row.policy, other.policy))
                        break
    return tuple(found)


def _nodes(row: ComparisonRow, job: str) -> frozenset[int]:
    """Nodes of a job by a policy; empty if it is pending or the policy failed."""
    decision = row.decision(job)
    result = None if decision is None else decision.result
    return (
        frozenset(np.unique(result.node[result.node >= 0]).tolist()) if isinstance(result, Placement) else frozenset()
    )


def _rivals(row: ComparisonRow, job: str, nodes: frozenset[int]) -> Iterator[str]:
    """Jobs that a policy places on some of the nodes, in the order of its decisions."""
    return (one.gang.key for one in row.in_turn if one.gang.key != job and _nodes(row, one.gang.key) & nodes)


def _counts_without(comparison: Comparison, policy: Policy, row: ComparisonRow, rival: str, job: str) -> Any:
    """Pods of a job by role and node in a session of the policy without another job."""
    check()
    gangs = [gang for gang in comparison.gangs if gang.key != rival]
    decisions = tuple(policy.schedule(gangs, comparison.snapshot))
    return pod_counts(ComparisonRow(row.policy, row.parameters, decisions, None, 0.0), job)
