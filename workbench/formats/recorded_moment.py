"""What recordings of real schedulers have in common: a session, its moments, and the manifests of both."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson

from workbench.errors import InputError
from workbench.formats.load import load
from workbench.model.scenario import Scenario

__all__ = ["Json", "RecordedMoment", "RecordedSession", "container", "created", "read_items"]

Json = Mapping[str, Any]

_BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class RecordedMoment:
    """Gangs that waited together, and what the scheduler did with them.

    Attributes
    ----------
    scenario : Scenario
        The cluster before the decision, and the gangs.
    nodes : mapping of int to mapping of str to str or None
        By a gang's position in `scenario.gangs`: node that the scheduler gave to each pod; None: it gave none.
    """

    scenario: Scenario
    nodes: Mapping[int, Mapping[str, str | None]]


class RecordedSession(ABC):
    """A recorded session of a real scheduler.

    Attributes
    ----------
    name : str
        The recording's own name of the session.
    release : str
        Release of the scheduler.
    """

    name: str
    release: str

    @property
    @abstractmethod
    def twin(self) -> str:
        """Name that a policy has if one stands for the scheduler and its release."""

    @property
    @abstractmethod
    def settings(self) -> Mapping[str, Any]:
        """Parameters with which the scheduler ran; a policy gets those that it has."""

    @abstractmethod
    def _moments(self) -> Iterator[RecordedMoment]:
        """As `moments`, with any exception for a session that is not recorded in full."""

    def moments(self) -> Iterator[RecordedMoment]:
        """The moments of the session in their order; raises InputError for one that is not recorded in full."""
        try:
            yield from self._moments()
        except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
            what = f"{type(error).__name__}: {error}"
            raise InputError("a job that cannot be replayed", source=f"session {self.name}", got=what) from None


def read_items(items: Iterable[Json]) -> Scenario:
    """The scenario of manifests, with the jobs of every scheduler."""
    text = orjson.dumps({"apiVersion": "v1", "kind": "List", "items": list(items)})
    return load("-", stdin=text, any_scheduler=True)


def created(second: int) -> str:
    """A creationTimestamp that is so many seconds after the begin of a recording."""
    return (_BEGIN + timedelta(seconds=second)).isoformat().replace("+00:00", "Z")


def container(name: str, amounts: Json) -> dict[str, Any]:
    """A container with requests; a device is its limit, too, as the API server demands."""
    given = dict(amounts)
    policy = {"restartPolicy": given.pop("restartPolicy")} if "restartPolicy" in given else {}
    limits = {key: value for key, value in given.items() if "/" in key}
    return {"name": name, "image": "recorded", "resources": {"requests": given, "limits": limits}, **policy}
