"""Reader of what Slurm's accounting prints for programs: ``sacct -X -P`` with the columns of its header."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from workbench.errors import InputError
from workbench.formats.job_logs.base import GPU, Read, left_out, make_gang, rounded_up
from workbench.formats.tables import Row, read_table
from workbench.model.job_log import LoggedJob

__all__ = ["ASKED_FOR", "is_sacct", "read_sacct"]

#: A command that prints what is read.
ASKED_FOR = "sacct -X -P -o JobID,Partition,Submit,Start,End,ElapsedRaw,NNodes,AllocTRES,State"

_MOST = 100_000
_IDS = ("JobID", "JobIDRaw")
_TRES = ("AllocTRES", "ReqTRES", "AllocGRES", "ReqGRES")
_NODES = ("NNodes", "AllocNodes", "ReqNodes")
#: What stands for a time that is not known.
_NO_TIME = frozenset({"", "Unknown", "None", "N/A", "INVALID"})
_OPEN = frozenset({"PENDING", "RUNNING", "SUSPENDED", "COMPLETING", "CONFIGURING", "RESIZING"})
_ELAPSED = re.compile(r"(?:(\d{1,7})-)?(?:(\d{1,2}):)?(\d{1,2}):(\d{1,2})\Z")
#: gres/gpu=16, gres/gpu:h100=8, and of older columns gpu:4 or gpu:h100:4.
_TRES_GPUS = re.compile(r"gres/gpu(:[^=,]+)?=(\d{1,9})\Z")
_GRES_GPUS = re.compile(r"gpu(:[^:,=]+)?:(\d{1,9})(?:\(.*)?\Z")
_TRES_NODES = re.compile(r"(?:^|,)node=(\d{1,9})(?:,|$)")


def is_sacct(first: str) -> bool:
    """Whether the first line of a file is the header of ``sacct -P``: names with bars, one of them the job's id."""
    names = {name.strip() for name in first.split("|")}
    return "|" in first and not names.isdisjoint(_IDS)


def read_sacct(content: bytes, source: str) -> Read:
    """Read the jobs that ``sacct -P`` (or ``-p``) printed; the first line names the columns.

    Needed are JobID or JobIDRaw, Submit, Start, one of End, ElapsedRaw and Elapsed, and AllocTRES or ReqTRES (of older
    releases AllocGRES, whose GPUs count for each node). A job has a pod for every node (NNodes, else ``node=`` of the
    TRES, else one), with an equal part of its GPUs, rounded up; its queue is the partition. Steps (``101.batch``) are
    no jobs of their own. Times count from the first submission. Left out, with a notice, are jobs without GPUs and jobs
    that never started or did not end yet. CPUs, memory and types of GPUs are not read.

    Raises InputError: a column that is missing, a value that is none of its column; the line is named.
    """
    read = Read()
    found: list[tuple[Row, datetime, float]] = []
    no_gpus = no_times = uneven = 0
    for row in read_table(content, source, ("Submit", "Start"), delimiter="|"):
        if not found and not no_gpus and not no_times:
            _check_columns(row, source)
        if "." in _text(row, _IDS):
            continue
        if not _gpus(row):
            no_gpus += 1
        elif _is_open(row):
            no_times += 1
        else:
            submitted = _time(row, "Submit")
            found.append((row, submitted, _seconds(row)))
    begin = min((time for _, time, _ in found), default=datetime(2020, 1, 1, tzinfo=UTC))
    turns: dict[str, int] = {}
    for row, submitted, seconds in found:
        pods, gpus = _pods(row), _gpus(row)
        uneven += gpus % pods > 0
        name = "job-" + re.sub("[^a-z0-9]+", "-", _text(row, _IDS).lower()).strip("-")
        # A job that was requeued has a line for each of its runs (--duplicates).
        turns[name] = turns.get(name, 0) + 1
        name += f"-run-{turns[name]}" if turns[name] > 1 else ""
        gang = make_gang(name, pods, {GPU: -(-gpus // pods)}, queue=row.text("Partition") or "default")
        read.jobs.append(LoggedJob(gang, (submitted - begin).total_seconds(), seconds))
    read.notes += [*left_out(no_gpus, no_times), *rounded_up(uneven)]
    return read


def _check_columns(row: Row, source: str) -> None:
    """Raise InputError for a table without a column that tells GPUs, or the length of a job."""
    for what, columns in (("GPUs", _TRES), ("the length of a job", ("End", "ElapsedRaw", "Elapsed"))):
        if not set(columns) & set(row.columns):
            message = f"no column tells {what}"
            got = "|".join(row.columns)[:80]
            raise InputError(message, source=source, where="line 1", got=got, expected=ASKED_FOR)


def _text(row: Row, columns: tuple[str, ...]) -> str:
    """The first text that is not empty among some columns; empty if there is none."""
    return next((text for column in columns if (text := row.text(column))), "")


def _gpus(row: Row) -> int:
    """GPUs of a job over all of its nodes; 0 if no column tells any."""
    for column in _TRES:
        total, typed = None, 0
        for part in row.text(column).split(","):
            found = (_TRES_GPUS if column.endswith("TRES") else _GRES_GPUS).match(part.strip())
            if found is None:
                continue
            count = int(found[2])
            if column.endswith("TRES") and not found[1]:
                # The total stands beside the counts of each type.
                total = count
            else:
                typed += count if column.endswith("TRES") else count * _pods(row)
        gpus = typed if total is None else total
        if gpus > _MOST:
            raise row.wrong(column, row.text(column), f"at most {_MOST} GPUs")
        if gpus:
            return gpus
    return 0


def _pods(row: Row) -> int:
    column = next((name for name in _NODES if row.text(name)), "")
    if column:
        pods = row.number(column, _MOST)
        if not pods:
            raise row.wrong(column, "0", "1 node or more")
        return pods
    tres = next((found for name in _TRES if (found := _TRES_NODES.search(row.text(name)))), None)
    return min(max(int(tres[1]), 1), _MOST) if tres else 1


def _is_open(row: Row) -> bool:
    """Whether a job never started or has not ended."""
    end = ("End",) if "End" in row.columns else ()
    return row.text("State") in _OPEN or any(row.text(name) in _NO_TIME for name in ("Submit", "Start", *end))


def _seconds(row: Row) -> float:
    """Seconds that a job ran."""
    if row.text("ElapsedRaw"):
        return row.seconds("ElapsedRaw")
    elapsed = row.text("Elapsed")
    if elapsed:
        found = _ELAPSED.match(elapsed)
        if found is None:
            raise row.wrong("Elapsed", elapsed, "a time such as 1-02:03:04")
        days, hours, minutes, rest = (int(part or 0) for part in found.groups())
        return float(((days * 24 + hours) * 60 + minutes) * 60 + rest)
    between = (_time(row, "End") - _time(row, "Start")).total_seconds()
    if between < 0:
        raise row.wrong("End", row.text("End"), "an end that is not before the start")
    return between


def _time(row: Row, column: str) -> datetime:
    text = row.text(column)
    try:
        # SLURM_TIME_FORMAT=%s prints seconds since 1970.
        if text.isascii() and text.isdecimal():
            return datetime.fromtimestamp(int(text), UTC)
    except (OverflowError, OSError):
        raise row.wrong(column, text, "a time such as 2026-05-01T08:00:00") from None
    return row.time(column, "2026-05-01T08:00:00")
