"""Reader of untrusted YAML as plain data, built on libyaml's event stream.

PyYAML's SafeLoader first builds a node graph, which takes twice as long as this reader and lets a small file grow
without bound through aliases. Here tags, merge keys and duplicate keys are refused, depth and what aliases write out
are limited, and the result holds only dict, list, str, int, float, bool and None. An alias gives a copy of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from sys import intern
from typing import Any

import yaml
from yaml._yaml import CParser
from yaml.constructor import SafeConstructor
from yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
    StreamStartEvent,
)
from yaml.resolver import Resolver

from workbench.errors import InputError

__all__ = ["MAX_COPIED", "MAX_DEPTH", "YamlDocument", "read_yaml"]

#: Collections inside one another. Kubernetes objects stay below 40.
MAX_DEPTH = 100

#: Values and keys that the aliases of a document write out: several times the largest pod template.
MAX_COPIED = 10_000

#: Plain scalars whose values are kept to be looked up; names and times never come again, and would fill the memory.
_MOST_SCALARS = 1 << 16

_EMPTY = object()

# What SafeLoader would turn into dates, base-60 numbers or nothing at all, Kubernetes reads as text.
_DATA_TAGS = {f"tag:yaml.org,2002:{name}" for name in ("null", "bool", "int", "float")}


@dataclass(frozen=True)
class YamlDocument:
    """One document of a YAML stream with its parsed value; `line` is its first line, from 1."""

    data: Any
    line: int


def read_yaml(text: bytes, source: str) -> Iterator[YamlDocument]:
    """Parse a YAML stream; yields every document that is not empty.

    Raises InputError: not YAML, or one of the refused constructs; the line is named.

    `text`: UTF-8 or UTF-16 with a byte order mark. `source`: name for error messages.

    Notes
    -----
    Plain scalars resolve as with PyYAML's SafeLoader (YAML 1.1: ``yes`` and ``on`` are true, ``0644`` is 420), except
    dates and base-60 numbers, which stay text. Keys are always text: ``on: x`` has the key ``on``.
    """
    parser: Any = CParser(text)
    scalars: dict[str, Any] = {}
    anchored = b"&" in text
    try:
        event: Any = parser.get_event()
        while (kind := type(event)) is not StreamEndEvent:
            if kind is DocumentStartEvent:
                line = event.start_mark.line + 1
                data, first = _document(parser, scalars, source, _Anchors(source) if anchored else None)
                if data is not _EMPTY:
                    yield YamlDocument(data, max(line, first))
            event = parser.get_event()
    except yaml.YAMLError as error:
        raise _syntax_error(error, source) from None
    except UnicodeError as error:
        raise InputError("not text", source=source, got=str(error)[:80], expected="UTF-8") from None
    finally:
        parser.dispose()


class _Anchors:
    """The values of a document that have an anchor, and how much its aliases may still write out."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._values: dict[str, Any] = {}
        self._left = MAX_COPIED

    def keep(self, name: str, value: Any) -> None:
        """Remember a value that is complete, so that no alias can stand inside of it."""
        self._values[name] = value

    def copy(self, event: Any, depth: int) -> Any:
        """A copy of what an alias stands for, at a depth of the document."""
        if event.anchor not in self._values:
            raise _refused("an alias", event, self._source, f"*{event.anchor}", "an anchor that ended before it")
        return self._copied(self._values[event.anchor], event, depth)

    def _copied(self, value: Any, event: Any, depth: int) -> Any:
        self._left -= 1
        if self._left < 0:
            expected = f"aliases that write out at most {MAX_COPIED} values"
            raise _refused("an alias too many", event, self._source, f"*{event.anchor}", expected)
        if not isinstance(value, (dict, list)):
            return value
        if depth >= MAX_DEPTH:
            raise _refused("nested too deeply", event, self._source, None, f"at most {MAX_DEPTH} levels")
        if isinstance(value, list):
            return [self._copied(each, event, depth + 1) for each in value]
        self._left -= len(value)
        return {key: self._copied(each, event, depth + 1) for key, each in value.items()}


