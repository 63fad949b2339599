"""Texts of the API server's schema validation."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

__all__ = ["below", "broken_rule", "no_match", "required", "too_few", "too_long", "too_short", "unsupported"]


def required(path: str) -> str:
    """A field that must be there."""
    return f"{path}: Required value"


def below(path: str, value: int, least: int) -> str:
    """A number that is too small."""
    return f"{path}: Invalid value: {value}: {path} in body should be greater than or equal to {least}"


def too_short(path: str, value: str, least: int) -> str:
    """A text that is too short."""
    return f"{path}: Invalid value: {_shown(value)}: {path} in body should be at least {least} chars long"


def too_long(path: str, most: int) -> str:
    """A text that is too long."""
    return f"{path}: Too long: may not be more than {most} bytes"


def too_few(path: str, found: int, least: int) -> str:
    """A list that is too short."""
    return f"{path}: Invalid value: {found}: {path} in body should have at least {least} items"


def no_match(path: str, value: str, pattern: str) -> str:
    """A text that is not of the form of a pattern."""
    return f"{path}: Invalid value: {_shown(value)}: {path} in body should match '{pattern}'"


def unsupported(path: str, value: Any, supported: Sequence[str]) -> str:
    """A text that is none of a few."""
    listed = ", ".join(_shown(one) for one in supported)
    return f"{path}: Unsupported value: {_shown(value)}: supported values: {listed}"


def broken_rule(path: str, message: str) -> str:
    """An object that breaks one of the schema's rules."""
    return f'{path}: Invalid value: "object": {message}'


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
