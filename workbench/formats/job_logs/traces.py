"""Readers of published job logs that are tables: Microsoft's Philly, SenseTime's Helios with Acme, Alibaba's PAI."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime

from workbench.formats.job_logs.base import GPU, Read, left_out, make_gang, rounded_up
from workbench.formats.tables import Row, read_table
from workbench.model.gang import Gang, Role
from workbench.model.job_log import LoggedJob

__all__ = ["HELIOS_COLUMNS", "PAI_COLUMNS", "PHILLY_COLUMNS", "read_helios", "read_pai", "read_philly"]

#: GPUs or pods of a job, at the most.
_MOST_IN_JOB = 100_000

# The reduced job list of Microsoft's Philly clusters (2017).
PHILLY_COLUMNS = ("timestamp", "duration", "num_gpus", "cluster")
#: GPUs of a machine there; a job with more takes several pods of so many.
_PER_POD = 8


def read_philly(content: bytes, source: str) -> Read:
    """Read a table with the columns timestamp (submission), duration (s), num_gpus and cluster (virtual cluster).

    A job of up to 8 GPUs is one pod, a larger one as many pods of 8 as it needs. Times count from the first submission.

    Raises InputError: a value that is none of its column; the line is named.
    """
    rows = [(row, row.time("timestamp", "2017-10-09 07:01:55")) for row in read_table(content, source, PHILLY_COLUMNS)]
    begin = min((time for _, time in rows), default=datetime(2017, 1, 1, tzinfo=UTC))
    read = Read()
    for number, (row, time) in enumerate(rows):
        gpus = row.number("num_gpus", _MOST_IN_JOB)
        if not gpus:
            raise row.wrong("num_gpus", "0", "1 GPU or more")
        pods, each = -(-gpus // _PER_POD), min(gpus, _PER_POD)
        gang = make_gang(f"job-{number:06d}", pods, {GPU: each}, queue=row.text("cluster") or "default")
        read.jobs.append(LoggedJob(gang, (time - begin).total_seconds(), row.seconds("duration")))
    return read


# The logs of SenseTime's Helios clusters (2020) and Shanghai AI Laboratory's Acme clusters (2023).
HELIOS_COLUMNS = ("job_id", "gpu_num", "node_num", "submit_time", "start_time", "end_time", "duration")
#: What stands for a time that is not known.
_NO_TIME = frozenset({"", "None", "NaT", "nan"})


def read_helios(content: bytes, source: str) -> Read:
    """Read a table with the columns of Helios; that of Acme has them, too.

    A job has a pod for every node, with an equal part of its GPUs, rounded up; its queue is the virtual cluster (vc),
    or else the column queue. Times count from the first submission. Left out, with a notice, are jobs without GPUs and
    jobs that never started or whose end is not known. CPUs and memory are not read.

    Raises InputError: a value that is none of its column, a number of a job given twice; the line is named.
    """
    read = Read()
    found: list[tuple[Row, datetime]] = []
    no_gpus = no_times = uneven = 0
    for row in read_table(content, source, HELIOS_COLUMNS):
        if not row.number("gpu_num", _MOST_IN_JOB):
            no_gpus += 1
        elif row.text("start_time") in _NO_TIME or row.text("end_time") in _NO_TIME:
            no_times += 1
        else:
            found.append((row, row.time("submit_time", "2020-04-01 00:12:57")))
    begin = min((time for _, time in found), default=datetime(2020, 1, 1, tzinfo=UTC))
    names: set[str] = set()
    for row, time in found:
        pods, gpus = row.number("node_num", _MOST_IN_JOB), row.number("gpu_num", _MOST_IN_JOB)
        if not pods:
            raise row.wrong("node_num", "0", "1 node or more")
        uneven += gpus % pods > 0
        queue = row.text("vc") or row.text("queue") or "default"
        name = f"job-{row.number('job_id')}"
        if name in names:
            raise row.wrong("job_id", row.text("job_id"), "a number of its own for each job")
        names.add(name)
        gang = make_gang(name, pods, {GPU: -(-gpus // pods)}, queue=queue)
        read.jobs.append(LoggedJob(gang, (time - begin).total_seconds(), row.seconds("duration")))
    read.notes += [*left_out(no_gpus, no_times), *rounded_up(uneven)]
    return read


# The task table of Alibaba's PAI cluster (2020).
PAI_COLUMNS = ("job_name", "task_name", "inst_num", "start_time", "end_time", "plan_gpu")
_MOST_PODS = 100_000
_MOST_GPUS_OF_POD = 64
#: ``plan_gpu`` of a whole GPU.
_WHOLE = 100


@dataclass
class _PaiJob:
    """The tasks of one job, as far as they have been read."""

    roles: list[Role] = field(default_factory=list)
    times: list[tuple[float, float]] = field(default_factory=list)
    timeless: bool = False


def read_pai(content: bytes, source: str) -> Read:
    """Read a table with the columns of ``pai_task_table``, which its first line must name.

    Every task of a job is a role with a pod for each instance, and all pods of a job are needed. ``plan_gpu`` is in
    hundredths of a GPU: below 100 a share. A job is submitted when its first task starts and works until its last one
    ends; times count from the first submission. Left out, with a notice, are jobs without GPUs and jobs with a task
    whose time is not known; tasks without GPUs are no pods. CPUs, memory and GPU types are not read.

    Raises InputError: a value that is none of its column, a task that is there twice; the line is named.
    """
    jobs: dict[str, _PaiJob] = {}
    for row in read_table(content, source, PAI_COLUMNS):
        name = row.text("job_name")
        if not name:
            raise row.wrong("job_name", "nothing", "the name of the job")
        job = jobs.setdefault(name, _PaiJob())
        if row.text("start_time") and row.text("end_time"):
            times = row.seconds("start_time"), row.seconds("end_time")
            if times[1] < times[0]:
                raise row.wrong("end_time", row.text("end_time"), "an end that is not before the start")
            job.times.append(times)
        else:
            job.timeless = True
        role = _role(row)
        if any(role is not None and role.name == other.name for other in job.roles):
            raise row.wrong("task_name", row.text("task_name"), f"a task that {name} has not yet")
        job.roles += [] if role is None else [role]
    known = {name: job for name, job in jobs.items() if job.roles and not job.timeless}
    begin = min((start for job in known.values() for start, _ in job.times), default=0.0)
    read = Read()
    for name, job in known.items():
        first, last = min(start for start, _ in job.times), max(end for _, end in job.times)
        pods = sum(role.count for role in job.roles)
        read.jobs.append(LoggedJob(Gang("default", name, tuple(job.roles), pods), first - begin, last - first))
    no_gpus = sum(not job.roles for job in jobs.values())
    no_times = len(jobs) - len(known) - no_gpus
    read.notes += left_out(no_gpus, no_times)
    return read


def _role(row: Row) -> Role | None:
    """The task of a row; None if it asks for no GPU."""
    planned = row.amount("plan_gpu", "hundredths of a GPU") if row.text("plan_gpu") else 0.0
    if not planned:
        return None
    # The table has every number with decimals.
    instances = row.amount("inst_num", "instances")
    if not instances.is_integer() or not 1 <= instances <= _MOST_PODS:
        raise row.wrong("inst_num", row.text("inst_num"), f"a whole number from 1 to {_MOST_PODS}")
    count = int(instances)
    milli = round(planned * 10)
    whole, share = divmod(milli, 10 * _WHOLE)
    if (whole and share) or not milli or whole > _MOST_GPUS_OF_POD:
        raise row.wrong("plan_gpu", row.text("plan_gpu"), f"less than {_WHOLE}, or a multiple of it")
    name = row.text("task_name") or "worker"
    if share:
        return Role(name, count, {}, gpu_milli=share)
    return Role(name, count, {GPU: whole}, (whole,))
