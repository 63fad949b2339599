"""The workbench's own job log, CSV with a line per job: its reader, and `day_of_jobs`, which draws times."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches

import numpy as np

from workbench.errors import InputError, close_names
from workbench.formats.job_logs.base import GPU, Read, make_gang
from workbench.formats.tables import Row, read_table
from workbench.model.counted import counted
from workbench.model.gang import Gang, TopologyConstraint
from workbench.model.job_log import SHAPE, LoggedJob, LoggedStep
from workbench.model.notice import Notice
from workbench.model.resources import CPU, MEMORY, is_gpu_resource

__all__ = ["COLUMNS", "day_of_jobs", "read_log_table"]

COLUMNS = ("name", "submit_s", "duration_s", "pods", "gpus_per_pod")
_MOST_PODS = 100_000
_MOST_GPUS = 64
_MOST_TIER = 1_000_000
_MIB = 1 << 20
#: Kinds of parallelism, in the order of ranks.
_KINDS = ("data", "tensor", "pipeline", "context", "expert")
_MOST_GB = 1e12

_KNOWN = (
    *COLUMNS,
    *("cpu_milli", "memory_mib", "queue", "priority", "min_available", "mode", "tier", "checkpoint_s"),
    *("compute_s", "shape", *(f"{kind}_gb" for kind in _KINDS)),
)
#: Likeness from which on a column is a misspelt one: checkpoints_s, but not user or gpu_type.
_ALMOST = 0.8
_DAY_S = 86_400
#: Drawn seconds of work: their median, and the standard deviation of their logarithm.
_MEDIAN_S, _SPREAD = 3_000.0, 1.0
#: Columns of a drawn log behind `COLUMNS`.
_FURTHER = ("cpu_milli", "memory_mib", "queue", "mode", "tier")


def read_log_table(content: bytes, source: str) -> Read:
    """Read a table with the columns name, submit_s, duration_s, pods and gpus_per_pod.

    Further columns, each of which may be missing or empty: cpu_milli and memory_mib (of each pod), queue, priority,
    min_available, mode (hard or soft), tier (highestTierAllowed, beside a mode), checkpoint_s; and of a training step
    compute_s, shape (DPxTPxPPxCPxEP) and the GB that a rank sends, data_gb, tensor_gb, pipeline_gb, context_gb,
    expert_gb. A notice names other columns, which are not read.

    Raises InputError: a value that is none of its column, a name given twice; the line is named. A column whose name is
    almost one of these.
    """
    read = Read()
    names: set[str] = set()
    for row in read_table(content, source, COLUMNS):
        if not names:
            read.notes += _unknown_columns(row, source)
        name = row.text("name")
        if not name or name in names:
            raise row.wrong("name", name or "nothing", "a name of its own for each job")
        names.add(name)
        pods = row.number("pods", _MOST_PODS)
        least = row.number("min_available", _MOST_PODS) if row.text("min_available") else pods
        if not pods or least > pods:
            expected = "1 pod or more, and no more needed than there are"
            raise row.wrong("pods", f"{counted(pods, 'pod')}, {least} needed", expected)
        requests = {GPU: row.number("gpus_per_pod", _MOST_GPUS)}
        for resource, column, unit in ((CPU, "cpu_milli", 1), (MEMORY, "memory_mib", _MIB)):
            if row.text(column):
                requests[resource] = row.number(column) * unit
        gang = make_gang(
            name,
            pods,
            requests,
            queue=row.text("queue") or "default",
            priority=row.number("priority", 1_000_000_000) if row.text("priority") else 0,
            min_available=least,
            constraint=_constraint(row),
        )
        checkpoint = row.seconds("checkpoint_s") if row.text("checkpoint_s") else None
        if checkpoint == 0:
            raise row.wrong("checkpoint_s", "0", "more than 0 seconds, or nothing")
        submitted, work = row.seconds("submit_s"), row.seconds("duration_s")
        read.jobs.append(LoggedJob(gang, submitted, work, checkpoint, _step(row)))
    return read


def _unknown_columns(row: Row, source: str) -> list[Notice]:
    """The notice of columns that are not read, if there are any; InputError for one that seems misspelt."""
    unknown = [column for column in row.columns if column not in _KNOWN]
    for column in unknown:
        if get_close_matches(column, _KNOWN, n=1, cutoff=_ALMOST):
            expected = close_names(column, _KNOWN)
            raise InputError("unknown column", source=source, where="line 1", got=column[:60], expected=expected)
    if not unknown:
        return []
    text = f"{counted(len(unknown), 'column')} not read: {', '.join(unknown)}"
    return [Notice("columns-not-read", text, numbers={"count": len(unknown)})]


def _step(row: Row) -> LoggedStep | None:
    """The training step of a row; None if it has no compute_s and no GB."""
    sent = {kind: row.amount(f"{kind}_gb", "GB", _MOST_GB) for kind in _KINDS if row.text(f"{kind}_gb")}
    shape = row.text("shape")
    if not row.text("compute_s"):
        if sent or shape:
            raise row.wrong("compute_s", "nothing", "seconds of a step whose traffic is told")
        return None
    if shape and not re.fullmatch(SHAPE, shape):
        raise row.wrong("shape", shape, "DPxTPxPPxCPxEP, such as 16x8x2, or nothing")
    if not shape and set(sent) - {"data"}:
        raise row.wrong("shape", "nothing", "DPxTPxPPxCPxEP beside traffic that is not data-parallel")
    return LoggedStep(row.seconds("compute_s"), sent, shape)


def _constraint(row: Row) -> TopologyConstraint | None:
    mode, tier = row.text("mode"), row.text("tier")
    if mode not in ("", "hard", "soft"):
        raise row.wrong("mode", mode, "hard or soft, or nothing")
    if mode == "hard" and not tier:
        raise row.wrong("tier", "nothing", "the highest tier allowed, beside mode hard")
    if tier and not mode:
        raise row.wrong("mode", "nothing", "hard or soft, beside a tier")
    if not mode:
        return None
    return TopologyConstraint("soft" if mode == "soft" else "hard", row.number("tier", _MOST_TIER) if tier else None)


def day_of_jobs(gangs: Sequence[Gang], seed: int) -> str:
    """Gangs as CSV with a line per job: they arrive evenly at random within a day, in the order of the gangs.

    The seconds of work are log-normal with a median of 50 minutes; both are made up. Gangs have one role, as those of
    `workbench.topology.presets` do.

    `seed`: the same seed gives the same times.
    """
    rng = np.random.default_rng(seed)
    arrivals = np.sort(rng.integers(_DAY_S, size=len(gangs))).tolist()
    work = np.ceil(_MEDIAN_S * np.exp(_SPREAD * rng.standard_normal(len(gangs)))).astype(np.int64).tolist()
    lines = [",".join((*COLUMNS, *_FURTHER))]
    for gang, submitted, seconds in zip(gangs, arrivals, work, strict=True):
        (role,) = gang.roles
        gpus = sum(amount for name, amount in role.requests.items() if is_gpu_resource(name))
        limit = gang.constraint
        tier = "" if limit is None or limit.highest_tier is None else limit.highest_tier
        cells = [gang.name, submitted, seconds, role.count, gpus, role.requests.get(CPU, 0)]
        cells += [role.requests.get(MEMORY, 0) >> 20, gang.queue, limit.mode if limit else "", tier]
        lines.append(",".join(map(str, cells)))
    return "\n".join(lines) + "\n"
