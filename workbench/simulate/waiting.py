"""Why jobs of a simulation wait: reasons of refused attempts, at an instant and over time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.model.notice_codes import CODES
from workbench.model.placement import Refusal

__all__ = [
    "BEHIND",
    "FEW_GPUS",
    "NOT_TRIED",
    "QUOTA",
    "RefusalRow",
    "WaitingJob",
    "code_of",
    "meaning_of",
    "waiting_at",
    "waiting_by_reason",
]

#: Reasons that the simulation has itself, without asking the policy.
BEHIND, FEW_GPUS, QUOTA, NOT_TRIED = "behind", "few-gpus", "quota", "not-tried"
_MEANINGS: Mapping[str, str] = {
    BEHIND: "A job ahead does not fit, and the discipline lets nobody pass.",
    FEW_GPUS: "Fewer GPUs are free than the job needs.",
    QUOTA: "The quota of the queue is used up.",
    NOT_TRIED: "The job has not been tried yet.",
}


class RefusalRow(NamedTuple):
    """Why jobs of one kind wait from an instant until the next row of the kind, as long as any of them waits.

    `kind`: jobs of one kind ask for the same (`SimulationResult.kinds`). `code`: code of the policy's reason
    (`workbench.model.notice_codes.CODES`), or one of this module.
    """

    time_s: float
    kind: int
    code: str


class WaitingJob(NamedTuple):
    """A job that waits at some instant.

    `job`: number of the job. `since_s`: since when it waits: its submission, or the fault that stopped it.
    """

    job: int
    since_s: float
    code: str


def code_of(refusal: Refusal) -> str:
    """The code of a refusal's first reason; where that only counts pods, of what most nodes lack for them.

    ``refused`` if the policy gives no reason.
    """
    first = refusal.first_code
    if first != "gang-incomplete":
        return first or "refused"
    lacking = [quote for reason in refusal.reasons for quote in reason.quotes]
    return max(lacking, key=lambda one: one.numbers.get("count", 0)).code if lacking else first


def meaning_of(code: str) -> str:
    """What a code means, as a sentence; the code itself if it is another package's."""
    return _MEANINGS.get(code) or CODES.get(code) or code


# The result is `Any` here: its class has these functions as methods, and imports this module.


def waiting_at(result: Any, time_s: float) -> list[WaitingJob]:
    """The jobs that wait at an instant, with their reasons, longest wait first (ties: the order of the jobs).

    `time_s`: jobs that start at this instant wait no longer; from the end of the simulation on, those wait that waited
    then.
    """
    at = min(time_s, result.ended_s)
    rows = _rows_of_kinds(result)
    found = []
    for job, kind, since, until in _waits(result, rows):
        if since <= at < until:
            times, codes = rows.get(kind, _NO_ROWS)
            place = int(np.searchsorted(times, at, side="right")) - 1
            code = codes[place] if place >= 0 else ""
            found.append(WaitingJob(job, since, code or NOT_TRIED))
    return sorted(found, key=lambda one: (one.since_s, one.job))


def waiting_by_reason(result: Any) -> dict[str, tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]]:
    """How many jobs wait for each reason over time, as step functions that begin at 0.

    Returns: by code of the reason, the one for which jobs wait longest together first (ties: by name): times in
    seconds, and the number of jobs from each time on.
    """
    rows = _rows_of_kinds(result)
    by_kind: dict[int, list[tuple[float, int]]] = {}
    for _, kind, since, until in _waits(result, rows):
        by_kind.setdefault(kind, []).extend([(since, 1), (until, -1)])
    changes: dict[str, list[tuple[float, int]]] = {}
    total: dict[str, float] = {}
    for kind, ends in sorted(by_kind.items()):
        changed, codes = rows.get(kind, _NO_ROWS)
        ends.sort()
        at = np.array([time for time, _ in ends])
        count = np.cumsum([step for _, step in ends])
        # Between two instants at which a job comes or goes, or the reason changes, nothing does.
        edges = np.unique(np.concatenate([at, changed]))
        edges = edges[np.isfinite(edges)]
        waiting = np.append(0, count)[np.searchsorted(at, edges, side="right")]
        reason = np.searchsorted(changed, edges, side="right") - 1
        following = np.append(edges[1:], result.ended_s)
        for begin, end, number, place in zip(
            *(one.tolist() for one in (edges, following, waiting, reason)), strict=True
        ):
            if number and end > begin:
                code = (codes[place] if place >= 0 else "") or NOT_TRIED
                changes.setdefault(code, []).extend([(begin, number), (end, -number)])
                total[code] = total.get(code, 0.0) + number * (end - begin)
    found = {}
    for code in sorted(changes, key=lambda one: (-total[one], one)):
        steps: dict[float, int] = {0.0: 0}
        for at_s, by in changes[code]:
            steps[at_s] = steps.get(at_s, 0) + by
        ordered = sorted(steps)
        found[code] = (np.array(ordered), np.cumsum([steps[at_s] for at_s in ordered]).astype(np.float64))
    return found


_Rows = tuple[npt.NDArray[np.float64], list[str]]
_NO_ROWS: _Rows = (np.empty(0), [])


def _rows_of_kinds(result: Any) -> dict[int, _Rows]:
    """Times and codes of the rows of each kind."""
    found: dict[int, list[RefusalRow]] = {}
    for row in result.refusals:
        found.setdefault(row.kind, []).append(row)
    return {kind: (np.array([row.time_s for row in rows]), [row.code for row in rows]) for kind, rows in found.items()}


def _waits(result: Any, rows: Mapping[int, _Rows]) -> Iterator[tuple[int, int, float, float]]:
    """Number of a job, its kind then, and from when until when it waited; infinite: it waits at the end."""
    ready = [job.submitted_s for job in result.jobs]
    runs = [attempt for attempt in result.attempts if attempt.outcome != "standing"]

    def one(job: int, since: float, until: float) -> tuple[int, int, float, float]:
        # A job that stood still is like no other from then on.
        own = len(result.jobs) + job
        alone = own in rows and rows[own][0][0] < until
        return job, own if alone else result.kinds[job], since, until

    for attempt in runs:
        since = ready[attempt.job]
        if attempt.start_s > since:
            yield one(attempt.job, since, attempt.start_s)
        ready[attempt.job] = attempt.end_s if attempt.outcome in ("stopped", "grown") else float("inf")
    for job, since in enumerate(ready):
        if since <= result.ended_s:
            yield one(job, since, float("inf"))
