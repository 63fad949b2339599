"""Find fields of a manifest whose value has the wrong type, as the validation of a CustomResourceDefinition does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from workbench.objects.fields import child
from workbench.objects.schemas.notation import Field
from workbench.objects.schemas.unknown import types

__all__ = ["wrong_types_in"]

#: Name of a JSON type, and the Python types that a parsed manifest has for it.
_JSON: Mapping[type, str] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}
_SCALARS: Mapping[str, frozenset[str]] = {
    "text": frozenset({"string"}),
    "int": frozenset({"integer"}),
    "bool": frozenset({"boolean"}),
    "quantity": frozenset({"integer", "string"}),
    "keys": frozenset({"object"}),
}

#: Fields that the API server itself checks, and whose content a CustomResourceDefinition accepts as it is.
_NOT_LOOKED_INTO = frozenset({"ObjectMeta", "JobTemplate", "PersistentVolumeClaimSpec"})


def wrong_types_in(data: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Fields of one of Volcano's kinds with a value of the wrong type: (path, the API server's message) each.

    `data`: the parsed manifest of a Job, PodGroup, Queue, HyperNode or HyperJob. Pod templates are not looked into: the
    definitions of Volcano's kinds accept them as they are.
    """
    return list(_in_object(data, str(data["kind"]), ""))


def _in_object(data: Mapping[str, Any], name: str, path: str) -> Iterator[tuple[str, str]]:
    fields = types()[name]
    for key, value in data.items():
        field = fields.get(key)
        if field is not None and field.base not in _NOT_LOOKED_INTO:
            yield from _in_field(value, field, child(path, key))


def _in_field(value: Any, field: Field, path: str) -> Iterator[tuple[str, str]]:
    # The API server drops a field that is null before it validates the rest.
    if field.of == "any" or value is None:
        return
    found = _JSON.get(type(value), "string")
    if isinstance(field.of, Field):
        wanted = "array" if field.form == "list" else "object"
        if found != wanted:
            yield _wrong(path, found, wanted)
        elif field.form == "list":
            for i, item in enumerate(value):
                yield from _in_field(item, field.of, f"{path}[{i}]")
        else:
            for key, item in value.items():
                yield from _in_field(item, field.of, child(path, str(key)))
    elif field.of in _SCALARS:
        if found not in _SCALARS[field.of]:
            yield _wrong(path, found, "integer or string" if field.of == "quantity" else min(_SCALARS[field.of]))
    elif found != "object":
        yield _wrong(path, found, "object")
    else:
        yield from _in_object(value, field.of, path)


def _wrong(path: str, found: str, wanted: str) -> tuple[str, str]:
    return path, f'{path}: Invalid value: "{found}": {path} in body must be of type {wanted}: "{found}"'
