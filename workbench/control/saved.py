"""`SavedCluster`: the state of an embedded cluster as data, and reading and writing it as JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

import orjson

from workbench.control.event_log import LogLine
from workbench.control.job_requests import DelayedAction
from workbench.control.kinds import Ref, check_stored, key_of
from workbench.control.store import Object
from workbench.errors import InputError
from workbench.formats.file_bytes import read_bytes
from workbench.jobs.lifecycle.request import Delayed, JobRequest
from workbench.model.extras import FormerPod
from workbench.model.switches import EXCLUSIVE, IDLE, SHARED
from workbench.objects.fields import child, get_list, get_map, get_maps, get_text, get_texts, shown, wrong

__all__ = ["SavedCluster", "read_saved_file", "saved_data"]

#: The field ``format`` of a store file.
FORMAT = "topology-workbench store 1"

#: Fields that a store of an earlier release lacks: a cluster that goes on from it begins with a session, and knows no
#: former pods.
_LATER = ("former", "session_due", "policy", "rested_at")

#: More than any version, and than the seconds until the year 9999.
_MOST = 1e15

T = TypeVar("T")


@dataclass(frozen=True)
class SavedCluster:
    """The state of an embedded cluster: all that another one needs to continue from it.

    Attributes
    ----------
    now : float
        Time of the saved cluster, in seconds since its start.
    version : int
        Version of the store.
    objects : sequence of mapping
        Every stored object, as a manifest.
    waiting : sequence of DelayedAction
        Delayed actions of Jobs.
    requests : sequence of (Ref, JobRequest)
        Requests of Jobs that nobody had handled.
    ends : mapping of Ref to float
        Time at which each pod will start or end, in seconds since the start.
    records : mapping of str to str
        What the scheduler remembers of gangs that it placed (`workbench.model.placement.Placement.records`).
    former : sequence of (Ref, FormerPod)
        Deleted pods whose PodGroup still exists, for the policies that bring them back to their nodes; files of older
        releases have none.
    run_seconds : float, optional
        Seconds that pods without annotations take to start, and run (`workbench.control.kubelets.Behaviour`).
    session_due : bool
        Whether something changed since the last session of the scheduler.
    policy : str
        The policy of that session, with its parameters: another one is to decide anew.
    rested_at : float, optional
        Time at which nothing was left to do; None: something has been written since.
    """

    now: float
    version: int
    objects: Sequence[Object] = ()
    waiting: Sequence[DelayedAction] = ()
    requests: Sequence[tuple[Ref, JobRequest]] = ()
    ends: Mapping[Ref, float] = field(default_factory=dict)
    records: Mapping[str, str] = field(default_factory=dict)
    former: Sequence[tuple[Ref, FormerPod]] = ()
    log: Sequence[LogLine] = ()
    start_seconds: float = 0.0
    run_seconds: float | None = None
    session_due: bool = True
    policy: str = ""
    rested_at: float | None = None


def saved_data(saved: SavedCluster) -> dict[str, Any]:
    """A saved cluster as data that JSON can hold; `read_saved_file` reads it back."""
    return {
        "format": FORMAT,
        "now": saved.now,
        "version": saved.version,
        "start_seconds": saved.start_seconds,
        "run_seconds": saved.run_seconds,
        "waiting": [
            {"job": list(one.job), "due": one.due, **asdict(one.delayed), "request": asdict(one.delayed.request)}
            for one in saved.waiting
        ],
        "requests": [{"job": list(key), "request": asdict(request)} for key, request in saved.requests],
        "ends": [[*key, at] for key, at in sorted(saved.ends.items())],
        "session_due": saved.session_due,
        "policy": saved.policy,
        "rested_at": saved.rested_at,
        "records": dict(sorted(saved.records.items())),
        "former": [[*group, one.pod, one.rank, one.node, one.mark, one.unhealthy] for group, one in saved.former],
        "log": [[line.at, *line.key, line.reason, line.message, line.warning] for line in saved.log],
        "objects": list(saved.objects),
    }


def read_saved_file(path: str | Path) -> SavedCluster:
    """Read a file that `saved_data` describes; raises InputError if there is none, or it is something else."""
    content = read_bytes(path)
    try:
        return _read(orjson.loads(content))
    except orjson.JSONDecodeError as error:
        try:
            content.decode()
        except UnicodeDecodeError:
            got = f"binary data, {shown(content[:8])}"
            raise InputError("no JSON", source=str(path), got=got, expected=FORMAT) from None
        where = f"line {error.lineno}, column {error.colno}"
        got = error.msg if content else "0 bytes"
        raise InputError("no JSON", source=str(path), where=where, got=got, expected=FORMAT) from None
    except InputError as error:
        raise error.at(source=str(path)) from None


def _read(data: Any) -> SavedCluster:
    """Read what `saved_data` wrote.

    Another format, a missing or wrong field, or two objects of one identity are an InputError that names the path.
    """
    if type(data) is not dict or data.get("format") != FORMAT:
        found = data.get("format") if type(data) is dict else data
        raise wrong("format", found, repr(FORMAT))
    for name in saved_data(SavedCluster(0.0, 0)):
        if name not in (*_LATER, *data):
            raise wrong(name, None, "a field that every store has")
    objects = [item for _, item in get_maps(data, "objects", "")]
    known: set[Ref] = set()
    for path, item in get_maps(data, "objects", ""):
        metadata = get_map(item, "metadata", path)
        for name in ("name", "uid", "resourceVersion"):
            if not get_text(metadata, name, child(path, "metadata")):
                raise wrong(child(path, f"metadata.{name}"), None, "text; the store wrote it")
        check_stored(item, path)
        if key_of(item) in known:
            raise wrong(path, str(key_of(item)), "each object once")
        known.add(key_of(item))
    return SavedCluster(
        now=_number(data, "now", ""),
        version=int(_number(data, "version", "")),
        objects=objects,
        waiting=[_waiting(path, item) for path, item in get_maps(data, "waiting", "")],
        requests=[
            (_key(get_list(item, "job", path), child(path, "job")), _request(get_map(item, "request", path), path))
            for path, item in get_maps(data, "requests", "")
        ],
        ends=dict(_rows(data, "ends", 4, lambda row, path: (_key(row[:3], path), _time(row[3], path)))),
        records=get_texts(data, "records", ""),
        former=_rows(data, "former", 8, lambda row, path: (_key(row[:3], path), _former(row[3:], path))),
        start_seconds=_number(data, "start_seconds", ""),
        session_due=_flag(data, "session_due"),
        policy=get_text(data, "policy", ""),
        rested_at=None if data.get("rested_at") is None else _number(data, "rested_at", ""),
        run_seconds=None if data.get("run_seconds") is None else _number(data, "run_seconds", ""),
        log=_rows(
            data,
            "log",
            7,
            lambda row, path: LogLine(
                _time(row[0], path), _key(row[1:4], path), _text(row[4], path), _text(row[5], path), row[6] is True
            ),
        ),
    )


def _number(data: Mapping[str, Any], key: str, where: str) -> float:
    value: Any = data.get(key)
    if type(value) not in (int, float) or not 0 <= value < _MOST:
        raise wrong(child(where, key), value, f"a number from 0 to {_MOST:g}")
    return float(value)


def _flag(data: Mapping[str, Any], key: str) -> bool:
    value: Any = data.get(key, True)
    if type(value) is not bool:
        raise wrong(key, value, "true or false")
    return value


def _rows(data: Mapping[str, Any], key: str, length: int, read: Callable[[list[Any], str], T]) -> list[T]:
    found = []
    for position, row in enumerate(get_list(data, key, "")):
        path = f"{key}[{position}]"
        if type(row) is not list or len(row) != length:
            raise wrong(path, row, f"a list of {length}")
        found.append(read(row, path))
    return found


def _key(row: Sequence[Any], path: str) -> Ref:
    if len(row) != 3 or not all(type(part) is str for part in row):
        raise wrong(path, list(row), "kind, namespace and name")
    return Ref(*row)


def _text(value: Any, path: str) -> str:
    if type(value) is not str:
        raise wrong(path, value, "text")
    return value


def _former(row: Sequence[Any], path: str) -> FormerPod:
    pod, rank, node, mark, unhealthy = row
    whole = type(rank) is int and 0 <= rank < _MOST and type(mark) is int and mark in (IDLE, SHARED, EXCLUSIVE)
    if not whole or type(unhealthy) is not bool:
        raise wrong(path, list(row), "name of a pod, its rank, its node, the state of its switch, true or false")
    return FormerPod(rank, _text(node, path), mark=mark, pod=_text(pod, path), unhealthy=unhealthy)


def _time(value: Any, path: str) -> float:
    if type(value) not in (int, float) or not 0 <= value < _MOST:
        raise wrong(path, value, f"seconds from 0 to {_MOST:g}")
    return float(value)


def _waiting(path: str, item: Mapping[str, Any]) -> DelayedAction:
    delayed = Delayed(
        get_text(item, "action", path), _request(get_map(item, "request", path), path), _number(item, "delay", path)
    )
    return DelayedAction(_key(get_list(item, "job", path), child(path, "job")), _number(item, "due", path), delayed)


def _request(data: Mapping[str, Any], where: str) -> JobRequest:
    where = child(where, "request")
    known = {field.name for field in fields(JobRequest)}
    for name in data:
        if name not in known:
            raise wrong(child(where, name), data[name], "one of " + ", ".join(sorted(known)))
    numbers = ("exit_code", "job_version")
    texts = {name: get_text(data, name, where) for name in known - set(numbers)}
    version = data.get("job_version")
    return JobRequest(
        **texts,
        exit_code=int(_number({"exit_code": data.get("exit_code", 0)}, "exit_code", where)),
        job_version=None if version is None else int(_number(data, "job_version", where)),
    )
