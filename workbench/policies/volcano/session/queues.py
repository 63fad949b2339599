"""Queues in a session: what each holds, deserves and may still take (plugins proportion and capacity).

Amounts are float64 rows in the snapshot's columns, base units, infinity for "no limit". The column of pod slots is left
out: no queue is limited by it here.

Sources: Volcano, plugins proportion and capacity (deserved, overused, allocatable, enqueueable).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from workbench.model.arrays import Floats, Longs
from workbench.model.notice import Notice
from workbench.model.resources import PODS, amount_text
from workbench.model.scheduler_config import PluginOption, SchedulerConfig
from workbench.model.snapshot import ClusterSnapshot, Queue
from workbench.policies.volcano.parts.plugins import enabled
from workbench.policies.volcano.session.queue_limits import QueueLimit

__all__ = ["QueueHeadroom", "QueueState", "Queues", "dominant_share", "within"]

Bools = npt.NDArray[np.bool_]

#: Differences below it do not count (Volcano's smallest amount of a resource).
SMALLEST = 0.1


def within(amount: Floats, limit: Floats) -> Bools:
    """For each resource whether an amount is at most a limit, with the tolerance `SMALLEST`."""
    fits: Bools = (amount <= limit) | (np.abs(amount - limit) < SMALLEST)
    return fits


def dominant_share(allocated: Floats, whole: Floats) -> float:
    """Largest fraction ``allocated / whole`` over all resources.

    For a resource of amount 0: 0 if nothing is allocated, else 1.
    """
    shares = np.where(allocated > 0, 1.0, 0.0)
    np.divide(allocated, whole, out=shares, where=whole > 0)
    return float(shares.max(initial=0.0))


@dataclass(eq=False)
class QueueHeadroom:
    """Resources that a queue may still take (headroom), for one job; infinity where nothing limits a resource.

    `left`: ndarray of shape (r,), float64; amount of each resource that the queue may still take. `rows`: ndarray of
    shape (roles, r), int64; request of one pod of each role.
    """

    left: Floats
    rows: Longs

    def copy(self) -> QueueHeadroom:
        return QueueHeadroom(self.left.copy(), self.rows)

    def pods(self, role: int, wanted: int) -> int:
        """Number of pods of a role, at most `wanted`, that fit in the queue's headroom.

        Only resources that the pods request are compared.
        """
        row = self.rows[role]
        asked = (row > 0) & np.isfinite(self.left)
        if not asked.any():
            return wanted
        return max(0, min(wanted, int(((self.left[asked] + SMALLEST) // row[asked]).min())))

    def takes(self, counts: Sequence[int]) -> bool:
        """Whether the given numbers of pods of each role fit the headroom together."""
        amount = np.asarray(counts, dtype=np.int64) @ self.rows
        return bool(within(amount.astype(np.float64), self.left)[amount > 0].all())

    def take(self, role: int, count: int) -> None:
        """Subtract pods of a role from the headroom."""
        self.left -= self.rows[role] * count


@dataclass(eq=False)
class QueueState:
    """Resources that one queue holds, requests and deserves in a session.

    Attributes
    ----------
    allocated : ndarray of shape (r,), float64
        Resources of the queue's pods, including those placed in this session.
    request : ndarray of shape (r,), float64
        `allocated` plus everything that the queue's jobs request when the session opens.
    deserved : dict of str to ndarray
        Deserved resources by plugin, each of shape (r,), float64.
    capability : ndarray of shape (r,), float64
        The queue's own capability, infinity where it has none.
    real_capability : ndarray of shape (r,), float64
        The queue's capability, at most what the cluster has beyond the guarantees of other queues.
    inqueue : ndarray of shape (r,), float64
        Resources that admitted jobs request and do not hold yet.
    elastic : ndarray of shape (r,), float64
        Resources of the queue's jobs beyond their minResources.
    """

    queue: Queue
    allocated: Floats
    request: Floats
    capability: Floats
    real_capability: Floats
    guarantee: Floats
    inqueue: Floats
    elastic: Floats
    deserved: dict[str, Floats] = field(default_factory=dict)

    def share(self, plugin: str) -> float:
        """Fraction of its deserved resources that the queue holds, as a plugin (proportion or capacity) computes it.

        With capacity, a queue that deserves nothing counts as full.
        """
        deserved = self.deserved[plugin]
        if plugin == "capacity" and not deserved.any():
            return 1.0
        return dominant_share(self.allocated, deserved)


class Queues:
    """All queues of a session.

    `requested`: mapping of str to ndarray of shape (r,), int64; requests of the pending pods, by queue, for each queue
    with a job in the session.
    """

    # Overview:
    #   made         what running pods hold (`_states`), and what each queue deserves (`_deal`)
    #   asked        order, overused, room and limits: which queue is next, and what it may still take
    #   told         take: what its pods hold from now on
    #   admission    enqueueable, claimed, admitted, beyond_minimum: the same for jobs that have no pods yet

    def __init__(self, config: SchedulerConfig, snapshot: ClusterSnapshot, requested: Mapping[str, Longs]) -> None:
        self._columns = snapshot.resources
        self._counted = np.array([name != PODS for name in snapshot.resources])
        self._plugins = [option for option in config.plugins if option.name in ("proportion", "capacity")]
        self.total = self.counted(snapshot.allocatable.sum(axis=0))
        self._given = snapshot.queues
        self._by_name = self._states(snapshot, requested)
        for option in self._plugins:
            if option.name == "proportion":
                self._deal(option.name)
            else:
                for state in self._by_name.values():
                    given = self._amounts(state.queue.deserved, 0.0)
                    state.deserved[option.name] = np.maximum(np.minimum(given, state.real_capability), state.guarantee)

    def __getitem__(self, name: str) -> QueueState:
        return self._by_name[name]

    def order(self, name: str) -> tuple[object, ...]:
        """Sort key of a queue, smallest first: by the plugins in their order, then age (older first), then name.

        The plugin proportion puts higher priority first, then the smaller share; capacity does the same, and then puts
        queues that deserve something before the others.
        """
        state = self._by_name[name]
        key: list[object] = []
        for option in self._plugins:
            if enabled(option, "QueueOrder"):
                key += [-state.queue.priority, state.share(option.name)]
                if option.name == "capacity":
                    key.append(not state.deserved[option.name].any())
        return (*key, not state.queue.created, state.queue.created, name.encode())

    def overused(self, name: str) -> bool:
        """Whether a queue holds all that it deserves of every resource (plugin proportion) and gets nothing more."""
        state = self._by_name[name]
        return any(
            bool(within(state.deserved[option.name], state.allocated).all())
            for option in self._plugins
            if option.name == "proportion" and enabled(option, "Overused")
        )

    def why_overused(self, name: str) -> Notice:
        """Notice that a queue gets nothing more, with what it holds and deserves of each resource (`overused`)."""
        state = self._by_name[name]
        deserved = next(state.deserved[option.name] for option in self._plugins if option.name == "proportion")
        parts: list[str] = []
        numbers: dict[str, int] = {}
        for column in np.flatnonzero(deserved > 0).tolist():
            resource, used, limit = self._columns[column], int(state.allocated[column]), int(deserved[column])
            parts.append(f"{amount_text(resource, used)} of {amount_text(resource, limit)} {resource}")
            numbers |= {f"limit {resource}": limit, f"used {resource}": used}
        held = f": {', '.join(parts)}" if parts else ""
        text = f"queue {name} holds what it deserves of every resource{held}"
        return Notice("queue-overused", text, f"queue {name}", numbers)

    def room(self, name: str, rows: Longs) -> QueueHeadroom | None:
        """Headroom of a queue for a job; None if only the cluster limits the job.

        The plugin proportion limits a queue to what it deserves, capacity to its real capability. ``rows``, int64
        (roles, r), has the request of one pod of each of the job's roles.
        """
        limit = self._limit(name)
        return None if np.isinf(limit).all() else QueueHeadroom(limit - self._by_name[name].allocated, rows)

    def limits(self, name: str) -> dict[int, QueueLimit]:
        """What limits a queue in a session's rounds, by the column of each resource that is limited (`room`)."""
        limit = self._limit(name)
        return {column: self._limit_of(name, column, limit) for column in np.flatnonzero(np.isfinite(limit)).tolist()}

    def admission_limits(self, name: str) -> dict[int, QueueLimit]:
        """What limits the jobs that a queue admits, by the column of each resource (`enqueueable`)."""
        state = self._by_name[name]
        return {
            column: self._limit_of(name, column, state.real_capability)
            for column in np.flatnonzero(np.isfinite(state.real_capability) & self._counted).tolist()
        }

    def _limit(self, name: str) -> Floats:
        """Most of each resource that a queue may hold: float64 (r,), infinity where nothing limits it."""
        state = self._by_name[name]
        limit = np.full(len(self.total), np.inf)
        for option in self._plugins:
            if enabled(option, "Allocatable"):
                own = state.deserved[option.name] if option.name == "proportion" else state.real_capability
                limit = np.minimum(limit, own)
        # As much as the whole cluster is no limit beside the nodes'.
        limit[within(self.total, limit) | ~self._counted] = np.inf
        return limit

    def _limit_of(self, name: str, column: int, limit: Floats) -> QueueLimit:
        state = self._by_name[name]
        most, total = float(limit[column]), int(self.total[column])
        reaches = most + SMALLEST
        if state.real_capability[column] >= reaches:
            kind = "share"
        elif state.capability[column] < reaches:
            kind = "capability"
        else:
            kind = "cluster" if total < reaches else "guarantees"
        others = {
            other: amount
            for other, queue in self._given.items()
            if other != name and (amount := int((queue.guarantee or {}).get(self._columns[column], 0)))
        }
        return QueueLimit(name, self._columns[column], kind, int(most), int(state.allocated[column]), total, others)

    def take(self, name: str, amount: Floats) -> None:
        """Add resources to the amount that a queue's pods hold; a negative amount is given back."""
        self._by_name[name].allocated += amount

    def counted(self, amount: Longs | Floats) -> Floats:
        """Return `amount` with the resources that limit no queue (pod slots) set to zero; float64."""
        return np.where(self._counted, amount, 0).astype(np.float64)

    def enqueueable(self, name: str, minimum: Floats) -> bool:
        """Whether a job with these minResources fits into the resources that its queue may hold.

        The minResources of jobs admitted before count; resources that jobs hold beyond their minimum do not.
        """
        state = self._by_name[name]
        after = minimum + self.claimed(name) + state.inqueue
        return bool(within(after, state.real_capability)[minimum > 0].all())

    def claimed(self, name: str) -> Floats:
        """Resources of a queue's pods that count for the admission of jobs: without those beyond a job's minimum."""
        state = self._by_name[name]
        claimed: Floats = np.maximum(state.allocated - state.elastic, 0.0)
        return claimed

    def admitted(self, name: str, minimum: Floats) -> None:
        """Add ``minimum``, the minResources of an admitted job, to what the queue's admitted jobs may still claim."""
        self._by_name[name].inqueue += minimum

    def beyond_minimum(self, name: str, amount: Floats) -> None:
        """Add ``amount``, what a job holds beyond its minResources, to the queue's elastic resources."""
        self._by_name[name].elastic += amount

    @property
    def guards(self) -> tuple[PluginOption, ...]:
        """Plugins that vote on the admission of jobs."""
        return tuple(option for option in self._plugins if enabled(option, "JobEnqueued"))

    def _amounts(self, given: Mapping[str, int] | None, missing: float) -> Floats:
        values = [float((given or {}).get(name, missing)) for name in self._columns]
        return np.where(self._counted, values, missing)

    def _states(self, snapshot: ClusterSnapshot, requested: Mapping[str, Longs]) -> dict[str, QueueState]:
        held = {name: np.zeros(len(self.total)) for name in requested}
        columns = {name: i for i, name in enumerate(self._columns)}
        for name, use in snapshot.running_index.queues.items():
            row = held.setdefault(name, np.zeros(len(self.total)))
            for resource, amount in use.requests.items():
                if resource in columns:
                    row[columns[resource]] = amount
        known = {name: snapshot.queues.get(name, Queue(name)) for name in held}
        guaranteed = sum(
            (self._amounts(queue.guarantee, 0.0) for queue in snapshot.queues.values()), np.zeros(len(self.total))
        )
        states = {}
        for name in sorted(held, key=str.encode):
            queue = known[name]
            guarantee = self._amounts(queue.guarantee, 0.0)
            capability = self._amounts(queue.capability, np.inf)
            # Volcano takes no or zero cpu and memory for no limit.
            capability[:2][capability[:2] <= 0] = np.inf
            real = np.minimum(np.maximum(self.total - guaranteed, 0.0) + guarantee, capability)
            pending = self.counted(requested.get(name, np.zeros(len(self.total), dtype=np.int64)))
            none = np.zeros(len(real))
            states[name] = QueueState(
                queue, held[name], held[name] + pending, capability, real, guarantee, none.copy(), none
            )
        return states

    def _deal(self, plugin: str) -> None:
        """Divide the cluster among queues by weight (plugin proportion): compute what each deserves.

        In rounds, until nothing is wanted or left. A queue gets no more than it asks for nor than its real capability,
        and no less than its guarantee.
        """
        states: Sequence[QueueState] = list(self._by_name.values())
        for state in states:
            state.deserved[plugin] = np.zeros(len(self.total))
        remaining = self.total.copy()
        open_ = list(states)
        while open_ and (weights := sum(state.queue.weight for state in open_)) > 0:
            before = remaining.copy()
            still = []
            for state in open_:
                old = state.deserved[plugin]
                new = old + before * (state.queue.weight / weights)
                new = np.maximum(np.minimum(np.minimum(new, state.real_capability), state.request), state.guarantee)
                state.deserved[plugin] = new
                remaining += old - new
                if not within(state.request, new).all() and not np.array_equal(new, old):
                    still.append(state)
            open_ = still
            if (remaining < SMALLEST).all() or np.array_equal(remaining, before):
                break
