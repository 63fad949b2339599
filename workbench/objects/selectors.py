"""Selectors of HyperNode members (exact name, Go regular expression, or labels) and their resolution to node names."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import re2

from workbench.errors import InputError, InternalError
from workbench.model.labels import Requirement
from workbench.objects.fields import get_maps, get_text, get_text_list, get_texts
from workbench.objects.names import is_label_value, qualified_name_errors

__all__ = ["NameIndex", "Selector", "compile_pattern", "read_label_selector", "resolve_selector"]

# RE2 searches a set of patterns with one automaton; these bounds keep the automaton within its memory limit.
_PATTERNS_AT_ONCE = 256
_SEARCH_MEMORY = 256 << 20

_NO_LABELS: Mapping[str, str] = {}

_LABEL_OPERATORS = {"In", "NotIn", "Exists", "DoesNotExist"}


@lru_cache(maxsize=1 << 14)
def compile_pattern(pattern: str) -> Any:
    """Compile a Go regular expression; the result's method ``search`` matches anywhere in a text, as Go's MatchString.

    Raises InputError: RE2 refuses the pattern, or it holds ``\\C``, which RE2 knows and Go does not (docs/decisions.md,
    decision 9).
    """
    if _has_byte_escape(pattern):
        raise InputError("the pattern is no Go regular expression", got=repr(pattern), expected="no \\C")
    try:
        return _compile(pattern)
    except (re2.error, UnicodeEncodeError) as error:
        text = f"the pattern is no Go regular expression: {_reason_of(error)}"
        raise InputError(text, got=repr(pattern), expected="RE2 syntax") from None


def why_no_pattern(pattern: str) -> str:
    """The error text of a regular expression that `compile_pattern` refuses; empty if the pattern compiles."""
    if _has_byte_escape(pattern):
        return "invalid escape sequence"
    # Patterns that compile are remembered, and most do.
    if pattern_error(pattern) is None:
        return ""
    try:
        _compile(pattern)
    except (re2.error, UnicodeEncodeError) as error:
        return _reason_of(error)
    raise InternalError(f"RE2 refuses the pattern {pattern!r} only sometimes")


def _compile(pattern: str) -> Any:
    options = re2.Options()
    options.log_errors = False
    return re2.compile(pattern, options)


def _reason_of(error: Exception) -> str:
    reason = error.args[0]
    text = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
    return " ".join(text.split())


def _has_byte_escape(pattern: str) -> bool:
    i = 0
    while (i := pattern.find("\\", i)) >= 0:
        escaped = pattern[i + 1 : i + 2]
        if escaped == "C":
            return True
        if escaped == "Q":
            end = pattern.find("\\E", i)
            if end < 0:
                return False
            i = end
        i += 2
    return False


def read_label_selector(data: Mapping[str, Any], where: str) -> tuple[Requirement, ...]:
    """Read the requirements of a Kubernetes label selector; an empty selector selects nothing.

    An unknown operator, values for an operator that takes none, or a key or value that no label can have makes the
    whole selector select nothing (docs/reference/volcano-topology.md, section 2.1). A field of the wrong type raises
    InputError; `where` is its path.
    """
    found = [Requirement(key, "In", (value,)) for key, value in get_texts(data, "matchLabels", where).items()]
    for path, item in get_maps(data, "matchExpressions", where):
        operator = get_text(item, "operator", path)
        values = get_text_list(item, "values", path)
        key = get_text(item, "key", path)
        if operator not in _LABEL_OPERATORS or bool(values) != (operator in ("In", "NotIn")):
            return ()
        found.append(Requirement(key, operator, tuple(values)))  # type: ignore[arg-type]
    return tuple(found) if all(map(_is_possible, found)) else ()


def _is_possible(requirement: Requirement) -> bool:
    return not qualified_name_errors(requirement.key) and all(map(is_label_value, requirement.values))


@dataclass(frozen=True)
class Selector:
    """Selector of a HyperNode member: exact name, regular expression or labels; without any of them it selects nothing.

    `pattern`: Go regular expression, unanchored. `labels`: requirements that must all hold; empty selects nothing.
    """

    exact: str | None = None
    pattern: str | None = None
    labels: tuple[Requirement, ...] | None = None


class NameIndex:
    """Names and labels of nodes, prepared for resolving many selectors; nodes can be added and removed.

    `names`: names of the nodes, distinct. `labels`: labels of each node, in the order of `names`; none by default.
    """

    def __init__(self, names: Sequence[str], labels: Sequence[Mapping[str, str]] = ()) -> None:
        self.names = list(names)
        self.labels = list(labels)
        self.position = {name: i for i, name in enumerate(self.names)}
        self._matches: dict[str, list[int]] = {}
        self._by_label: dict[str, dict[str, list[int]]] = {}
        self._removed: set[int] = set()

    def add(self, name: str, labels: Mapping[str, str]) -> None:
        """Add a node, or replace the labels of an existing one, which then moves to the end of the index."""
        self.remove(name)
        # nodes given without labels
        self.labels += [_NO_LABELS] * (len(self.names) - len(self.labels))
        position = len(self.names)
        self.position[name] = position
        self.names.append(name)
        self.labels.append(labels)
        for pattern, matches in self._matches.items():
            if pattern_error(pattern) is None and compile_pattern(pattern).search(name) is not None:
                matches.append(position)
        for key, by_value in self._by_label.items():
            if key in labels:
                by_value.setdefault(labels[key], []).append(position)

    def remove(self, name: str) -> None:
        """Remove a node by name; the positions of the other nodes do not change."""
        position = self.position.pop(name, None)
        if position is None:
            return
        self._removed.add(position)
        for matches in self._matches.values():
            _drop(matches, position)
        for by_value in self._by_label.values():
            for holders in by_value.values():
                _drop(holders, position)

    def prepare(self, patterns: Iterable[str]) -> None:
        """Find the matches of many regular expressions in one pass over the names.

        `matching` then returns them from a cache. One pass per pattern would cost 24 ms for 20,000 names, and clusters
        have a pattern per rack.
        """
        new = [p for p in dict.fromkeys(patterns) if p not in self._matches]
        for first in range(0, len(new), _PATTERNS_AT_ONCE):
            batch = new[first : first + _PATTERNS_AT_ONCE]
            self._matches |= {pattern: [] for pattern in batch}
            options = re2.Options()
            options.log_errors = False
            options.max_mem = _SEARCH_MEMORY
            together = re2.Set.SearchSet(options)
            # A pattern that matches every name; if it is missing, RE2 ran out of memory, which it does not report.
            together.Add("")
            found = {together.Add(pattern): pattern for pattern in batch if pattern_error(pattern) is None}
            if not found:
                continue
            try:
                together.Compile()
            except re2.error:
                together = None
            for i, name in enumerate(self.names):
                if i in self._removed:
                    continue
                hits = together.Match(name) if together else None
                if hits:
                    patterns_here = [found[number] for number in hits if number in found]
                else:
                    patterns_here = [p for p in found.values() if compile_pattern(p).search(name) is not None]
                for pattern in patterns_here:
                    self._matches[pattern].append(i)

    def matching(self, pattern: str) -> list[int]:
        """Positions of the names in which a Go regular expression matches, ascending; none if it does not compile."""
        if pattern not in self._matches:
            self.prepare([pattern])
        return self._matches[pattern]

    def holding(self, requirements: Sequence[Requirement]) -> list[int]:
        """Positions of the nodes whose labels satisfy all of `requirements`, ascending.

        None if `requirements` is empty.
        """
        if not requirements:
            return []
        candidates: Iterable[int] = range(len(self.labels))
        narrow = next((r for r in requirements if r.operator == "In"), None)
        if narrow is not None:
            by_value = self._values_of(narrow.key)
            candidates = sorted(i for value in set(narrow.values) for i in by_value.get(value, ()))
        present = (i for i in candidates if i not in self._removed)
        return [i for i in present if all(r.holds(self.labels[i]) for r in requirements)]

    def _values_of(self, key: str) -> dict[str, list[int]]:
        if key not in self._by_label:
            by_value: dict[str, list[int]] = {}
            for i, row in enumerate(self.labels):
                if key in row and i not in self._removed:
                    by_value.setdefault(row[key], []).append(i)
            self._by_label[key] = by_value
        return self._by_label[key]


def _drop(positions: list[int], position: int) -> None:
    """Remove `position` from an ascending list, if the list contains it."""
    i = bisect_left(positions, position)
    if i < len(positions) and positions[i] == position:
        del positions[i]


def pattern_error(pattern: str) -> InputError | None:
    """The error that `compile_pattern` raises for a regular expression; None if the pattern compiles."""
    try:
        compile_pattern(pattern)
    except InputError as error:
        return error
    return None


def resolve_selector(selector: Selector, index: NameIndex) -> list[str]:
    """The names of the nodes that a HyperNode member's selector selects.

    An exact name is returned whether or not such a node exists; an empty name, a pattern that does not compile and an
    empty label selector select nothing. An empty pattern matches every name.

    Returns names in the order of the index.

    Source: docs/reference/volcano-topology.md, section 2.1. If several selectors are set (which admission refuses), the
    exact name is used, else the pattern.
    """
    if selector.exact is not None:
        return [selector.exact] if selector.exact else []
    if selector.pattern is not None:
        return [index.names[i] for i in index.matching(selector.pattern)]
    return [index.names[i] for i in index.holding(selector.labels or ())]
