"""Kubernetes objects → YAML text.

Writes block style, one document per object. Every string that any YAML reader could take for something else (a
number, a truth value, a date, ``null``, an indicator) is quoted, for YAML 1.1 and 1.2 alike.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from workbench.errors import InputError

__all__ = ["is_plain", "to_yaml", "to_yaml_value"]

#: Plain scalars that are strings to everyone: a letter first, then nothing that means something to YAML.
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*\Z")
#: Words that some reader takes for a truth value, for nothing or for a number.
_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null", "none", "nan", "inf"})
#: What double quotes must escape beyond JSON's rules: not printable in YAML, a line break to YAML 1.1, or a character
#: that turns the direction of writing.
_ESCAPED = re.compile("[\x7f-\x9f\xa0\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff\ufffe\uffff]")


def to_yaml(manifests: Iterable[Mapping[str, Any]]) -> str:
    """The objects as one multi-document YAML text; keys keep their order.

    Raises
    ------
    InputError
        A value that is no mapping, list, string, number, truth value or None; a key that is no string.
    """
    return "".join("---\n" + "\n".join(_mapping(manifest, "")) + "\n" for manifest in manifests)


def to_yaml_value(value: Mapping[str, Any] | Sequence[Any]) -> str:
    """A mapping or list as block-style YAML without a document marker; else as `to_yaml`."""
    lines = _mapping(value, "") if isinstance(value, Mapping) else _list(value, "")
    return "\n".join(lines) + "\n"


def _mapping(value: Mapping[str, Any], indent: str) -> Iterator[str]:
    if not value:
        yield f"{indent}{{}}"
    for key, item in value.items():
        if not isinstance(key, str):
            raise InputError("keys of an object must be text", source="to_yaml", got=repr(key))
        head = f"{indent}{_text(key)}:"
        if isinstance(item, Mapping) and item:
            yield head
            yield from _mapping(item, indent + "  ")
        elif _is_list(item) and item:
            yield head
            yield from _list(item, indent)
        else:
            yield f"{head} {_scalar(item)}"


def _list(value: Sequence[Any], indent: str) -> Iterator[str]:
    for item in value:
        if (isinstance(item, Mapping) or _is_list(item)) and item:
            inner = indent + "  "
            lines = _mapping(item, inner) if isinstance(item, Mapping) else _list(item, inner)
            # The first line of a nested block starts on the dash's own line.
            yield f"{indent}- {next(lines)[len(inner) :]}"
            yield from lines
        else:
            yield f"{indent}- {_scalar(item)}"


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple))


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return _text(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, Mapping):
        return "{}"
    if _is_list(value):
        return "[]"
    raise InputError("cannot be written as YAML", source="to_yaml", got=type(value).__name__)


def _float(value: float) -> str:
    if value != value or value in (float("inf"), float("-inf")):
        raise InputError("Kubernetes objects hold finite numbers only", source="to_yaml", got=str(value))
    text = repr(value)
    # YAML 1.1 wants a dot and a sign: 1e+20 alone would be read as text.
    return text if "e" not in text or "." in text else text.replace("e", ".0e")


def is_plain(value: str) -> bool:
    """Whether every YAML reader takes the text for text without quotes."""
    return bool(_PLAIN.match(value)) and value.lower() not in _WORDS


def _text(value: str) -> str:
    if is_plain(value):
        return value
    return _ESCAPED.sub(lambda found: f"\\u{ord(found.group()):04x}", json.dumps(value, ensure_ascii=False))
