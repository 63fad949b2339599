"""Reader of the job logs of SenseTime's Helios clusters (2020) and Shanghai AI Laboratory's Acme clusters (2023)."""

from __future__ import annotations

from datetime import UTC, datetime

from workbench.formats.job_logs.base import GPU, Read, left_out, make_gang, rounded_up
from workbench.formats.tables import Row, read_table
from workbench.model.job_log import LoggedJob

__all__ = ["COLUMNS", "read_helios"]

COLUMNS = ("job_id", "gpu_num", "node_num", "submit_time", "start_time", "end_time", "duration")
_MOST = 100_000
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
    for row in read_table(content, source, COLUMNS):
        if not row.number("gpu_num", _MOST):
            no_gpus += 1
        elif row.text("start_time") in _NO_TIME or row.text("end_time") in _NO_TIME:
            no_times += 1
        else:
            found.append((row, row.time("submit_time", "2020-04-01 00:12:57")))
    begin = min((time for _, time in found), default=datetime(2020, 1, 1, tzinfo=UTC))
    names: set[str] = set()
    for row, time in found:
        pods, gpus = row.number("node_num", _MOST), row.number("gpu_num", _MOST)
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
