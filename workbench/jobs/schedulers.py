"""`OtherSchedulers`: which jobs and pods are left out because another scheduler places them (docs/decisions.md, 17)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from workbench.model.counted import counted
from workbench.model.kueue_names import QUEUE_NAME
from workbench.model.notice import Notice
from workbench.objects.deployment import Deployment
from workbench.objects.job import Job
from workbench.objects.pod import Pod

__all__ = ["OPERATOR", "OWN_SCHEDULERS", "OtherSchedulers", "TakenSchedulers"]

#: Whose jobs are read beside those of `OWN_SCHEDULERS`: everybody's, nobody's, or those of named schedulers.
TakenSchedulers = bool | Collection[str]

#: The schedulerName of pods that the operator of this package schedules.
OPERATOR = "topology-workbench"

#: Names in schedulerName that ask for a scheduler whose policies are here. A pod or Deployment without a name counts
#: too: the manifest leaves open who places it. The API server writes ``default-scheduler`` into such a pod, so a pod
#: read from a cluster always has a name.
OWN_SCHEDULERS = frozenset({"", "volcano", "koord-scheduler", OPERATOR})


class OtherSchedulers:
    """Recognises Jobs, Deployments and pods that another scheduler places, and counts them for a notice.

    Gangs that other systems than Volcano's make are jobs whichever scheduler their pods name: pods of a PodGroup of
    scheduling.k8s.io, whatever has Kueue's label for a queue, and top owners such as JobSets, which are not asked about
    here.

    `any_scheduler`, if True: no object counts as another scheduler's. Names: neither do objects that ask for one of
    these schedulers.
    """

    def __init__(self, any_scheduler: TakenSchedulers) -> None:
        self._any = any_scheduler is True
        named = () if isinstance(any_scheduler, bool) else any_scheduler
        self._own = OWN_SCHEDULERS.union((named,) if isinstance(named, str) else named)
        self._names: Counter[str] = Counter()
        self._left_out: Counter[str] = Counter()

    def add(self, other: OtherSchedulers) -> None:
        """Add the counts of another `OtherSchedulers` to this one."""
        self._names += other._names
        self._left_out += other._left_out

    def remove(self, other: OtherSchedulers) -> None:
        """Subtract the counts of another `OtherSchedulers` from this one."""
        self._names -= other._names
        self._left_out -= other._left_out

    def has_job(self, job: Job) -> bool:
        """Whether another scheduler places some task of a Job; if so, the Job is counted.

        One such task is enough, because the gang cannot then be placed as a whole. A task whose template names no
        scheduler has the Job's. A Job in a queue of Kueue is never another scheduler's.
        """
        return not _in_kueue(job.metadata.labels) and self._take("Job", _schedulers(job))

    def has_hyper_job(self, jobs: Sequence[Job]) -> bool:
        """Whether another scheduler places one of the Jobs of a HyperJob, which cannot be placed without it."""
        return self._take("HyperJob", (name for job in jobs for name in _schedulers(job)))

    def has_deployment(self, deployment: Deployment) -> bool:
        """Whether another scheduler places the pods of a Deployment; such a Deployment is counted.

        A Deployment in a queue of Kueue is never another scheduler's.
        """
        labels = deployment.metadata.labels, deployment.template.labels
        return not any(map(_in_kueue, labels)) and self._take("Deployment", [deployment.template.spec.scheduler])

    def has_pod(self, pod: Pod) -> bool:
        """Whether a pod waits for a node and another scheduler places it; if so, it is counted.

        A pod in a PodGroup of scheduling.k8s.io or in a queue of Kueue is never another scheduler's.
        """
        return (
            not (pod.group or _in_kueue(pod.metadata.labels)) and pod.waits and self._take("Pod", [pod.spec.scheduler])
        )

    def notes(self) -> tuple[Notice, ...]:
        """A notice with the number of objects left out because of their scheduler; empty if there are none."""
        if not self._left_out:
            return ()
        counts = ", ".join(counted(count, kind) for kind, count in sorted(self._left_out.items()))
        names = ", ".join(sorted(self._names, key=str.encode))
        text = f"left out, because another scheduler places them ({names}): {counts} (--any-scheduler takes them in)"
        return (Notice("other-scheduler", text, numbers={"count": self._left_out.total()}),)

    def _take(self, kind: str, names: Iterable[str]) -> bool:
        if self._any:
            return False
        others = set(names) - self._own
        self._names.update(others)
        if others:
            self._left_out[kind] += 1
        return bool(others)


def _in_kueue(labels: Mapping[str, str]) -> bool:
    return QUEUE_NAME in labels


def _schedulers(job: Job) -> Iterator[str]:
    """Scheduler of the pods of each task."""
    return (task.template.spec.scheduler or job.scheduler for task in job.tasks)
