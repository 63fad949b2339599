"""`optional`: around an import of a package that the default install leaves out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from workbench.errors import MissingExtraError

__all__ = ["optional"]


@contextmanager
def optional(extra: str) -> Iterator[None]:
    """Say what to install where a package is missing that is imported inside the ``with`` block.

    `extra`: extra of this project that brings the package, one of ``[project.optional-dependencies]`` in
    ``pyproject.toml``. Raises MissingExtraError: a package that is imported in the block, or one that it needs itself,
    is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise MissingExtraError((error.name or str(error)).partition(".")[0], extra) from None
