"""Parsing the arguments of a Volcano job plugin by the rules of Go's package flag (setting ContinueOnError)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

__all__ = ["PORTS", "Arguments", "Flag", "Value", "parse_arguments"]

Value = str | int | bool

#: Numbers of ports.
PORTS = range(1, 1 << 16)

_TRUE = ("1", "t", "T", "TRUE", "true", "True")
_FALSE = ("0", "f", "F", "FALSE", "false", "False")

#: Forms of a number by base; an underscore may stand between digits and behind a prefix.
_INTEGERS = (
    (2, re.compile(r"0[bB]((?:_?[01])+)")),
    (8, re.compile(r"0[oO]((?:_?[0-7])+)")),
    (8, re.compile(r"0((?:_?[0-7])*)")),
    (10, re.compile(r"([1-9](?:_?[0-9])*)")),
    (16, re.compile(r"0[xX]((?:_?[0-9a-fA-F])+)")),
)

#: Digits beyond which a number cannot fit into 64 bits in any base; int() itself refuses some thousand.
_MOST_DIGITS = 100


@dataclass(frozen=True)
class Flag:
    """One command-line flag of a Volcano job plugin; its type is that of its default.

    `within` holds the numbers that make sense; Volcano accepts others too, but `check_arguments` refuses them.
    """

    name: str
    default: Value
    meaning: str
    within: range | None = None


@dataclass(frozen=True)
class Arguments:
    """Result of parsing the arguments of one Volcano job plugin.

    `values`: every flag of the plugin: the value given, or its default. `error`: why parsing stopped, in Go's words;
    empty: no error. Volcano only logs it. `stopped_at`: position of the argument that was wrong or that ended parsing;
    the number of arguments if all were read.
    """

    values: Mapping[str, Value]
    error: str = ""
    stopped_at: int = 0


def parse_arguments(flags: Sequence[Flag], given: Sequence[str]) -> Arguments:
    """Parse the arguments of a Volcano job plugin as Go's package flag does.

    `given`: ``-name`` and ``--name`` are equal. A text or number is given as ``--name=value`` or ``--name value``, a
    truth value as ``--name`` or ``--name=value``. If a flag is repeated, the last value counts.

    Notes
    -----
    Parsing ends without an error at the first argument that does not begin with a hyphen, at a lone hyphen and at
    ``--``. At an error it ends too: flags read before keep their values, and the wrong value itself is stored as 0,
    as false, or as the nearest number of 64 bits.

    Source: docs/reference/volcano-jobs.md, section 1.1.
    """
    known = {flag.name: flag for flag in flags}
    values = {flag.name: flag.default for flag in flags}
    position = 0
    while position < len(given):
        argument = given[position]
        if len(argument) < 2 or argument[0] != "-":
            break
        if argument == "--":
            position += 1
            break
        name, equals, text = argument[2 if argument[1] == "-" else 1 :].partition("=")
        if not name or name[0] == "-":
            return Arguments(values, f"bad flag syntax: {argument}", position)
        if name not in known:
            return Arguments(values, _not_defined(name), position)
        started = position
        position += 1
        default = known[name].default
        if not equals and isinstance(default, bool):
            text = "true"
        elif not equals:
            if position == len(given):
                return Arguments(values, f"flag needs an argument: -{name}", started)
            text = given[position]
            position += 1
        values[name], error = _value(text, default)
        if error:
            kind = "boolean value" if isinstance(default, bool) else "value"
            return Arguments(values, f'invalid {kind} "{text}" for -{name}: {error}', started)
    return Arguments(values, "", position)


def _not_defined(name: str) -> str:
    return "flag: help requested" if name in ("h", "help") else f"flag provided but not defined: -{name}"


def _value(text: str, default: Value) -> tuple[Value, str]:
    """Convert a flag's text to the type of `default`; also return Go's error text, empty if it is valid."""
    if isinstance(default, bool):
        return text in _TRUE, "" if text in (*_TRUE, *_FALSE) else "parse error"
    if isinstance(default, int):
        return _integer(text)
    return text, ""


def _integer(text: str) -> tuple[int, str]:
    """Convert an integer in Go's notation (10, 0x1f, 0o17, 017, 0b1, 1_000); returns the number and Go's error text."""
    unsigned = text[1:] if text[:1] in ("+", "-") else text
    for base, form in _INTEGERS:
        if found := form.fullmatch(unsigned):
            digits = found[1].replace("_", "").lstrip("0")
            number = int(digits or "0", base) if len(digits) <= _MOST_DIGITS else 1 << 64
            number = -number if text[0] == "-" else number
            limited = min(max(number, -(1 << 63)), (1 << 63) - 1)
            return limited, "" if limited == number else "value out of range"
    return 0, "parse error"
