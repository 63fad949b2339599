r"""Find regular expressions that match exactly a given group of node names, for HyperNode members.

A closed expression is that of the whole names (``^n(?:0[1-9]|1[0-6])$``): it matches no name that is added later. An
open one may also be a prefix (``^rack1-``) or a common suffix (``\.rack1$``), which is shorter, and takes in what is
added later under such a name.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Sequence

from workbench.objects.selectors import NameIndex

__all__ = ["exact_patterns"]

_SPECIAL = frozenset(r"\.+*?()|[]{}^$")


def exact_patterns(
    known: Collection[str], groups: Sequence[Collection[str]], *, open_ended: bool = False
) -> list[str | None]:
    """For each group of names, a regular expression (RE2) that matches its names and no other known name.

    `known`: all names that the expressions must tell apart. `groups`: groups of distinct known names, none of them
    empty. `open_ended`: allow open expressions, if they are shorter; such a one may match names that are not known yet.
    Returns: one expression per group, the shortest of those allowed; ties: the smaller text. None if it proves to match
    other names too when RE2 is run over all known names.
    """
    straight, backward = sorted(known), sorted(name[::-1] for name in known)
    patterns = [
        _shortest(sorted(group), straight, backward) if open_ended else f"^{_alternatives(sorted(group))}$"
        for group in groups
    ]
    index = NameIndex(straight)
    index.prepare(patterns)
    return [
        pattern if [straight[i] for i in index.matching(pattern)] == sorted(group) else None
        for pattern, group in zip(patterns, groups, strict=True)
    ]


def _shortest(names: Sequence[str], straight: Sequence[str], backward: Sequence[str]) -> str:
    forms = [f"^{_alternatives(names)}$", *_suffix(names, backward)]
    prefixes = _prefixes(names, straight)
    if prefixes:
        forms.append(f"^{_alternatives(prefixes)}")
    return min(forms, key=lambda text: (len(text), text))


def _prefixes(names: Sequence[str], straight: Sequence[str]) -> list[str]:
    """The shortest prefixes, at least one character long, that together match all of `names` and no other known name.

    `straight` are all known names, sorted. Empty if there are no such prefixes.
    """
    prefixes: list[str] = []
    for name in names:
        if prefixes and name.startswith(prefixes[-1]):
            continue
        for length in range(1, len(name) + 1):
            prefix = name[:length]
            if _count(straight, prefix) == _count(names, prefix):
                break
        else:
            # Another name goes on where this one ends.
            return []
        prefixes.append(prefix)
    return prefixes


def _suffix(names: Sequence[str], backward: Sequence[str]) -> list[str]:
    common = _common([name[::-1] for name in names])
    for length in range(1, len(common) + 1):
        if _count(backward, common[:length]) == len(names):
            return [f"{_escaped(common[:length][::-1])}$"]
    return []


def _count(names: Sequence[str], prefix: str) -> int:
    """Number of names in the sorted list `names` that begin with `prefix`."""
    return bisect_left(names, prefix + "\U0010ffff") - bisect_left(names, prefix)


def _common(words: Sequence[str]) -> str:
    first, last = min(words), max(words)
    length = 0
    while length < min(len(first), len(last)) and first[length] == last[length]:
        length += 1
    return first[:length]


def _escaped(text: str) -> str:
    return "".join(f"\\{letter}" if letter in _SPECIAL else letter for letter in text)


def _alternatives(words: Sequence[str]) -> str:
    """A regular expression for exactly these sorted words; common beginnings and endings are written once."""
    common = _common(words)
    rest = [word[len(common) :] for word in words]
    head = _escaped(common)
    if rest == [""]:
        return head
    optional = rest[0] == ""
    tails: dict[str, list[str]] = {}
    for word in rest[optional:]:
        tails.setdefault(word[0], []).append(word[1:])
    same: dict[tuple[str, ...], list[str]] = {}
    for letter, after in tails.items():
        same.setdefault(tuple(after), []).append(letter)
    parts = [_letters(letters) + _alternatives(after) for after, letters in same.items()]
    if len(parts) == 1 and (not optional or set(same) == {("",)}):
        return head + parts[0] + "?" * optional
    return f"{head}(?:{'|'.join(parts)})" + "?" * optional


def _letters(letters: Sequence[str]) -> str:
    """A regular expression that matches any one of `letters`, written as a character class with ranges if shorter."""
    if len(letters) == 1:
        return _escaped(letters[0])
    runs: list[list[str]] = []
    for letter in letters:
        if runs and ord(letter) == ord(runs[-1][1]) + 1:
            runs[-1][1] = letter
        else:
            runs.append([letter, letter])
    inside = "".join(
        _inside(a) if a == b else _inside(a) + ("-" if ord(b) > ord(a) + 1 else "") + _inside(b) for a, b in runs
    )
    return f"[{inside}]"


def _inside(letter: str) -> str:
    return f"\\{letter}" if letter in "\\]^-[" else letter
