"""`Place`: where the linter read an object."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Place"]


@dataclass(frozen=True)
class Place:
    """File and position from which an object was read.

    Attributes
    ----------
    file : str
        Name of the file as the user gave it.
    where : str
        Place inside the file, such as ``document 3 (line 12)``.
    line : int, optional
        Line number, from 1; None if the input's format has no lines.
    """

    file: str
    where: str = ""
    line: int | None = None

    def __str__(self) -> str:
        if self.line is not None:
            return f"{self.file}:{self.line}"
        return f"{self.file}: {self.where}" if self.where else self.file
