"""`Fault`, one violation that admission finds, and texts of the API server's schema such as "Required value"."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = [
    "Fault",
    "below",
    "broken_rule",
    "no_match",
    "refusal_text",
    "required",
    "too_few",
    "too_long",
    "too_short",
    "unsupported",
]


@dataclass(frozen=True)
class Fault:
    """One violation that admission finds in an object.

    `path`: path of the field; empty: the object as a whole. `text`: the error text as the cluster words it, with the
    separators that a webhook puts between findings. `by_schema`: whether the API server's schema refuses the field,
    which happens before any webhook is called.
    """

    path: str
    text: str
    by_schema: bool = False

    @property
    def sentence(self) -> str:
        """The error text without the webhook's separators, after the path of the field unless it begins with that."""
        text = self.text.strip().rstrip(";,")
        return text if not self.path or text.startswith(self.path) else f"{self.path}: {text}"


def refusal_text(findings: Iterable[Fault]) -> str:
    """Join the texts of violations into one refusal, those of the API server's schema first.

    Empty if there are none.
    """
    findings = list(findings)
    webhook = "".join(one.text for one in findings if not one.by_schema).strip()
    return "; ".join([*(one.text for one in findings if one.by_schema), *([webhook] if webhook else [])])


def required(path: str) -> str:
    """The API server's error text for a required field that is missing; `path` is the field's path."""
    return f"{path}: Required value"


def below(path: str, value: int, least: int) -> str:
    """The API server's error text for a number below the field's minimum.

    `value`: number found. `least`: smallest number allowed.
    """
    return f"{path}: Invalid value: {value}: {path} in body should be greater than or equal to {least}"


def too_short(path: str, value: str, least: int) -> str:
    """The API server's error text for a string below the field's minimum length.

    `value`: string found. `least`: fewest characters allowed.
    """
    return f"{path}: Invalid value: {_shown(value)}: {path} in body should be at least {least} chars long"


def too_long(path: str, most: int) -> str:
    """The API server's error text for a string above the maximum length `most`; `path` is the field's path."""
    return f"{path}: Too long: may not be more than {most} bytes"


def too_few(path: str, found: int, least: int) -> str:
    """The API server's error text for a list with too few items.

    `path`: path of the field. `found`: number of items found. `least`: fewest items allowed.
    """
    return f"{path}: Invalid value: {found}: {path} in body should have at least {least} items"


def no_match(path: str, value: str, pattern: str) -> str:
    """The API server's error text for a string that does not match the field's pattern.

    `path`, `value`: as in `too_short`.

    `pattern`: regular expression that it must match.
    """
    return f"{path}: Invalid value: {_shown(value)}: {path} in body should match '{pattern}'"


def unsupported(path: str, value: Any, supported: Sequence[str]) -> str:
    """The API server's error text for a string that is not one of the allowed values.

    `path`, `value`: as in `too_short`.

    `supported`: values allowed.
    """
    listed = ", ".join(_shown(one) for one in supported)
    return f"{path}: Unsupported value: {_shown(value)}: supported values: {listed}"


def broken_rule(path: str, message: str) -> str:
    """The API server's error text for a field at `path` that breaks a CEL validation rule with the given message."""
    return f'{path}: Invalid value: "object": {message}'


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
