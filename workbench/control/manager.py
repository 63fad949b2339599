"""The manager of the reconcilers: passes the store's changes to them and calls them for each key that needs work."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from workbench.cancel import check
from workbench.control.reconciler import Reconciler
from workbench.control.store import Store, StoreChange
from workbench.errors import ClusterError, InternalError
from workbench.model.clock import Clock, EventQueue
from workbench.model.value import Working

__all__ = ["Manager"]

#: Number of a reconciler, and one of its keys, which can be ordered among each other.
_Work = tuple[int, Any]

#: Steps at one moment after which the controllers count as undoing each other's work. A busy pod takes about ten.
_STEPS_PER_OBJECT = 50

#: Seconds until a key is tried again after its reconciler failed; doubled after each failure in a row.
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.25, 30.0


class Manager(Working):
    """Runs reconcilers: keeps the keys that need work, and calls the reconciler of each.

    Parameters
    ----------
    store, clock
    stages : sequence of sequence of Reconciler
        Reconcilers of a stage work only while no earlier stage has work. The order of controllers within a stage does
        not matter: the cluster ends in the same state.
    order : numpy.random.Generator, optional
        Draws which waiting work of a stage is done next; None: the work that has waited longest. In the first stage,
        the kubelets, the longest waiting is always next, because the order in which pods end is no controller's choice.
    failed : callable, optional
        Called with a key and its `ClusterError` when a reconciler fails; the key is then queued again, each time after
        a longer pause. None: the error is raised.

    Notes
    -----
    A key is in the queue at most once. If `Reconciler.reconcile` returns a time, the key is queued again at that time;
    keys of one time are queued by reconciler and key, whenever they were asked for.
    """

    # `listen` hands changes of the store to the reconcilers, whose keys wait in the queue of their stage (`_add`).
    # `step` takes a key of the first stage that has one; a time that the reconciler answers goes to the timers, and
    # `_wake` puts the key back into its queue when it is due. `settle` steps until no key waits.

    def __init__(
        self,
        store: Store,
        clock: Clock,
        stages: Sequence[Sequence[Reconciler]],
        order: np.random.Generator | None = None,
        failed: Callable[[Hashable, ClusterError], object] | None = None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._reconcilers = [each for stage in stages for each in stage]
        self._stage_of = [number for number, stage in enumerate(stages) for _ in stage]
        self._order = order
        self._failed = failed
        #: Failures in a row of each key.
        self._failures: dict[_Work, int] = {}
        self._waiting: list[dict[_Work, None]] = [{} for _ in stages]
        self._timers: EventQueue[_Work] = EventQueue()
        self._seen = store.version
        for obj in store.contents():
            self._tell(StoreChange.of_existing(obj, store.version))

    @property
    def next_timer(self) -> float | None:
        """Earliest time at which a reconciler asked to be called again; None if none asked."""
        first = self._timers.first
        return None if first is None else first[0]

    @property
    def seen(self) -> int:
        """Version of the store up to which the reconcilers were told all changes."""
        return self._seen

    def settle(self) -> None:
        """Work until nothing is left to do at the present time.

        Raises InternalError: the controllers do not come to rest, for instance because two undo each other's work.
        """
        most = _STEPS_PER_OBJECT * (len(self._store) + 1_000)
        steps = 0
        while self.step():
            check()
            steps += 1
            if steps > most:
                raise InternalError(f"the controllers do not come to rest; still at work: {self._at_work()}")

    def _at_work(self) -> str:
        """Up to three of the waiting keys with their reconcilers, as text for an error message."""
        waiting = [work for stage in self._waiting for work in stage][:3]
        return ", ".join(f"{type(self._reconcilers[number]).__name__} {key}" for number, key in waiting)

    def step(self) -> bool:
        """Reconcile the next waiting key; False if no key waits at the present time.

        A key leaves the queue when its reconciler has returned: an exception or Ctrl-C loses no work.
        """
        self.listen()
        self._wake()
        stage = next((number for number, waiting in enumerate(self._waiting) if waiting), None)
        if stage is None:
            return False
        work = self._next(stage)
        again = self._reconcile(work)
        if again is None:
            self._timers.cancel(work)
        else:
            self._timers.plan(work, again)
        del self._waiting[stage][work]
        return True

    def _reconcile(self, work: _Work) -> float | None:
        number, key = work
        try:
            again = self._reconcilers[number].reconcile(key)
        except ClusterError as error:
            if self._failed is None:
                raise
            self._failed(key, error)
            failures = self._failures[work] = self._failures.get(work, 0) + 1
            return self._clock.now + min(_FIRST_PAUSE_S * 2.0 ** (failures - 1), _LONGEST_PAUSE_S)
        self._failures.pop(work, None)
        return again

    def _next(self, stage: int) -> _Work:
        waiting = self._waiting[stage]
        at = int(self._order.integers(len(waiting))) if self._order is not None and stage else 0
        return next(iter(waiting)) if at == 0 else list(waiting)[at]

    def listen(self) -> None:
        """Hand the changes of the store to the reconcilers."""
        for change in self._store.watch(self._seen):
            self._tell(change)
            self._seen = change.version

    def _tell(self, change: StoreChange) -> None:
        for number, reconciler in enumerate(self._reconcilers):
            if change.key.kind in reconciler.kinds:
                self._add(number, reconciler.observe(change))

    def _add(self, number: int, keys: Iterable[Hashable]) -> None:
        waiting = self._waiting[self._stage_of[number]]
        for key in keys:
            waiting[number, key] = None

    def _wake(self) -> None:
        while (first := self._timers.first) is not None and first[0] <= self._clock.now:
            number, key = first[1]
            self._add(number, [key])
            self._timers.drop_first()
