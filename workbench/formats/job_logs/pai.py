"""Reader of the task table of Alibaba's PAI cluster (2020)."""

from __future__ import annotations

from dataclasses import dataclass, field

from workbench.formats.job_logs.base import GPU, Read, left_out
from workbench.formats.tables import Row, read_table
from workbench.model.gang import Gang, Role
from workbench.model.job_log import LoggedJob

__all__ = ["COLUMNS", "read_pai"]

COLUMNS = ("job_name", "task_name", "inst_num", "start_time", "end_time", "plan_gpu")
_MOST_PODS = 100_000
_MOST_GPUS = 64
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
    for row in read_table(content, source, COLUMNS):
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
    if (whole and share) or not milli or whole > _MOST_GPUS:
        raise row.wrong("plan_gpu", row.text("plan_gpu"), f"less than {_WHOLE}, or a multiple of it")
    name = row.text("task_name") or "worker"
    if share:
        return Role(name, count, {}, gpu_milli=share)
    return Role(name, count, {GPU: whole}, (whole,))
