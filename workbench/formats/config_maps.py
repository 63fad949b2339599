"""Read a configuration that is given either as its own text or inside a ConfigMap manifest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from workbench.errors import InputError
from workbench.formats.yaml_events import read_yaml
from workbench.objects.fields import get_map, shown, wrong

__all__ = ["parse_conf", "parse_text"]

T = TypeVar("T")


def parse_conf(content: bytes, source: str, key: str, what: str, expected: str, read: Callable[[Any], T]) -> T:
    """Read the one configuration in a file that holds its text or a ConfigMap with it.

    Raises InputError: not YAML, no or several configurations, or what `read` raises, with the place.

    Parameters
    ----------
    content : bytes
        YAML: the configuration, or manifests with one ConfigMap that has it under `key`.
    source : str
        Name of the file in errors.
    key, what, expected : str
        Key of the ConfigMap; name of the configuration in errors; description of its expected content in errors.
    read : function
        Function from the parsed configuration (None: an empty text inside a ConfigMap) to its value.
    """
    documents = list(read_yaml(content, source))
    inner = [
        text
        for document in documents
        if (text := _of_config_map(document.data, key, what, source, f"line {document.line}")) is not None
    ]
    if len(inner) > 1 or (not inner and len(documents) != 1):
        raise InputError(
            f"not one {what}",
            source=source,
            got=f"{len(inner) or len(documents)} of them",
            expected=f"{expected}, or one ConfigMap with {key}",
        )
    try:
        return parse_text(inner[0], source, read) if inner else read(documents[0].data)
    except InputError as error:
        where = f"data[{key}], {error.where}" if inner and error.where else error.where
        raise InputError(error.message, source=source, where=where, got=error.got, expected=error.expected) from None


def parse_text(text: str, source: str, read: Callable[[Any], T]) -> T:
    """Read the configuration in a ConfigMap's value, which may have at most one YAML document.

    `source`: name of the file in errors. `read`: as for `parse_conf`.
    """
    documents = list(read_yaml(text.encode("utf-8", "surrogatepass"), source))
    if len(documents) > 1:
        raise wrong("", f"{len(documents)} documents", "one document")
    return read(documents[0].data if documents else None)


def _of_config_map(data: Any, key: str, what: str, source: str, place: str) -> str | None:
    """The text under `key` of a ConfigMap manifest; None if `data` is no ConfigMap. Other arguments are for errors."""
    if type(data) is not dict or data.get("kind") is None:
        return None
    if data["kind"] == "List":
        found = [_of_config_map(item, key, what, source, place) for item in data.get("items") or ()]
        return next((text for text in found if text is not None), None)
    if data["kind"] != "ConfigMap":
        return None
    text = get_map(data, "data", "").get(key)
    if type(text) is not str:
        raise InputError(
            f"a ConfigMap without a {what}",
            source=source,
            where=place,
            got=shown(text),
            expected=f"text under data[{key}]",
        )
    return text
