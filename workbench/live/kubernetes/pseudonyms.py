"""`Pseudonyms`: stand-ins for the names of a cluster, the same for the same name, in the same byte order."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from ipaddress import ip_address

__all__ = ["Pseudonyms"]

#: A part of a text without blanks, and what in it may be the border of a name.
_TOKEN, _BORDER = re.compile(r"\S+"), re.compile(r"([^A-Za-z0-9]+)")
_URL = re.compile(r"\b[a-z][a-z0-9+]*://[^\s\"',;]+", re.IGNORECASE)
_MAIL = re.compile(r"[^\s@\"'<>(){},;:]+@[^\s@\"'<>(){},;:]*[A-Za-z0-9]")
#: What may be an IP address.
_ADDRESS = re.compile(r"(?<![\w.:])(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9a-fA-F]*:[0-9a-fA-F:]*:[0-9a-fA-F.]*)(?![\w])")
#: Addresses for documentation (RFC 5737, RFC 3849), which stand for addresses that are not known.
_ANY_ADDRESS = {4: "192.0.2.1", 6: "2001:db8::1"}
#: Most segments of a name, from border to border.
_MOST_SEGMENTS = 64


#: Classes whose names others begin with, and those that may follow: ``<job>-<uid>``, ``<job>-<task>-<number>``.
_BEGINNINGS = ("hyperjob", "job")
_ENDINGS = ("task", "uid")


class Pseudonyms:
    """Stand-ins for names, numbered in byte order, so that what a scheduler decides by name it decides alike.

    A stand-in is its class, a hyphen and a number with leading zeros, such as ``node-0007``; that of a uid is a UUID.
    Names that controllers make of others, such as that of a pod of a Volcano Job, are made of the stand-ins of these.

    `names`: the names of each class, such as ``node`` or ``job``. Classes that have a name in common are numbered as
    one, and called by the first of them: a name has one stand-in, whatever it names. `kept`: names that stand for
    themselves. `addresses`: IP addresses; their stand-ins are addresses, too, of the block 10.0.0.0/8.
    """

    def __init__(
        self, names: Mapping[str, Iterable[str]], kept: Collection[str] = (), addresses: Iterable[str] = ()
    ) -> None:
        classes = {kind: set(each) for kind, each in names.items()}
        self._kept = frozenset(kept)
        self._first = {name for kind in _BEGINNINGS for name in classes.get(kind, ())}
        self._later = {name for kind in _ENDINGS for name in classes.get(kind, ())} | self._kept
        self._of: dict[str, str] = {}
        self._folded: dict[str, str] = {}
        plain = {kind: {name for name in each if self._parts(name) is None} for kind, each in classes.items()}
        for called, members in _joined(plain):
            ordered = sorted(members, key=str.encode)
            width = len(str(len(ordered)))
            for number, name in enumerate(ordered, 1):
                uuid = f"00000000-0000-4000-8000-{number:012}"
                self._of[name] = uuid if called == "uid" else f"{called}-{number:0{width}}"
        for number, address in enumerate(sorted({*addresses}, key=lambda one: (":" in one, int(ip_address(one)))), 1):
            self._of[address] = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
        # A name in other letters, as some programs write it, is the smallest of those that it may be.
        for name in sorted(self._of, key=str.encode, reverse=True):
            self._folded[name.lower()] = self._of[name]

    def get(self, name: str, otherwise: str) -> str:
        """The stand-in for a name, or for one within its namespace (``namespace/name``); else `otherwise`."""
        return self._one(name) or self._path(name) or otherwise

    def _one(self, name: str) -> str:
        """The stand-in for a name; empty: unknown."""
        if name in self._of:
            return self._of[name]
        parts = self._parts(name)
        return "" if parts is None else "-".join(self._of.get(part) or self._one(part) or part for part in parts)

    def _path(self, name: str) -> str:
        """The stand-in for a path of known names; empty: none."""
        parts = name.split("/")
        known = [self._one(part) or (part if part in self._kept else "") for part in parts]
        return "/".join(known) if len(parts) > 1 and all(known) else ""

    def _parts(self, name: str) -> list[str] | None:
        """The names that a name was made of, the first that of a Job, the others tasks, uids or numbers; else None."""
        at = name.rfind("-")
        while at > 0:
            if name[:at] in self._first:
                later = self._endings(name[at + 1 :])
                if later:
                    return [name[:at], *later]
            at = name.rfind("-", 0, at)
        return None

    def _endings(self, text: str) -> list[str]:
        """The tasks, uids and numbers that a text consists of; empty if there is anything else."""
        if text in self._later or text.isdecimal():
            return [text]
        for at in (i for i, letter in enumerate(text) if letter == "-"):
            if text[:at] in self._later or text[:at].isdecimal():
                rest = self._endings(text[at + 1 :])
                if rest:
                    return [text[:at], *rest]
        return []

    def in_text(self, text: str) -> str:
        """A text in which every known name stands as its stand-in, and no URL, mail address or IP address is left.

        A name begins and ends where a letter or digit meets anything else; of names that begin at one place the longest
        counts. Upper and lower case are one.
        """
        text = _MAIL.sub("someone@example.invalid", _URL.sub("https://example.invalid", text))
        text = _ADDRESS.sub(lambda found: self._address(found[0]), text)
        return _TOKEN.sub(lambda found: self._token(found[0]), text)

    def _address(self, text: str) -> str:
        try:
            return self._of.get(text) or _ANY_ADDRESS[ip_address(text).version]
        except ValueError:
            return text

    def _token(self, token: str) -> str:
        segments = _BORDER.split(token)
        told, at = "", 0
        while at < len(segments):
            # Borders stand at odd places.
            ends = range(min(len(segments), at + _MOST_SEGMENTS - 1), at, -2) if at % 2 == 0 else ()
            for end in ends:
                found = self._known("".join(segments[at:end]))
                if found:
                    told += found
                    at = end
                    break
            else:
                told += segments[at]
                at += 1
        return told

    def _known(self, name: str) -> str:
        """The stand-in for a name in whatever letters, and for one that stays the name; empty: unknown."""
        return name if name in self._kept else self._one(name) or self._folded.get(name.lower(), "")


def _joined(classes: Mapping[str, set[str]]) -> list[tuple[str, set[str]]]:
    """The classes, those with a name in common as one."""
    found: list[tuple[str, set[str]]] = []
    for called, members in classes.items():
        shared = [one for one in found if not members.isdisjoint(one[1])]
        found = [one for one in found if members.isdisjoint(one[1])]
        found.append((shared[0][0] if shared else called, members.union(*(one[1] for one in shared))))
    return found
