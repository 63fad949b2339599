"""Reader of the Standard Workload Format, in which logs of many batch systems are published."""

from __future__ import annotations

import re
from math import isfinite

from workbench.errors import InputError
from workbench.formats.job_logs.base import GPU, Read, left_out, make_gang, rounded_up
from workbench.model.job_log import MOST_SECONDS, LoggedJob
from workbench.model.notice import Notice

__all__ = ["is_swf", "read_swf"]

_FIELDS = 18
_MOST = 100_000
#: Processors of a node where the header does not tell them: GPUs of a common machine.
_PER_NODE = 8
_HEADER = re.compile(r";\s*(MaxNodes|MaxProcs)\s*:\s*(\d{1,9})", re.IGNORECASE)
_NUMBER = re.compile(r"-?\d+(?:\.\d*)?\Z", re.ASCII)


def is_swf(head: str) -> bool:
    """Whether a text begins like the format: comments with a semicolon, then lines of 18 numbers."""
    for line in head.splitlines():
        if line.strip():
            return line.lstrip().startswith(";") or _is_row(line)
    return False


def _is_row(line: str) -> bool:
    fields = line.split()
    return len(fields) == _FIELDS and all(map(_NUMBER.match, fields))


def read_swf(content: bytes, source: str) -> Read:
    """Read jobs in the Standard Workload Format; each processor of it is taken for a GPU, as a notice says.

    A node has MaxProcs / MaxNodes processors by the header, rounded up, or 8. A job has the fewest pods of at most so
    many GPUs, with equal parts of its processors, rounded up: those that it got, or else those that it asked for. Its
    queue is ``queue-N`` by the log's queue number. Times count from the first submission. Left out, with a notice, are
    jobs without processors and jobs without a run time. Memory, users and dependences between jobs are not read.

    Raises InputError: a line that does not hold 18 numbers, a job number given twice, a time out of range; the line is
    named.

    Notes
    -----
    Source: the Parallel Workloads Archive, "The Standard Workload Format", version 2.2.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError("not UTF-8", source=source, where=f"byte {error.start}") from None
    header: dict[str, int] = {}
    rows: list[tuple[str, float, float, int, int]] = []
    no_processors = no_times = 0
    names: set[str] = set()
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith(";"):
            if (told := _HEADER.match(line.strip())) is not None:
                header[told[1].lower()] = int(told[2])
            continue
        where = f"line {number}"
        if not _is_row(line):
            expected = f"{_FIELDS} numbers of the Standard Workload Format"
            raise InputError("not a job", source=source, where=where, got=line.strip()[:60], expected=expected)
        fields = [float(field) for field in line.split()]
        name = f"job-{line.split()[0]}"
        if name in names:
            raise InputError("two jobs of one number", source=source, where=where, got=line.split()[0])
        names.add(name)
        processors = int(fields[4] if fields[4] > 0 else fields[7])
        if processors <= 0:
            no_processors += 1
        elif fields[1] < 0 or fields[3] < 0:
            no_times += 1
        elif processors > _MOST or not all(isfinite(f) and f <= MOST_SECONDS for f in (fields[1], fields[3])):
            expected = f"at most {_MOST} processors and {MOST_SECONDS:g} seconds"
            raise InputError("out of range", source=source, where=where, got=line.strip()[:60], expected=expected)
        else:
            rows.append((name, fields[1], fields[3], processors, int(fields[14])))
    nodes = header.get("maxnodes", 0)
    per_node = max(1, -(-header.get("maxprocs", 0) // nodes)) if nodes and header.get("maxprocs") else _PER_NODE
    told_by = "MaxProcs / MaxNodes of the header" if nodes and header.get("maxprocs") else "assumed"
    begin = min((submitted for _, submitted, *_ in rows), default=0.0)
    read = Read()
    uneven = 0
    for name, submitted, seconds, processors, queue in rows:
        pods = -(-processors // per_node)
        uneven += processors % pods > 0
        gang = make_gang(name, pods, {GPU: -(-processors // pods)}, queue=f"queue-{queue}" if queue > 0 else "default")
        read.jobs.append(LoggedJob(gang, submitted - begin, seconds))
    said = f"the log counts processors: each is taken for a GPU, {per_node} on a node ({told_by})"
    read.notes.append(Notice("processors-as-gpus", said, numbers={"count": per_node}))
    read.notes += [*left_out(no_processors, no_times), *rounded_up(uneven)]
    return read
