"""`kept`: a property that is computed once, for objects of which one is made for each placement."""

from __future__ import annotations

import sys
from functools import cached_property
from typing import TypeVar

__all__ = ["kept"]

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
