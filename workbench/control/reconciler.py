"""The contract of a reconciler: it watches changes, says which keys need work, and brings one key in order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable

from workbench.control.clock import Clock
from workbench.control.event_log import EventLog
from workbench.control.store import Store, StoreChange
from workbench.model.value import Working

__all__ = ["Reconciler"]


class Reconciler(Working, ABC):
    """One controller of a cluster.

    It knows the cluster by its store alone. What it remembers besides is rebuilt from the store's objects when it
    starts, so that it can be stopped at any time.

    Parameters
    ----------
    store : Store
    clock : Clock
    log : EventLog
        Where it says what it did, for people.
    """

    #: Kinds whose changes `observe` is called with.
    kinds: frozenset[str]

    def __init__(self, store: Store, clock: Clock, log: EventLog) -> None:
        self.store = store
        self.clock = clock
        self.log = log
        self._begin()

    def _begin(self) -> None:
        """Make what the reconciler remembers besides; nothing by default."""

    @abstractmethod
    def observe(self, change: StoreChange) -> Iterable[Hashable]:
        """Take note of a change, and name the keys that need work because of it."""

    @abstractmethod
    def reconcile(self, key: Hashable) -> float | None:
        """Bring one key in order.

        Returns
        -------
        float or None
            The time of the clock at which the key needs work again; None: not before something changes.
        """
