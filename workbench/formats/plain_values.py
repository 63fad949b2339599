"""Frozen dataclasses of plain values as JSON and back, by the types of their fields."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from workbench.errors import InputError
from workbench.objects.fields import child, wrong

__all__ = ["from_plain", "to_plain"]

T = TypeVar("T")

_WORDS: dict[Any, str] = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}


def to_plain(value: Any) -> Any:
    """A value as JSON knows it: of a dataclass the fields that differ from their defaults.

    `value`: a dataclass, a text, a number, a boolean, None, or a tuple or a mapping of texts to such values.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: to_plain(getattr(value, field.name))
            for field in dataclasses.fields(value)
            if field.init and getattr(value, field.name) != _default(field)
        }
    if isinstance(value, Mapping):
        return {key: to_plain(item) for key, item in value.items()}
    return [to_plain(item) for item in value] if isinstance(value, tuple | list) else value


def from_plain(kind: type[T], data: Any, where: str) -> T:
    """The value of a class that `to_plain` wrote.

    `kind`: a dataclass whose fields have the types that `to_plain` takes. `data`: parsed JSON. `where`: path of `data`,
    for error messages. Raises InputError: a value of another type, a field that is missing, or one that the class does
    not have.
    """
    if type(data) is not dict:
        raise wrong(where, data, "a mapping")
    hints, fields = _hints(kind), {field.name: field for field in dataclasses.fields(kind) if field.init}  # type: ignore[arg-type]
    for key in data:
        if key not in fields:
            raise wrong(child(where, str(key)), data[key], f"one of {', '.join(fields)}")
    found = {}
    for name, field in fields.items():
        if name in data:
            found[name] = _read(hints[name], data[name], child(where, name))
        elif _default(field) is dataclasses.MISSING:
            raise wrong(child(where, name), None, "a value")
    return kind(**found)


def _default(field: dataclasses.Field[Any]) -> Any:
    made = field.default_factory
    return field.default if made is dataclasses.MISSING else made()


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _read(hint: Any, data: Any, where: str) -> Any:
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return _one_of(inner, data, where)
    if origin is Literal:
        if data not in inner:
            raise wrong(where, data, ", ".join(map(str, inner)))
        return data
    if origin is tuple:
        return _tuple(inner, data, where)
    if origin is not None and issubclass(origin, Mapping):
        if type(data) is not dict:
            raise wrong(where, data, "a mapping")
        return {
            _read(inner[0], key, where): _read(inner[1], item, child(where, str(key))) for key, item in data.items()
        }
    if dataclasses.is_dataclass(hint):
        return from_plain(hint, data, where)  # type: ignore[arg-type]
    if hint is float and type(data) is int:
        return float(data)
    if type(data) is not hint:
        raise wrong(where, data, _WORDS.get(hint, str(hint)))
    return data


def _one_of(kinds: tuple[Any, ...], data: Any, where: str) -> Any:
    if data is None and NoneType in kinds:
        return None
    rest = [kind for kind in kinds if kind is not NoneType]
    if len(rest) == 1:
        return _read(rest[0], data, where)
    for kind in rest:
        try:
            return _read(kind, data, where)
        except InputError:
            continue
    raise wrong(where, data, " or ".join(_WORDS.get(kind, str(kind)) for kind in rest))


def _tuple(kinds: tuple[Any, ...], data: Any, where: str) -> tuple[Any, ...]:
    if type(data) is not list:
        raise wrong(where, data, "a list")
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        return tuple(_read(kinds[0], item, f"{where}[{i}]") for i, item in enumerate(data))
    if len(data) != len(kinds):
        raise wrong(where, data, f"a list of {len(kinds)}")
    return tuple(_read(kind, item, f"{where}[{i}]") for i, (kind, item) in enumerate(zip(kinds, data, strict=True)))
