"""Expand and compress Slurm host lists such as ``node[001-016,020],login1``."""

from __future__ import annotations

import re
from collections.abc import Iterable

from workbench.errors import InputError

__all__ = ["MOST_HOSTS", "compress_hosts", "expand_hosts", "holds"]

#: Names that one list may stand for; brackets multiply, and a typing error must not ask for all memory.
MOST_HOSTS = 1_000_000

_RANGE = re.compile(r"([0-9]+)(?:-([0-9]+))?\Z")
_NUMBERED = re.compile(r"(.*?)([0-9]+)([^0-9]*)\Z", re.DOTALL)
_SAFE = re.compile(r"[^\s,\[\]#=\"]+\Z")


def expand_hosts(text: str) -> list[str]:
    """The host names that a Slurm host list stands for, in its order; repeated names are kept.

    Raises InputError: brackets that do not match, something else than numbers in them, a range that runs down, more
    than a million names.

    Notes
    -----
    Source: Slurm ``scontrol show hostnames``. ``a[01-03]`` keeps leading zeros; several brackets multiply, the last
    one runs fastest.
    """
    names: list[str] = []
    for item in _split(text):
        partial = [""]
        rest = item
        while rest:
            head, bracket, tail = rest.partition("[")
            partial = [name + head for name in partial]
            if not bracket:
                break
            inside, closed, rest = tail.partition("]")
            if not closed:
                raise _bad(item, "a closing bracket")
            numbers = _numbers(inside, item)
            if len(partial) * len(numbers) > MOST_HOSTS:
                raise _bad(item, f"at most {MOST_HOSTS} names")
            partial = [name + number for name in partial for number in numbers]
        names += partial
        if len(names) > MOST_HOSTS:
            raise _bad(item, f"at most {MOST_HOSTS} names")
    return names


def _split(text: str) -> list[str]:
    items, depth, start = [], 0, 0
    for i, character in enumerate(text):
        if character == "[":
            depth += 1
        elif character == "]":
            depth -= 1
        if depth not in (0, 1):
            raise _bad(text, "brackets that match and are not nested")
        if character == "," and depth == 0:
            items.append(text[start:i].strip())
            start = i + 1
    if depth:
        raise _bad(text, "a closing bracket")
    items.append(text[start:].strip())
    return [item for item in items if item]


def _numbers(inside: str, item: str) -> list[str]:
    numbers: list[str] = []
    for part in inside.split(","):
        found = _RANGE.match(part.strip())
        if found is None:
            raise _bad(item, "numbers and ranges such as 001-016 between the brackets")
        first, last = found[1], found[2] or found[1]
        if len(first) > 12 or len(last) > 12 or int(last) < int(first):
            raise _bad(item, "a range that runs up")
        if int(last) - int(first) >= MOST_HOSTS:
            raise _bad(item, f"at most {MOST_HOSTS} names")
        numbers += [str(i).zfill(len(first)) for i in range(int(first), int(last) + 1)]
    return numbers


def _bad(item: str, expected: str) -> InputError:
    shown = item if len(item) <= 60 else item[:60] + "..."
    return InputError("not a host list", got=repr(shown), expected=expected)


def holds(name: str) -> bool:
    """Whether a Slurm host list can contain `name` unchanged, that is without brackets, commas and the like."""
    return _SAFE.match(name) is not None


def compress_hosts(names: Iterable[str]) -> str:
    """A Slurm host list for exactly these names, sorted by prefix, then suffix, width and number.

    Names that differ only in their last number share a bracket: ``n1,n2,n5`` is written ``n[1-2,5]``. Every name must
    satisfy `holds`.
    """
    groups: dict[tuple[str, str, int], list[int]] = {}
    plain: list[str] = []
    for name in dict.fromkeys(names):
        found = _NUMBERED.match(name)
        if found is None or len(found[2]) > 12:
            plain.append(name)
            continue
        digits = found[2]
        # Numbers of different width share a bracket only where none has a leading zero: [9-10] counts on.
        width = len(digits) if digits[0] == "0" and len(digits) > 1 else 0
        groups.setdefault((found[1], found[3], width), []).append(int(digits))
    items = [(name, name) for name in plain]
    for (prefix, suffix, width), numbers in groups.items():
        items.append((prefix + suffix, _bracket(prefix, suffix, width, sorted(numbers))))
    return ",".join(text for _, text in sorted(items, key=lambda item: (item[0].encode(), item[1].encode())))


def _bracket(prefix: str, suffix: str, width: int, numbers: list[int]) -> str:
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    digits = [str(a).zfill(width) if a == b else f"{str(a).zfill(width)}-{str(b).zfill(width)}" for a, b in runs]
    alone = len(numbers) == 1
    return f"{prefix}{digits[0]}{suffix}" if alone else f"{prefix}[{','.join(digits)}]{suffix}"
