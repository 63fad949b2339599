"""Recognise files that hold no Kubernetes objects, and name the command-line option that takes them."""

from __future__ import annotations

import re
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
_PICTURE = ("a page or a picture", "")

_NUMBER = re.compile(r"[-+]?\d+(\.\d+)?")


def describe_document(data: Any, content: bytes) -> tuple[str, str] | None:
    """Say what a parsed document is that is no Kubernetes object, and which command-line option takes such a file.

    The option is empty if there is none. Returns None if the document is of no known kind.
    """
    if type(data) is dict:
        return next(((what, taker) for keys, what, taker in _BY_KEYS if data.keys() >= set(keys)), None)
    if type(data) is list and len(data) > 1 and all(type(row) is list and len(row) == len(data) for row in data):
        return _MATRIX
    return describe_content(content) if type(data) is str else None


def describe_content(content: bytes) -> tuple[str, str] | None:
    """Say what a file is that is neither YAML nor JSON, and which command-line option takes it (empty: none does).

    Returns None if the content is of no known kind.
    """
    if content.startswith(b"\x93NUMPY"):
        return _MATRIX
    text = content[:65536].decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    if text.startswith("<"):
        return _PICTURE
    return _MATRIX if sum(map(_is_row, text.splitlines())) > 1 else None


def _is_row(line: str) -> bool:
    """Whether a line looks like a row of a table: a name followed by two or more numbers."""
    cells = [cell for cell in re.split(r"[\s,;|]+", line) if cell]
    numbers = [cell for cell in cells if _NUMBER.fullmatch(cell)]
    return len(numbers) > 1 and len(numbers) >= len(cells) - 1
