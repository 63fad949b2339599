"""`read_sessions`: recordings of what a real scheduler did with jobs: Volcano, Kueue or kube-scheduler."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from workbench.errors import InputError
from workbench.formats.file_bytes import on_disk, read_bytes
from workbench.formats.recorded_kube import KUBE_PARTS, KubeSession
from workbench.formats.recorded_kueue import KUEUE_PARTS, KueueSession
from workbench.formats.recorded_moment import Json, RecordedMoment, RecordedSession, read_items
from workbench.formats.scheduler_conf import parse_config
from workbench.formats.tables import unpacked
from workbench.model.counted import counted
from workbench.model.labels import HOSTNAME_LABEL
from workbench.model.name_list import name_list
from workbench.model.scheduler_config import SchedulerConfig

__all__ = ["NoSession", "VolcanoSession", "read_sessions"]

_MAX_BYTES = 1 << 28
_VOLCANO = "scheduling.volcano.sh/v1beta1"

#: Names of the files of a folder that are read.
_ENDS = re.compile(r"\.jsonl?(\.gz)?$")
#: Where the only record of a file is.
_ONLY = "line 1"
_EXPECTED = "a line per session: an object with jobs (Volcano), or with input and expected (Kueue, kube-scheduler)"


@dataclass(frozen=True)
class VolcanoSession(RecordedSession):
    """Jobs that were submitted to Volcano one after another.

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

    @property
    def twin(self) -> str:
        return f"volcano-{'.'.join(self.release.split('.')[:2])}"

    @property
    def settings(self) -> Mapping[str, Any]:
        return {"config": self.config}

    def _moments(self) -> Iterator[RecordedMoment]:
        """The jobs in the order in which they were submitted, one at a time.

        A job finds those before it where the scheduler put them; a job that stays pending keeps waiting.
        """
        fixed = list(_cluster(self.recorded))
        running: list[Json] = []
        waiting: list[Json] = []
        for job in self.recorded["jobs"]:
            yield self._at(job, [*fixed, *running, *waiting])
            if any(node is not None for node in job["pods"].values()):
                running += _bound(job)
            else:
                waiting.append(_submitted(job, len(waiting)))

    def _at(self, job: Json, others: Sequence[Json]) -> RecordedMoment:
        # Younger than all that wait already.
        scenario = read_items([*others, _submitted(job, 59)])
        at = [gang.name for gang in scenario.gangs].index(job["manifest"]["metadata"]["name"])
        return RecordedMoment(scenario, {at: job["pods"]})


def read_sessions(path: str | Path, left_out: list[str] | None = None) -> Iterator[RecordedSession]:
    """Read recorded sessions of Volcano, Kueue and kube-scheduler.

    Parameters
    ----------
    path : str or Path
        A file, or a folder of which the files ``*.json`` and ``*.jsonl`` are read by name: one JSON object per line, or
        a JSON list of them; compressed with gzip or not (``*.jsonl.gz``).
    left_out : list of str, optional
        Receives a sentence for each file of a folder without sessions, and for records that are no sessions.

    Yields
    ------
    RecordedSession
        Objects that describe the recording, and sequences of single placements by Kueue, are left out.

    Raises
    ------
    InputError
        A file cannot be read, a record is no session, or nothing is one.
    """
    told = [] if left_out is None else left_out
    if not on_disk(path).is_dir():
        yield from _sessions_of(Path(path), told)
        return
    files = sorted(one for one in on_disk(path).iterdir() if _ENDS.search(one.name) and one.is_file())
    if not files:
        expected = "files *.json or *.jsonl with recorded sessions"
        raise InputError("a folder without recordings", source=str(path), expected=expected)
    found, sequences = False, 0
    for file in files:
        try:
            for session in _sessions_of(file, told):
                found = True
                yield session
        except NoSession as error:
            sequences += error.sequences
            told.append(f"{file}: {_placements(error.sequences) or 'no recorded session'}")
    if not found:
        names = name_list([file.name for file in files])
        raise _no_session(str(path), f"{names}: {_placements(sequences)}" if sequences else names, sequences)


