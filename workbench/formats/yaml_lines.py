"""Reader of the YAML that tools write: block style, one key or list item on each line.

kubectl, Helm and the writer here put almost every object into this form, and a regular expression takes its lines apart
in half the time that libyaml needs for its events. A document of any other form is none of this reader's: anchors,
tags, comments, empty lines, text over several lines, escapes, and whatever is not well formed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from sys import intern
from typing import Any, NamedTuple

from workbench.formats.yaml_scalars import Scalars

__all__ = ["Segment", "document_of_lines", "segments"]

# Printable ASCII without the space, the colon and the number sign, which may end a value.
_INNER = r'[!"$-9;-~]'
_PLAIN = rf"(?:[A-Za-z0-9_./+~($;^\\]|-(?=[A-Za-z0-9.])){_INNER}*(?:(?::(?=[!-~])| +(?=[!-~])){_INNER}*)*"
_VALUE = rf"""{_PLAIN}|"[ !#-\[\]-~]*"|'[ -&(-~]*'|\{{\}}|\[\]"""
#: Indentation, "- " of a list item, the key with its value (empty: none), or the item that is a value.
_LINE = re.compile(rf"^( *)(- )?(?:([A-Za-z0-9_][A-Za-z0-9_./-]*):(?: ({_VALUE}))?|(?<=- )({_VALUE}))\n", re.MULTILINE)
_MARKER = re.compile(r"^---(?=[ \t\r\n]|\Z)", re.MULTILINE)
#: Directives, and the ends of documents.
_ELSE = re.compile(r"^(?:%|\.\.\.)", re.MULTILINE)

#: Characters whose lines are taken apart at once, for the sake of memory.
_STEP = 1 << 16
#: Levels that this reader follows; more are refused, or nearly so.
_MOST_LEVELS = 90
#: Column and collection outside of all.
_NOWHERE: tuple[int, Any] = (-1, None)


class Segment(NamedTuple):
    """The text of one document of a stream, with the ``---`` before it.

    Attributes
    ----------
    begin, end : int
        Its place in the text.
    line : int
        Number of its first line, from 0.
    """

    begin: int
    end: int
    line: int


def segments(text: str) -> Iterator[Segment] | None:
    """The documents of a stream; None if it has directives or marks the ends of documents."""
    return None if _ELSE.search(text) else _segments(text)


def _segments(text: str) -> Iterator[Segment]:
    begin = line = 0
    for found in _MARKER.finditer(text):
        if found.start() > begin:
            yield Segment(begin, found.start(), line)
            line += text.count("\n", begin, found.start())
            begin = found.start()
    yield Segment(begin, len(text), line)


def document_of_lines(text: str, segment: Segment, scalars: Scalars) -> tuple[Any, int] | None:
    """The value of a document and the number of its first line with content, from 1.

    None if the document is empty or has another form: it is then libyaml's.

    Parameters
    ----------
    text : str
        The whole stream.
    segment : Segment
        The document's place in the stream.
    scalars : Scalars
        Finds the values of plain scalars.
    """
    begin, end, line = segment.begin, segment.end, segment.line
    if text.startswith("---", begin):
        if not text.startswith("---\n", begin):
            return None
        begin, line = begin + 4, line + 1
    if begin == end or text[end - 1] != "\n":
        return None
    builder = _Builder(scalars)
    while begin < end:
        stop = text.find("\n", min(begin + _STEP, end - 1), end) + 1
        lines = _LINE.findall(text, begin, stop)
        if len(lines) != text.count("\n", begin, stop):
            return None
        try:
            if not builder.add(lines):
                return None
        except ValueError:  # a number out of range
            return None
        begin = stop
    return builder.root, line + 1


class _Builder:
    """Builds the value of a document from its lines.

    Attributes
    ----------
    root : dict or list or None
        The value; None before the first line.
    """

    def __init__(self, scalars: Scalars) -> None:
        self.root: Any = None
        self._scalars = scalars
        # Column and collection of each level, the innermost last, and the key of the innermost mapping whose value may
        # still follow on the next line; None if none may.
        self._levels: list[tuple[int, Any]] = []
        self._open: str | None = None

    def add(self, lines: list[tuple[str, str, str, str, str]]) -> bool:
        """Take in lines; False if one is not where a well-formed document would have it, or repeats a key."""
        levels, scalars = self._levels, self._scalars
        opened = self._open
        column, inner = levels[-1] if levels else _NOWHERE
        for indent, dash, key, value, item in lines:
            at = len(indent)
            if at < column:
                # A key without a value is null; the outer ones have theirs.
                opened = None
                while levels and levels[-1][0] > at:
                    levels.pop()
                if not levels:
                    return False
                column, inner = levels[-1]
            if dash:
                if at != column or inner.__class__ is dict:
                    if self.root is None:
                        made: Any = []
                        self.root = made
                    elif opened is not None and inner.__class__ is dict:
                        # A list in a mapping may stand in the column of its key.
                        made = inner[opened] = []
                    else:
                        return False
                    column, inner = at, made
                    levels.append((at, made))
                opened = None
                if not key:
                    inner.append(scalars.of(item))
                    continue
                made = {}
                inner.append(made)
                column, inner = at + 2, made
                levels.append((column, made))
            elif at != column or inner.__class__ is list:
                if at == column:
                    # The list in the column of its key ends with the next key.
                    levels.pop()
                    column, inner = levels[-1] if levels else _NOWHERE
                    if at != column:
                        return False
                elif self.root is None:
                    self.root = inner = {}
                    column = at
                    levels.append((at, inner))
                elif opened is not None and inner.__class__ is dict:
                    made = inner[opened] = {}
                    column, inner = at, made
                    levels.append((at, made))
                else:
                    return False
            if len(levels) > _MOST_LEVELS or key in inner:
                return False
            if value:
                inner[intern(key)] = scalars.of(value)
                opened = None
            else:
                opened = intern(key)
                inner[opened] = None
        self._open = opened
        return True
