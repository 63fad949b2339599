"""One Job, one pod, and the course of a cluster's life, as values that notebooks show."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.control.event_log import LogLine
from workbench.control.kinds import Ref
from workbench.control.store import Object, Store
from workbench.control.views import JobRow, PodRow
from workbench.errors import UnknownNameError
from workbench.formats.write_manifests import to_yaml
from workbench.jobs.membership import ROLE_LABEL
from workbench.model.counted import counted
from workbench.model.display import Displayed
from workbench.model.number_text import instant_text

__all__ = ["JobLife", "JobView", "LifeTimeline", "Mark", "PodView", "Span", "job_view", "pod_view", "timeline_of"]

#: Phases of a Job in the log; a line about a Job with another reason says what else happened to it.
_ON_THE_WAY = frozenset({"Pending", "Inqueue", "Running", "Restarting", "Completing", "Aborting", "Terminating"})
_PHASES = _ON_THE_WAY | {"Completed", "Aborted", "Terminated", "Failed"}


@dataclass(frozen=True)
class JobView(Displayed):
    """One Job of a cluster, or one PodGroup of pods without a Job, with its pods and what happened to it.

    `conditions`: conditions of its PodGroup, as the scheduler wrote them. `events`: lines of the log about it, its
    PodGroup and its pods.
    """

    row: JobRow
    pods: tuple[PodRow, ...]
    conditions: tuple[Mapping[str, Any], ...]
    events: tuple[LogLine, ...]

    def __repr__(self) -> str:
        return f"JobView({self.row.namespace}/{self.row.name}: {self.row.phase}, {counted(len(self.pods), 'pod')})"


@dataclass(frozen=True)
class PodView(Displayed):
    """One pod of a cluster, beside the template that was submitted.

    `diff`: lines of a unified diff, in YAML, from the submitted template (metadata and spec) to the stored pod: what
    admission, plugins and the scheduler added or changed. Empty for a pod that was submitted by itself.
    """

    row: PodRow
    diff: tuple[str, ...]
    events: tuple[LogLine, ...]

    def __repr__(self) -> str:
        node = f" on {self.row.node}" if self.row.node else ""
        return f"PodView({self.row.namespace}/{self.row.name}: {self.row.phase}{node})"


@dataclass(frozen=True)
class Span:
    """A phase of a Job, from `start` to `end` in seconds of the cluster's time."""

    phase: str
    start: float
    end: float


@dataclass(frozen=True)
class Mark:
    """A warning about a Job, its PodGroup or its pods at one moment."""

    at: float
    text: str


@dataclass(frozen=True)
class JobLife:
    """The phases of one Job over time, without gaps, and its warnings; `name` is ``namespace/name``."""

    name: str
    spans: tuple[Span, ...]
    marks: tuple[Mark, ...]


@dataclass(frozen=True)
class LifeTimeline(Displayed):
    """The lives of a cluster's Jobs from time 0 until `now`, in the order in which they began."""

    now: float
    jobs: tuple[JobLife, ...]

    def __repr__(self) -> str:
        return f"LifeTimeline({counted(len(self.jobs), 'job')}, {instant_text(self.now)} s)"


def job_view(store: Store, rows: Sequence[JobRow], pods: Sequence[PodRow], log: Sequence[LogLine], key: Ref) -> JobView:
    """Collect what a cluster knows of one Job, or of one PodGroup without a Job.

    `store`, `rows`, `pods`, `log`: all objects, Jobs, pods and log lines of the cluster. `key`: namespace and name of
    the Job or the PodGroup; the kind is not looked at. `UnknownNameError` if there is none.
    """
    here = [row for row in rows if row.namespace == key.namespace]
    row = next((one for one in here if one.name == key.name), None)
    if row is None:
        raise UnknownNameError("job", key.name, [one.name for one in here])
    group = _group_name(store, row)
    members = {pod.name for pod in pods if pod.namespace == row.namespace and pod.group == group}
    stored = store.get(Ref("PodGroup", row.namespace, group))
    conditions = () if stored is None else (stored.get("status") or {}).get("conditions") or ()
    about = {Ref("Job", row.namespace, row.name), Ref("PodGroup", row.namespace, group)}
    about |= {Ref("Pod", row.namespace, name) for name in members}
    return JobView(
        row,
        tuple(pod for pod in pods if pod.namespace == row.namespace and pod.name in members),
        tuple(conditions),
        tuple(line for line in log if line.key in about),
    )


