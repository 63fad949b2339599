"""`OtherSchedulers`: recognise jobs and pods that another scheduler places, and which are therefore left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from workbench.model.counted import counted
from workbench.model.notice import Notice
from workbench.objects.deployment import Deployment
from workbench.objects.job import Job
from workbench.objects.pod import Pod
from workbench.objects.top_owner import TopOwner

__all__ = ["OPERATOR", "OWN_SCHEDULERS", "OtherSchedulers"]

#: The schedulerName of pods that the operator of this package schedules.
OPERATOR = "topology-workbench"

#: Names in schedulerName that ask for a scheduler whose policies are here. A pod or Deployment without a name counts
#: too: the manifest leaves open who places it. The API server writes ``default-scheduler`` into such a pod, so a pod
#: read from a cluster always has a name.
OWN_SCHEDULERS = frozenset({"", "volcano", "koord-scheduler", OPERATOR})


class OtherSchedulers:
    """Recognises Jobs, Deployments and pods that another scheduler places, and counts them for a notice.

    Parameters
    ----------
    any_scheduler : bool
        True: no object counts as another scheduler's.
    """

    def __init__(self, any_scheduler: bool) -> None:
        self._any = any_scheduler
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
        scheduler has the Job's.
        """
        return self._take("Job", _schedulers(job))

    def has_hyper_job(self, jobs: Sequence[Job]) -> bool:
        """Whether another scheduler places one of the Jobs of a HyperJob, which cannot be placed without it."""
        return self._take("HyperJob", (name for job in jobs for name in _schedulers(job)))

    def has_deployment(self, deployment: Deployment) -> bool:
        """Whether another scheduler places the pods of a Deployment; such a Deployment is counted."""
        return self._take("Deployment", [deployment.template.spec.scheduler])

    def has_top_owner(self, owner: TopOwner) -> bool:
        """Whether another scheduler places the pods of a role of a top owner; if so, the object is counted."""
        return self._take(owner.kind, owner.schedulers)

    def has_pod(self, pod: Pod) -> bool:
        """Whether a pod waits for a node and another scheduler places it; if so, it is counted."""
        return pod.waits and self._take("Pod", [pod.spec.scheduler])

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
        others = set(names) - OWN_SCHEDULERS
        self._names.update(others)
        if others:
            self._left_out[kind] += 1
        return bool(others)


def _schedulers(job: Job) -> Iterator[str]:
    """Scheduler of the pods of each task."""
    return (task.template.spec.scheduler or job.scheduler for task in job.tasks)
