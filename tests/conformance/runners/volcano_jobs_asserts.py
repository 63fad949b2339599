"""How cases of the area volcano-jobs compare values, and their list `expected.assert`: paths into a result document.

The area's README describes the operators and says which values are the same: absent, null, "", [], {}, 0 and false.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tests.conformance.registry import NotUnderstood
from workbench.errors import InputError
from workbench.objects.quantity import parse_quantity

__all__ = ["assert_error", "assert_holds", "assert_same", "includes", "same"]

#: Mappings of resources, whose values are compared as quantities.
_QUANTITIES = frozenset({"minResources", "requests", "limits"})


def assert_holds(document: Mapping[str, Any], assertions: Sequence[Mapping[str, Any]]) -> None:
    """Check each assertion; NotUnderstood for an operator or a root that nobody knows."""
    for one in assertions:
        if one.keys() - {"path", "op", "value"}:
            raise NotUnderstood(f"an assertion with {', '.join(sorted(one))}")
        if one["op"] not in _OPERATORS:
            raise NotUnderstood(f"operator {one['op']!r}; known are {', '.join(sorted(_OPERATORS))}")
        root = one["path"].split("/")[1]
        if root not in document:
            raise NotUnderstood(f"{one['path']}: the result has only {', '.join(sorted(document))}")
        found = _at(document, one["path"])
        last = one["path"].rsplit("/", 1)[1]
        assert _OPERATORS[one["op"]](found, one.get("value"), last in _QUANTITIES), (one, found)


def assert_same(found: Any, want: Any, where: str = "") -> None:
    """Check a value, with the place where it was found for the message."""
    assert same(found, want), f"{where}: {found!r}, expected {want!r}"


def assert_error(error: Exception | None, want: str | None) -> None:
    """Check the error of an operation against a case's key `error`: null for none, else a piece of its message."""
    if want is None:
        assert error is None, error
    else:
        assert error is not None and want in str(error), error


_MISSING = object()


def _at(document: Any, path: str) -> Any:
    """The value at a path; `_MISSING`: nothing is there."""
    found = document
    parts = path.split("/")[1:]
    for position, part in enumerate(parts):
        if part == "*":
            rest = "".join(f"/{each}" for each in parts[position + 1 :])
            below = [_at(item, rest) if rest else item for item in _list(found)]
            return [item for item in below if item is not _MISSING]
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(found, Mapping):
            found = found.get(key, _MISSING)
        elif isinstance(found, Sequence) and part.startswith("["):
            name, _, text = key[1:-1].partition("=")
            found = next((item for item in found if str(item.get(name)) == text), _MISSING)
        elif isinstance(found, Sequence) and not isinstance(found, str) and key.isdigit() and int(key) < len(found):
            found = found[int(key)]
        else:
            return _MISSING
    return _MISSING if found is None else found


def same(found: Any, want: Any, quantities: bool = False) -> bool:
    """Whether two values are equal; absent and empty values of any kind are."""
    if (spoken := _said(found, want)) is not None:
        return spoken
    if _is_empty(found) or _is_empty(want):
        return _is_empty(found) and _is_empty(want)
    if isinstance(found, Mapping) and isinstance(want, Mapping):
        return all(same(found.get(key), want.get(key), quantities or key in _QUANTITIES) for key in {*found, *want})
    if _is_list(found) and _is_list(want):
        return len(found) == len(want) and all(map(same, found, want))
    # A truth value is no number, although Python counts with it.
    equal = isinstance(found, bool) is isinstance(want, bool) and bool(found == want)
    return equal or (quantities and _quantity(found) == _quantity(want))


def includes(found: Any, want: Any, quantities: bool = False) -> bool:
    """Whether all that is wanted is there, recursively; lists are of one length."""
    if (spoken := _said(found, want)) is not None:
        return spoken
    if isinstance(want, Mapping):
        inside = found if isinstance(found, Mapping) else {}
        return all(includes(inside.get(key), value, quantities or key in _QUANTITIES) for key, value in want.items())
    if _is_list(want) and want:
        return _is_list(found) and len(found) == len(want) and all(map(includes, found, want))
    return same(found, want, quantities)


def _said(found: Any, want: Any) -> bool | None:
    """Whether a text is as ``$nonempty`` or ``$contains`` says; None: the value wanted is a value."""
    if not isinstance(want, Mapping) or len(want) != 1:
        return None
    if "$nonempty" in want:
        return isinstance(found, str) and bool(found)
    if "$contains" in want:
        return isinstance(found, str) and all(fragment in found for fragment in want["$contains"])
    return None


def _quantity(value: Any) -> Any:
    try:
        return parse_quantity(str(value))
    except InputError:
        return value


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _is_empty(value: Any) -> bool:
    """A mapping of nothing but empty values is one of them: every key may be left out."""
    if isinstance(value, Mapping):
        return all(map(_is_empty, value.values()))
    return value is _MISSING or value is None or value == "" or value == [] or value == () or value == 0


def _list(value: Any) -> list[Any]:
    return [] if value is _MISSING or value is None else list(value)


def _has(found: Sequence[Any], want: Sequence[Any]) -> bool:
    return all(any(same(item, value) for item in found) for value in want)


_OPERATORS = {
    "equals": same,
    "includes": includes,
    "has": lambda found, want, _: _has(_list(found), want),
    "set": lambda found, want, _: (
        len(_list(found)) == len(want) and _has(_list(found), want) and _has(want, _list(found))
    ),
    "count": lambda found, want, _: len(_list(found)) == want,
    "present": lambda found, _, __: found is not _MISSING,
    "absent": lambda found, _, __: found is _MISSING,
    "empty": lambda found, _, __: _is_empty(found),
    "nonempty": lambda found, _, __: not _is_empty(found),
    "json-equals": lambda found, want, _: isinstance(found, str) and json.loads(found) == want,
}
