"""`JobRequests`: what the Job controller is asked to do, and in which order it does it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from workbench.control.kinds import Ref
from workbench.control.retries import Retries
from workbench.jobs.lifecycle.request import Delayed, JobRequest
from workbench.model.value import Working

__all__ = ["SYNCHRONISE", "DelayedAction", "JobRequests"]

#: A request that asks for nothing but to bring a Job and its pods into agreement.
SYNCHRONISE = JobRequest("OutOfSync")


class DelayedAction(NamedTuple):
    """An action that waits for its time: the Job, the time of the clock at which it is due, and the action."""

    job: Ref
    due: float
    delayed: Delayed


class JobRequests(Working):
    """The requests of each Job that nobody has handled, those that failed and are made again, and delayed actions.

    `waiting`: actions that wait for their time from the beginning. `requests`: requests to begin with, with their Jobs.
    """

    def __init__(self, waiting: Iterable[DelayedAction] = (), requests: Iterable[tuple[Ref, JobRequest]] = ()) -> None:
        self._requests: dict[Ref, list[JobRequest]] = {}
        self._delayed: dict[Ref, dict[Delayed, float]] = {}
        self._retries = Retries()
        for one in waiting:
            self._delayed.setdefault(one.job, {})[one.delayed] = one.due
        for key, request in requests:
            self._requests.setdefault(key, []).append(request)

    @property
    def waiting(self) -> list[DelayedAction]:
        """The actions that wait for their time, by Job."""
        return [
            DelayedAction(key, due, one) for key, found in sorted(self._delayed.items()) for one, due in found.items()
        ]

    @property
    def unhandled(self) -> list[tuple[Ref, JobRequest]]:
        """The requests that are not handled yet, by Job, those of a Job in the order in which they arose."""
        found = [(key, request) for key, each in sorted(self._requests.items()) for request in each]
        return found + [one for one in self._retries.planned() if one not in found]

    def add(self, key: Ref, request: JobRequest) -> None:
        """Add a request of a Job; requests to synchronise that follow each other are one."""
        requests = self._requests.setdefault(key, [])
        if not (request == SYNCHRONISE and requests and requests[-1] == SYNCHRONISE):
            requests.append(request)

    def put_back(self, key: Ref, request: JobRequest) -> None:
        """Make a request, which was taken and could not be handled, the oldest of its Job again."""
        self._requests.setdefault(key, []).insert(0, request)

    def take(self, key: Ref, now: float, acts: Callable[[Sequence[JobRequest]], Iterator[bool]]) -> JobRequest | None:
        """The next request of a Job: the oldest that acts, else all that only synchronise as one; None: there is none.

        So the end does not depend on how many pods changed between two turns. Upstream takes requests in their order: a
        Job whose last two pods finish together completes or restarts, whichever request comes first. A delayed action
        that is due comes first, then a retry.

        `now`: the time, in seconds. `acts`: tells of each of some requests whether it does more than synchronise.
        """
        delayed = self._delayed.get(key, {})
        due = next((one for one, at in delayed.items() if at <= now), None)
        if due is not None:
            del delayed[due]
            return replace(due.request, action=due.action)
        again = self._retries.take_due(key, now)
        if again is not None:
            return again
        requests = self._requests.pop(key, [])
        if not requests:
            return None
        at = next((i for i, does in enumerate(acts(requests)) if does), None)
        if at is None and not delayed:
            return SYNCHRONISE if len(requests) > 1 else requests[0]
        chosen = requests.pop(at or 0)
        if requests:
            self._requests[key] = requests
        return chosen

    def next_time(self, key: Ref, now: float) -> float | None:
        """When a Job is to be looked at again: at once if a request is left; None: nothing is planned."""
        if self._requests.get(key):
            return now
        times = [*self._delayed.get(key, {}).values(), self._retries.next_time(key)]
        return min((time for time in times if time is not None), default=None)

    def delayed(self, key: Ref) -> tuple[Delayed, ...]:
        """The delayed actions of a Job."""
        return tuple(self._delayed.get(key, {}))

    def delay(self, key: Ref, actions: Iterable[Delayed], now: float) -> None:
        """Replace the delayed actions of a Job; one that waited already keeps its time.

        `key`, `now`: as in `take`. `actions`: they are due their delay from now on.
        """
        waiting = self._delayed.get(key, {})
        self._delayed[key] = {one: waiting.get(one, now + one.delay) for one in actions}

    def failed(self, key: Ref, request: JobRequest, now: float) -> bool:
        """Plan a retry of a request that failed; False if none is left.

        `key`: the Job. `request`: the request as it was made. `now`: time of the failure, in seconds.
        """
        return self._retries.again(key, request, now)

    def succeeded(self, key: Ref, request: JobRequest) -> None:
        """Count the failures of a request anew, because it has succeeded."""
        self._retries.forget(key, request)

    def drop(self, key: Ref) -> None:
        """Drop the requests of a Job that is going."""
        self._requests.pop(key, None)

    def forget(self, key: Ref) -> None:
        """Forget all of a Job that is gone."""
        self._requests.pop(key, None)
        self._delayed.pop(key, None)
        self._retries.forget(key)
