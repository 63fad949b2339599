"""`ObjectNotes`: attach notices about single Kubernetes objects to the gangs made from these objects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from workbench.jobs.membership import Membership
from workbench.model.gang import Gang
from workbench.model.notice import Notice

__all__ = ["ObjectNotes"]


class ObjectNotes:
    """Notes about the objects of an input, each to be added to one gang.

    `notes`: notes about each object, by ``Kind namespace/name``.
    """

    def __init__(self, notes: Mapping[str, tuple[Notice, ...]], members: Membership) -> None:
        self._notes = dict(notes)
        self._members = members

    def added_to(self, gang: Gang) -> Gang:
        """A copy of the gang that also has the notices about the objects it was made of."""
        if not self._notes:
            return gang
        own = self._take([f"{gang.kind} {gang.key}"])
        group = self._members.pod_group_of_job.get(gang.key) if gang.kind == "Job" else None
        if group is not None:
            subject = f"PodGroup {group.metadata.key}"
            own += [
                replace(note, message=f"PodGroup {group.metadata.name}: {note.message}", subject=subject)
                for note in self._take([subject])
            ]
        names = [f"Pod {gang.namespace}/{name}" for role in gang.roles for name in role.pod_names or ()]
        for note, number in Counter(self._take(names)).items():
            if number > 1:
                text, numbers = f"{note.message} ({number} pods)", {**note.numbers, "pods": number}
                note = replace(note, message=text, numbers=numbers)
            own.append(note)
        return replace(gang, notes=(*gang.notes, *dict.fromkeys(own))) if own else gang

    def left(self) -> list[Notice]:
        """Notices about objects of which no gang was made; equal notices about objects of one kind are combined."""
        names: dict[tuple[str, Notice], list[str]] = {}
        for name, notes in self._notes.items():
            kind = name.split(" ", 1)[0]
            for note in notes:
                names.setdefault((kind, note), []).append(name)
        found = []
        for (_, note), alike in names.items():
            more = f" and {len(alike) - 1} more" if len(alike) > 1 else ""
            numbers = {**note.numbers, "objects": len(alike)}
            text = f"{alike[0]}{more}: {note.message}"
            found.append(Notice(note.code, text, alike[0], numbers))
        return found

    def _take(self, names: Iterable[str]) -> list[Notice]:
        return [note for name in names for note in self._notes.pop(name, ())]
