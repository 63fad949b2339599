"""Exact arithmetic with Kubernetes quantities such as ``500m``, ``4Gi`` and ``1e3``.

Grammar: a signed decimal number and one suffix, which is decimal (n u m k M G T P E), binary (Ki ... Ei) or an
exponent (``e3``). No rounding happens before the last step, which rounds up as Kubernetes does.

`read_duration` reads durations as Go writes them, such as ``10m``, ``1h30m`` or ``1.5s``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any

from workbench.errors import InputError
from workbench.model.resources import MAX_AMOUNT, THOUSANDTHS
from workbench.objects.fields import shown, wrong

__all__ = ["check_amounts", "check_devices", "parse_quantity", "read_duration", "read_resources", "to_base_units"]

_GRAMMAR = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?(?:([numkMGTPE]|[KMGTPE]i)|[eE]([+-]?[0-9]{1,3}))?", re.ASCII)
_SUFFIXES = {
    **{
        suffix: Fraction(1000) ** power
        for power, suffix in enumerate(("n", "u", "m", "", "k", "M", "G", "T", "P", "E"), -3)
    },
    **{f"{prefix}i": Fraction(1024) ** power for power, prefix in enumerate("KMGTPE", 1)},
}
# Amounts are stored in int64 arrays and summed; a single amount may use half the range.
_LARGEST = 1 << 62
_LONGEST = 64
_EXPECTED = "a Kubernetes quantity such as 2, 500m, 4Gi or 1e3"


@lru_cache(maxsize=1 << 16)
def parse_quantity(text: str) -> Fraction:
    """The exact value of a Kubernetes quantity such as ``500m`` or ``4Gi``.

    Raises InputError: the text is no quantity.

    Source: Kubernetes apimachinery, ``resource.Quantity`` ("Quantity is a fixed-point representation of a number").
    """
    match = _GRAMMAR.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None or not (match[2] or match[3]):
        raise InputError("not a quantity", got=shown(text), expected=_EXPECTED)
    sign, whole, decimals, suffix, exponent = match.groups()
    decimals = decimals or ""
    value = Fraction(int(whole + decimals or "0"), 10 ** len(decimals))
    value *= Fraction(10) ** int(exponent) if exponent else _SUFFIXES[suffix or ""]
    return -value if sign == "-" else value


@lru_cache(maxsize=1 << 16)
def _base_units(resource: str, text: str) -> int:
    value = parse_quantity(text)
    if resource in THOUSANDTHS:
        value *= 1000
    if value < 0:
        raise InputError("a negative amount", got=shown(text), expected=_EXPECTED)
    amount = -((-value.numerator) // value.denominator)
    if amount > _LARGEST:
        raise InputError("an amount beyond 2^62", got=shown(text), expected=_EXPECTED)
    return amount


def to_base_units(resource: str, value: Any) -> int:
    """Convert an amount as written in a manifest to base units (docs/decisions.md, decision 11), rounding up.

    Raises InputError: not a quantity, negative, or above 2^62.

    `resource`: ``cpu`` is counted in thousandths; everything else in ones. `value`: as parsed from YAML or JSON; a
    number counts as its text.
    """
    if type(value) is str:
        return _base_units(resource, value)
    if type(value) is int or type(value) is float:
        return _base_units(resource, repr(value))
    raise InputError("not a quantity", got=shown(value), expected=_EXPECTED)


def check_amounts(amounts: Mapping[str, int], where: str) -> None:
    """Raise InputError if an amount is larger than any node may hold; `where` is the path of the resource list."""
    for name, amount in amounts.items():
        if amount > MAX_AMOUNT:
            expected = f"at most {MAX_AMOUNT} (2^53) in one node or pod"
            raise InputError("too large an amount", where=f"{where}[{name!r}]", got=str(amount), expected=expected)


def check_devices(data: Mapping[str, Any], key: str, where: str) -> None:
    """Raise InputError if a part of a device is asked for, as the API server does.

    Only devices (extended resources, such as ``nvidia.com/gpu``) must be whole numbers: names with a domain that is not
    Kubernetes' own.

    `data`, `key`, `where`: as in `read_resources`, whose checks are passed.
    """
    for name, value in (data.get(key) or {}).items():
        domain, slash, _ = name.partition("/")
        if slash and not domain.endswith("kubernetes.io") and not _is_whole(str(value)):
            place = f"{where}.{key}[{name!r}]"
            raise InputError("a part of a device", where=place, got=shown(value), expected="a whole number")


@lru_cache(maxsize=1 << 12)
def _is_whole(text: str) -> bool:
    return parse_quantity(text).denominator == 1


def read_resources(data: Mapping[str, Any], key: str, where: str) -> dict[str, int]:
    """Read a resource list (requests, limits, allocatable, capacity) in base units; empty where absent.

    `data`: the mapping that has the field. `key`: name of the field. `where`: path of `data`, for error messages.
    """
    amounts = data.get(key)
    if amounts is None:
        return {}
    if type(amounts) is not dict:
        raise wrong(f"{where}.{key}", amounts, "a mapping of resource to quantity")
    result = {}
    for name, value in amounts.items():
        try:
            result[name] = _base_units(name, value) if type(value) is str else to_base_units(name, value)
        except InputError as error:
            raise error.at(where=f"{where}.{key}[{name!r}]") from None
    return result


_UNITS_NS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_PART = r"(?:[0-9]{1,15}(?:\.[0-9]{0,15})?|\.[0-9]{1,15})(?:ns|us|µs|μs|ms|s|m|h)"
_WHOLE = re.compile(rf"([-+]?)((?:{_PART})+)")
_EACH = re.compile(r"([0-9.]+)(ns|us|µs|μs|ms|s|m|h)")


def read_duration(text: str) -> float:
    """Convert a Go duration such as ``1h30m`` to seconds; ``0`` needs no unit.

    Raises InputError: not of the form of Go's ``time.ParseDuration``, or 292 years and more, which its nanoseconds
    cannot hold.
    """
    if text in ("0", "+0", "-0"):
        return 0.0
    whole = _WHOLE.fullmatch(text)
    parts = _EACH.findall(whole.group(2)) if whole else []
    nanoseconds = sum(float(number) * _UNITS_NS[unit] for number, unit in parts)
    if whole is None or nanoseconds >= 2**63:
        raise InputError("not a duration", got=repr(text[:40]), expected="such as 10m, 1h30m or 45s")
    return (-nanoseconds if whole.group(1) == "-" else nanoseconds) / 1e9
