"""`VolcanoSession`: Jobs that were submitted to a real Volcano one after another, and where it put them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.errors import InputError
from workbench.formats.recorded_fields import (
    COUNT,
    MAPPING,
    NAME,
    NUMBER,
    TEXT,
    TEXTS,
    by_name,
    fields,
    items,
    or_null,
    whole,
)
from workbench.formats.recorded_moment import Json, Record, RecordedMoment, RecordedSession, created, read_items
from workbench.formats.scheduler_conf import parse_config
from workbench.model.labels import HOSTNAME_LABEL
from workbench.model.scheduler_config import SchedulerConfig

__all__ = ["VolcanoSession"]

_VOLCANO = "scheduling.volcano.sh/v1beta1"

_TASK = fields(name=NAME, template=fields(spec=MAPPING))
_JOB = fields(
    ("podgroup",),
    manifest=fields(
        metadata=fields(name=NAME), spec=fields(("minAvailable",), minAvailable=COUNT, tasks=items(_TASK, least=1))
    ),
    stored_spec=MAPPING,
    podgroup=fields(("annotations", "spec"), annotations=TEXTS, spec=MAPPING),
    pods=by_name(or_null(NAME)),
)
_SESSION = fields(
    release=TEXT,
    config=TEXT,
    gpus=whole(0, 2**31 - 1),
    nodes=items(NAME),
    hypernodes=items(fields(name=NAME, type=NAME, tier=NUMBER, members=items(NAME))),
    jobs=items(_JOB),
)


@dataclass(frozen=True)
class VolcanoSession(RecordedSession):
    """Jobs that were submitted to Volcano one after another.

    `name`: the recording's own number of the session. `release`: release of the scheduler, such as ``1.15.1``.
    `recorded`: the session as it stands in the file.
    """

    name: str
    release: str
    config: SchedulerConfig
    recorded: Json
    record: Record

    @classmethod
    def read(cls, name: str, recorded: Json, record: Record) -> VolcanoSession:
        """The session of a record, `recorded` as a JSON object; raises InputError for one of another form."""
        _SESSION(recorded, "")
        _check_names(recorded, record)
        try:
            config = parse_config(recorded["config"].encode(), record.source)
        except InputError as error:
            raise record.placed(error, "config") from None
        return cls(name, recorded["release"], config, recorded, record)

    @property
    def twin(self) -> str:
        return f"volcano-{'.'.join(self.release.split('.')[:2])}"

    @property
    def settings(self) -> Mapping[str, Any]:
        return {"config": self.config}

    def moments(self) -> Iterator[RecordedMoment]:
        """The jobs in the order in which they were submitted, one at a time.

        A job finds those before it where the scheduler put them; a job that stays pending keeps waiting.
        """
        fixed = list(_cluster(self.recorded))
        running: list[tuple[str, Json]] = []
        waiting: list[tuple[str, Json]] = []
        for number, job in enumerate(self.recorded["jobs"]):
            path = f"jobs[{number}]"
            yield self._at(job, path, [*fixed, *running, *waiting, (path, _submitted(job, len(waiting)))])
            if any(node is not None for node in job["pods"].values()):
                running += [(path, made) for made in _bound(job)]
            else:
                waiting.append((path, _submitted(job, len(waiting))))

    def _at(self, job: Json, path: str, items: Sequence[tuple[str, Json]]) -> RecordedMoment:
        scenario = read_items(items, self.record)
        name = job["manifest"]["metadata"]["name"]
        at = next((at for at, gang in enumerate(scenario.gangs) if gang.name == name), None)
        if at is None:
            raise self.record.error("no job of Volcano", path, repr(name), "a Job with at least one pod to place")
        return RecordedMoment(scenario, {at: job["pods"]})


def _check_names(recorded: Json, record: Record) -> None:
    """Raise InputError for names that stand twice and for pods that are of no task; note nodes that are not there."""
    nodes = set(recorded["nodes"])
    record.once((each["name"] for each in recorded["hypernodes"]), "hypernodes")
    record.once((job["manifest"]["metadata"]["name"] for job in recorded["jobs"]), "jobs")
    for number, job in enumerate(recorded["jobs"]):
        path, name = f"jobs[{number}]", job["manifest"]["metadata"]["name"]
        tasks = {task["name"] for task in job["manifest"]["spec"]["tasks"]}
        for pod, node in job["pods"].items():
            task, _, index = pod.removeprefix(f"{name}-").rpartition("-")
            if not pod.startswith(f"{name}-") or task not in tasks or not index.isdecimal():
                raise record.error("no pod of the Job", f"{path}.pods", repr(pod), f"{name}-TASK-NUMBER")
            record.refer(node, nodes, "node", f"{path}.pods[{pod!r}]")


def _cluster(session: Json) -> Iterator[tuple[str, Json]]:
    amounts = {"cpu": "64", "memory": "512Gi", "pods": "110", "nvidia.com/gpu": str(session["gpus"])}
    for i, name in enumerate(session["nodes"]):
        metadata = {"name": name, "labels": {HOSTNAME_LABEL: name}}
        made = {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": {"allocatable": amounts}}
        yield f"nodes[{i}]", made
    for i, each in enumerate(session["hypernodes"]):
        members = [{"type": each["type"], "selector": {"exactMatch": {"name": name}}} for name in each["members"]]
        spec = {"tier": each["tier"], "members": members}
        made = {"apiVersion": "topology.volcano.sh/v1alpha1", "kind": "HyperNode", "metadata": {"name": each["name"]}}
        yield f"hypernodes[{i}]", made | {"spec": spec}
    queue = {"apiVersion": _VOLCANO, "kind": "Queue", "metadata": {"name": "default"}, "spec": {"weight": 1}}
    yield "the queue", queue


def _submitted(job: Json, second: int) -> Json:
    """The Job as the API server stored it, created in that second."""
    metadata = {**job["manifest"]["metadata"], "namespace": "default", "creationTimestamp": created(second)}
    return {**job["manifest"], "metadata": metadata, "spec": job["stored_spec"]}


def _bound(job: Json) -> Iterator[Json]:
    """The PodGroup and the pods that have a node, as they run afterwards."""
    name, spec, group = job["manifest"]["metadata"]["name"], job["manifest"]["spec"], job.get("podgroup") or {}
    yield {
        "apiVersion": _VOLCANO,
        "kind": "PodGroup",
        "metadata": {"name": f"pg-{name}", "namespace": "default", "annotations": group.get("annotations") or {}},
        "spec": group.get("spec") or {"minMember": spec.get("minAvailable", len(job["pods"]))},
        "status": {"phase": "Running"},
    }
    templates = {task["name"]: task["template"]["spec"] for task in spec["tasks"]}
    for pod, node in job["pods"].items():
        if node is None:
            continue
        role = pod[len(name) + 1 :].rsplit("-", 1)[0]
        annotations = {"scheduling.k8s.io/group-name": f"pg-{name}", "volcano.sh/task-spec": role}
        yield {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": pod, "namespace": "default", "annotations": annotations},
            "spec": {**templates[role], "nodeName": node},
            "status": {"phase": "Running"},
        }
