"""Recognise files that hold no Kubernetes objects, and say what takes them or what to bring instead."""

from __future__ import annotations

import re
from operator import and_
from typing import Any

__all__ = ["describe_content", "describe_document"]

#: Top-level keys that tell a document, in this order; what it is, and what takes it.
_BY_KEYS = (
    (("tiers",), "a scheduler configuration", "--set config=FILE"),
    (("actions",), "a scheduler configuration", "--set config=FILE"),
    (("networkTopologyDiscovery",), "a controller configuration", "topology discover --config FILE"),
    (("username", "password"), "credentials", "topology discover ufm|roce --credentials FILE"),
    (("gpus", "bottleneck_gb_s"), "the result of 'workbench gpus'", ""),
    (("regret", "states"), "the result of 'workbench gpus --regret'", ""),
    (("policy", "parameters", "jobs", "metrics"), "the result of 'workbench place'", ""),
    (("provenance", "policies"), "the result of 'workbench compare'", ""),
    (("nodes", "domains", "problems"), "the result of 'workbench topology show'", ""),
    (("$schema", "runs"), "a SARIF report", ""),
)

_MATRIX = ("a bandwidth matrix", "--matrix PATTERN=FILE, or 'workbench gpus FILE'")
#: Formats of matrices that take a text for their own by its first character, or any text.
_TAKE_ANYTHING = frozenset({"nccl-topo", "own-table", "table"})
_PICTURE = ("a page or a picture", "")

_NUMBER = re.compile(r"[-+]?\d+(\.\d+)?")


def describe_document(data: Any, content: bytes) -> tuple[str, str] | None:
    """Say what a parsed document is that is no Kubernetes object, and what is expected instead.

    Returns None if the document is of no known kind.
    """
    if type(data) is dict:
        found = next(((what, taker) for keys, what, taker in _BY_KEYS if data.keys() >= set(keys)), None)
        return _as_printout(content) if found is None else _for(*found)
    if type(data) is list and len(data) > 1 and all(type(row) is list and len(row) == len(data) for row in data):
        return _for(*_MATRIX)
    return describe_content(content) if type(data) is str else None


def describe_content(content: bytes) -> tuple[str, str] | None:
    """Say what a file is that is neither YAML nor JSON, and what is expected instead.

    Returns None if the content is of no known kind.
    """
    if content.startswith(b"\x93NUMPY"):
        return _for(*_MATRIX)
    text = content[:65536].decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    # Imported late: only a text that is no manifest needs the readers of matrices.
    from workbench.formats.matrices.printout import clean_printout
    from workbench.formats.matrices.registry import detect_matrix_format

    if detect_matrix_format(clean_printout(text).text).name not in _TAKE_ANYTHING:
        return _for(*_MATRIX)
    if text.startswith("<"):
        return _for(*_PICTURE)
    printout = _as_printout(content)
    if printout is not None:
        return printout
    rows = list(map(_is_row, text.splitlines()))
    return _for(*_MATRIX) if any(map(and_, rows, rows[1:])) else None


def _for(what: str, taker: str) -> tuple[str, str]:
    return what, f"a manifest; this file is for {taker}" if taker else "a manifest"


def _as_printout(content: bytes) -> tuple[str, str] | None:
    from workbench.formats.printouts import known_printout

    found = known_printout(content.decode("utf-8-sig", "replace"))
    return None if found is None else (found.what, found.instead)


def _is_row(line: str) -> bool:
    """Whether a line looks like a row of a table: a name followed by two or more numbers."""
    cells = [cell for cell in re.split(r"[\s,;|]+", line) if cell]
    numbers = [cell for cell in cells if _NUMBER.fullmatch(cell)]
    return len(numbers) > 1 and len(numbers) >= len(cells) - 1
