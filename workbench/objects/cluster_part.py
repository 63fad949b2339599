"""`ClusterPart`: an object that tells one scheduler something about the cluster as a whole."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from workbench.errors import InputError
from workbench.model.extras import Extra
from workbench.objects.metadata import Metadata

__all__ = ["ClusterPart", "extras_of_parts"]


class ClusterPart(ABC):
    """Base class of the kinds that tell one scheduler something about the cluster: frozen dataclasses.

    A kind is read once it has a row in `workbench.objects.kinds`, under ``cluster_parts``; the snapshot then has the
    extra to which its objects add up.

    `kind`: name of the kind; `only_one`: whether a cluster has one such object, so that a second one must say the same.
    """

    metadata: Metadata
    kind: ClassVar[str]
    only_one: ClassVar[bool] = False
    adds_to: ClassVar[type[Extra]]

    @property
    @abstractmethod
    def entries(self) -> Mapping[str, Any]:
        """What the object adds to the extra: by field a tuple of items, or a mapping of names to items."""


def extras_of_parts(parts: Iterable[ClusterPart]) -> dict[type[Extra], Extra]:
    """The extras to which objects add up, by class; items are in the order of the objects' kinds and keys.

    An entry of a mapping that several objects give is that of the last one. Raises InputError: two objects of a kind of
    which a cluster has one say different things.
    """
    fields: dict[type[Extra], dict[str, Any]] = {}
    known: dict[str, ClusterPart] = {}
    for part in sorted(parts, key=lambda each: (each.kind, each.metadata.key.encode())):
        if part.only_one:
            first = known.setdefault(part.kind, part)
            if first.entries != part.entries:
                names = f"{first.metadata.key} and {part.metadata.key}"
                raise InputError(f"two objects {part.kind} that say different things", got=names, expected="one")
            if first is not part:
                continue
        of_extra = fields.setdefault(part.adds_to, {})
        for name, items in part.entries.items():
            if isinstance(items, Mapping):
                of_extra.setdefault(name, {}).update(items)
            else:
                of_extra.setdefault(name, []).extend(items)
    return {
        kind: kind(**{name: tuple(items) if type(items) is list else items for name, items in values.items()})
        for kind, values in fields.items()
    }
