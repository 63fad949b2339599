"""Counts of the pods that a gang still needs before it may start.

The rules are Volcano's (JobInfo: ready, per-role minimums, going on after a pod that fits nowhere); every policy of
this package honours them.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from workbench.model.cluster_facts import ClusterFacts
from workbench.model.gang import Gang

__all__ = ["Progress", "invalid_gang", "invalid_sub_groups"]


@dataclass
class Progress:
    """Counts of a gang's pods by role: pods placed, and pods still to place.

    Attributes
    ----------
    min_available : int
        Pods that the gang needs to start (minAvailable).
    total : int
        Every pod of the job, those that failed or wait behind a scheduling gate included.
    counted : int
        Pods that count before anything is placed: running and succeeded ones, and pending best-effort ones.
    minimums : list of int
        Minimum of each role, 0 for none; ignored if their sum exceeds `min_available`.
    present : list of int
        Number of pods of each role that count: running, succeeded, best effort, placed.
    left : list of int
        Number of pods of each role still to place (0 for best-effort roles).
    """

    min_available: int
    total: int
    counted: int
    minimums: list[int]
    present: list[int]
    left: list[int]

    @classmethod
    def of(cls, gang: Gang, snapshot: ClusterFacts, *, apart: bool = True) -> Progress:
        """Counts of a gang's pods before anything is placed, with the pods that run in the snapshot.

        `apart`: whether pods without a request are placed apart from the others, and so count from the beginning.
        """
        present = [0] * len(gang.roles)
        n_running = gang.ready
        if gang.ready:
            number = {role.name: i for i, role in enumerate(gang.roles)}
            mine = [pod for pod in snapshot.running if pod.gang == gang.key]
            for pod in mine:
                if pod.role in number:
                    present[number[pod.role]] += 1
            n_running = max(n_running, len(mine))
        counted, minimums, left = gang.ready, [], []
        # One pass, because every placement begins with it.
        for i, role in enumerate(gang.roles):
            minimums.append(role.min_available or 0)
            present[i] += role.succeeded
            left.append(0 if apart and role.best_effort else role.count)
            if apart and role.best_effort:
                present[i] += role.count
                counted += role.count
        return cls(gang.min_available, gang.n_pods + n_running + gang.n_not_tried, counted, minimums, present, left)

    def copy(self) -> Progress:
        present, left = list(self.present), list(self.left)
        return type(self)(self.min_available, self.total, self.counted, self.minimums, present, left)

    def place(self, role: int, count: int) -> None:
        """Move ``count`` pods of a role from the pods to place to the placed ones."""
        self.counted += count
        self.present[role] += count
        self.left[role] -= count

    def give_up(self, role: int) -> None:
        """Drop the remaining pods of a role: they will not be tried again."""
        self.left[role] = 0

    @property
    def _minimums_count(self) -> bool:
        return self.min_available >= sum(self.minimums)

    @property
    def ready(self) -> bool:
        """Whether the gang may start: it has `min_available` pods, and each role its own minimum."""
        if self.counted < self.min_available:
            return False
        return not self._minimums_count or all(p >= m for p, m in zip(self.present, self.minimums, strict=True))

    @property
    def missing(self) -> int:
        """Lower bound on the pods still needed before the gang may start; 0 when it is ready."""
        short = 0
        if self._minimums_count:
            short = sum([m - p for p, m in zip(self.present, self.minimums, strict=True) if m > p])
        return max(short, self.min_available - self.counted, 0)

    def until_ready(self, role: int) -> int:
        """Number of pods of a role to place before looking again whether the gang may start; at most those left.

        As many as the gang lacks, at least one; all that are left while another role is below its own minimum.
        """
        left = self.left[role]
        if self._minimums_count and any(
            p < m for i, (p, m) in enumerate(zip(self.present, self.minimums, strict=True)) if i != role
        ):
            return left
        wanted = self.min_available - self.counted
        if self._minimums_count:
            wanted = max(wanted, self.minimums[role] - self.present[role])
        return min(left, max(wanted, 1))

    def go_on(self, failed: Collection[int]) -> bool:
        """Whether to try further pods of the gang after pods of the roles ``failed`` fitted on no node.

        Source: docs/reference/volcano-topology.md, section 5.1, step 5.
        """
        if self.min_available == self.total:
            return False
        if not self._minimums_count:
            rest = sum(left for role, left in enumerate(self.left) if role not in failed)
            return self.counted + rest >= self.min_available
        return all(self.present[role] >= self.minimums[role] for role in failed)


def invalid_gang(progress: Progress) -> str:
    """Volcano's text for a gang with too few pods to become ready; empty if there are enough."""
    valid = progress.counted + sum(progress.left)
    if valid < progress.min_available:
        return f"Not enough valid tasks for gang-scheduling, valid: {valid}, min: {progress.min_available}"
    if any(progress.minimums) and progress.min_available >= sum(progress.minimums):
        for present, left, minimum in zip(progress.present, progress.left, progress.minimums, strict=True):
            if present + left < minimum:
                return "Not enough valid pods of each task for gang-scheduling"
    return ""


def invalid_sub_groups(gang: Gang) -> str:
    """Volcano's text if a sub-group policy has fewer sub-groups than must be ready; empty if there are enough."""
    if not gang.min_subgroups:
        return ""
    missing = dict(gang.min_subgroups)
    for group in gang.sub_groups:
        if group.policy in missing:
            missing[group.policy] -= 1
    return "Not enough valid subGroups of each task for gang-scheduling" if max(missing.values()) > 0 else ""
