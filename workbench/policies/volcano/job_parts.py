"""How far a job and its sub-jobs are: pods of one role fail together (volcano-topology.md 3.1 and 5.1, step 2)."""

from __future__ import annotations

from collections.abc import Collection

from workbench.model.gang import Gang
from workbench.model.snapshot import ClusterSnapshot
from workbench.policies.progress import Progress
from workbench.policies.volcano.splitting import SubJob

__all__ = ["JobProgress", "SubProgress", "cache_names"]


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


class SubProgress(Progress):
    """Progress of one sub-job of a job with sub-group policies: its own minimum alone makes it ready."""

    names: list[str]
    all_needed: bool

    @classmethod
    def start(cls, sub: SubJob, names: list[str], job: Progress) -> SubProgress:
        """Before anything of the sub-job is placed; `names` as of `cache_names`."""
        left = [0] * len(names)
        for role, pods in sub.pods.items():
            left[role] = len(pods)
        self = cls(sub.min_available, sub.total, sub.counted, [0] * len(left), [0] * len(left), left)
        self.names = names
        self.all_needed = job.min_available == job.total or sub.min_available >= sub.total
        return self

    def copy(self) -> SubProgress:
        other = SubProgress(
            self.min_available, self.total, self.counted, self.minimums, list(self.present), list(self.left)
        )
        other.names, other.all_needed = self.names, self.all_needed
        return other

    def until_ready(self, role: int) -> int:
        return min(self.left[role], max(self.min_available - self.counted, 1))

    def give_up(self, role: int) -> None:
        for other, name in enumerate(self.names):
            if name == self.names[role]:
                self.left[other] = 0

    def go_on(self, failed: Collection[int]) -> bool:
        return not self.all_needed


def cache_names(gang: Gang) -> list[str]:
    """Name of each role as the pods carry it: roles of several shapes are numbered here (``worker#2``).

    Pods that name no role do not fail together: `workbench.jobs.pods` gives each of their shapes a name of its own.
    """
    return [role.name.partition("#")[0] for role in gang.roles]
