"""The contract of a reconciler (a controller): it watches a store, names the keys that need work, and works on them.

`Owned` gives the objects of a store by the uid of each owner that their metadata.ownerReferences names.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Sequence

from workbench.control.event_log import EventLog
from workbench.control.kinds import Ref
from workbench.control.store import Object, Store, StoreChange
from workbench.model.clock import Clock
from workbench.model.value import Working

__all__ = ["Owned", "Reconciler", "controller_of", "owner_uids"]


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

    def _say(self, key: Ref, reason: str, message: str, *, warning: bool = False) -> None:
        """Log a line about an object now; a warning only if it is not the object's last line."""
        self.log.say(self.clock.now, key, reason, message, warning=warning, again=not warning)

    @abstractmethod
    def observe(self, change: StoreChange) -> Iterable[Hashable]:
        """Take note of a change of the store, and return the keys that need work because of it."""

    @abstractmethod
    def reconcile(self, key: Hashable) -> float | None:
        """Do the work that one key needs, such as bringing an object in line with its spec.

        Returns: time of the clock at which the key needs work again; None: only after a further change of the store.
        """


class Owned(Working):
    """The objects that name an owner, kept up to date change by change."""

    def __init__(self) -> None:
        self._keys: dict[str, dict[Ref, None]] = {}

    def observe(self, change: StoreChange) -> None:
        """Take note of an object that was created or deleted; the owners of an object are taken as fixed."""
        if change.before is None and change.after is not None:
            for uid in owner_uids(change.after):
                self._keys.setdefault(uid, {})[change.key] = None
        elif change.after is None and change.before is not None:
            for uid in owner_uids(change.before):
                self._keys.get(uid, {}).pop(change.key, None)

    def of(self, uid: str) -> Sequence[Ref]:
        """Identities of the objects whose owner has the uid `uid`, sorted by kind, namespace and name."""
        return tuple(sorted(self._keys.get(uid, ())))


def owner_uids(data: Object) -> list[str]:
    """The uid of each owner of an object."""
    owners = data["metadata"].get("ownerReferences")
    return [owner.get("uid") or "" for owner in owners] if owners else []


def controller_of(data: Object) -> Object | None:
    """The entry of ownerReferences for the owner that controls an object; None if nothing does."""
    owners = data["metadata"].get("ownerReferences") or ()
    return next((owner for owner in owners if owner.get("controller")), None)
