"""`read_duration`: durations as Go writes them, such as ``10m``, ``1h30m`` or ``1.5s``."""

from __future__ import annotations

import re

from workbench.errors import InputError

__all__ = ["read_duration"]

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

    Raises
    ------
    InputError
        Not of the form of Go's ``time.ParseDuration``, or 292 years and more, which its nanoseconds cannot hold.
    """
    if text in ("0", "+0", "-0"):
        return 0.0
    whole = _WHOLE.fullmatch(text)
    parts = _EACH.findall(whole.group(2)) if whole else []
    nanoseconds = sum(float(number) * _UNITS_NS[unit] for number, unit in parts)
    if whole is None or nanoseconds >= 2**63:
        raise InputError("not a duration", got=repr(text[:40]), expected="such as 10m, 1h30m or 45s")
    return (-nanoseconds if whole.group(1) == "-" else nanoseconds) / 1e9
