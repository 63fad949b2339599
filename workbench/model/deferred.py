"""`Deferred`: a function or class named by its module, which is imported when the object is first wanted.

Tables that list many things of which one run needs a few hold these names: a command starts as fast as what it uses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

__all__ = ["Deferred", "deferred_names"]


@dataclass(frozen=True)
class Deferred:
    """An object of a module that is imported when the object is called or asked for.

    Parameters
    ----------
    home : str
        ``package.module:Name``.

    Examples
    --------
    >>> from workbench.model.deferred import Deferred
    >>> Deferred("fractions:Fraction")(1, 2)
    Fraction(1, 2)
    """

    home: str

    def load(self) -> Any:
        """The object itself."""
        module, _, name = self.home.partition(":")
        return getattr(import_module(module), name)

    def __call__(self, *given: Any, **options: Any) -> Any:
        """Call the object."""
        return self.load()(*given, **options)


def deferred_names(module: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Make the ``__getattr__`` of a package whose names are loaded when they are first used.

    Parameters
    ----------
    module : str
        ``__name__`` of the package.
    homes : mapping of str to str
        Module that defines each name, below the package.
    """

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        return Deferred(f"{module}.{homes[name]}:{name}").load()

    return get
