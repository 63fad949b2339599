"""Writer of plain data (dicts, lists, scalars) as YAML text, the only one in the package.

Writes block style, one document per object. Every string that any YAML reader could take for something else (a
number, a truth value, a date, ``null``, an indicator) is quoted, for YAML 1.1 and 1.2 alike.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from workbench.errors import InputError

__all__ = ["is_plain", "to_yaml", "to_yaml_scalar", "to_yaml_value"]

#: Plain scalars that are strings to everyone: a letter first, then nothing that means something to YAML.
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*\Z")
#: Words that some reader takes for a truth value, for nothing or for a number.
_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null", "none", "nan", "inf"})
#: What double quotes must escape beyond JSON's rules: not printable in YAML, a line break to YAML 1.1, or a character
#: that turns the direction of writing.
_ESCAPED = re.compile("[\x7f-\x9f\xa0\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff\ufffe\uffff]")
#: Readers look for the colon behind a key in the next 1,024 characters; a longer key is written as ``? key``.
_LONGEST_SIMPLE_KEY = 1000

_COLLECTIONS = (dict, list, tuple, Mapping)


def to_yaml(manifests: Iterable[Mapping[str, Any]]) -> str:
    """The given objects as one YAML text with a document for each; keys keep their order.

    Raises InputError: a value that is no mapping, list, string, number, truth value or None; a key that is no string.
    """
    writer = _Writer()
    for manifest in manifests:
        writer.lines.append("---")
        writer.mapping(manifest, "", "")
    return writer.text()


def to_yaml_value(value: Mapping[str, Any] | Sequence[Any]) -> str:
    """A mapping or list as block-style YAML without a document marker; raises InputError like `to_yaml`."""
    writer = _Writer()
    writer.block(value, "", "")
    return writer.text()


def to_yaml_scalar(value: object) -> str:
    """A string, number, boolean, None or empty collection as one line of YAML; raises InputError like `to_yaml`."""
    if isinstance(value, str):
        return _string(value)
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
    if isinstance(value, (list, tuple)):
        return "[]"
    raise InputError("cannot be written as YAML", source="to_yaml", got=type(value).__name__)


def is_plain(value: str) -> bool:
    """Whether every YAML reader reads this text as a string if it is written without quotes."""
    return _PLAIN.match(value) is not None and value.lower() not in _WORDS


class _Strings(dict[str, str]):
    """Cache of the YAML form of strings, since objects of one kind repeat keys and most values."""

    def __missing__(self, value: str) -> str:
        text = self[value] = _string(value)
        return text


class _Writer:
    """Collects the lines of one YAML text.

    In its methods `lead` precedes the first line of a collection, and `indent` the other lines.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._strings = _Strings()

    def text(self) -> str:
        return "".join(f"{line}\n" for line in self.lines)

    def block(self, value: Any, indent: str, lead: str) -> None:
        """Append the lines of a mapping or list."""
        if isinstance(value, (list, tuple)):
            self._list(value, indent, lead)
        else:
            self.mapping(value, indent, lead)

    def mapping(self, value: Mapping[str, Any], indent: str, lead: str) -> None:
        """Append the lines of a mapping."""
        if not value:
            self.lines.append(f"{lead}{{}}")
        for key, item in value.items():
            head = f"{lead}{self._key(key, indent)}:"
            if item.__class__ is str:
                self.lines.append(f"{head} {self._strings[item]}")
            elif not item or not isinstance(item, _COLLECTIONS):
                self.lines.append(f"{head} {to_yaml_scalar(item)}")
            else:
                self.lines.append(head)
                inner = indent if isinstance(item, (list, tuple)) else indent + "  "
                self.block(item, inner, inner)
            lead = indent

    def _list(self, value: Sequence[Any], indent: str, lead: str) -> None:
        if not value:
            self.lines.append(f"{lead}[]")
        for item in value:
            if not item or not isinstance(item, _COLLECTIONS):
                self.lines.append(f"{lead}- {to_yaml_scalar(item)}")
            else:
                # The first line of a nested collection stands on the line of the dash.
                self.block(item, indent + "  ", lead + "- ")
            lead = indent

    def _key(self, key: object, indent: str) -> str:
        if not isinstance(key, str):
            raise InputError("keys of an object must be text", source="to_yaml", got=repr(key))
        text = self._strings[key]
        return text if len(text) <= _LONGEST_SIMPLE_KEY else f"? {text}\n{indent}"


def _float(value: float) -> str:
    if value != value or value in (float("inf"), float("-inf")):
        raise InputError("Kubernetes objects hold finite numbers only", source="to_yaml", got=str(value))
    text = repr(value)
    # YAML 1.1 wants a dot and a sign: 1e+20 alone would be read as text.
    return text if "e" not in text or "." in text else text.replace("e", ".0e")


def _string(value: str) -> str:
    if is_plain(value):
        return value
    return _ESCAPED.sub(lambda found: f"\\u{ord(found.group()):04x}", json.dumps(value, ensure_ascii=False))
