"""Edits of the annotations by which pod templates of a pending job request levels and slices of Kueue's topology."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from workbench.errors import InputError
from workbench.formats.edit_manifests.job_objects import JobObjects
from workbench.formats.edit_manifests.manifest_set import ManifestSet
from workbench.formats.edit_manifests.pod_edits import pod_holders
from workbench.model.kueue_names import CONSTRAINTS, PREFERRED, REQUIRED, SLICE_REQUIRED, SLICE_SIZE
from workbench.objects.fields import shown
from workbench.objects.kueue.annotations import read_layers

__all__ = ["change_level", "change_slices"]

_ANNOTATIONS = {"required": REQUIRED, "preferred": PREFERRED}


def change_level(manifests: ManifestSet, job: JobObjects, edit: Mapping[str, Any]) -> None:
    """Give another annotation to every template and waiting pod that requests one level of Kueue's topology.

    `manifests`: changed in place. `job`: the pending job. `edit`: the keys ``from`` and ``to`` have one entry each:
    required or preferred, and the level.
    """
    (old, level), (new, new_level) = (_entry(edit, key) for key in ("from", "to"))

    def change(annotations: dict[str, Any]) -> bool:
        if annotations.get(old) != level:
            return False
        del annotations[old]
        annotations[new] = new_level
        return True

    if not _change_all(manifests, job, change):
        raise InputError("no pod template of the job has this annotation", got=f"{old}: {level}")


def change_slices(manifests: ManifestSet, job: JobObjects, edit: Mapping[str, Any]) -> None:
    """Give every template and waiting pod that requests some slices of pods other ones.

    `manifests`, `job`: as in `change_level`; `edit`: its keys ``from`` and ``to`` have a list of layers each, which are
    mappings with level and size.
    """
    old, new = (_layers(edit, key) for key in ("from", "to"))

    def change(annotations: dict[str, Any]) -> bool:
        if CONSTRAINTS in annotations and _written_layers(str(annotations[CONSTRAINTS])) == old:
            rows = [{"topology": level, "size": size} for level, size in new]
            annotations[CONSTRAINTS] = json.dumps(rows, separators=(",", ":"))
            return True
        if [(annotations.get(SLICE_REQUIRED), str(annotations.get(SLICE_SIZE)))] == [(a, str(b)) for a, b in old]:
            annotations[SLICE_REQUIRED], annotations[SLICE_SIZE] = new[0][0], str(new[0][1])
            return True
        return False

    if not _change_all(manifests, job, change):
        raise InputError("no pod template of the job asks for these slices", got=shown(edit.get("from")))


def _change_all(manifests: ManifestSet, job: JobObjects, change: Callable[[dict[str, Any]], bool]) -> int:
    """Change the annotations of every pod template and waiting pod of a job; returns how many `change` changed."""
    holders = pod_holders(manifests, job)
    return sum(change((holder.get("metadata") or {}).get("annotations") or {}) for holder in holders)


def _written_layers(text: str) -> list[tuple[str, int]]:
    try:
        return [(layer.level, layer.size) for layer in read_layers(text)]
    except ValueError:
        return []


def _layers(edit: Mapping[str, Any], key: str) -> list[tuple[str, int]]:
    given = edit.get(key)
    rows = given if isinstance(given, list) and given and all(isinstance(row, Mapping) for row in given) else []
    found = [(row.get("level"), row.get("size")) for row in rows]
    if not found or any(type(level) is not str or type(size) is not int for level, size in found):
        raise InputError("wrong type or value", where=key, got=shown(given), expected="a list of levels and sizes")
    return found


def _entry(edit: Mapping[str, Any], key: str) -> tuple[str, str]:
    given = edit.get(key)
    if not isinstance(given, Mapping) or len(given) != 1 or next(iter(given)) not in _ANNOTATIONS:
        raise InputError("wrong type or value", where=key, got=shown(given), expected="required or preferred: a level")
    ((name, level),) = given.items()
    return _ANNOTATIONS[name], str(level)
