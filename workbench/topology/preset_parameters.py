"""`Parameter`: a parameter of a preset, with its default and how a text is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from workbench.errors import InputError

__all__ = ["Parameter"]


@dataclass(frozen=True)
class Parameter:
    """One parameter of a preset of `workbench topology generate`.

    `default`: its type is the type of the parameter. `low`, `high`: allowed range of numbers (of every number of a
    tuple), both ends included. `of_job`: it changes the jobs of the preset only, not the fabric.
    """

    default: int | float | str | tuple[int, ...]
    meaning: str
    low: float = 1
    high: float = 200_000
    of_job: bool = False

    def read(self, name: str, given: Any) -> Any:
        """Check a value given for the parameter `name`, or convert it from text as typed on a command line.

        Raises InputError for a value of another type or out of range.
        """
        try:
            value = self._convert(given)
        except (TypeError, ValueError):
            raise InputError(
                "not a value of this parameter", source=name, got=repr(given), expected=self._kind
            ) from None
        numbers = value if isinstance(value, tuple) else () if isinstance(value, str) else (value,)
        if isinstance(value, tuple) and not value:
            raise InputError("an empty list", source=name, expected=self._kind)
        if not all(self.low <= number <= self.high for number in numbers):
            expected = f"{self.low:g} to {self.high:g}"
            raise InputError("out of range", source=name, got=str(given), expected=expected)
        return value

    @property
    def _kind(self) -> str:
        if isinstance(self.default, tuple):
            return "integers separated by commas, such as 4,4,2"
        return {int: "an integer", float: "a number", str: "text"}[type(self.default)]

    def _convert(self, given: Any) -> Any:
        if isinstance(self.default, str):
            return str(given)
        if isinstance(self.default, float):
            return float(given)
        if isinstance(self.default, int):
            return _integer(given)
        parts = given.replace(",", " ").split() if isinstance(given, str) else given
        return tuple(_integer(part) for part in parts)


def _integer(given: Any) -> int:
    if isinstance(given, bool) or (not isinstance(given, str) and given != int(given)):
        raise ValueError
    return int(given)