def _group_name(store: Store, row: JobRow) -> str:
    job = store.get(Ref("Job", row.namespace, row.name)) if row.kind == "Job" else None
    return row.name if job is None else f"{row.name}-{job['metadata']['uid']}"


def pod_view(store: Store, pods: Sequence[PodRow], log: Sequence[LogLine], key: Ref) -> PodView:
    """Collect what a cluster knows of one pod.

    `store`, `pods`, `log`: all objects, pods and log lines of the cluster. `key`: identity of the pod;
    `UnknownNameError` if there is none of that name.
    """
    here = [row for row in pods if row.namespace == key.namespace]
    row = next((one for one in here if one.name == key.name), None)
    stored = store.get(key)
    if row is None or stored is None:
        raise UnknownNameError("pod", key.name, [one.name for one in here])
    template = _template_of(store, stored)
    return PodView(row, () if template is None else _diff(template, stored), tuple(x for x in log if x.key == key))


def _template_of(store: Store, pod: Object) -> Object | None:
    """The pod template that the pod was made from; None for a pod without an owner that has one."""
    metadata = pod["metadata"]
    owner = next((one for one in metadata.get("ownerReferences") or () if one.get("controller")), None)
    stored = None if owner is None else store.get(Ref(owner["kind"], metadata["namespace"], owner["name"]))
    if stored is None:
        return None
    role = (metadata.get("labels") or {}).get(ROLE_LABEL)
    tasks = [task for task in stored["spec"].get("tasks") or () if task.get("name") == role]
    holder: Object = tasks[0] if tasks else stored["spec"]
    return holder.get("template")


def _diff(template: Object, pod: Object) -> tuple[str, ...]:
    before, after = _lines(template), _lines(pod)
    found = list(difflib.unified_diff(before, after, "template", "pod", lineterm="", n=2))
    return tuple(found)


def _lines(data: Object) -> list[str]:
    metadata = data.get("metadata") or {}
    kept = {name: dict(sorted(metadata[name].items())) for name in ("labels", "annotations") if metadata.get(name)}
    shown = {**({"metadata": kept} if kept else {}), "spec": dict(sorted((data.get("spec") or {}).items()))}
    return to_yaml([shown]).splitlines()


def timeline_of(log: Sequence[LogLine], groups: Mapping[Ref, Ref], now: float) -> LifeTimeline:
    """The lives of the Jobs that a log tells of.

    `groups`: the Job to which a PodGroup or a pod belongs, for those that exist. `now`: the present time, at which the
    last phase of each Job ends.
    """
    starts: dict[Ref, list[tuple[str, float]]] = {}
    marks: dict[Ref, dict[Mark, None]] = {}
    for line in log:
        job = line.key if line.key.kind == "Job" else groups.get(line.key)
        if job is None:
            continue
        if line.key.kind == "Job" and line.reason in _PHASES:
            starts.setdefault(job, []).append((line.reason, line.at))
        if line.warning:
            marks.setdefault(job, {})[Mark(line.at, f"{line.reason}: {line.message}")] = None
    lives = []
    for job, phases in starts.items():
        ends = [*(at for _, at in phases[1:]), now]
        spans = tuple(Span(phase, at, end) for (phase, at), end in zip(phases, ends, strict=True) if end > at)
        lives.append(JobLife(f"{job.namespace}/{job.name}", spans, tuple(marks.get(job, ()))))
    return LifeTimeline(now, tuple(lives))
