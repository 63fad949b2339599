"""Admission of an update to a Volcano Job (batch.volcano.sh): changes that Volcano's webhook refuses.

Source: docs/reference/volcano-jobs.md, section 3.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.model.release import Release
from workbench.objects.admission.job import partition_findings
from workbench.objects.admission.schema import Fault, refusal_text
from workbench.objects.admission.topology_spec import BOTH_TIERS, both_tiers
from workbench.objects.fields import get_map, get_maps
from workbench.objects.job import read_job

__all__ = ["refuse_job_update"]

_OTHER_FIELDS = (
    "job updates may not change fields other than `minAvailable`, `tasks[*].replicas under spec` "
    "and `PriorityClassName`"
)

#: Fields that hold a mapping whose keys the user chooses.
_BY_NAME = frozenset({"plugins", "labels", "annotations", "nodeSelector", "matchLabels", "requests", "limits"})


def refuse_job_update(
    data: Mapping[str, Any], release: Release = Release.V1_15, before: Mapping[str, Any] | None = None
) -> str:
    """The text with which admission refuses an update of a Volcano Job; empty if the update is accepted.

    `data`: the Job's manifest after the update. `before`: the Job's manifest before the update; None if unknown, and
    then only the new one is checked.
    """
    found = _state_findings(data, release)
    return refusal_text([*found, *(_change_findings(before, data) if before is not None else ())])


def _state_findings(data: Mapping[str, Any], release: Release) -> list[Fault]:
    job = read_job(data)
    found = []
    for i, task in enumerate(job.tasks):
        path = f"spec.tasks[{i}]"
        if task.replicas < 0:
            found.append(Fault(f"{path}.replicas", f" 'replicas' must be >= 0 in task: {task.name};"))
        if task.min_available is not None and task.min_available < 0:
            found.append(Fault(f"{path}.minAvailable", f" 'minAvailable' must be >= 0 in task: {task.name};"))
        if task.min_available is not None and task.min_available > task.replicas:
            text = f" 'minAvailable' must be <= 'replicas' in task: {task.name};"
            found.append(Fault(f"{path}.minAvailable", text))
        if release is Release.V1_15:
            found += partition_findings(task, job.metadata.name, path)
    if job.min_available > sum(task.replicas for task in job.tasks):
        found.append(Fault("spec.minAvailable", " job 'minAvailable' must not be greater than total replicas"))
    if job.min_available < 0:
        found.append(Fault("spec.minAvailable", " job 'minAvailable' must be >= 0"))
    if release is Release.V1_15 and both_tiers(job.constraint):
        found.append(Fault("spec.networkTopology", f" {BOTH_TIERS}"))
    return found


def _change_findings(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Fault]:
    old, new = get_map(before, "spec", ""), get_map(after, "spec", "")
    if len(list(get_maps(old, "tasks", "spec"))) != len(list(get_maps(new, "tasks", "spec"))):
        return [Fault("spec.tasks", " job updates may not add or remove tasks")]
    old_fixed, new_fixed = _fixed(old), _fixed(new)
    keys = [key for key in {**old_fixed, **new_fixed} if old_fixed.get(key) != new_fixed.get(key)]
    return [Fault(f"spec.{keys[0]}", f" {_OTHER_FIELDS}")] if keys else []


def _fixed(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of a Job's spec that no update may change; generated names of volume claims are left out."""
    tasks = [_without(task, "replicas", "minAvailable") for _, task in get_maps(spec, "tasks", "spec")]
    volumes = [
        _without(volume, "volumeClaimName") if volume.get("volumeClaim") is not None else volume
        for _, volume in get_maps(spec, "volumes", "spec")
    ]
    rest = _without(spec, "minAvailable", "priorityClassName")
    pruned: dict[str, Any] = _pruned({**rest, "tasks": tasks, "volumes": volumes})
    return pruned


def _without(data: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in data.items() if key not in keys}


def _pruned(value: Any) -> Any:
    """The value without empty fields, which count as absent; entries of mappings whose keys are free names are kept."""
    if isinstance(value, dict):
        whole = {key: item if key in _BY_NAME else _pruned(item) for key, item in value.items()}
        return {key: item for key, item in whole.items() if item not in (None, "", [], {})}
    return [_pruned(item) for item in value] if isinstance(value, list) else value
