"""Edits of where the pods of a pending job may run: tolerations, node selectors and required node affinity."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from workbench.errors import InputError
from workbench.formats.edit_manifests.job_objects import JobObjects
from workbench.formats.edit_manifests.manifest_set import Manifest, ManifestSet, child_map
from workbench.formats.edit_manifests.owned_edits import owned_templates
from workbench.objects.fields import shown

__all__ = ["add_tolerations", "change_selector", "drop_affinity", "pod_holders"]

Edit = Mapping[str, Any]

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def add_tolerations(manifests: ManifestSet, job: JobObjects, edit: Edit) -> None:
    """Let every role of the job tolerate the taints that the edit names.

    `manifests`: changed in place. `edit`: the key ``to`` has the tolerations, as in the spec of a pod.
    """
    wanted = [_toleration(item) for item in edit.get("to") or ()]

    def change(spec: Manifest) -> bool:
        known = [_toleration(item) for item in spec.get("tolerations") or ()]
        new = [item for item in wanted if item not in known]
        if new:
            spec["tolerations"] = [*(spec.get("tolerations") or ()), *new]
        return bool(new)

    _change_all(manifests, job, change, "every role of the job has these tolerations already")


def _toleration(item: Mapping[str, Any]) -> dict[str, Any]:
    """A toleration as people write it: without empty fields, but with its operator."""
    written = {key: value for key, value in item.items() if value not in (None, "")}
    return {**written, "operator": written.get("operator", "Equal")}


def change_selector(manifests: ManifestSet, job: JobObjects, edit: Edit) -> None:
    """Drop one entry of nodeSelector in every role that has it, or put another requirement in its place.

    A requirement that nodeSelector cannot express becomes a part of the required node affinity.

    `manifests`: changed in place. `edit`: the key ``from`` has the requirement to drop, ``to`` the new one (None:
    none); each has key, operator and values.
    """
    old, new = edit.get("from"), edit.get("to")
    if not isinstance(old, Mapping) or len(old.get("values") or ()) != 1:
        raise InputError("wrong type or value", where="from", got=shown(old), expected="key, operator In, one value")
    key, value = old["key"], old["values"][0]

    def change(spec: Manifest) -> bool:
        selector = spec.get("nodeSelector") or {}
        if selector.get(key) != value:
            return False
        del selector[key]
        if not selector:
            del spec["nodeSelector"]
        if new is not None:
            _require(spec, new)
        return True

    _change_all(manifests, job, change, f"no role of the job selects {key}={value}")


def _require(spec: Manifest, requirement: Mapping[str, Any]) -> None:
    key, operator, values = requirement["key"], requirement.get("operator", "In"), list(requirement.get("values") or ())
    if operator == "In" and len(values) == 1:
        child_map(spec, "nodeSelector")[key] = values[0]
        return
    expression = {"key": key, "operator": operator, **({"values": values} if values else {})}
    required = child_map(spec, "affinity", "nodeAffinity", _REQUIRED)
    if not required.get("nodeSelectorTerms"):
        required["nodeSelectorTerms"] = [{}]
    for term in required["nodeSelectorTerms"]:
        term["matchExpressions"] = [*(term.get("matchExpressions") or ()), expression]


def drop_affinity(manifests: ManifestSet, job: JobObjects, edit: Edit) -> None:
    """Drop the required node affinity of every role.

    `manifests`: changed in place. `edit`: not read: no value is needed.
    """

    def change(spec: Manifest) -> bool:
        affinity = spec.get("affinity") or {}
        node_affinity = affinity.get("nodeAffinity") or {}
        if not node_affinity.get(_REQUIRED):
            return False
        del node_affinity[_REQUIRED]
        if not node_affinity:
            del affinity["nodeAffinity"]
        if not affinity:
            del spec["affinity"]
        return True

    _change_all(manifests, job, change, "no role of the job has a required node affinity")


def _change_all(manifests: ManifestSet, job: JobObjects, change: Callable[[Manifest], bool], nothing: str) -> None:
    """Change the pod specs of a job; raises InputError with the message `nothing` if none changes."""
    if not sum(change(spec) for spec in (child_map(holder, "spec") for holder in pod_holders(manifests, job))):
        raise InputError(nothing, got=f"{job.kind} {job.key}")


def pod_holders(manifests: ManifestSet, job: JobObjects) -> Iterator[Manifest]:
    """What says where pending pods of a job may run: its pod templates, and the existing pods themselves.

    `manifests`: its copies are changed.
    """
    specs = [template for _, template in job.templates(manifests)]
    for one in job.jobs_that_wait(manifests):
        assert one.owner is not None
        specs.append(child_map(manifests.change(one.owner), "spec"))
    for spec in specs:
        for task in spec.get("tasks") or ():
            yield child_map(task, "template")
    if job.kind == "Deployment" and job.owner is not None:
        yield child_map(manifests.change(job.owner), "spec", "template")
    yield from owned_templates(manifests, job)
    for _, position in job.waiting_pods(manifests):
        yield manifests.change(position)
