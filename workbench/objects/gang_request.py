"""`GangRequest`: an object of another scheduler that adds a request to one gang."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Self

from workbench.model.extras import Extra
from workbench.model.gang import Gang
from workbench.objects.metadata import Metadata

__all__ = ["GangRequest", "with_requests"]


@dataclass(frozen=True)
class GangRequest(ABC):
    """Base class of the kinds that say what one gang requests of one scheduler: a frozen dataclass for each kind.

    A kind is read once it has a row in `workbench.objects.kinds`, under ``requests``; its gang then has the `extra` in
    snapshots, sessions and clusters that are followed.
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

    @classmethod
    def extras_by_gang(cls, gangs: Sequence[Gang], requests: Iterable[Self]) -> Iterator[tuple[str, Extra]]:
        """What objects of this kind say: the key of a gang, and its extra, in the order in which they count.

        A kind of which one object is about several gangs overrides this.

        `requests`: objects of this class by namespace and name.
        """
        for request in requests:
            yield request.gang, request.extra


def with_requests(gangs: Iterable[Gang], requests: Iterable[GangRequest]) -> tuple[Gang, ...]:
    """The gangs with the extras of the objects that are about them, and gangs for objects that have none.

    Of several objects of one class about one gang, the last by namespace and name counts (byte order). Gangs that are
    added stand in the order of namespaces and names.
    """
    gangs = tuple(gangs)
    known = {gang.key for gang in gangs}
    own_keys: dict[str, str] = {}
    added: list[Gang] = []
    by_class: dict[type[GangRequest], list[GangRequest]] = {}
    for request in sorted(requests, key=lambda one: one.metadata.key.encode()):
        by_class.setdefault(type(request), []).append(request)
        own = None if request.gang in known else request.own_gang
        if own is not None:
            own_keys[request.gang] = own.key
            if own.key not in known:
                known.add(own.key)
                added.append(own)
    if added:
        gangs = tuple(sorted((*gangs, *added), key=lambda gang: (gang.namespace.encode(), gang.name.encode())))
    extras: dict[str, list[Extra]] = {}
    for kind, objects in by_class.items():
        for key, extra in kind.extras_by_gang(gangs, objects):
            extras.setdefault(own_keys.get(key, key), []).append(extra)
    if not extras:
        return gangs
    return tuple(gang.with_extra(*extras[gang.key]) if gang.key in extras else gang for gang in gangs)
