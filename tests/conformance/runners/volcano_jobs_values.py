"""How the cases of `volcano-jobs` compare values, and their list `assert` (conventions of their README)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tests.conformance.registry import NotUnderstood

__all__ = ["assert_all", "assert_error", "assert_same", "same"]

_EMPTY: tuple[Any, ...] = (None, "", [], {}, 0, False)
_MISSING = object()


def assert_same(found: Any, want: Any, where: str = "") -> None:
    """Absent, null, empty, 0 and false are one value."""
    assert same(found, want), f"{where}: {found!r}, expected {want!r}"


def same(found: Any, want: Any) -> bool:
    if isinstance(want, Mapping) and "$contains" in want:
        return isinstance(found, str) and all(piece in found for piece in want["$contains"])
    if isinstance(want, Mapping) and "$nonempty" in want:
        return isinstance(found, str) and bool(found)
    if isinstance(found, Mapping) and isinstance(want, Mapping):
        return all(same(found.get(key), want.get(key)) for key in found.keys() | want.keys())
    if _empty(found) or _empty(want):
        return _empty(found) and _empty(want)
    if isinstance(want, list):
        return isinstance(found, list) and len(found) == len(want) and all(map(same, found, want))
    return type(found) is type(want) and found == want


def assert_error(error: Exception | None, want: str | None) -> None:
    """The error of an operation against the key `error` of a case: null for none, else a piece of its message."""
    if want is None:
        assert error is None, error
    else:
        assert error is not None and want in str(error), error


def assert_all(document: Mapping[str, Any], checks: Sequence[Mapping[str, Any]]) -> None:
    """Hold a result document to the entries of `assert`."""
    for check in checks:
        if check.keys() - {"path", "op", "value"} or check["op"] not in _OPS:
            raise NotUnderstood(f"check {check!r}")
        found = _at(document, check["path"].split("/")[1:])
        assert _OPS[check["op"]](found, check.get("value")), f"{check}: found {None if found is _MISSING else found!r}"


def _at(value: Any, path: Sequence[str]) -> Any:
    for i, segment in enumerate(path):
        if segment == "*":
            found = [_at(each, path[i + 1 :]) for each in value or ()]
            return [each for each in found if each is not _MISSING]
        if segment.startswith("[") and "=" in segment:
            key, _, text = segment[1:-1].partition("=")
            value = next((each for each in value or () if each.get(key) == text), _MISSING)
        elif isinstance(value, list):
            value = value[int(segment)] if int(segment) < len(value) else _MISSING
        else:
            value = value.get(segment.replace("~1", "/").replace("~0", "~"), _MISSING)
        if value is _MISSING or value is None:
            return _MISSING
    return value


def _empty(value: Any) -> bool:
    return any(value is empty or (type(value) is type(empty) and value == empty) for empty in _EMPTY)


def _includes(found: Any, want: Any) -> bool:
    if isinstance(want, Mapping) and not {"$contains", "$nonempty"} & want.keys():
        given = found if isinstance(found, Mapping) else {}
        return all(_includes(given.get(key), value) for key, value in want.items())
    if isinstance(want, list) and want:
        return isinstance(found, list) and len(found) == len(want) and all(map(_includes, found, want))
    return same(found, want)


def _has(found: Any, want: Any) -> bool:
    return isinstance(found, list) and all(any(same(each, one) for each in found) for one in want)


_OPS = {
    "equals": lambda found, want: same(None if found is _MISSING else found, want),
    "includes": lambda found, want: _includes(None if found is _MISSING else found, want),
    "has": _has,
    "set": lambda found, want: _has(found, want) and len(found) == len(want) and _has(want, found),
    "count": lambda found, want: (0 if found is _MISSING else len(found)) == want,
    "present": lambda found, want: found is not _MISSING,
    "absent": lambda found, want: found is _MISSING,
    "empty": lambda found, want: found is _MISSING or _empty(found),
    "nonempty": lambda found, want: found is not _MISSING and not _empty(found),
    "json-equals": lambda found, want: isinstance(found, str) and json.loads(found) == want,
}
