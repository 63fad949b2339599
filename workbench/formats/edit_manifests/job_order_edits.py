"""Edits of manifests that let a job start earlier: without a dependency, or with a higher priority."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.errors import InputError
from workbench.formats.edit_manifests.follow import change_job
from workbench.formats.edit_manifests.job_edits import Edit, annotated, role_prefix, tasks_of, whole_number_of
from workbench.formats.edit_manifests.job_objects import JobObjects
from workbench.formats.edit_manifests.manifest_set import Manifest, ManifestSet, child_map

__all__ = ["change_dependency", "change_priority"]


def change_dependency(manifests: ManifestSet, job: JobObjects, edit: Edit) -> None:
    """Set or drop the names that a task depends on.

    `manifests`: changed in place. `edit`: the key ``role`` has the task's role, ``to`` the names; without names,
    dependsOn is dropped.
    """
    to: Sequence[str] = edit.get("to") or ()
    role = str(edit.get("role") or "")
    found: list[bool] = []

    def change(spec: Manifest, prefix: str) -> None:
        for name, task in tasks_of(spec):
            if prefix + name == role and task.get("dependsOn"):
                found.append(True)
                if to:
                    task["dependsOn"]["name"] = list(to)
                else:
                    del task["dependsOn"]

    for one in job.jobs_that_wait(manifests):
        prefix = role_prefix(job, one.key.partition("/")[2])
        change_job(manifests, one, lambda spec, prefix=prefix: change(spec, prefix))  # type: ignore[misc]
    for member, template in job.templates(manifests):
        number = role.removeprefix(f"{member}-").partition("-")[0]
        change(template, f"{member}-{number}-")
    if not found:
        raise InputError("no task of this name with dependsOn in the job", got=role)


def change_priority(manifests: ManifestSet, job: JobObjects, edit: Edit) -> None:
    """Give the job a PriorityClass of the wanted value, one of the input or a new one.

    Pods of a Job or a PodGroup keep theirs: it orders the pods within the job. A job without either has the priority of
    its pods.

    `manifests`: changed in place. `edit`: the key ``to`` has the new priority.
    """
    to = whole_number_of(edit, "to")
    name = _priority_class(manifests, to)

    def change(spec: Manifest) -> None:
        spec["priorityClassName"] = name

    for one in job.jobs_that_wait(manifests):
        change_job(manifests, one, change)
    for _, template in job.templates(manifests):
        change(template)
    if job.kind == "PodGroup":
        if job.owner is None:
            raise InputError("the PodGroup is not in the manifests", got=job.key)
        change(child_map(manifests.change(job.owner), "spec"))
    specs = [child_map(data, "spec") for data in annotated(manifests, job)]
    if job.kind == "Deployment":
        specs += [child_map(manifests.change(position), "spec") for _, position in job.waiting_pods(manifests)]
    for spec in specs:
        spec.pop("priority", None)
        change(spec)


def _priority_class(manifests: ManifestSet, value: int) -> str:
    """Name of a PriorityClass of this value, which is added if there is none."""
    positions = [manifests.read(position) for position in manifests.each("PriorityClass")]
    known = {str(data["metadata"]["name"]): data.get("value") for data in positions}
    equal = sorted((name for name, number in known.items() if number == value), key=str.encode)
    if equal:
        return equal[0]
    name = f"priority-{value}" if value >= 0 else f"priority-minus-{-value}"
    while name in known:
        name += "-new"
    manifests.add(
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name},
            "value": value,
            "globalDefault": False,
        }
    )
    return name
