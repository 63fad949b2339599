"""Readers of generators of jobs: that of Kueue's scalability run with topology, and Knavigator's gang burst."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from workbench.errors import InputError
from workbench.formats.job_logs.base import GPU, Read, make_gang
from workbench.model.counted import counted
from workbench.model.gang import TopologyConstraint
from workbench.model.job_log import LoggedJob
from workbench.model.notice import Notice
from workbench.model.resources import CPU
from workbench.objects.quantity import read_duration, to_base_units

__all__ = ["read_knavigator", "read_kueue"]

#: Racks are HyperNodes of the lowest tier.
_RACK_TIER = 1
_MOST = 1_000_000


def read_kueue(data: Mapping[str, Any], source: str) -> Read:
    """Read what the generator of Kueue makes: in each queue every set creates one workload after each of its intervals.

    Queues are named ``cohort-I-cq-J``; quotas are the nominal ones, without borrowing and reclaiming. A workload that
    requires a rack is hard at tier 1, one that prefers it or is balanced over racks is soft; slices are not read.

    Raises InputError: a field that is missing or of another type; its path is named.
    """
    read = Read()
    balanced = 0
    for c, (cohort, at_cohort) in enumerate(_items(data, "cohorts", "", source)):
        for i in range(_whole(cohort, "count", at_cohort, source)):
            for q, (queues, at_queues) in enumerate(_items(cohort, "queuesSets", at_cohort, source)):
                quota = _amount(queues, "nominalQuota", at_queues, source)
                for j in range(_whole(queues, "count", at_queues, source)):
                    queue = f"cohort-{c}-{i}-cq-{q}-{j}"
                    read.quotas[queue] = {CPU: quota}
                    for s, (each, at_set) in enumerate(_items(queues, "workloadsSets", at_queues, source)):
                        balanced += _add(read, each, f"{queue}-{s}", queue, at_set, source)
    if balanced:
        text = f"{counted(balanced, 'workload')} balanced over racks: read as preferring one rack, slices are not read"
        read.notes.append(Notice("slices-not-read", text, numbers={"count": balanced}))
    text = "quotas are the nominal ones: borrowing, reclaiming and preemption are not modelled"
    read.notes.append(Notice("quotas-without-borrowing", text, numbers={"count": len(read.quotas)}))
    return read


def _add(read: Read, each: Mapping[str, Any], name: str, queue: str, at: str, source: str) -> int:
    """Add the workloads of one set; returns how many of them are balanced."""
    interval = _whole(each, "creationIntervalMs", at, source) / 1000
    balanced = 0
    number = 0
    for turn in range(_whole(each, "count", at, source)):
        for workload, at_workload in _items(each, "workloads", at, source):
            wish = workload.get("tasConstraint", "")
            if wish not in ("", "required", "preferred", "balanced"):
                expected = "required, preferred or balanced"
                raise InputError("no constraint", source=source, where=at_workload, got=str(wish), expected=expected)
            balanced += wish == "balanced"
            constraint = TopologyConstraint("hard", _RACK_TIER) if wish == "required" else None
            gang = make_gang(
                f"{name}-{number}",
                _whole(workload, "podCount", at_workload, source),
                {CPU: _amount(workload, "request", at_workload, source)},
                queue=queue,
                priority=_whole(workload, "priority", at_workload, source),
                constraint=TopologyConstraint("soft") if wish in ("preferred", "balanced") else constraint,
            )
            runtime = _whole(workload, "runtimeMs", at_workload, source) / 1000
            read.jobs.append(LoggedJob(gang, interval * (turn + 1), runtime))
            number += 1
    return balanced


def _items(data: Mapping[str, Any], key: str, at: str, source: str) -> Iterator[tuple[Mapping[str, Any], str]]:
    found = data.get(key)
    path = f"{at}.{key}".lstrip(".")
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise InputError("not a list of maps", source=source, where=path, got=type(found).__name__)
    for i, one in enumerate(found):
        yield one, f"{path}[{i}]"


def _whole(data: Mapping[str, Any], key: str, at: str, source: str) -> int:
    found = data.get(key)
    if isinstance(found, bool) or not isinstance(found, int) or not 0 <= found <= _MOST:
        expected = f"a whole number from 0 to {_MOST:,}"
        raise InputError("not a number", source=source, where=f"{at}.{key}", got=str(found)[:60], expected=expected)
    return found


def _amount(data: Mapping[str, Any], key: str, at: str, source: str) -> int:
    try:
        return to_base_units(CPU, data.get(key))
    except InputError as error:
        raise InputError(error.message, source=source, where=f"{at}.{key}", got=error.got) from None


#: GPUs of a node in Knavigator, all of which a pod takes.
_PER_POD = 8
_MOST_IN_TASK = 100_000


def read_knavigator(data: Mapping[str, Any], source: str) -> Read:
    """Read the tasks SubmitObj of a test of Knavigator: `count` gangs of `replicas` pods each, which run for `ttl`.

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
        count, pods = (_number(value, name, source) for value in (params.get("count", 1), inner.get("replicas")))
        try:
            seconds = read_duration(str(inner.get("ttl")))
        except InputError as error:
            raise InputError(error.message, source=source, where=f"task {name}, ttl", got=error.got) from None
        for i in range(count):
            read.jobs.append(LoggedJob(make_gang(f"{name}-{i}", pods, {GPU: _PER_POD}), 0.0, seconds))
    return read


def _number(value: object, name: str, source: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= _MOST_IN_TASK:
        where, expected = f"task {name}", f"a whole number from 1 to {_MOST_IN_TASK:,}"
        raise InputError("not a number", source=source, where=where, got=str(value)[:60], expected=expected)
    return value
