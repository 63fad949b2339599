"""Fields and keys of a manifest that its kind does not have: what the API server's strict decoding refuses."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from workbench.model.release import Release
from workbench.objects.fields import child
from workbench.objects.schemas import core_v1, volcano
from workbench.objects.schemas.keys import KNOWN_KEYS, in_domain
from workbench.objects.schemas.notation import SCALARS, Field, read_types

__all__ = ["DESCRIBED_KINDS", "Unknown", "strict_text", "types", "unknown_in", "unknown_notes"]

#: (API group, kind) of the objects whose fields are known.
DESCRIBED_KINDS = frozenset(
    {
        ("", "Pod"),
        ("apps", "Deployment"),
        ("batch.volcano.sh", "Job"),
        ("scheduling.volcano.sh", "PodGroup"),
        ("scheduling.volcano.sh", "Queue"),
        ("topology.volcano.sh", "HyperNode"),
        ("training.volcano.sh", "HyperJob"),
    }
)


@dataclass(frozen=True)
class Unknown:
    """A field that a kind does not have, or a label or annotation in Volcano's domain that nobody reads.

    Attributes
    ----------
    where : str
        Path of the mapping that it stands in; empty: the object.
    name : str
    meant : str
        The closest name, or what to write instead; empty: nothing is close.
    is_key : bool
        It is a label or an annotation.
    """

    where: str
    name: str
    meant: str = ""
    is_key: bool = False

    @property
    def path(self) -> str:
        """Path of the field itself."""
        return child(self.where, self.name)

    @property
    def hint(self) -> str:
        """The question that offers what is meant; empty: nothing is close."""
        return f" (did you mean {self.meant}?)" if self.meant else ""


@cache
def types() -> Mapping[str, Mapping[str, Field]]:
    """Every type by name; the kinds are among them."""
    return read_types(core_v1.TYPES, volcano.TYPES)


def unknown_in(data: Mapping[str, Any], release: Release = Release.NEWEST) -> list[Unknown]:
    """What a manifest has and its kind, in a release, has not.

    Parameters
    ----------
    data : mapping
        The parsed manifest of one of `DESCRIBED_KINDS`. A field whose value has the wrong type is not entered.
    release : Release
        1.13 lacks some fields.

    Returns
    -------
    list of Unknown
        In the order of the manifest.
    """
    return list(_in_object(data, data["kind"], "", release))


def strict_text(found: Iterable[Unknown]) -> str:
    """What the API server says of unknown fields, and in the same manner of unknown keys; empty: there are none."""
    found = list(found)
    fields = [f'unknown field "{one.path}"{one.hint}' for one in found if not one.is_key]
    keys = [f'{one.where}: unknown key "{one.name}"{one.hint}' for one in found if one.is_key]
    return "; ".join([f"strict decoding error: {', '.join(fields)}", *keys] if fields else keys)


def unknown_notes(found: Iterable[Unknown]) -> list[str]:
    """What becomes of them where the object is used all the same: one sentence for a field, in however many items."""
    alike: dict[tuple[str, str], list[Unknown]] = {}
    for one in found:
        alike.setdefault((_POSITION.sub("", one.where), one.name), []).append(one)
    notes = []
    for first, *others in alike.values():
        what = f"{first.where}: the key {first.name}" if first.is_key else first.path
        more = f" (and in {len(others)} more places)" if others else ""
        notes.append(f"{what}{more} is unknown and not read{first.hint}")
    return notes


_POSITION = re.compile(r"\[[0-9]+\]")


def _in_object(data: Mapping[str, Any], name: str, where: str, release: Release) -> Iterator[Unknown]:
    fields = types()[name]
    for key, value in data.items():
        field = fields.get(key)
        if field is None or (field.newest and release is Release.V1_13):
            yield Unknown(where, str(key), _meant(name, str(key), release))
        elif field.base not in SCALARS or field.base == "keys":
            yield from _in_field(value, field, child(where, key), release)


def _in_field(value: Any, field: Field, where: str, release: Release) -> Iterator[Unknown]:
    if isinstance(field.of, Field):
        if field.form == "list" and type(value) is list:
            for i, item in enumerate(value):
                yield from _in_field(item, field.of, f"{where}[{i}]", release)
        elif field.form == "map" and type(value) is dict:
            for key, item in value.items():
                yield from _in_field(item, field.of, child(where, str(key)), release)
    elif type(value) is dict and field.of == "keys":
        yield from (
            Unknown(where, key, _meant_key(key), is_key=True)
            for key in value
            if type(key) is str and in_domain(key) and key not in KNOWN_KEYS
        )
    elif type(value) is dict:
        yield from _in_object(value, field.of, where, release)


def _meant(name: str, key: str, release: Release) -> str:
    fields = types()[name]
    if (name, key) in volcano.MEANT:
        return volcano.MEANT[name, key]
    if key in fields:
        return ""  # a field of newer releases: no other is meant
    known = {field.lower(): field for field, of in fields.items() if not (of.newest and release is Release.V1_13)}
    close = difflib.get_close_matches(key.lower(), known, n=1)
    return known[close[0]] if close else ""


def _meant_key(key: str) -> str:
    """The known key of another domain with the same name, else the closest one."""
    name = key.partition("/")[2]
    alike = sorted(known for known in KNOWN_KEYS if known.endswith(f"/{name}"))
    close = alike or difflib.get_close_matches(key, sorted(KNOWN_KEYS), n=1, cutoff=0.75)
    return close[0] if close else ""
