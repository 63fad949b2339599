"""Counts of a job's pods while Volcano places them, where all pods of one role fail together.

Source: docs/reference/volcano-topology.md, sections 3.1 and 5.1, step 2.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from workbench.model.gang import Gang
from workbench.model.snapshot import ClusterSnapshot
from workbench.policies.progress import Progress
from workbench.policies.volcano.parts.task_order import runs_of_gang

__all__ = ["JobProgress", "cache_names"]


class JobProgress(Progress):
    """Counts of placed and remaining pods of a job without sub-groups.

    If a pod fits on no node, all pods of its role are given up, whatever their shapes. Pods of several roles are tried
    alternately.

    `names`: name of each role; roles with one name are given up together. `given`: number of pods of each role taken
    from the list of pods to try: placed or skipped.
    """

    names: list[str]
    given: list[int]
    _gang: Gang

    @classmethod
    def start(cls, gang: Gang, snapshot: ClusterSnapshot) -> JobProgress:
        made = Progress.of(gang, snapshot)
        self = cls(made.min_available, made.total, made.counted, made.minimums, made.present, made.left)
        self.names, self.given, self._gang = cache_names(gang), [0] * len(gang.roles), gang
        return self

    def copy(self) -> JobProgress:
        other = JobProgress(
            self.min_available, self.total, self.counted, self.minimums, list(self.present), list(self.left)
        )
        other.names, other.given, other._gang = self.names, list(self.given), self._gang
        return other

    def place(self, role: int, count: int) -> None:
        super().place(role, count)
        self.given[role] += count

    def runs(self) -> Iterator[tuple[int, int]]:
        """Yield role and number of consecutive pods of that role, run by run, in the order in which pods are tried.

        The counts are read during the iteration.
        """
        roles, upto = runs_of_gang(self._gang)
        for role, end in zip(roles.tolist(), upto.tolist(), strict=True):
            count = min(end - self.given[role], self.left[role])
            if count > 0:
                yield role, count

    def skip(self, role: int, count: int) -> None:
        """Remove ``count`` pods of a role, which found no node, from the pods to try."""
        self.left[role] -= count
        self.given[role] += count

    def go_on(self, failed: Collection[int]) -> bool:
        names = {self.names[role] for role in failed}
        return super().go_on([role for role, name in enumerate(self.names) if name in names])


def cache_names(gang: Gang) -> list[str]:
    """Role name that Volcano sees on the pods of each role.

    Roles that differ in shape only (``worker#2``) share one name. Pods that name no role do not fail together:
    `workbench.jobs.pods` gives each of their shapes a name of its own.
    """
    return [role.name.partition("#")[0] for role in gang.roles]
