"""Where the notes about single objects are told: at the gang that an object made, else by the object's name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from workbench.jobs.membership import Membership
from workbench.model.gang import Gang

__all__ = ["ObjectNotes"]


class ObjectNotes:
    """Hands out the notes of an input's objects, each once.

    Parameters
    ----------
    notes : mapping of str to tuple of str
        By ``Kind namespace/name``.
    members : Membership
    """

    def __init__(self, notes: Mapping[str, tuple[str, ...]], members: Membership) -> None:
        self._notes = dict(notes)
        self._members = members

    def added_to(self, gang: Gang) -> Gang:
        """The gang with the notes of the objects that it was made of."""
        if not self._notes:
            return gang
        own = self._take([f"{gang.kind} {gang.key}"])
        group = self._members.pod_group_of_job.get(gang.key) if gang.kind == "Job" else None
        if group is not None:
            own += [
                f"PodGroup {group.metadata.name}: {text}" for text in self._take([f"PodGroup {group.metadata.key}"])
            ]
        names = [f"Pod {gang.namespace}/{name}" for role in gang.roles for name in role.pod_names or ()]
        for text, number in Counter(self._take(names)).items():
            own.append(f"{text} ({number} pods)" if number > 1 else text)
        return replace(gang, notes=(*gang.notes, *dict.fromkeys(own))) if own else gang

    def left(self) -> list[str]:
        """Notes of objects that made no gang, equal ones of one kind together."""
        names: dict[tuple[str, str], list[str]] = {}
        for name, texts in self._notes.items():
            kind, _, key = name.partition(" ")
            for text in texts:
                names.setdefault((kind, text), []).append(key)
        return [
            f"{kind} {keys[0]}{f' and {len(keys) - 1} more' if len(keys) > 1 else ''}: {text}"
            for (kind, text), keys in names.items()
        ]

    def _take(self, names: Iterable[str]) -> list[str]:
        return [text for name in names for text in self._notes.pop(name, ())]
