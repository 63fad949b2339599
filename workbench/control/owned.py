"""`Owned`: the objects of a store by the uid of each owner that their metadata.ownerReferences names."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.control.kinds import Ref
from workbench.control.store import Object, StoreChange
from workbench.model.value import Working

__all__ = ["Owned", "controller_of", "owner_uids"]


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
