"""Readers of typed fields in parsed manifests, with error messages that name the field.

A wrong type raises `InputError` with the field's path, the value found and the type expected; the caller adds the file
and the document. Null counts as absent, as in the Kubernetes API. Plain functions are used instead of pydantic models
because 20,000 Nodes may be read at once, and because the message must name the field as the user wrote it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from workbench.errors import InputError

__all__ = [
    "MOST_PODS",
    "child",
    "copied",
    "get_bool",
    "get_count",
    "get_int",
    "get_list",
    "get_map",
    "get_maps",
    "get_text",
    "get_text_list",
    "get_texts",
    "group_kind",
    "path_steps",
    "shown",
    "wrong",
]

#: Most pods of one role: a typing error must not allocate memory for two thousand million pods.
MOST_PODS = 1_000_000

_LONGEST_SHOWN = 60

#: One step of a field path: a key in brackets and quotes, an index in brackets, or a key.
_STEP = re.compile(r"\['([^']*)'\]|\[([0-9]{1,9})\]|([^.\[\]]+)")

#: What a template leaves to be filled in: ``$NODES``, ``${NODES}``, ``{{ .Values.nodes }}``, ``<nodes>``, ``...``.
_PLACEHOLDER = re.compile(r"\$\w+|\$\{[^}]*\}|\$\([^)]*\)|\{\{.*\}\}|<[^<>]+>|\.\.\.")

_KINDS = {dict: "a mapping", list: "a list", bool: "a truth value", int: "a number", float: "a number", str: "text"}


def group_kind(data: Mapping[str, Any]) -> tuple[str, str]:
    """API group and kind that a parsed manifest states; empty is the group of Kubernetes' own first kinds."""
    return str(data.get("apiVersion")).rpartition("/")[0], str(data.get("kind"))


def child(where: str, key: str) -> str:
    """The path of field `key` inside the mapping at path `where`; `where` is empty for the object itself."""
    return f"{where}.{key}" if where else key


def copied(value: Any) -> Any:
    """A copy of a manifest, or of a part of one: its mappings and lists are new, the other values are shared."""
    if isinstance(value, Mapping):
        return {key: copied(item) for key, item in value.items()}
    return [copied(item) for item in value] if isinstance(value, list) else value


def path_steps(path: str) -> tuple[str | int, ...]:
    """Split a field path such as ``spec.tasks[0].name`` into keys and indices."""
    found = (match.groups("") for match in _STEP.finditer(path))
    return tuple(int(index) if index else quoted or key for quoted, index, key in found)


def shown(value: Any) -> str:
    """A value as text for an error message: its type and, if it is short, the value itself."""
    if value is None:
        return "nothing"
    kind = _KINDS.get(type(value), type(value).__name__)
    if isinstance(value, (dict, list)):
        return f"{kind} of {len(value)}"
    text = repr(value)
    return f"{kind} {text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + '...'}"


def wrong(where: str, value: Any, expected: str) -> InputError:
    """Make the InputError for a field of the wrong type or with an impossible value.

    `where`: path of the field. `value`: value found. `expected`: description of the values allowed.
    """
    message = "the field is missing" if value is None else "wrong type or value"
    if type(value) is str and _PLACEHOLDER.fullmatch(value):
        message = "a placeholder that nobody has filled in"
    return InputError(message, where=where or "the object", got=shown(value), expected=expected)


def get_map(data: Mapping[str, Any], key: str, where: str) -> dict[str, Any]:
    """Read a field that must be a mapping; returns an empty one if the field is absent.

    `data`: the mapping that has the field. `key`: name of the field. `where`: path of `data`, for error messages.
    """
    value = data.get(key)
    if value is None:
        return {}
    if type(value) is not dict:
        raise wrong(child(where, key), value, "a mapping")
    return value


def get_list(data: Mapping[str, Any], key: str, where: str) -> list[Any]:
    """Read a field that must be a list; returns an empty one if the field is absent.

    `data`, `key`, `where`: as in `get_map`.
    """
    value = data.get(key)
    if value is None:
        return []
    if type(value) is not list:
        raise wrong(child(where, key), value, "a list")
    return value


def get_text_list(data: Mapping[str, Any], key: str, where: str) -> list[str]:
    """Read a field that must be a list of strings; returns an empty list if it is absent.

    `data`, `key`, `where`: as in `get_map`.
    """
    values = get_list(data, key, where)
    if any(type(value) is not str for value in values):
        raise wrong(child(where, key), values, "a list of text")
    return values


def get_maps(data: Mapping[str, Any], key: str, where: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Read a field that must be a list of mappings; yields the path and the value of each item.

    `data`, `key`, `where`: as in `get_map`.
    """
    field = child(where, key)
    for i, item in enumerate(get_list(data, key, where)):
        path = f"{field}[{i}]"
        if type(item) is not dict:
            raise wrong(path, item, "a mapping")
        yield path, item


def get_text(data: Mapping[str, Any], key: str, where: str, default: str = "") -> str:
    """Read a field that must be a string; a number raises InputError, as in the Kubernetes API.

    `data`, `key`, `where`: as in `get_map`.

    `default`: value where absent.
    """
    value = data.get(key)
    if value is None:
        return default
    if type(value) is not str:
        raise wrong(child(where, key), value, "text")
    return value


def get_int(data: Mapping[str, Any], key: str, where: str) -> int | None:
    """Read a field that must be a 32-bit integer, as all counts of the Kubernetes API are; None if it is absent.

    A boolean raises InputError.

    `data`, `key`, `where`: as in `get_map`.
    """
    value = data.get(key)
    if value is None:
        return None
    if type(value) is not int or not -(2**31) <= value < 2**31:
        raise wrong(child(where, key), value, "a whole number of 32 bits")
    return value


def get_count(data: Mapping[str, Any], key: str, where: str, default: int) -> int:
    """Read a field that is a number of pods.

    More than a million raises InputError, negative numbers are left to admission.

    `data`, `key`, `where`: as in `get_map`.

    `default`: value where absent.
    """
    value = get_int(data, key, where)
    if value is not None and value > MOST_PODS:
        raise wrong(child(where, key), value, f"at most {MOST_PODS} pods")
    return default if value is None else value


def get_bool(data: Mapping[str, Any], key: str, where: str, default: bool = False) -> bool:
    """Read a field that must be a boolean; a string such as "yes" raises InputError.

    `data`, `key`, `where`: as in `get_map`.

    `default`: value where absent.
    """
    value = data.get(key)
    if value is None:
        return default
    if type(value) is not bool:
        raise wrong(child(where, key), value, "true or false")
    return value


def get_texts(data: Mapping[str, Any], key: str, where: str) -> dict[str, str]:
    """Read a field that must map strings to strings, such as labels; returns an empty mapping if it is absent.

    `data`, `key`, `where`: as in `get_map`.
    """
    values = get_map(data, key, where)
    for name, value in values.items():
        if type(value) is not str:
            raise wrong(f"{child(where, key)}[{name!r}]", value, "text (in quotes)")
    return values
