"""How HyperNode members select names: exactly, by a Go regular expression, or by labels."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import re2

from workbench.errors import InputError
from workbench.model.labels import Requirement
from workbench.objects.fields import child, get_list, get_maps, get_text, get_texts, wrong

__all__ = ["NameIndex", "Selector", "compile_pattern", "read_label_selector", "resolve_selector"]

_LABEL_OPERATORS = {"In", "NotIn", "Exists", "DoesNotExist"}


@lru_cache(maxsize=1 << 14)
def compile_pattern(pattern: str) -> Any:
    """Compile a pattern of Go's regular expressions; ``search`` of the result is Go's MatchString (unanchored).

    Raises
    ------
    InputError
        RE2 refuses the pattern, or it holds ``\\C``, which RE2 knows and Go does not (DESIGN decision 9).
    """
    if _has_byte_escape(pattern):
        raise InputError("the pattern is no Go regular expression", got=repr(pattern), expected="no \\C")
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0]
        text = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        raise InputError(
            f"the pattern is no Go regular expression: {text}", got=repr(pattern), expected="RE2 syntax"
        ) from None


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
    """The conditions of a label selector; empty selects nothing.

    An operator that label selectors do not have, or values where there may be none, makes the whole selector select
    nothing (reference/volcano-topology.md section 2.1); a field of the wrong type is an InputError.
    """
    found = [Requirement(key, "In", (value,)) for key, value in get_texts(data, "matchLabels", where).items()]
    for path, item in get_maps(data, "matchExpressions", where):
        operator = get_text(item, "operator", path)
        values = get_list(item, "values", path)
        for value in values:
            if type(value) is not str:
                raise wrong(child(path, "values"), value, "a list of text")
        key = get_text(item, "key", path)
        if operator not in _LABEL_OPERATORS or bool(values) != (operator in ("In", "NotIn")) or not key:
            return ()
        found.append(Requirement(key, operator, tuple(values)))  # type: ignore[arg-type]
    return tuple(found)


@dataclass(frozen=True)
class Selector:
    """One of three ways to name members; all None selects nothing.

    Attributes
    ----------
    exact : str, optional
    pattern : str, optional
        Go regular expression, unanchored.
    labels : tuple of Requirement, optional
        All must hold; empty selects nothing.
    """

    exact: str | None = None
    pattern: str | None = None
    labels: tuple[Requirement, ...] | None = None


class NameIndex:
    """Node names and labels, prepared for resolving many selectors.

    Parameters
    ----------
    names : sequence of str
    labels : sequence of mapping, optional
        Labels of each node, in the order of `names`; none by default.
    """

    def __init__(self, names: Sequence[str], labels: Sequence[Mapping[str, str]] = ()) -> None:
        self.names = names
        self.labels = labels
        self.position = {name: i for i, name in enumerate(names)}
        self._sorted: list[tuple[bytes, int]] | None = None

    def matching(self, pattern: str) -> list[int]:
        """Positions of the names in which a pattern is found, ascending; none if the pattern does not compile."""
        try:
            search = compile_pattern(pattern).search
        except InputError:
            return []
        candidates = self._candidates(pattern)
        return [i for i in candidates if search(self.names[i]) is not None]

    def holding(self, requirements: Sequence[Requirement]) -> list[int]:
        """Positions of the nodes whose labels satisfy all requirements, ascending; none for no requirement."""
        if not requirements:
            return []
        return [i for i, row in enumerate(self.labels) if all(r.holds(row) for r in requirements)]

    def _candidates(self, pattern: str) -> Sequence[int]:
        # RE2 bounds the names that a pattern anchored at the start can match, which spares the scan for the usual
        # "^rack-17-". The bound is only right where nothing can undo the anchor, hence the exclusions.
        if not pattern.startswith("^") or pattern[1:2] in tuple("*+?{") or "|" in pattern or "(?" in pattern:
            return range(len(self.names))
        if self._sorted is None:
            self._sorted = sorted((name.encode(), i) for i, name in enumerate(self.names))
        try:
            low, high = compile_pattern(pattern).possiblematchrange(64)
        except re2.error:
            return range(len(self.names))
        first = bisect_left(self._sorted, (low, -1))
        last = bisect_right(self._sorted, (high, len(self.names)))
        return sorted(i for _, i in self._sorted[first:last])


def resolve_selector(selector: Selector, index: NameIndex) -> list[str]:
    """The names that a selector yields.

    An exact name is yielded whether or not such a node exists; an empty name, a pattern that does not compile and an
    empty label selector yield nothing.

    Returns
    -------
    list of str
        In the order of the index.

    Notes
    -----
    Source: reference/volcano-topology.md section 2.1. If several selectors are set (admission refuses that), exact
    wins over pattern over labels.
    """
    if selector.exact is not None:
        return [selector.exact] if selector.exact else []
    if selector.pattern is not None:
        return [index.names[i] for i in index.matching(selector.pattern)] if selector.pattern else []
    return [index.names[i] for i in index.holding(selector.labels or ())]
