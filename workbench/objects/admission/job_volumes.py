"""Admission of a Job's volumes: entries of spec.volumes that Volcano's webhook refuses.

Source: docs/reference/volcano-jobs.md, section 3.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.objects.admission.finding import Fault
from workbench.objects.fields import child, get_maps, get_text
from workbench.objects.names import is_name

__all__ = ["volume_findings"]

_CONFLICT = (
    "conflict: If you want to use an existing PVC, just specify VolumeClaimName."
    "If you want to create a new PVC, you do not need to specify VolumeClaimName;"
)


def volume_findings(spec: Mapping[str, Any]) -> list[Fault]:
    """The first violation among the entries of a Job's spec.volumes, as a list of one; empty if there is none."""
    paths: set[str] = set()
    for where, volume in get_maps(spec, "volumes", "spec"):
        mounted, name = get_text(volume, "mountPath", where), get_text(volume, "volumeClaimName", where)
        claim = volume.get("volumeClaim") is not None
        if not mounted:
            return [Fault(child(where, "mountPath"), " mountPath is required;")]
        if mounted in paths:
            return [Fault(child(where, "mountPath"), f" duplicated mountPath: {mounted};")]
        if not (claim or name):
            return [Fault(where, " either VolumeClaim or VolumeClaimName must be specified;")]
        if claim and name:
            return [Fault(where, _CONFLICT)]
        if name and not is_name(name):
            return [Fault(child(where, "volumeClaimName"), f"invalid VolumeClaimName {name};")]
        paths.add(mounted)
    return []
