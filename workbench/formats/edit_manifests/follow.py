"""PodGroups follow what a change does to their Jobs, or to their pods."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from workbench.formats.edit_manifests.job_objects import JobObjects
from workbench.formats.edit_manifests.manifest_set import Manifest, ManifestSet
from workbench.jobs.min_resources import quota_usage
from workbench.jobs.pod_group_of_job import pod_group_of_job
from workbench.model.gang import pod_index
from workbench.model.resources import quantity_text
from workbench.objects.job import read_job
from workbench.objects.pod import read_pod_as_template
from workbench.objects.pod_group import PodGroup
from workbench.objects.quantity import to_base_units

__all__ = ["change_job", "change_minimum"]


def change_job(manifests: ManifestSet, job: JobObjects, change: Callable[[Manifest], None]) -> None:
    """Change the spec of a Volcano Job, and its PodGroups as the Job's controller would.

    `job`: of the kind Job. `change`: receives the spec and changes it in place.
    """
    assert job.owner is not None
    priorities = manifests.priorities
    before = pod_group_of_job(read_job(manifests.read(job.owner)), priorities)
    change(manifests.change(job.owner)["spec"])
    after = pod_group_of_job(read_job(manifests.read(job.owner)), priorities)
    for group in job.groups:
        _follow(manifests.change(group), before, after)


def _follow(data: Manifest, before: PodGroup, after: PodGroup) -> None:
    """Change a PodGroup by the difference of two that the controller would make."""
    spec = data.setdefault("spec", {})
    if before.min_member is not None and after.min_member is not None:
        _less(spec, "minMember", before.min_member - after.min_member)
    members = spec.get("minTaskMember") or {}
    for name in members:
        _less(members, name, before.min_task_member.get(name, 0) - after.min_task_member.get(name, 0))
    _less_resources(spec, before.min_resources or {}, after.min_resources or {})
    if after.priority_class != before.priority_class:
        spec["priorityClassName"] = after.priority_class
    policies = {policy.name: policy for policy in after.sub_group_policies}
    for item in spec.get("subGroupPolicy") or ():
        made = policies.get(item.get("name"))
        if made is not None and item.get("minSubGroups"):
            item["minSubGroups"] = made.min_sub_groups


def _less(data: Manifest, key: str, by: int) -> None:
    """Lower a count by a number; it stays 0 or more, and an absent one stays absent."""
    if by and type(data.get(key)) is int:
        data[key] = max(data[key] - by, 0)


def _less_resources(spec: Manifest, before: Mapping[str, int], after: Mapping[str, int]) -> None:
    """Lower each amount in minResources by the difference of two sums; names that are not there stay away."""
    stored: dict[str, Any] = spec.get("minResources") or {}
    for name, text in stored.items():
        by = before.get(name, 0) - after.get(name, 0)
        if by:
            stored[name] = quantity_text(name, max(to_base_units(name, text) - by, 0))


def change_minimum(manifests: ManifestSet, job: JobObjects, by: int, role: str = "", by_role: int = 0) -> None:
    """Lower minMember of a PodGroup without a Job, and minResources by what fewer pods request.

    `job`: of the kind PodGroup. `by`: number by which minMember is lowered. `role`: role whose entry of minTaskMember
    is lowered, too; empty: none. `by_role`: number by which that entry is lowered.
    """
    if job.owner is None:
        return
    spec = manifests.change(job.owner).setdefault("spec", {})
    least = spec.get("minMember")
    _less(spec, "minMember", by)
    _less(spec.get("minTaskMember") or {}, role, by_role)
    if type(least) is int and by:
        usages = [_usage_of_first(manifests, job, count) for count in (least, spec["minMember"])]
        _less_resources(spec, usages[0], usages[1])


def _usage_of_first(manifests: ManifestSet, job: JobObjects, count: int) -> dict[str, int]:
    """Quota that the first `count` unfinished pods of a job use, in the order of their names' indices."""

    def order(key: str) -> tuple[bool, int, bytes]:
        index = pod_index(key)
        return index is None, index or 0, key.encode()

    pods: Sequence[str] = sorted((pod.metadata.key for pod in job.pods if not pod.finished), key=order)
    total: dict[str, int] = {}
    for key in pods[:count]:
        position = manifests.find("Pod", key)
        if position is not None:
            for name, amount in quota_usage(read_pod_as_template(manifests.read(position))).items():
                total[name] = total.get(name, 0) + amount
    return total
