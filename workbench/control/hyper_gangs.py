"""`HyperGangs`: the PodGroups of the Jobs of each HyperJob, joined so that the scheduler decides them as one gang."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from workbench.cluster.exclusive import held_alone
from workbench.control.kinds import Ref
from workbench.control.store import StoreChange
from workbench.jobs.hyper_job.gangs import gang_of_hyper_job
from workbench.model.counted import counted
from workbench.model.gang import Gang, MemberJob
from workbench.model.running_pod import RunningPod
from workbench.model.topology import Topology
from workbench.objects.hyper_job import HYPER_JOB_LABEL, HyperJob, read_hyper_job
from workbench.objects.job_status import read_job_status
from workbench.objects.pod_group import PodGroup

__all__ = ["HyperGangs"]

#: Phases of a Job whose pods have ended for good.
_ENDED = ("Completed", "Failed", "Aborted", "Terminated")


@dataclass(frozen=True)
class _Child:
    """A Job of a HyperJob: the key (``namespace/name``) of the HyperJob, and whether the Job has ended."""

    hyper_job: str
    ended: bool


class HyperGangs:
    """Knows the HyperJobs of a cluster and their Jobs, and joins the gangs of the Jobs' PodGroups.

    The scheduler of a cluster sees a Job as a PodGroup and its pods. No PodGroup says which Jobs make up a HyperJob, so
    for these the scheduler also reads the HyperJobs, and the labels and phases of their Jobs.
    """

    # `observe` keeps the HyperJobs, and the Jobs that are theirs, up to date with the store. A session then asks for
    # the gangs of whole HyperJobs (`with_hyper_jobs`), for HyperNodes that a Job holds alone (`exclusive`), and for the
    # PodGroups of a HyperJob that was placed (`groups_of`).

    def __init__(self) -> None:
        self._hyper_jobs: dict[str, HyperJob] = {}
        self._children: dict[str, _Child] = {}

    def observe(self, change: StoreChange) -> bool:
        """Take note of a HyperJob or Job; returns whether that can matter to the next session."""
        key = f"{change.key.namespace}/{change.key.name}"
        if change.key.kind == "HyperJob":
            before = self._hyper_jobs.pop(key, None)
            if change.after is not None:
                self._hyper_jobs[key] = read_hyper_job(change.after)
            return before != self._hyper_jobs.get(key)
        known = self._children.pop(key, None)
        labels = {} if change.after is None else change.after["metadata"].get("labels") or {}
        if change.after is not None and HYPER_JOB_LABEL in labels:
            ended = read_job_status(change.after).phase in _ENDED
            self._children[key] = _Child(f"{change.key.namespace}/{labels[HYPER_JOB_LABEL]}", ended)
        return known != self._children.get(key)

    def exclusive(
        self, groups: Mapping[str, PodGroup], running: Iterable[RunningPod], topology: Topology
    ) -> dict[str, str]:
        """HyperNode that each running Job of a HyperJob holds alone, as `ClusterSnapshot.exclusive`.

        `groups`: all PodGroups by key. `running`: pods that hold resources; `RunningPod.gang` is the key of their
        PodGroup.
        """
        if not self._hyper_jobs:
            return {}
        owners, records = {}, {}
        for key, job in self._groups(groups).items():
            name = job.rpartition("/")[2]
            owners[key] = f"{self._children[job].hyper_job}/{name}"
            records[key] = groups[key].record
        return held_alone(owners, records, running, topology)

    def with_hyper_jobs(
        self, gangs: Iterable[Gang], groups: Mapping[str, PodGroup], members: Mapping[Ref, Mapping[Ref, None]]
    ) -> tuple[list[Gang], list[tuple[Ref, str]]]:
        """Join the gangs of the Jobs of each HyperJob.

        `gangs`: gangs that may start in this session. `groups`: all PodGroups by key. `members`: existing pods of each
        PodGroup.

        Returns
        -------
        gangs : list of Gang
            In the same order; the gang of a HyperJob takes the place of that of its first Job. Its `Gang.jobs` bear
            the names of the Jobs.
        held : list of (Ref, str)
            HyperJobs with pending pods that are not tried, because fewer Jobs than minAvailable have pods: a Job
            whose PodGroup is not admitted has none. With each what it waits for.
        """
        waiting = list(gangs)
        of_job = {job: key for key, job in self._groups(groups).items()}
        pending = {gang.key: gang for gang in waiting if gang.kind == "PodGroup"}
        place: dict[str, Gang] = {}
        left_out: set[str] = set()
        held = []
        for key, hyper_job in self._hyper_jobs.items():
            if hyper_job.over:
                continue
            jobs = []
            for name, _ in hyper_job.jobs():
                job = f"{hyper_job.metadata.namespace}/{name}"
                group = of_job.get(job, "")
                if group in pending:
                    left_out.add(group)
                    jobs.append(MemberJob(name, replace(pending[group], name=name), groups[group].record))
                elif self._has_started(job, key, group, members):
                    jobs.append(MemberJob(name, None, groups[group].record if group else ""))
            gang = gang_of_hyper_job(hyper_job, jobs)
            if gang is None:
                continue
            first = next(one for one in jobs if one.gang is not None)
            if len(jobs) >= hyper_job.min_available:
                place[of_job[f"{hyper_job.metadata.namespace}/{first.name}"]] = gang
            else:
                text = f"{counted(len(jobs), 'Job has', 'Jobs have')} pods; minAvailable is {hyper_job.min_available}"
                held.append((Ref("HyperJob", *key.split("/")), text))
        found = [place.get(gang.key, gang) for gang in waiting if gang.key in place or gang.key not in left_out]
        return found, held

    def groups_of(self, hyper_job: Gang, groups: Mapping[str, PodGroup]) -> dict[str, str]:
        """Key of the PodGroup of each Job of a HyperJob's gang, by the Job's name."""
        of_job = {job: key for key, job in self._groups(groups).items()}
        named = {job.name: of_job.get(f"{hyper_job.namespace}/{job.name}", "") for job in hyper_job.jobs}
        return {name: key for name, key in named.items() if key}

    def _groups(self, groups: Mapping[str, PodGroup]) -> dict[str, str]:
        """Key of the Job of each PodGroup that was made for a Job of a HyperJob."""
        if not self._children:
            return {}
        found = {}
        for key, group in groups.items():
            owner = group.metadata.controller
            job = f"{group.metadata.namespace}/{owner.name}" if owner is not None and owner.kind == "Job" else ""
            if job in self._children and self._children[job].hyper_job in self._hyper_jobs:
                found[key] = job
        return found

    def _has_started(self, job: str, hyper_job: str, group: str, members: Mapping[Ref, Mapping[Ref, None]]) -> bool:
        """Whether a Job without pending pods has pods all the same, or has ended."""
        child = self._children.get(job)
        if child is None or child.hyper_job != hyper_job:
            return False
        return child.ended or bool(group and members.get(Ref("PodGroup", *group.split("/"))))
