"""Reader of the reduced job list of Microsoft's Philly clusters (2017)."""

from __future__ import annotations

from datetime import UTC, datetime

from workbench.formats.job_logs.base import GPU, Read, make_gang
from workbench.formats.tables import read_table
from workbench.model.job_log import LoggedJob

__all__ = ["COLUMNS", "read_philly"]

COLUMNS = ("timestamp", "duration", "num_gpus", "cluster")
#: GPUs of a machine there; a job with more takes several pods of so many.
_PER_POD = 8
_MOST_GPUS = 100_000


def read_philly(content: bytes, source: str) -> Read:
    """Read a table with the columns timestamp (submission), duration (s), num_gpus and cluster (virtual cluster).

    A job of up to 8 GPUs is one pod, a larger one as many pods of 8 as it needs. Times count from the first submission.

    Raises InputError: a value that is none of its column; the line is named.
    """
    rows = [(row, row.time("timestamp", "2017-10-09 07:01:55")) for row in read_table(content, source, COLUMNS)]
    begin = min((time for _, time in rows), default=datetime(2017, 1, 1, tzinfo=UTC))
    read = Read()
    for number, (row, time) in enumerate(rows):
        gpus = row.number("num_gpus", _MOST_GPUS)
        if not gpus:
            raise row.wrong("num_gpus", "0", "1 GPU or more")
        pods, each = -(-gpus // _PER_POD), min(gpus, _PER_POD)
        gang = make_gang(f"job-{number:06d}", pods, {GPU: each}, queue=row.text("cluster") or "default")
        read.jobs.append(LoggedJob(gang, (time - begin).total_seconds(), row.seconds("duration")))
    return read
