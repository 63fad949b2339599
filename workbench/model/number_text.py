"""Numbers, durations and places as text for people, and whole numbers read from text; without any array library."""

from __future__ import annotations

from typing import NamedTuple

__all__ = [
    "HOURS",
    "SECONDS",
    "VIRTUAL_TOP",
    "TimeUnit",
    "duration_text",
    "instant_text",
    "number_range",
    "number_text",
    "place_name",
    "span_text",
    "time_unit",
    "whole_number",
]

#: What the virtual top is called where a name must be shown (Volcano 1.15 uses this text).
VIRTUAL_TOP = "<cluster-top-hypernode>"
#: What the virtual top is called in sentences and tables.
_WHOLE_CLUSTER = "the whole cluster"


def place_name(domain: str) -> str:
    """The name of a HyperNode as sentences have it: that of the virtual top (`VIRTUAL_TOP`) is for programs."""
    return _WHOLE_CLUSTER if domain == VIRTUAL_TOP else domain


#: From here on only an exponent keeps a number short.
_VERY_LARGE = 1e15


def number_text(value: object, digits: int = 4) -> str:
    """A number as text with few significant digits; a dash for None.

    `value`: a float is rounded, a large one to a whole number: ``105,200``, not ``1.052e+05``. Whole numbers have
    commas. Other values are text as they are; the name that the virtual top has for programs becomes the one that
    people read. `digits`: significant digits of a float with a fraction.
    """
    if value is None or value == "":
        return "–"
    if isinstance(value, float):
        if value in (float("inf"), float("-inf")):
            return "∞" if value > 0 else "-∞"
        short = f"{value:.{digits}g}"
        return f"{float(short):,.0f}" if "e+" in short and abs(value) < _VERY_LARGE else short
    return f"{value:,}" if isinstance(value, int) else place_name(str(value))


class TimeUnit(NamedTuple):
    """A unit of time.

    `symbol`, `plural`: as beside a number, and as on an axis: ``h`` and ``hours``. `seconds`: length of the unit.
    """

    symbol: str
    plural: str
    seconds: float


HOURS = TimeUnit("h", "hours", 3600.0)
SECONDS = TimeUnit("s", "seconds", 1.0)
_MINUTES = TimeUnit("min", "minutes", 60.0)


def time_unit(longest_s: float) -> TimeUnit:
    """The unit for durations up to `longest_s` seconds, of either sign.

    Hours from two hours on, minutes from two minutes on, else seconds; also for NaN.
    """
    longest = abs(longest_s)
    if longest >= 2 * HOURS.seconds:
        return HOURS
    return _MINUTES if longest >= 2 * _MINUTES.seconds else SECONDS


def duration_text(seconds: float | None, unit: TimeUnit | None = None) -> str:
    """A duration, or a difference of two; a dash for None and NaN.

    `unit`: unit of a column, whose heading names it: the text is the number alone, with two decimals, or two
    significant digits below a tenth. None: four significant digits and the unit that suits this duration: ``29.23 h``.
    """
    if seconds is None or seconds != seconds:
        return "–"
    if unit is None:
        chosen = time_unit(seconds)
        return f"{_trimmed(seconds, chosen)} {chosen.symbol}"
    number = seconds / unit.seconds
    if not 0 < abs(number) < 0.1:
        return f"{number or 0.0:,.2f}" if abs(number) < float("inf") else number_text(number)
    return number_text(round(number, 4) or 0.0, 2)


def span_text(since_s: float, until_s: float) -> str:
    """From when to when, in the unit that suits the end: ``5 to 75.5 h``."""
    unit = time_unit(until_s)
    return f"{_trimmed(since_s, unit)} to {_trimmed(until_s, unit)} {unit.symbol}"


def _trimmed(seconds: float, unit: TimeUnit) -> str:
    """Number of units with four significant digits; digits that would need an exponent are none that people read."""
    if abs(seconds) == float("inf"):
        return number_text(seconds)
    return number_text(round(seconds / unit.seconds, 4) or 0.0)


def instant_text(seconds: float) -> str:
    """The seconds of a clock that starts at 0, to the millisecond and without an exponent: ``36,001.5``."""
    return f"{seconds:,.3f}".rstrip("0").rstrip(".")


#: As many digits as surely fit into 64 bits; beyond some thousand, int() itself fails.
_MOST_DIGITS = 18


def whole_number(text: str) -> int | None:
    """The value of a text that consists of ASCII digits only; None for any other text.

    `text`: leading zeros count as digits. Returns None: another text (a sign, a blank, another script's digits,
    nothing), or more than 18 digits.
    """
    return int(text) if len(text) <= _MOST_DIGITS and text.isascii() and text.isdigit() else None


def number_range(text: str, most: int) -> range | None:
    """The whole numbers from A up to B of a text ``A-B``, or the one of a text ``A``.

    `most`: most numbers allowed. Returns None: another text, B below A, or more than `most` numbers.
    """
    first, dash, last = text.partition("-")
    low = whole_number(first)
    high = whole_number(last) if dash else low
    return None if low is None or high is None or not low <= high < low + most else range(low, high + 1)
