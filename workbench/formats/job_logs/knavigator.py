"""Reader of Knavigator's gang burst: jobs of pods that take a node each, all submitted at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.errors import InputError
from workbench.formats.job_logs.base import GPU, Read, make_gang
from workbench.model.job_log import LoggedJob
from workbench.objects.quantity import read_duration

__all__ = ["read_knavigator"]

#: GPUs of a node there, all of which a pod takes.
_PER_POD = 8
_MOST = 100_000


def read_knavigator(data: Mapping[str, Any], source: str) -> Read:
    """Read the tasks SubmitObj of a test: `count` gangs of `replicas` pods each, which run for `ttl`.

    Raises InputError: a task without these numbers; its id is named.
    """
    read = Read()
    for task in data["tasks"]:
        if not isinstance(task, dict) or task.get("type") != "SubmitObj":
            continue
        name = str(task.get("id"))
        params = task.get("params")
        inner = params.get("params") if isinstance(params, dict) else None
        if not isinstance(params, dict) or not isinstance(inner, dict):
            raise InputError("a task without params.params", source=source, where=f"task {name}")
        count, pods = (_whole(value, name, source) for value in (params.get("count", 1), inner.get("replicas")))
        try:
            seconds = read_duration(str(inner.get("ttl")))
        except InputError as error:
            raise InputError(error.message, source=source, where=f"task {name}, ttl", got=error.got) from None
        for i in range(count):
            read.jobs.append(LoggedJob(make_gang(f"{name}-{i}", pods, {GPU: _PER_POD}), 0.0, seconds))
    return read


def _whole(value: object, name: str, source: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= _MOST:
        where, expected = f"task {name}", f"a whole number from 1 to {_MOST:,}"
        raise InputError("not a number", source=source, where=where, got=str(value)[:60], expected=expected)
    return value
