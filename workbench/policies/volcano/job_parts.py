"""How far a job is: pods of one role fail together (volcano-topology.md 3.1 and 5.1, step 2)."""

from __future__ import annotations

from collections.abc import Collection

from workbench.model.gang import Gang
from workbench.model.snapshot import ClusterSnapshot
from workbench.policies.progress import Progress

__all__ = ["JobProgress", "cache_names"]


class JobProgress(Progress):
    """Progress of a job without sub-groups in Volcano: pods of one role fail together, whatever their shapes."""

    names: list[str]

    @classmethod
    def start(cls, gang: Gang, snapshot: ClusterSnapshot) -> JobProgress:
        made = Progress.of(gang, snapshot)
        self = cls(made.min_available, made.total, made.counted, made.minimums, made.present, made.left)
        self.names = cache_names(gang)
        return self

    def copy(self) -> JobProgress:
        other = JobProgress(
            self.min_available, self.total, self.counted, self.minimums, list(self.present), list(self.left)
        )
        other.names = self.names
        return other

    def give_up(self, role: int) -> None:
        """The pods of every role that shares the name are skipped, be they of another shape."""
        for other, name in enumerate(self.names):
            if name == self.names[role]:
                self.left[other] = 0

    def go_on(self, failed: Collection[int]) -> bool:
        names = {self.names[role] for role in failed}
        return super().go_on([role for role, name in enumerate(self.names) if name in names])


def cache_names(gang: Gang) -> list[str]:
    """Name of each role as the pods carry it: roles of several shapes are numbered here (``worker#2``).

    Pods that name no role do not fail together: `workbench.jobs.pods` gives each of their shapes a name of its own.
    """
    return [role.name.partition("#")[0] for role in gang.roles]
