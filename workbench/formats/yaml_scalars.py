"""`Scalars`: the values of unquoted YAML scalars, by the rules of YAML 1.1."""

from __future__ import annotations

from typing import Any

import yaml
from yaml.constructor import SafeConstructor
from yaml.resolver import Resolver

__all__ = ["Scalars"]

#: Plain scalars whose values are kept to be looked up; names and times never come again, and would fill the memory.
_MOST = 1 << 16

# What SafeLoader would turn into dates, base-60 numbers or nothing at all, Kubernetes reads as text.
_DATA_TAGS = {f"tag:yaml.org,2002:{name}" for name in ("null", "bool", "int", "float")}
_CONSTRUCT = {tag: SafeConstructor.yaml_constructors[tag] for tag in _DATA_TAGS}


class Scalars:
    """Finds the values of unquoted scalars and remembers them.

    Attributes
    ----------
    known : dict of str to any
        The values that are remembered.
    """

    def __init__(self) -> None:
        self.known: dict[str, Any] = {}

    def plain(self, text: str) -> Any:
        """The value of an unquoted scalar; raises ValueError for a number out of range."""
        try:
            return self.known[text]
        except KeyError:
            if len(self.known) >= _MOST:
                self.known.clear()
            value = self.known[text] = _resolved(text)
            return value

    def of(self, text: str) -> Any:
        """The value of a scalar with the quotes that it has, but without escapes, or of ``{}`` or ``[]``."""
        first = text[0]
        if first == '"' or first == "'":
            return text[1:-1]
        if first == "{":
            return {}
        return [] if first == "[" else self.plain(text)


def _resolved(text: str) -> Any:
    for tag, pattern in Resolver.yaml_implicit_resolvers.get(text[:1], ()):
        if pattern.match(text):
            if tag not in _DATA_TAGS or ":" in text:
                return text
            return _CONSTRUCT[tag](SafeConstructor(), yaml.ScalarNode(tag, text))
    return text
