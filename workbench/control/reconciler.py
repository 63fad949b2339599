"""The contract of a reconciler (a controller): it watches a store, names the keys that need work, and works on them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable

from workbench.control.event_log import EventLog
from workbench.control.store import Store, StoreChange
from workbench.model.clock import Clock
from workbench.model.value import Working

__all__ = ["Reconciler"]


class Reconciler(Working, ABC):
    """Base class of the controllers of a cluster.

    A reconciler reads and writes the cluster through its store alone. Whatever else it remembers is rebuilt from the
    stored objects when it starts, so that it can be stopped at any time.

    Parameters
    ----------
    store, clock
    log : EventLog
        Receives a line for each thing that the reconciler did, for people to read.
    """

    #: Kinds whose changes `observe` is called with.
    kinds: frozenset[str]

    def __init__(self, store: Store, clock: Clock, log: EventLog) -> None:
        self.store = store
        self.clock = clock
        self.log = log
        self._begin()

    def _begin(self) -> None:
        """Prepare what a subclass remembers besides the store; does nothing by default."""

    @abstractmethod
    def observe(self, change: StoreChange) -> Iterable[Hashable]:
        """Take note of a change of the store, and return the keys that need work because of it."""

    @abstractmethod
    def reconcile(self, key: Hashable) -> float | None:
        """Do the work that one key needs, such as bringing an object in line with its spec.

        Returns
        -------
        float or None
            Time of the clock at which the key needs work again; None: only after a further change of the store.
        """
