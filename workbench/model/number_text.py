"""`number_text`: numbers as text for people."""

from __future__ import annotations

from workbench.model.place_name import place_name

__all__ = ["number_text"]

#: From here on only an exponent keeps a number short.
_VERY_LARGE = 1e15


def number_text(value: object, digits: int = 4) -> str:
    """A number as text with few significant digits; a dash for None.

    Parameters
    ----------
    value : object
        A float is rounded, a large one to a whole number: ``105,200``, not ``1.052e+05``. Whole numbers have commas.
        Other values are text as they are; the name that the virtual top has for programs becomes the one that people
        read.
    digits : int
        Significant digits of a float with a fraction.
    """
    if value is None or value == "":
        return "–"
    if isinstance(value, float):
        if value in (float("inf"), float("-inf")):
            return "∞" if value > 0 else "-∞"
        short = f"{value:.{digits}g}"
        return f"{float(short):,.0f}" if "e+" in short and abs(value) < _VERY_LARGE else short
    return f"{value:,}" if isinstance(value, int) else place_name(str(value))
