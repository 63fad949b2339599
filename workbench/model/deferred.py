"""`Deferred`: a function or class named by its module, which is imported when the object is first wanted.

Tables that list many things of which one run needs a few hold these names: a command starts as fast as what it uses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["Deferred", "DeferredModule", "deferred_names"]


class Deferred:
    """An object of a module that is imported when the object is called or asked for.

    `home`: ``package.module:Name``.

    Examples
    --------
    >>> from workbench.model.deferred import Deferred
    >>> Deferred("fractions:Fraction")(1, 2)
    Fraction(1, 2)
    """

    # No dataclass: `import workbench` reads this file, and they import much of Python.
    __slots__ = ("home",)

    def __init__(self, home: str) -> None:
        self.home = home

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Deferred) and self.home == other.home

    def __hash__(self) -> int:
        return hash(self.home)

    def __repr__(self) -> str:
        return f"Deferred({self.home!r})"

    def load(self) -> Any:
        """The object itself."""
        module, _, name = self.home.partition(":")
        return getattr(import_module(module), name)

    def __call__(self, *given: Any, **options: Any) -> Any:
        """Call the object."""
        return self.load()(*given, **options)


class DeferredModule:
    """A module that is imported when one of its attributes is first wanted.

    Annotations name classes of a package that most processes do not need, and can be evaluated all the same.

    `name`: name of the module, with its packages.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._name), name)


def deferred_names(module: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Make the ``__getattr__`` of a package whose names are loaded when they are first used.

    `module`: ``__name__`` of the package. `homes`: module that defines each name, below the package.
    """

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        return Deferred(f"{module}.{homes[name]}:{name}").load()

    return get
