"""`without_controls`: make text from files safe to show in a terminal."""

from __future__ import annotations

import re

__all__ = ["without_controls"]

#: Control characters but tab and line ends (a carriage return only before a line feed), line and paragraph separators,
#: what turns the direction of writing, and halves of surrogate pairs, which no encoding can write.
_OBEYED = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]|\r(?!\n)"
)


def without_controls(text: str) -> str:
    r"""The text with each control character written as an escape such as ``\u001b``.

    These are the characters that move the cursor, change colours or reverse a line.

    JSON strings and double-quoted YAML read these escapes as the characters themselves.
    """
    return _OBEYED.sub(lambda found: f"\\u{ord(found.group()):04x}", text)
