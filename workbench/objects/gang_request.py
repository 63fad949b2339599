"""`GangRequest`: an object of another scheduler that adds a request to one gang."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass

from workbench.model.extras import Extra
from workbench.model.gang import Gang
from workbench.objects.metadata import Metadata

__all__ = ["GangRequest", "with_requests"]


@dataclass(frozen=True)
class GangRequest(ABC):
    """Base class of the kinds that say what one gang requests of one scheduler: a frozen dataclass for each kind.

    A kind is read once it has a row in `workbench.objects.kinds`, under ``requests``; its gang then has the `extra` in
    snapshots, sessions and clusters that are followed.

    Attributes
    ----------
    metadata : Metadata
    """

    metadata: Metadata

    @property
    @abstractmethod
    def gang(self) -> str:
        """Key of the gang (``namespace/name``) that the object is about."""

    @property
    @abstractmethod
    def extra(self) -> Extra:
        """The request, as an extra of the gang."""

    @property
    def own_gang(self) -> Gang | None:
        """The gang that the object stands for if nothing else makes the gang that it is about; None: none."""
        return None


def with_requests(gangs: Iterable[Gang], requests: Iterable[GangRequest]) -> tuple[Gang, ...]:
    """The gangs with the extras of the objects that are about them, and gangs for objects that have none.

    Of several objects of one class about one gang, the last by namespace and name counts (byte order). Gangs that are
    added stand in the order of namespaces and names.
    """
    gangs = tuple(gangs)
    known = {gang.key for gang in gangs}
    extras: dict[str, list[Extra]] = {}
    added: list[Gang] = []
    for request in sorted(requests, key=lambda one: one.metadata.key.encode()):
        own = None if request.gang in known else request.own_gang
        if own is not None and own.key not in known:
            known.add(own.key)
            added.append(own)
        extras.setdefault(request.gang if own is None else own.key, []).append(request.extra)
    if not extras:
        return gangs
    if added:
        gangs = tuple(sorted((*gangs, *added), key=lambda gang: (gang.namespace.encode(), gang.name.encode())))
    return tuple(gang.with_extra(*extras[gang.key]) if gang.key in extras else gang for gang in gangs)
