"""Texts of the API server's schema validation."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

__all__ = ["below", "broken_rule", "no_match", "required", "too_few", "too_long", "too_short", "unsupported"]


def required(path: str) -> str:
    """Text for a required field that is missing."""
    return f"{path}: Required value"


def below(path: str, value: int, least: int) -> str:
    """Text for a number that is too small.

    Parameters
    ----------
    path : str
        Path of the field.
    value : int
        Number found.
    least : int
        Smallest number allowed.
    """
    return f"{path}: Invalid value: {value}: {path} in body should be greater than or equal to {least}"


def too_short(path: str, value: str, least: int) -> str:
    """Text for a string that is too short.

    Parameters
    ----------
    path : str
        Path of the field.
    value : str
        String found.
    least : int
        Fewest characters allowed.
    """
    return f"{path}: Invalid value: {_shown(value)}: {path} in body should be at least {least} chars long"


def too_long(path: str, most: int) -> str:
    """Text for a string that is too long."""
    return f"{path}: Too long: may not be more than {most} bytes"


def too_few(path: str, found: int, least: int) -> str:
    """Text for a list that is too short.

    Parameters
    ----------
    path : str
        Path of the field.
    found : int
        Number of items found.
    least : int
        Fewest items allowed.
    """
    return f"{path}: Invalid value: {found}: {path} in body should have at least {least} items"


def no_match(path: str, value: str, pattern: str) -> str:
    """Text for a string that does not match a pattern.

    Parameters
    ----------
    path : str
        Path of the field.
    value : str
        String found.
    pattern : str
        Regular expression that it must match.
    """
    return f"{path}: Invalid value: {_shown(value)}: {path} in body should match '{pattern}'"


def unsupported(path: str, value: Any, supported: Sequence[str]) -> str:
    """Text for a string that is not one of the supported values.

    Parameters
    ----------
    path : str
        Path of the field.
    value : str
        String found.
    supported : sequence of str
        Values allowed.
    """
    listed = ", ".join(_shown(one) for one in supported)
    return f"{path}: Unsupported value: {_shown(value)}: supported values: {listed}"


def broken_rule(path: str, message: str) -> str:
    """Text for an object that breaks a validation rule of the schema."""
    return f'{path}: Invalid value: "object": {message}'


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
