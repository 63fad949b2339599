"""Functions of outer rooms that values of the model offer as methods: handed in from outside, imported when called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["hand_in", "handed_in"]

_functions: dict[str, Callable[..., Any]] = {}


def hand_in(name: str, function: Callable[..., Any]) -> None:
    """Register the function behind a method of a value, such as ``fix`` of a Scenario."""
    _functions[name] = function


def handed_in(name: str) -> Callable[..., Any]:
    """The function that was registered under a name.

    Raises
    ------
    TypeError
        The package `workbench`, which registers all of them, was not imported.
    """
    if name not in _functions:
        raise TypeError(f"nothing is registered for {name}; import workbench first")
    return _functions[name]
