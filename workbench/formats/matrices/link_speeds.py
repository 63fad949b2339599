"""`LinkSpeeds`: the speed of each type of GPU link in GB/s, a table that users may replace (datasets/link-speeds)."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from workbench.errors import InputError
from workbench.formats.file_bytes import MAX_SETTINGS, read_bytes
from workbench.objects.fields import shown

__all__ = ["STAGING", "LinkSpeeds", "default_link_speeds", "read_link_speeds"]

#: The row for a pair without a direct link.
STAGING = "STAGING"

_FILE = Path(__file__).with_name("link-speeds.csv")
_COUNTED = re.compile(r"([A-Za-z_]+?)(\d{1,4})((?:@.*)?)$")
_COLUMNS = ("type", "gb_s", "per")


@dataclass(frozen=True)
class LinkSpeeds:
    """Speed of each type of GPU link in GB/s, in one direction.

    `pair_gb_s`: speed in GB/s by link type, for types whose speed is that of a whole pair of GPUs. `link_gb_s`: speed
    in GB/s by link type, for types whose speed is that of a single link; the number in a type (``NV12``, ``XGMI2@906``)
    is the number of links.
    """

    pair_gb_s: Mapping[str, float]
    link_gb_s: Mapping[str, float]

    @property
    def staging_gb_s(self) -> float:
        """Speed in GB/s between two GPUs without a direct link, whose data go through the host's memory."""
        return self.pair_gb_s[STAGING]

    @property
    def names(self) -> tuple[str, ...]:
        """Every link type in the table: first the types that stand for a pair, then those of single links, each in file
        order.
        """
        return (*self.pair_gb_s, *(f"{name}<n>" for name in self.link_gb_s))

    def gb_s(self, name: str) -> float | None:
        """Speed in GB/s of a link type as a tool prints it; None if the type is unknown.

        If several types are joined by ``+``, the fastest counts. ``XGMI2@906`` is twice ``XGMI@906``, or twice ``XGMI``
        if the table has no row for that GPU.
        """
        parts = [self._one(part) for part in name.split("+")]
        known = [part for part in parts if part is not None]
        return max(known) if len(known) == len(parts) else None

    def _one(self, name: str) -> float | None:
        if name in self.pair_gb_s:
            return self.pair_gb_s[name]
        if name in self.link_gb_s:
            return self.link_gb_s[name]
        counted = _COUNTED.match(name)
        if counted is None:
            return None
        base, number, of_gpu = counted.groups()
        each = self.link_gb_s.get(base + of_gpu, self.link_gb_s.get(base))
        return None if each is None else int(number) * each


@cache
def default_link_speeds() -> LinkSpeeds:
    """The table of link speeds that comes with the package (datasets/link-speeds)."""
    return _parse(_FILE.read_text("utf-8"), _FILE.name, LinkSpeeds({}, {}))


def read_link_speeds(path: str | Path) -> LinkSpeeds:
    """Read a user's table of link speeds; types that it does not list are taken from `default_link_speeds`.

    Raises InputError: a column missing, a speed that is no number above 0 (STAGING: of at least 0), a type twice; with
    its line.

    `path`: CSV with the columns ``type``, ``gb_s`` and ``per`` (``link`` or ``pair``); others are for people.
    """
    try:
        text = read_bytes(path, MAX_SETTINGS).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError("not text", source=str(path), expected="a CSV table of link speeds in UTF-8") from None
    return _parse(text, str(path), default_link_speeds())


def _parse(text: str, source: str, base: LinkSpeeds) -> LinkSpeeds:
    rows = csv.reader(line for line in text.splitlines() if line.strip() and not line.startswith("#"))
    head = next(rows, [])
    if not set(_COLUMNS) <= set(head):
        raise InputError("no table of link speeds", source=source, got=shown(",".join(head)), expected="type,gb_s,per")
    of_pair, of_link = dict(base.pair_gb_s), dict(base.link_gb_s)
    seen: set[str] = set()
    for cells in rows:
        row = dict(zip(head, cells))
        name, per = row["type"].strip(), row.get("per", "").strip()
        where = f"row {name or len(seen) + 1}"
        if not name or name in seen:
            message = "a type twice" if name else "a row without a type"
            raise InputError(message, source=source, where=where, expected="one row per type")
        if per not in ("pair", "link"):
            raise InputError(
                "what is it the speed of?", source=source, where=where, got=repr(per), expected="pair, link"
            )
        seen.add(name)
        of_pair.pop(name, None)
        of_link.pop(name, None)
        (of_pair if per == "pair" else of_link)[name] = _speed(row.get("gb_s", ""), name, where, source)
    if STAGING not in of_pair:
        raise InputError("the staging speed is that of a pair", source=source, where=f"row {STAGING}", expected="pair")
    return LinkSpeeds(of_pair, of_link)


def _speed(text: str, name: str, where: str, source: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value < 0 or (value == 0 and name != STAGING):
        raise InputError("not a speed", source=source, where=where, got=shown(text), expected="GB/s, above 0")
    return value
