"""`find_slips`: every place of a text where a typing mistake makes it no YAML, with what to write instead.

A YAML parser stops at its first error, and often names the line after the one that is wrong. This scanner reads the
lines of a text that the parser has refused, and follows indentation and keys itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

__all__ = ["Slip", "find_slips", "slip_texts"]

_KEY = re.compile(r"(\"[^\"]*\"|'[^']*'|[^\s\"'\[\]{}#&*!|>%@`,:-][^\s:]*(?: [^\s:]+)*)\s*:(?=\s|$)")
#: Nothing, or only an anchor and a tag: the value is in the lines below.
_NO_VALUE = re.compile(r"(?:\s*[&!][^\s,\[\]{}]*)*\s*")
_DASH = re.compile(r"-(\s+|$)")
_BLOCK = re.compile(r"[|>][-+0-9]*$")
_QUOTED = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^']|'')*'")
_FIRST_LINE = re.compile(r" \(first in line [0-9]+\)")
_CURLY = re.compile("[“”‘’]")

#: Keys that every object has once at its top: a second one begins another object.
_OF_OBJECTS = ("apiVersion", "version", "kind")


class Slip(NamedTuple):
    """One slip: its line, counted from 1, what was found there, and what to write instead."""

    line: int
    found: str
    remedy: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.found}: {self.remedy}"


@dataclass
class _OpenMapping:
    """A mapping that is open at a line: the column of its keys, the line of each, and what its last key has."""

    indent: int
    keys: dict[str, int] = field(default_factory=dict)
    last: str = ""
    last_line: int = 0
    has_value: bool = False


def find_slips(text: str) -> list[Slip]:
    """Every slip in a text that is no YAML, in the order of the lines.

    Found are comments that begin with ``//``, ``**`` around a value, curly quotes, tabs in the indentation, lines that
    are indented like no line above them, keys that stand twice in one mapping, and objects without ``---`` between
    them. Text inside quotes and block scalars is left alone.
    """
    found: list[Slip] = []
    levels: list[_OpenMapping] = []
    for number, line in _lines(text):
        body, of_line = _without_marks(line, number)
        found += of_line
        if not body.strip():
            continue
        if re.match(r"(---|\.\.\.)(\s|$)", body):
            levels.clear()
            continue
        found += _structure(body, number, levels)
    return found


def slip_texts(slips: Iterable[Slip]) -> list[str]:
    """The slips as texts, in the order of their first lines; slips of one kind share a text that lists their lines."""
    alike: dict[tuple[str, str], list[Slip]] = {}
    for slip in slips:
        alike.setdefault((_FIRST_LINE.sub("", slip.found), slip.remedy), []).append(slip)
    return [
        str(some[0]) if len(some) == 1 else f"lines {', '.join(str(slip.line) for slip in some)}: {found}: {remedy}"
        for (found, remedy), some in alike.items()
    ]


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines of a text with their numbers, without those of block scalars and of flow collections left open."""
    block: int | None = None
    depth = 0
    for number, line in enumerate(text.splitlines(), 1):
        indent = len(line) - len(line.lstrip())
        if block is not None:
            if not line.strip() or indent > block:
                continue
            block = None
        bare = _code(line)
        continued, depth = depth > 0, max(depth + sum(map(bare.count, "[{")) - sum(map(bare.count, "]}")), 0)
        if continued:
            continue
        if _BLOCK.search(bare.rstrip()) and not bare.lstrip().startswith("//"):
            block = indent
        yield number, line


def _code(line: str) -> str:
    """The line with quoted text blanked out and without a comment; columns stay."""
    bare = _QUOTED.sub(lambda quoted: "q" * len(quoted[0]), line)
    return re.split(r"(?:^|(?<=\s))#", bare, maxsplit=1)[0]


def _without_marks(line: str, number: int) -> tuple[str, list[Slip]]:
    """The line without comments, and the slips that concern this line alone."""
    found = []
    if (indentation := line[: len(line) - len(line.lstrip())]) and "\t" in indentation:
        found.append(Slip(number, "a tab in the indentation", "indent with spaces"))
        line = indentation.replace("\t", "  ") + line.lstrip()
    bare = _code(line)
    comment = re.search(r"(?:^|(?<=\s))//", bare)
    if comment is not None:
        bare = bare[: comment.start()]
    if re.search(r"\S\*\*\s*$", bare) or re.search(r"[:-]\s+\*\*", bare):
        found.append(Slip(number, "**, which makes text bold in Markdown", "leave the ** out"))
        bare = bare.replace("**", "")
    if comment is not None:
        found.append(Slip(number, "a comment that begins with //", "begin it with #"))
    elif _CURLY.search(bare):
        found.append(Slip(number, "curly quotes", 'write straight ones: "…"'))
    return bare.rstrip(), found


def _structure(body: str, number: int, levels: list[_OpenMapping]) -> Iterator[Slip]:
    """Follow one line without its comment; `levels` are the open mappings, the innermost last."""
    indent = len(body) - len(body.lstrip())
    is_item = False
    while dash := _DASH.match(body, indent):
        while levels and levels[-1].indent > indent:
            levels.pop()
        if levels and not is_item:
            levels[-1].has_value = True
        is_item = True
        indent = dash.end()
    key = _KEY.match(body, indent)
    if key is None:
        # An item that begins in a line of its own, perhaps with an anchor or a tag: its keys follow, deeper.
        if is_item and levels and _NO_VALUE.fullmatch(body, indent):
            levels[-1].has_value = False
        return
    name = key[1].strip("\"'")
    while levels and levels[-1].indent > indent:
        levels.pop()
    top = levels[-1] if levels else None
    if top is None or (top.indent < indent and (is_item or not top.has_value)):
        if top is not None:
            top.has_value = True
        levels.append(_OpenMapping(indent))
    elif top.indent < indent:
        yield Slip(
            number,
            f"'{name}' is indented more than '{top.last}' (line {top.last_line}), whose value ends above",
            f"indent '{name}' and '{top.last}' alike, one step deeper than the key that holds both",
        )
        levels.append(_OpenMapping(indent, top.keys))
    level = levels[-1]
    first = level.keys.get(name)
    if first is not None:
        begins = next(iter(level.keys))
        if indent == 0 and name in _OF_OBJECTS:
            yield Slip(number, f"a second '{name}' (first in line {first})", "write --- above, where an object begins")
            levels[:] = [_OpenMapping(indent)]
        elif name == begins:
            yield Slip(
                number,
                f"the key '{name}' twice in one mapping (first in line {first})",
                f"keep one, or begin each entry of a list with a dash: '- {name}: …'",
            )
            level.keys.clear()
        else:
            yield Slip(number, f"the key '{name}' twice in one mapping (first in line {first})", "keep one of them")
    level = levels[-1]
    level.keys[name] = number
    level.last, level.last_line = name, number
    level.has_value = _NO_VALUE.fullmatch(body, key.end()) is None
