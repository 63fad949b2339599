"""Mixins that make values survive pickling, copying and sending to another process.

The state of an object consists of the arguments it was made from. Values derived from these (cached properties,
compiled searches, look-up tables) are not copied but built again on demand, because they may not be picklable and may
refer to arrays that a copy replaces.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Iterable
from dataclasses import MISSING, fields
from functools import cache, cached_property
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

__all__ = ["Value", "Working", "kept"]

#: Entries of a container beyond which its size alone goes into a hash.
_FEW = 16
#: Arrays, and in what they are found.
_HOLDERS = (tuple, dict, list, np.ndarray)


class Value:
    """Mixin of frozen dataclasses: a copy or pickle holds the fields of ``__init__``, and read-only arrays stay
    read-only.

    Two values are equal if they are of one class and have equal fields; arrays are compared by shape and entries (NaN
    equals NaN), and fields declared with ``compare=False`` are left out. Fields declared with ``init=False`` are
    derived: a copy gets their defaults, then ``__post_init__`` runs.
    """

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(self) is not type(other):
            return NotImplemented
        each = fields(self)  # type: ignore[arg-type]  # as below
        return all(_equal(getattr(self, f.name), getattr(other, f.name)) for f in each if f.init and f.compare)

    def __hash__(self) -> int:
        # Rough, because it is asked far more often than two different values meet: what is large counts by its size.
        found: int | None = self.__dict__.get("_hash")
        if found is None:
            each = fields(self)  # type: ignore[arg-type]  # as below
            parts = (_rough(getattr(self, f.name)) for f in each if f.init and f.compare)
            found = self.__dict__["_hash"] = hash((type(self), *parts))
        return found

    def _kept(self) -> dict[str, Any]:
        """The attributes, by name, that a copy or pickle of the object consists of."""
        return {name: getattr(self, name) for name in _given(type(self))}  # type: ignore[arg-type]  # a class can be hashed

    def _derive(self) -> None:
        """Rebuild, in a copy, the attributes that `_kept` leaves out and that are not cached properties."""
        for name, made in _made(type(self)):  # type: ignore[arg-type]  # as above
            self.__dict__[name] = made()
        checks = getattr(self, "__post_init__", None)
        if checks is not None:
            checks()

    def __getstate__(self) -> tuple[dict[str, Any], tuple[bool, ...]]:
        kept = self._kept()
        return kept, tuple(array.flags.writeable for array in _arrays(kept.values()))

    def __setstate__(self, state: tuple[dict[str, Any], tuple[bool, ...]]) -> None:
        kept, writeable = state
        self.__dict__.update(kept)
        # Neither pickle nor deepcopy keeps an array read-only; most values have none.
        if not all(writeable):
            for array, may_change in zip(_arrays(kept.values()), writeable, strict=True):
                if not may_change:
                    array.flags.writeable = False
        self._derive()


class Working(Value):
    """Mixin of objects that change, such as a ledger: a copy, even by `copy.copy`, shares nothing that can change.

    Such an object equals itself only. A copy holds every attribute but cached properties; a class with further derived
    attributes overrides `_kept` and `_derive`.
    """

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def _kept(self) -> dict[str, Any]:
        derived = _cached(type(self))
        return {name: _unshared(value) for name, value in self.__dict__.items() if name not in derived}

    def _derive(self) -> None:
        pass


def _equal(one: Any, other: Any) -> bool:
    """Whether two fields are equal, arrays inside plain containers too."""
    if one is other:
        return True
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        if not (isinstance(one, np.ndarray) and isinstance(other, np.ndarray)):
            return False
        return np.array_equal(one, other, equal_nan=one.dtype.kind == other.dtype.kind == "f")
    if type(one) in (tuple, list) and type(one) is type(other):
        return len(one) == len(other) and all(map(_equal, one, other))
    if type(one) is dict and type(other) is dict:
        return one.keys() == other.keys() and all(_equal(value, other[key]) for key, value in one.items())
    return bool(one == other) or bool(one != one and other != other)


def _rough(value: Any) -> Any:
    """Part of a hash: equal for equal fields."""
    if isinstance(value, np.ndarray):
        return value.shape
    if isinstance(value, (tuple, list, dict)):
        if len(value) > _FEW:
            return len(value)
        # What pods ask for differs in nothing else.
        each = value.items() if isinstance(value, dict) else enumerate(value)
        return frozenset((key, _rough(one)) for key, one in each)
    return value if isinstance(value, (str, int, float, bool)) and value == value else None


@cache
def _given(kind: type) -> tuple[str, ...]:
    """Names of the fields that `__init__` takes; of a study thousands of values are pickled."""
    return tuple(each.name for each in fields(kind) if each.init)


@cache
def _made(kind: type) -> tuple[tuple[str, Callable[[], Any]], ...]:
    """Names of the derived fields, each with what makes it empty."""
    return tuple(
        (each.name, each.default_factory)
        for each in fields(kind)
        if not each.init and each.default_factory is not MISSING
    )


def _cached(kind: type) -> frozenset[str]:
    attributes = (each for base in kind.__mro__ for each in vars(base).items())
    return frozenset(name for name, attribute in attributes if isinstance(attribute, cached_property))


def _unshared(value: Any) -> Any:
    if isinstance(value, Working):
        return copy.copy(value)
    if isinstance(value, np.ndarray):
        return value.copy() if value.flags.writeable else value
    return value.copy() if type(value) in (dict, list) else value


def _arrays(values: Iterable[Any]) -> list[npt.NDArray[Any]]:
    """All numpy arrays among some values, also inside tuples, lists and dicts, always in the same order."""
    found: list[npt.NDArray[Any]] = []
    for each in values:
        if not isinstance(each, _HOLDERS):
            continue
        if isinstance(each, np.ndarray):
            found.append(each)
        elif each:
            found += _arrays(each.values() if isinstance(each, dict) else each)
    return found


T = TypeVar("T")


class kept(cached_property[T]):
    """`functools.cached_property` without the lock that it takes before Python 3.12.

    The lock takes longer than most of what is computed. Without it, two threads may compute a value both.
    """

    if sys.version_info < (3, 12):

        def __get__(self, instance: object, owner: type | None = None) -> T:  # type: ignore[override]
            """The value of an object, which is written into the object and read there from then on."""
            if instance is None:
                return self  # type: ignore[return-value]
            assert self.attrname is not None
            found: T = self.func(instance)
            instance.__dict__[self.attrname] = found
            return found
