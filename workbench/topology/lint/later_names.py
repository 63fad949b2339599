"""`later_name`: a name that a node added later is likely to have, and that a pattern would match by mistake."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

from workbench.objects.selectors import compile_pattern

__all__ = ["example_of", "later_name"]

_DIGITS = "0123456789"
_NUMBER = re.compile("[0-9]+")
#: Words that are put behind or before the name of a node.
_BEHIND, _BEFORE = "-spare", "old-"
#: Names that are tried for one pattern: one is usually enough.
_MOST = 64
_MOST_COPIES = 64

_CLASSES = {"d": "1", "w": "a", "s": " ", "D": "a", "W": "-", "S": "a"}
_EMPTY = frozenset("AbBzQE")
_QUANTIFIER = re.compile(r"(?:[?*+]|\{(\d+)(?:,\d*)?\})\??")
_GROUP = re.compile(r"\(\?(?:P?<\w+>|[a-zA-Z-]*:)|\((?!\?)")


def later_name(pattern: str, names: Iterable[str], known: Collection[str]) -> str:
    """A likely name of a later node that a pattern matches although it seems not to be meant; empty if there is none.

    `pattern`: a regular expression that compiles. `names`: names that the pattern matches; the first 64 are tried.
    `known`: names of nodes that exist already, which are not later ones. Tried are a name in which a number goes on by
    a digit (gpu-10 after gpu-1) or begins with one more, and, where the pattern tells numbers apart, the name with
    ``-spare`` behind or ``old-`` before it. A digit counts if the match ends or begins inside the number: a pattern
    such as ``^rack1-`` says nothing about the numbers behind it, and ``^gpu-.*`` means all of them.
    """
    search = compile_pattern(pattern).search
    for _, name in zip(range(_MOST), names, strict=False):
        for found in _NUMBER.finditer(name):
            start, end = found.span()
            for digit in _DIGITS:
                longer = name[:end] + digit + name[end:]
                hit = search(longer) if longer not in known else None
                if hit is not None and start < hit.end() <= end:
                    return longer
                longer = name[:start] + digit + name[start:]
                hit = search(longer) if longer not in known else None
                if hit is not None and start < hit.start() <= end:
                    return longer
        if any(search(other) is None for other in _with_other_number(name)):
            hit = search(name + _BEHIND)
            if hit is not None and hit.end() == len(name):
                return name + _BEHIND
            hit = search(_BEFORE + name)
            if hit is not None and hit.start() == len(_BEFORE):
                return _BEFORE + name
    return ""


def _with_other_number(name: str) -> Iterator[str]:
    """The name with other values of its last number, or without its last letter if it has no number."""
    numbers = list(_NUMBER.finditer(name))
    if not numbers:
        yield name[:-1]
        return
    start, end = numbers[-1].span()
    for digit in _DIGITS:
        yield name[:start] + digit * (end - start) + name[end:]


def example_of(pattern: str) -> str:
    """A short name that a regular expression matches; empty if none is found with little effort.

    Of alternatives the first is taken, of repetitions the least, of a class its first character.
    """
    try:
        name, at = _alternatives(pattern, 0)
    except (IndexError, ValueError):
        return ""
    return name if at == len(pattern) and compile_pattern(pattern).search(name) is not None else ""


def _alternatives(pattern: str, at: int) -> tuple[str, int]:
    """Example of the alternatives that begin at a position, and the position behind them."""
    first, at = _sequence(pattern, at)
    while at < len(pattern) and pattern[at] == "|":
        _, at = _sequence(pattern, at + 1)
    return first, at


def _sequence(pattern: str, at: int) -> tuple[str, int]:
    made = ""
    while at < len(pattern) and pattern[at] not in "|)":
        part, at = _atom(pattern, at)
        count = _QUANTIFIER.match(pattern, at)
        if count is not None:
            at = count.end()
            part *= min(int(count[1]), _MOST_COPIES) if count[1] else int(count[0][0] == "+")
        made += part
    return made, at


def _atom(pattern: str, at: int) -> tuple[str, int]:
    letter = pattern[at]
    if letter == "(":
        group = _GROUP.match(pattern, at)
        if group is None:
            raise ValueError("a group of another kind")
        inside, at = _alternatives(pattern, group.end())
        if pattern[at] != ")":
            raise ValueError("a group without an end")
        return inside, at + 1
    if letter == "[":
        return _class(pattern, at + 1)
    if letter == "\\":
        return _escaped(pattern[at + 1]), at + 2
    return {"^": "", "$": "", ".": "a"}.get(letter, letter), at + 1


def _class(pattern: str, at: int) -> tuple[str, int]:
    if pattern[at] in "^[":
        raise ValueError("a class without a first letter")
    first = _escaped(pattern[at + 1]) if pattern[at] == "\\" else pattern[at]
    at += 2 if pattern[at] == "\\" else 1
    while pattern[at] != "]":
        at += 2 if pattern[at] == "\\" else 1
    return first, at + 1


def _escaped(letter: str) -> str:
    if letter in _EMPTY:
        return ""
    if letter in _CLASSES:
        return _CLASSES[letter]
    if letter.isalnum():
        raise ValueError("an escape of another kind")
    return letter
