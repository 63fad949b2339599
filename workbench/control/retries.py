"""`Retries`: which failed requests are made again, when, and when they are given up."""

from __future__ import annotations

import math
from typing import NamedTuple

from workbench.control.kinds import Ref
from workbench.jobs.lifecycle.request import JobRequest
from workbench.model.value import Working

__all__ = ["MOST_RETRIES", "Retries"]

#: Retries of one request, as of Volcano's option ``--max-requeue-num``.
MOST_RETRIES = 15

#: Pause in seconds before the first retry, doubled before each further one: that of every queue of client-go.
_FIRST_PAUSE_S = 0.005


class _Retry(NamedTuple):
    times: int
    due: float


class Retries(Working):
    """Requests to the Job controller that failed, with the number and the time of their retries.

    Equal requests of one Job are counted together, and a request that succeeds is counted anew. The fifteen pauses
    last 164 s in total.

    Notes
    -----
    Source: docs/reference/volcano-jobs.md, section 1. The counts live as long as the controller does.
    """

    def __init__(self) -> None:
        self._retries: dict[tuple[Ref, JobRequest], _Retry] = {}

    def again(self, key: Ref, request: JobRequest, now: float) -> bool:
        """Plan the next retry of a request that failed.

        `key`, `request`, `now`: the Job; the request as it was made; time of the failure, in seconds. Returns: False if
        no retry is left; the request is forgotten then.
        """
        times = self._retries.pop((key, request), _Retry(0, now)).times
        if times == MOST_RETRIES:
            return False
        self._retries[key, request] = _Retry(times + 1, now + _FIRST_PAUSE_S * 2.0**times)
        return True

    def take_due(self, key: Ref, now: float) -> JobRequest | None:
        """The first request of a Job whose retry is due, which then counts as made; None if there is none."""
        for (job, request), retry in self._retries.items():
            if job == key and retry.due <= now:
                self._retries[job, request] = retry._replace(due=math.inf)
                return request
        return None

    def next_time(self, key: Ref) -> float | None:
        """Time of the next retry for a Job; None if none is planned."""
        times = [retry.due for (job, _), retry in self._retries.items() if job == key and retry.due < math.inf]
        return min(times, default=None)

    def forget(self, key: Ref, request: JobRequest | None = None) -> None:
        """Forget a request that succeeded, or all requests of a Job that is gone."""
        for one in [one for one in self._retries if one[0] == key and request in (None, one[1])]:
            del self._retries[one]

    def planned(self) -> list[tuple[Ref, JobRequest]]:
        """The requests that will be made again, with their Jobs."""
        return [one for one, retry in self._retries.items() if retry.due < math.inf]
