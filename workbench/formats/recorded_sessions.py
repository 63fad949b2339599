"""`read_sessions`: recordings of what a scheduler did with jobs that were submitted one after another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from workbench.errors import InputError
from workbench.formats.file_bytes import read_bytes
from workbench.formats.load import load
from workbench.formats.scheduler_conf import parse_config
from workbench.formats.tables import unpacked
from workbench.model.labels import HOSTNAME_LABEL
from workbench.model.scenario import Scenario
from workbench.model.scheduler_config import SchedulerConfig

__all__ = ["RecordedJob", "RecordedSession", "read_sessions"]

Json = Mapping[str, Any]

_MAX_BYTES = 1 << 28
_VOLCANO = "scheduling.volcano.sh/v1beta1"


@dataclass(frozen=True)
class RecordedJob:
    """A job of a session, at the moment when the scheduler decided.

    Attributes
    ----------
    scenario : Scenario
        The cluster with what the scheduler had placed before, the job, and the jobs that were still waiting.
    at : int
        Position of the job in `scenario.gangs`.
    nodes : mapping of str to str or None
        Node that the scheduler gave to each pod; None: it gave none.
    """

    scenario: Scenario
    at: int
    nodes: Mapping[str, str | None]


@dataclass(frozen=True)
class RecordedSession:
    """Jobs that were submitted to a real scheduler one after another.

    Attributes
    ----------
    name : str
        The recording's own number of the session.
    release : str
        Release of the scheduler, such as ``1.15.1``.
    recorded : mapping
        The session as it stands in the file.
    """

    name: str
    release: str
    config: SchedulerConfig
    recorded: Json

    def jobs(self) -> Iterator[RecordedJob]:
        """The jobs in the order in which they were submitted.

        A job finds those before it where the scheduler put them; a job that stays pending keeps waiting. Raises
        InputError for a job that is not recorded in full.
        """
        try:
            fixed = list(_cluster(self.recorded))
            running: list[Json] = []
            waiting: list[Json] = []
            for job in self.recorded["jobs"]:
                yield self._at(job, [*fixed, *running, *waiting])
                if any(node is not None for node in job["pods"].values()):
                    running += _bound(job)
                else:
                    waiting.append(_submitted(job, len(waiting)))
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            what = f"{type(error).__name__}: {error}"
            raise InputError("a job that cannot be replayed", source=f"session {self.name}", got=what) from None

    def _at(self, job: Json, others: Sequence[Json]) -> RecordedJob:
        # Younger than all that wait already.
        items = [*others, _submitted(job, 59)]
        scenario = load("-", stdin=orjson.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
        at = [gang.name for gang in scenario.gangs].index(job["manifest"]["metadata"]["name"])
        return RecordedJob(scenario, at, job["pods"])


def read_sessions(path: str | Path) -> Iterator[RecordedSession]:
    """Read recorded sessions, one JSON object per line; the file may be compressed with gzip.

    Raises InputError: the file cannot be read, or a line is no session.

    Parameters
    ----------
    path : str or Path

    Yields
    ------
    RecordedSession
        Lines without ``jobs``, which describe the recording, are skipped.
    """
    source, found = str(path), False
    for number, line in enumerate(_lines(Path(path), source), 1):
        if not line.strip():
            continue
        try:
            data = orjson.loads(line)
            if type(data) is not dict:
                raise TypeError
            if "jobs" not in data:
                continue
            name, release = str(data["seed"]), str(data["release"])
            for key in ("nodes", "hypernodes", "gpus"):
                data[key]
            config = parse_config(data["config"].encode(), source)
        except orjson.JSONDecodeError as error:
            raise InputError(f"not JSON: {error.msg}", source=source, where=f"line {number}") from None
        except (KeyError, TypeError, AttributeError):
            raise InputError(
                "no recorded session",
                source=source,
                where=f"line {number}",
                expected="an object with seed, release, config, gpus, nodes, hypernodes and jobs",
            ) from None
        found = True
        yield RecordedSession(name, release, config, data)
    if not found:
        raise InputError("no recorded session", source=source, expected="a line per session, an object with jobs")


def _lines(path: Path, source: str) -> list[bytes]:
    return unpacked(read_bytes(path, _MAX_BYTES), source, _MAX_BYTES).splitlines()


def _cluster(session: Json) -> Iterator[Json]:
    amounts = {"cpu": "64", "memory": "512Gi", "pods": "110", "nvidia.com/gpu": str(session["gpus"])}
    for name in session["nodes"]:
        metadata = {"name": name, "labels": {HOSTNAME_LABEL: name}}
        yield {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": {"allocatable": amounts}}
    for each in session["hypernodes"]:
        members = [{"type": each["type"], "selector": {"exactMatch": {"name": name}}} for name in each["members"]]
        yield {
            "apiVersion": "topology.volcano.sh/v1alpha1",
            "kind": "HyperNode",
            "metadata": {"name": each["name"]},
            "spec": {"tier": each["tier"], "members": members},
        }
    yield {"apiVersion": _VOLCANO, "kind": "Queue", "metadata": {"name": "default"}, "spec": {"weight": 1}}


def _submitted(job: Json, second: int) -> Json:
    """The Job as the API server stored it, created in that second."""
    created = f"2026-01-01T00:00:{second:02d}Z"
    metadata = {**job["manifest"]["metadata"], "namespace": "default", "creationTimestamp": created}
    return {**job["manifest"], "metadata": metadata, "spec": job["stored_spec"]}


def _bound(job: Json) -> Iterator[Json]:
    """The PodGroup and the pods that have a node, as they run afterwards."""
    name, spec, group = job["manifest"]["metadata"]["name"], job["manifest"]["spec"], job["podgroup"] or {}
    yield {
        "apiVersion": _VOLCANO,
        "kind": "PodGroup",
        "metadata": {"name": f"pg-{name}", "namespace": "default", "annotations": group.get("annotations") or {}},
        "spec": group.get("spec") or {"minMember": spec["minAvailable"]},
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