class NoSession(InputError):
    """A file or folder in which nothing is a recorded session.

    Attributes
    ----------
    sequences : int
        Sequences of single placements by Kueue that it has instead.
    """

    sequences: int = 0


def _no_session(source: str, got: str | None, sequences: int) -> NoSession:
    error = NoSession("no recorded session", source=source, got=got, expected=_EXPECTED)
    error.sequences = sequences
    return error


def _placements(number: int) -> str:
    """A sentence about records that are no sessions; empty if there are none."""
    return f"{counted(number, 'sequence')} of single placements by Kueue: no sessions" if number else ""


def _sessions_of(path: Path, left_out: list[str]) -> Iterator[RecordedSession]:
    source, found, placements = str(path), False, 0
    for where, data in _records(path, source):
        session = None
        if type(data) is dict:
            placements += _is_placements(data)
            session = _session(data, source, where)
        elif where != _ONLY:
            raise _wrong(source, where)
        if session is not None:
            found = True
            yield session
    if not found:
        raise _no_session(source, _placements(placements) or None, placements)
    if placements:
        left_out.append(f"{source}: {_placements(placements)}")


def _session(data: dict[str, Any], source: str, where: str) -> RecordedSession | None:
    """The session that a record is; None: it is of another kind."""
    given, expected = data.get("input"), data.get("expected")
    if type(given) is dict and type(expected) is dict:
        if type(expected.get("bound")) is dict:
            _check_parts(given, KUBE_PARTS, source, where)
            return KubeSession(str(data.get("id")), given, expected["bound"])
        if type(expected.get("cycles")) is list:
            _check_parts(given, KUEUE_PARTS, source, where)
            return KueueSession(str(data.get("id")), given, expected["cycles"])
    if "jobs" not in data:
        return None
    try:
        name, release = str(data["seed"]), str(data["release"])
        for key in ("nodes", "hypernodes", "gpus"):
            data[key]
        config = parse_config(data["config"].encode(), source)
    except (KeyError, TypeError, AttributeError):
        raise _wrong(source, where) from None
    except InputError as error:
        raise error.at(where=where) from None
    return VolcanoSession(name, release, config, data)


def _is_placements(data: dict[str, Any]) -> bool:
    return type(data.get("expected")) is dict and "steps" in data["expected"]


def _check_parts(given: Json, parts: Mapping[str, type], source: str, where: str) -> None:
    """Raise InputError unless what a scheduler was given has all its parts."""
    if any(type(given.get(name)) is not kind for name, kind in parts.items()):
        raise _wrong(source, where, f"input with {', '.join(parts)}")


def _wrong(
    source: str,
    where: str,
    expected: str = "an object with seed, release, config, gpus, nodes, hypernodes and jobs",
) -> InputError:
    return InputError("no recorded session", source=source, where=where, expected=expected)


def _records(path: Path, source: str) -> Iterator[tuple[str, Any]]:
    """The records of a file, each with its place: those of a list, the lines of anything else."""
    content = unpacked(read_bytes(path, _MAX_BYTES), source, _MAX_BYTES)
    if content.lstrip()[:1] == b"[":
        try:
            for number, data in enumerate(orjson.loads(content), 1):
                yield f"record {number}", data
        except orjson.JSONDecodeError as error:
            raise InputError(f"not JSON: {error.msg}", source=source, where=f"line {error.lineno}") from None
        return
    if content.lstrip()[:9] == b'{"recordi':
        text = "a recording of live watch, no sessions of a scheduler"
        raise InputError(text, source=source, expected="workbench live compare FILE, without --recorded")
    try:
        # One object over several lines is no session, but it is no fault of a line either.
        yield _ONLY, orjson.loads(content)
        return
    except orjson.JSONDecodeError:
        pass
    for number, line in enumerate(content.splitlines(), 1):
        if line.strip():
            try:
                yield f"line {number}", orjson.loads(line)
            except orjson.JSONDecodeError as error:
                raise InputError(f"not JSON: {error.msg}", source=source, where=f"line {number}") from None


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
