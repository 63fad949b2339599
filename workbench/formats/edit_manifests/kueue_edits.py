"""Edits of the annotations by which the pod templates of a pending job request a level of Kueue's topology."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.errors import InputError
from workbench.formats.edit_manifests.job_objects import JobObjects
from workbench.formats.edit_manifests.manifest_set import ManifestSet
from workbench.formats.edit_manifests.pod_edits import pod_holders
from workbench.model.kueue_names import PREFERRED, REQUIRED
from workbench.objects.fields import shown

__all__ = ["change_level"]

_ANNOTATIONS = {"required": REQUIRED, "preferred": PREFERRED}


def change_level(manifests: ManifestSet, job: JobObjects, edit: Mapping[str, Any]) -> None:
    """Give another annotation to every template and waiting pod that requests one level of Kueue's topology.

    Parameters
    ----------
    manifests : ManifestSet
        Changed in place.
    job : JobObjects
        The pending job.
    edit : mapping
        The keys ``from`` and ``to`` have one entry each: required or preferred, and the level.
    """
    (old, level), (new, new_level) = (_entry(edit, key) for key in ("from", "to"))
    found = False
    for holder in pod_holders(manifests, job):
        annotations = (holder.get("metadata") or {}).get("annotations") or {}
        if annotations.get(old) == level:
            del annotations[old]
            annotations[new] = new_level
            found = True
    if not found:
        raise InputError("no pod template of the job has this annotation", got=f"{old}: {level}")


def _entry(edit: Mapping[str, Any], key: str) -> tuple[str, str]:
    given = edit.get(key)
    if not isinstance(given, Mapping) or len(given) != 1 or next(iter(given)) not in _ANNOTATIONS:
        raise InputError("wrong type or value", where=key, got=shown(given), expected="required or preferred: a level")
    ((name, level),) = given.items()
    return _ANNOTATIONS[name], str(level)