def _document(parser: Any, scalars: dict[str, Any], source: str, anchors: _Anchors | None) -> tuple[Any, int]:
    """Build a document from the parser's events; returns it and its first line. `anchors`: None if there are none."""
    get_event = parser.get_event
    resolve = _resolve
    # `container` is the collection being filled, `key` the pending key of a mapping; `stack` holds the outer ones.
    stack: list[tuple[Any, Any, str | None]] = []
    container: Any = None
    key: Any = _EMPTY
    root: Any = _EMPTY
    first = 0
    while True:
        event = get_event()
        kind = type(event)
        if kind is ScalarEvent:
            value = event.value
            if event.tag is not None:
                raise _refused("a tag", event, source, repr(event.tag), "plain data")
            if container.__class__ is dict and key is _EMPTY:
                if value in container:
                    raise _refused("the same key twice", event, source, repr(value), "each key once")
                if value == "<<" and event.implicit[0]:
                    raise _refused("a merge key", event, source, "<<", "the fields written out")
                key = intern(value)
                continue
            if event.implicit[0]:
                try:
                    value = scalars[value]
                except KeyError:
                    if len(scalars) >= _MOST_SCALARS:
                        scalars.clear()
                    scalars[value] = value = resolve(value, event, source)
            if anchors is not None and event.anchor is not None:
                anchors.keep(event.anchor, value)
        elif kind is MappingStartEvent or kind is SequenceStartEvent:
            if event.tag is not None:
                raise _refused("a tag", event, source, repr(event.tag), "plain data")
            if container.__class__ is dict and key is _EMPTY:
                raise _refused("a key that is no text", event, source, None, "text")
            if len(stack) >= MAX_DEPTH:
                raise _refused("nested too deeply", event, source, None, f"at most {MAX_DEPTH} levels")
            if root is _EMPTY:
                first = event.start_mark.line + 1
            stack.append((container, key, event.anchor))
            container = {} if kind is MappingStartEvent else []
            if root is _EMPTY:
                root = container
            key = _EMPTY
            continue
        elif kind is MappingEndEvent or kind is SequenceEndEvent:
            value = container
            container, key, anchor = stack.pop()
            if anchors is not None and anchor is not None:
                anchors.keep(anchor, value)
        elif kind is DocumentEndEvent:
            return root, first
        elif kind is AliasEvent:
            if anchors is None or container is None or (container.__class__ is dict and key is _EMPTY):
                raise _refused("an alias", event, source, f"*{event.anchor}", "a value behind a key or in a list")
            value = anchors.copy(event, len(stack))
        elif kind is StreamStartEvent:
            continue
        else:
            raise _refused("an unexpected event", event, source, kind.__name__, "a document")
        if container.__class__ is dict:
            container[key] = value
            key = _EMPTY
        elif container is not None:
            container.append(value)
        elif root is _EMPTY:
            # A document of one scalar; a document with nothing in it is such a scalar, too.
            empty = value is None and not event.value
            root, first = (_EMPTY, 0) if empty else (value, event.start_mark.line + 1)


def _resolve(text: str, event: Any, source: str) -> Any:
    """The value of an unquoted scalar by the rules of YAML 1.1."""
    for tag, pattern in Resolver.yaml_implicit_resolvers.get(text[:1], ()):
        if pattern.match(text):
            if tag not in _DATA_TAGS or ":" in text:
                return text
            node = yaml.ScalarNode(tag, text)
            try:
                return _CONSTRUCT[tag](SafeConstructor(), node)
            except ValueError:
                raise _refused("a number out of range", event, source, repr(text[:20]), "a number") from None
    return text


_CONSTRUCT = {tag: SafeConstructor.yaml_constructors[tag] for tag in _DATA_TAGS}


def _refused(what: str, event: Any, source: str, got: str | None, expected: str) -> InputError:
    mark = event.start_mark
    return InputError(
        f"{what} in YAML",
        source=source,
        where=f"line {mark.line + 1}, column {mark.column + 1}",
        got=got,
        expected=expected,
    )


def _syntax_error(error: yaml.YAMLError, source: str) -> InputError:
    mark = getattr(error, "problem_mark", None)
    where = f"line {mark.line + 1}, column {mark.column + 1}" if mark is not None else None
    if isinstance(error, yaml.reader.ReaderError):
        where = f"byte {error.position}"
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "cannot be read"
    return InputError(f"not YAML: {problem}", source=source, where=where, expected="YAML")
