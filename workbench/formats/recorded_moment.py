"""Records of real schedulers' decisions: the parts that all kinds share (record, session, moments, manifests)."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson

from workbench.errors import InputError
from workbench.formats.load import load
from workbench.model.scenario import Scenario

__all__ = ["Json", "Record", "RecordedMoment", "RecordedSession", "container", "created", "read_items"]

Json = Mapping[str, Any]

_BEGIN = datetime(2026, 1, 1, tzinfo=UTC)

#: The place of a manifest in the list that `read_items` writes.
_ITEM = re.compile(r"(?:stdin: )?document 1, items\[([0-9]+)\]")


@dataclass(frozen=True)
class Record:
    """Where a session stands in a file, for errors and notes.

    `where`: its place there, such as ``line 3`` or ``record 2``. `odd`: what is told of the record though it is read:
    by a sentence, the places that it is about.
    """

    source: str
    where: str
    odd: dict[str, list[str]] = field(default_factory=dict)

    def error(self, message: str, path: str, got: str, expected: str) -> InputError:
        """Make the InputError of the record's field `path`; `message`, `got` and `expected` as in `InputError`."""
        return InputError(message, source=self.source, where=f"{self.where}, {path}", got=got, expected=expected)

    def placed(self, error: InputError, path: str = "", said: Callable[[str], str] = str) -> InputError:
        """An error of a part of the record as one of the file.

        `path`: the field that the error is about, unless its own place begins with one. `said`: how each text of the
        error is rewritten.
        """
        got, expected, remark = (text and said(text) for text in (error.got, error.expected, error.remark))
        where = ", ".join(part for part in (self.where, path, error.where and said(error.where)) if part)
        message = said(error.message)
        return InputError(message, source=self.source, where=where, got=got, expected=expected, remark=remark)

    def note(self, what: str, path: str, name: str) -> None:
        """Have a sentence told about the name that stands in a field.

        `what`: the sentence. `path`, `name`: the field and its value.
        """
        self.odd.setdefault(what, []).append(f"{self.where}, {path}: {what} (found {name!r})")

    def refer(self, name: str | None, known: Collection[str], what: str, path: str) -> None:
        """Have it told if the record lacks what a field names; a real cluster may lack it, too.

        `known`: names that the record has. `what`: what the name should be, such as ``node``. `path`: the field.
        """
        if name and name not in known:
            self.note(f"no {what} of the record has this name", path, name)

    def once(self, names: Iterable[str], path: str) -> None:
        """Raise InputError if a name stands twice among those of the objects of a list at `path`."""
        first: dict[str, int] = {}
        for number, name in enumerate(names):
            if name in first:
                message = f"the same name twice, first in {path}[{first[name]}]"
                raise self.error(message, f"{path}[{number}].name", repr(name), "each name once")
            first[name] = number

    def demand(self, name: str, known: Collection[str], what: str, path: str) -> None:
        """Raise InputError if the scheduler's answer names what it cannot have had.

        `known`, `what`, `path`: as of `refer`.
        """
        if name not in known:
            expected = f"the name of a {what} of this record"
            raise self.error("nothing of that name was there", path, repr(name), expected)


@dataclass(frozen=True)
class RecordedMoment:
    """Gangs that waited together, and what the scheduler did with them.

    `scenario`: the cluster before the decision, and the gangs. `nodes`: by a gang's position in `scenario.gangs`: node
    that the scheduler gave to each pod; None: it gave none.
    """

    scenario: Scenario
    nodes: Mapping[int, Mapping[str, str | None]]


class RecordedSession(ABC):
    """A recorded session of a real scheduler.

    `name`: the recording's own name of the session. `record`: where it stands.
    """

    name: str
    release: str
    record: Record

    @property
    @abstractmethod
    def twin(self) -> str:
        """Name that a policy has if one stands for the scheduler and its release."""

    @property
    @abstractmethod
    def settings(self) -> Mapping[str, Any]:
        """Parameters with which the scheduler ran; a policy gets those that it has."""

    @abstractmethod
    def moments(self) -> Iterator[RecordedMoment]:
        """The moments of the session in their order; raises InputError where a manifest of it cannot be read."""


def read_items(items: Iterable[tuple[str, Json]], record: Record) -> Scenario:
    """The scenario of manifests, with the jobs of every scheduler.

    `items`: the manifests, each with the path of the field of the record that it stands for.
    """
    made = list(items)
    text = orjson.dumps({"apiVersion": "v1", "kind": "List", "items": [item for _, item in made]})
    try:
        return load("-", stdin=text, any_scheduler=True)
    except InputError as error:
        raise record.placed(error, said=lambda text: _ITEM.sub(lambda match: made[int(match[1])][0], text)) from None


def created(second: int) -> str:
    """A creationTimestamp that is so many seconds after the begin of a recording."""
    return (_BEGIN + timedelta(seconds=second)).isoformat().replace("+00:00", "Z")


def container(name: str, amounts: Json) -> dict[str, Any]:
    """A container with requests; a device is its limit, too, as the API server demands."""
    given = dict(amounts)
    policy = {"restartPolicy": given.pop("restartPolicy")} if "restartPolicy" in given else {}
    limits = {key: value for key, value in given.items() if "/" in key}
    return {"name": name, "image": "recorded", "resources": {"requests": given, "limits": limits}, **policy}
