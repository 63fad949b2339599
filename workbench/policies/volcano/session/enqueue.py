"""The action enqueue: admission of waiting jobs to a session (plugins overcommit, proportion, capacity)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from workbench.model.arrays import Floats
from workbench.model.gang import Gang
from workbench.model.notice import Notice
from workbench.model.resources import amount_text
from workbench.model.scheduler_config import PluginOption, SchedulerConfig
from workbench.model.snapshot import ClusterSnapshot
from workbench.policies.volcano.parts.plugins import enabled
from workbench.policies.volcano.session.queue_limits import QueueReservation, reserved_text
from workbench.policies.volcano.session.queues import Queues, within

__all__ = ["Admission"]


DEFAULT_FACTOR = 1.2

#: Volcano's words for a job that is not admitted.
_CLUSTER, _QUOTA = "resource in cluster is overused", "resource quota insufficient"


@dataclass(eq=False)
class Admission:
    """The jobs admitted to a session so far, and the minResources that are counted for them."""

    # `run` takes waiting jobs queue by queue; `admit` asks the plugins about one, `count` reserves what it needs.
    # `_why` and its two parts word the reasons of a job that waits.

    config: SchedulerConfig
    snapshot: ClusterSnapshot
    queues: Queues
    _reserved: list[QueueReservation] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._inqueue = np.zeros(len(self.queues.total))
        option = self.config.plugin("overcommit")
        self._overcommit = option if option is not None and enabled(option, "JobEnqueued") else None
        if self._overcommit is not None:
            factors = _factors(self._overcommit, self.snapshot.resources)
            self._idle = self.queues.total * factors - self.snapshot.used.sum(axis=0)

    def admit(self, gang: Gang, minimum: Floats | None) -> str:
        """Admit a job, or return the reason why it must wait (empty if it is admitted).

        The plugin overcommit admits jobs as long as they fit together into the cluster enlarged by a factor. Plugins
        vote tier by tier of the configuration; the first tier that consents decides. ``minimum`` is the job's
        minResources, float64 (r,); None: there are none.
        """
        if minimum is not None:
            voters = {option.name for option in self.queues.guards}
            for tier in self.config.tiers:
                names = [option.name for option in tier]
                by_cluster = self._overcommit is not None and "overcommit" in names
                by_queue = not voters.isdisjoint(names)
                if by_cluster and not within(self._inqueue + minimum, self._idle)[minimum > 0].all():
                    return _CLUSTER
                if by_queue and not self.queues.enqueueable(gang.queue, minimum):
                    return f"queue {gang.queue} {_QUOTA}"
                if by_cluster or by_queue:
                    break
            self.count(gang, minimum)
        return ""

    def count(self, gang: Gang, minimum: Floats) -> None:
        """Add ``minimum``, the minResources of an admitted job, to the amounts that are reserved for admitted jobs.

        Called for jobs admitted now and for those admitted in an earlier session.
        """
        self._inqueue += minimum
        self._reserved.append(QueueReservation(gang.key, gang.queue, minimum))
        self.queues.admitted(gang.queue, minimum)

    def run(
        self,
        waiting: Sequence[int],
        gangs: Sequence[Gang],
        minimum: Callable[[int], Floats | None],
        order: Callable[[int], Any],
    ) -> dict[int, Notice]:
        """Decide for each waiting job whether it is admitted, always taking the first job of the first queue.

        Returns dict of int to Notice: why a job must wait, for each job that was not admitted.

        `waiting`: indices of the waiting jobs in `gangs`. `minimum`: minResources of a job by its index, in the columns
        of the snapshot; None for a job without minResources. `order`: sort key of a job by its index; smaller keys are
        asked first.
        """
        refused: dict[int, Notice] = {}
        by_queue: dict[str, list[int]] = {}
        for i in sorted(waiting, key=order, reverse=True):
            by_queue.setdefault(gangs[i].queue, []).append(i)
        while by_queue:
            name = min(by_queue, key=self.queues.order)
            i = by_queue[name].pop()
            asked = minimum(i)
            if (reason := self.admit(gangs[i], asked)) and asked is not None:
                refused[i] = self._why(gangs[i], asked, reason)
            if not by_queue[name]:
                del by_queue[name]
        return refused

    def _why(self, gang: Gang, minimum: Floats, reason: str) -> Notice:
        """Notice that a job is not admitted: Volcano's ``reason``, the numbers, and who reserves what it asks for."""
        numbers: dict[str, int | float] = {}
        if reason == _CLUSTER:
            subject = ""
            parts = self._why_cluster(minimum, numbers)
        else:
            subject = f"queue {gang.queue}"
            parts = self._why_queue(gang.queue, minimum, numbers)
        text = "; ".join((f"not admitted by enqueue: {reason}", *parts))
        return Notice("not-admitted", text, subject, numbers)

    def _why_queue(self, queue: str, minimum: Floats, numbers: dict[str, int | float]) -> Iterator[str]:
        """Yield what the queue lacks of each resource and who reserves it; the amounts are added to ``numbers``."""
        held = [one for one in self._reserved if one.queue == queue]
        reserved = sum((one.amount for one in held), np.zeros(len(minimum)))
        taken = self.queues.claimed(queue) + reserved
        for column, limit in self.queues.admission_limits(queue).items():
            asked = int(minimum[column])
            if not asked or within(minimum + taken, np.full(len(minimum), float(limit.limit)))[column]:
                continue
            numbers |= limit.notice(asked, "", 1).numbers
            numbers[f"reserved {limit.resource}"] = int(reserved[column])
            yield limit.text + limit.asked_text(asked)
            if text := reserved_text(held, column, limit.resource):
                yield text

    def _why_cluster(self, minimum: Floats, numbers: dict[str, int | float]) -> Iterator[str]:
        """Yield what the cluster lacks of each resource and who reserves it; the amounts are added to ``numbers``."""
        lacks = ~within(self._inqueue + minimum, self._idle) & (minimum > 0)
        for column in np.flatnonzero(lacks).tolist():
            resource, asked, left = self.snapshot.resources[column], int(minimum[column]), int(self._idle[column])
            numbers |= {"count": 1, f"left {resource}": left, f"requested {resource}": asked}
            numbers[f"reserved {resource}"] = int(self._inqueue[column])
            yield (
                f"{amount_text(resource, left)} {resource} are left of the cluster enlarged by overcommit-factor, the "
                f"job asks for {amount_text(resource, asked)}"
            )
            if text := reserved_text(self._reserved, column, resource):
                yield text


def _factors(option: PluginOption, resources: Sequence[str]) -> Floats:
    """Factor, at least 1, by which the plugin overcommit enlarges each resource of the cluster: float64 (r,)."""

    def factor(key: str, default: float) -> float:
        value = option.number(key, default)
        return value if value >= 1 else DEFAULT_FACTOR

    general = factor("overcommit-factor", DEFAULT_FACTOR)
    return np.array([factor(f"overcommit-factor.{name}", general) for name in resources])
