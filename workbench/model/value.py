"""Mixins that make values survive pickling, copying and sending to another process.

The state of an object consists of the arguments it was made from. Values derived from these (cached properties,
compiled searches, look-up tables) are not copied but built again on demand, because they may not be picklable and may
refer to arrays that a copy replaces.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import MISSING, fields
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Value", "Working"]


class Value:
    """Mixin of frozen dataclasses: a copy or pickle holds the fields of ``__init__``, and read-only arrays stay
    read-only.

    Fields declared with ``init=False`` are derived: a copy gets their defaults, then ``__post_init__`` runs.
    """

    def _kept(self) -> dict[str, Any]:
        """The attributes, by name, that a copy or pickle of the object consists of."""
        each = fields(self)  # type: ignore[arg-type]  # every subclass but `Working` is a dataclass
        return {field.name: getattr(self, field.name) for field in each if field.init}

    def _derive(self) -> None:
        """Rebuild, in a copy, the attributes that `_kept` leaves out and that are not cached properties."""
        for each in fields(self):  # type: ignore[arg-type]  # as above
            if not each.init and each.default_factory is not MISSING:
                self.__dict__[each.name] = each.default_factory()
        checks = getattr(self, "__post_init__", None)
        if checks is not None:
            checks()

    def __getstate__(self) -> tuple[dict[str, Any], tuple[bool, ...]]:
        kept = self._kept()
        return kept, tuple(array.flags.writeable for array in _arrays(kept))

    def __setstate__(self, state: tuple[dict[str, Any], tuple[bool, ...]]) -> None:
        kept, writeable = state
        self.__dict__.update(kept)
        # Neither pickle nor deepcopy keeps an array read-only.
        for array, may_change in zip(_arrays(kept), writeable, strict=True):
            if not may_change:
                array.flags.writeable = False
        self._derive()


class Working(Value):
    """Mixin of objects that change, such as a ledger: a copy, even by `copy.copy`, shares nothing that can change.

    A copy holds every attribute but cached properties; a class with further derived attributes overrides `_kept` and
    `_derive`.
    """

    def _kept(self) -> dict[str, Any]:
        derived = _cached(type(self))
        return {name: _unshared(value) for name, value in self.__dict__.items() if name not in derived}

    def _derive(self) -> None:
        pass


def _cached(kind: type) -> frozenset[str]:
    attributes = (each for base in kind.__mro__ for each in vars(base).items())
    return frozenset(name for name, attribute in attributes if isinstance(attribute, cached_property))


def _unshared(value: Any) -> Any:
    if isinstance(value, Working):
        return copy.copy(value)
    if isinstance(value, np.ndarray):
        return value.copy() if value.flags.writeable else value
    return value.copy() if type(value) in (dict, list) else value


def _arrays(value: Any) -> Iterator[npt.NDArray[Any]]:
    """All numpy arrays in `value`, also inside tuples, lists and dicts, always in the same order."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _arrays(each)
    elif isinstance(value, (tuple, list)):
        for each in value:
            if not isinstance(each, (str, int)):
                yield from _arrays(each)
