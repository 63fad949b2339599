"""`waiting_gangs`: each gang of a cluster that waits, with what the cluster says about it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from workbench.cluster.kueue_admissions import admissions_of, assigned_nodes
from workbench.cluster.state import ClusterState
from workbench.jobs.hyper_job.gangs import hyper_job_of_jobs
from workbench.model.counted import counted
from workbench.model.gang import Gang
from workbench.model.kueue_names import WORKLOAD
from workbench.objects.event import Event
from workbench.objects.kinds import ClusterObjects
from workbench.objects.kueue.workload import KueueWorkload

__all__ = ["Said", "WaitingGang", "waiting_gangs"]


@dataclass(frozen=True)
class Said:
    """What a cluster says about objects of one gang.

    `source`: {"condition", "event"}; whether it stands in status.conditions of the objects or in Events about them.
    `kind`: kind of the objects: Pod, PodGroup, Job, HyperJob, Workload (of Kueue) or that of a top owner. `objects`:
    their ``namespace/name``, in byte order.
    """

    source: str
    kind: str
    objects: tuple[str, ...]
    reason: str
    message: str

    @property
    def text(self) -> str:
        """One line: whom it is about, the reason and the message."""
        about = f"{self.kind} {self.objects[0]}" if len(self.objects) == 1 else counted(len(self.objects), self.kind)
        said = " ".join(": ".join(part for part in (self.reason, self.message) if part).split())
        return f"{about}: {said}" + (" (event)" if self.source == "event" else "")

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "objects": list(self.objects)}


@dataclass(frozen=True, eq=False)
class WaitingGang:
    """A gang of which no pod runs, and to which Kueue has given no nodes.

    `scheduler`: spec.schedulerName of its first pod by name; empty: not given, or it has no pods yet. `said`: why it
    waits in the cluster's own words: conditions of its PodGroups, its pods and its Workload, and Events about them.
    Empty: the cluster says nothing, as before a scheduler has tried it.
    """

    gang: Gang
    scheduler: str
    said: tuple[Said, ...]


def waiting_gangs(state: ClusterState) -> Iterator[WaitingGang]:
    """The gangs of a cluster that wait, by namespace and name, with what the cluster says about each."""
    objects, hyper_jobs = state.objects, hyper_job_of_jobs(state.objects)
    running = {hyper_jobs.get(key, key) for pod, key in state.workload.holding if pod.runs}
    events = _by_object(objects.events.values())
    for gang in state.workload.gangs:
        if gang.key in running or not gang.n_pods or assigned_nodes(gang, admissions_of(objects, [gang.key]), objects):
            continue
        keys = [gang.key, *(f"{gang.namespace}/{job.name}" for job in gang.jobs)]
        members = [state.members_of(key) for key in keys]
        pods = sorted({key for each in members for key in each[0]}, key=str.encode)
        groups = sorted({key for each in members for key in each[1]}, key=str.encode)
        workloads = _workloads(objects, gang.key, pods)
        found = [*_conditions(objects, groups, pods), *_conditions_of_kueue(workloads)]
        own = [(gang.kind, keys[:1])] if gang.kind not in ("HyperJob", "Job", "PodGroup", "Pod") else []
        for kind, names in (
            ("HyperJob", keys[:1]),
            ("Job", keys),
            *own,
            ("PodGroup", groups),
            ("Workload", [one.metadata.key for one in workloads]),
            ("Pod", pods),
        ):
            found += [
                ("event", kind, key, one.reason, one.message) for key in names for one in events.get((kind, key), ())
            ]
        scheduler = objects.pods[pods[0]].spec.scheduler if pods else ""
        yield WaitingGang(gang, scheduler, _merged(found))


def _conditions(
    objects: ClusterObjects, groups: Iterable[str], pods: Iterable[str]
) -> Iterator[tuple[str, str, str, str, str]]:
    """What holds a gang back, by the conditions of its objects: source, kind, key, reason and message."""
    for key in groups:
        for one in objects.pod_groups[key].conditions:
            if (one.type, one.status) in (("Unschedulable", "True"), ("PodGroupInitiallyScheduled", "False")):
                yield "condition", "PodGroup", key, one.reason, one.message
    for key in pods:
        told = objects.pods[key].unscheduled
        if told is not None and objects.pods[key].waits:
            yield "condition", "Pod", key, told.reason, told.message


def _workloads(objects: ClusterObjects, key: str, pods: Iterable[str]) -> list[KueueWorkload]:
    """The Workloads of Kueue about a gang: of the object with its key, or named by its pods; by namespace and name."""
    named = {
        f"Workload {pod.metadata.namespace}/{pod.metadata.annotations.get(WORKLOAD, '')}"
        for pod in (objects.pods[each] for each in pods)
    }
    found = [
        one
        for name, one in objects.requests.items()
        if isinstance(one, KueueWorkload) and (name in named or key in (one.gang, one.metadata.key))
    ]
    return sorted(found, key=lambda one: one.metadata.key.encode())


def _conditions_of_kueue(workloads: Iterable[KueueWorkload]) -> Iterator[tuple[str, str, str, str, str]]:
    """Why Kueue has not admitted Workloads: source, kind, key, reason and message."""
    for workload in workloads:
        for one in workload.conditions:
            if (one.type, one.status) in (
                ("QuotaReserved", "False"),
                ("Evicted", "True"),
            ) and not workload.queued.admitted:
                yield "condition", "Workload", workload.metadata.key, one.reason, one.message


def _by_object(events: Iterable[Event]) -> dict[tuple[str, str], list[Event]]:
    """Events by kind and key of what they are about, the latest first."""
    found: dict[tuple[str, str], list[Event]] = {}
    for event in sorted(events, key=lambda one: (one.last, one.metadata.key.encode()), reverse=True):
        found.setdefault((event.kind, event.key), []).append(event)
    return found


def _merged(found: Iterable[tuple[str, str, str, str, str]]) -> tuple[Said, ...]:
    """The same said of several objects, told once."""
    keys: dict[tuple[str, str, str, str], dict[str, None]] = {}
    for source, kind, key, reason, message in found:
        keys.setdefault((source, kind, reason, message), {})[key] = None
    return tuple(
        Said(source, kind, tuple(names), reason, message) for (source, kind, reason, message), names in keys.items()
    )
