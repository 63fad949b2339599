"""PodGroups of Jobs and of other pods: `cases/volcano-jobs/podgroup-from-*.json`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tests.conformance.registry import NotUnderstood, Runners
from tests.conformance.runners.volcano_jobs_asserts import assert_holds, same
from tests.conformance.runners.volcano_jobs_lifecycle import job_as_stored
from workbench.jobs.min_resources import keeps_task_minimums, min_resources_of_job, of_minimums_first
from workbench.jobs.pod_group_of_job import pod_group_of_job, updated_pod_group
from workbench.jobs.pod_group_of_pods import pod_group_of_pods, rebuilt_pod_group
from workbench.jobs.roles import Priorities
from workbench.jobs.wanted_pod_group import next_pod_group
from workbench.model.resources import quantity_text
from workbench.objects.deployment import min_member_of
from workbench.objects.job import Job, read_job
from workbench.objects.metadata import read_metadata
from workbench.objects.pod import read_pod_as_template
from workbench.objects.pod_group import GROUP_NAME_ANNOTATION, PodGroup, read_pod_group
from workbench.objects.pod_group_manifest import pod_group_manifest
from workbench.objects.queue import PriorityClass

_NO_CLASSES = Priorities({})


def register(runners: Runners) -> None:
    """Add the operations of the PodGroup files to the area's runners."""
    job, workload = "podgroup-from-job", "podgroup-from-workload"
    inherit = "inheritOwnerAnnotations"
    minimum = ("tasks", "jobMinAvailable")
    for file, op, given, want, runner in (
        (job, "create-podgroup", ("job",), ("error", "assert"), create),
        (job, "update-podgroup", ("job", "existingPodGroup"), ("error", "updated", "assert"), update),
        (job, "sub-group-policy", ("task",), ("subGroupPolicy",), sub_group_policy),
        (job, "min-resources-of-job", minimum, ("minResources", "branch"), min_resources),
        (job, "min-resources-by-task-min-available", minimum, ("minResources",), min_resources_by_task),
        (workload, "add-pods", (inherit, "schedulerNames", "pods", "replicaSet"), ("assert",), add_pods),
        (workload, "build-podgroup", (inherit, "pod", "owner", "podGroupName"), ("assert",), build),
        (workload, "create-or-update-podgroup", (inherit, "pod", "owner", "existingPodGroup"), ("assert",), rebuild),
        (workload, "should-update", (inherit, "pod", "podGroupName", "storedChanges"), ("updated",), should_update),
        (
            workload,
            "workload-event",
            ("workload", "pods", "existingPodGroups", "schedulerNames"),
            ("podGroupNames", "assert"),
            workload_event,
        ),
        (workload, "min-member", ("ownerAnnotations",), ("minMember",), min_member),
    ):
        runners.op(file, op, given, want)(runner)


def create(given: dict[str, Any], want: dict[str, Any]) -> None:
    assert want.get("error") is None
    group = pod_group_of_job(job_as_stored(given["job"]), _NO_CLASSES)
    assert_holds({"podGroup": pod_group_manifest(group)}, want["assert"])


def update(given: dict[str, Any], want: dict[str, Any]) -> None:
    assert want.get("error") is None
    existing = given["existingPodGroup"]
    stored = read_pod_group({**existing, "metadata": {"name": "group", **existing.get("metadata", {})}})
    group = updated_pod_group(stored, job_as_stored(given["job"]), _NO_CLASSES)
    if "updated" in want:
        assert (group != stored) == want["updated"]
    assert_holds({"podGroup": pod_group_manifest(group)}, want.get("assert", ()))


def sub_group_policy(given: dict[str, Any], want: dict[str, Any]) -> None:
    job = read_job({"metadata": {"name": "job", "uid": "stored"}, "spec": {"tasks": [given["task"]]}})
    policies = pod_group_manifest(pod_group_of_job(job, _NO_CLASSES))["spec"]["subGroupPolicy"]
    assert same(policies[0] if policies else None, want["subGroupPolicy"])


def min_resources(given: dict[str, Any], want: dict[str, Any]) -> None:
    job, priorities = _numbered_job(given)
    _assert_amounts(min_resources_of_job(job, priorities), want["minResources"])
    if "branch" in want:
        branch = "by-task-min-available" if keeps_task_minimums(job) else "first-N-pods"
        assert branch == want["branch"]


def min_resources_by_task(given: dict[str, Any], want: dict[str, Any]) -> None:
    """One of the two ways, whatever the numbers."""
    _assert_amounts(of_minimums_first(*_numbered_job(given)), want["minResources"])


def _numbered_job(given: Mapping[str, Any]) -> tuple[Job, Priorities]:
    tasks = []
    for position, task in enumerate(given["tasks"]):
        container = {"resources": {"requests": {"cpu": task["cpu"]}}}
        spec = {"containers": [container], "priorityClassName": f"class-{position}"}
        fields = {key: task[key] for key in ("name", "replicas", "minAvailable") if key in task}
        tasks.append({**fields, "template": {"spec": spec}})
    classes = {
        f"class-{position}": PriorityClass(f"class-{position}", task.get("priority", 0))
        for position, task in enumerate(given["tasks"])
    }
    job = read_job({"metadata": {"name": "job"}, "spec": {"tasks": tasks}})
    return replace(job, min_available=given["jobMinAvailable"]), Priorities(classes)


def _assert_amounts(found: Mapping[str, int], want: Mapping[str, str]) -> None:
    text = {name: quantity_text(name, amount) for name, amount in found.items()}
    assert same(text, want, quantities=True), text


def _inherited(given: Mapping[str, Any], owner: Mapping[str, Any] | None) -> Mapping[str, str] | None:
    if not (owner and given[_INHERIT]):
        return None
    annotations: Mapping[str, str] = owner["metadata"].get("annotations", {})
    return annotations


_INHERIT = "inheritOwnerAnnotations"


def _built(given: Mapping[str, Any]) -> PodGroup:
    pod = given["pod"]
    owner = _inherited(given, given.get("owner"))
    metadata = read_metadata(pod, namespaced=True)
    return pod_group_of_pods(given["podGroupName"], metadata, read_pod_as_template(pod), owner)


def build(given: dict[str, Any], want: dict[str, Any]) -> None:
    assert_holds({"podGroup": pod_group_manifest(_built(given))}, want["assert"])


def add_pods(given: dict[str, Any], want: dict[str, Any]) -> None:
    """Each pod in turn; the group that the first one made is there when the next one comes."""
    stored: Mapping[str, Any] | None = None
    pods = []
    for pod in given["pods"]:
        step = next_pod_group(
            {"kind": "Pod", **pod},
            stored,
            owner=given.get("replicaSet"),
            schedulers=given["schedulerNames"],
            inherit=given[_INHERIT],
        )
        stored = step.write or stored
        annotations = pod["metadata"].get("annotations", {})
        if step.member:
            annotations = {**annotations, GROUP_NAME_ANNOTATION: stored["metadata"]["name"] if stored else ""}
        pods.append({**pod, "metadata": {**pod["metadata"], "annotations": annotations}})
    assert_holds({"pods": pods} | ({"podGroup": stored} if stored else {}), want["assert"])


def rebuild(given: dict[str, Any], want: dict[str, Any]) -> None:
    stored = None
    if given.get("existingPodGroup") is not None:
        stored = {"metadata": {"name": f"podgroup-{_owner_uid(given['pod'])}"}, "spec": given["existingPodGroup"]}
    step = next_pod_group({"kind": "Pod", **given["pod"]}, stored, owner=given.get("owner"), inherit=given[_INHERIT])
    assert_holds({"podGroup": step.write or stored}, want["assert"])


def _owner_uid(pod: Mapping[str, Any]) -> str:
    controller = read_metadata(pod, namespaced=True).controller
    return controller.uid if controller else str(pod["metadata"].get("uid", ""))


def should_update(given: dict[str, Any], want: dict[str, Any]) -> None:
    built = _built(given)
    manifest = pod_group_manifest(built)
    for change in given["storedChanges"]:
        *parents, last = (part.replace("~1", "/") for part in change["path"].split("/")[1:])
        place = manifest
        for part in parents:
            place = place.setdefault(part, {})
        place[last] = change["value"]
    stored = read_pod_group(manifest)
    assert (rebuilt_pod_group(stored, built) != stored) == want["updated"]


def workload_event(given: dict[str, Any], want: dict[str, Any]) -> None:
    names = set(given["existingPodGroups"])
    step = next_pod_group(given["workload"], pods=given["pods"], schedulers=given["schedulerNames"])
    names.discard(step.delete)
    document: dict[str, Any] = {}
    if step.write is not None:
        document["podGroup"] = step.write
        names.add(step.write["metadata"]["name"])
    if "podGroupNames" in want:
        assert names == set(want["podGroupNames"])
    if want.get("assert") and "podGroup" not in document:
        raise NotUnderstood("no PodGroup is made")
    assert_holds(document, want.get("assert", ()))


def min_member(given: dict[str, Any], want: dict[str, Any]) -> None:
    assert min_member_of(given["ownerAnnotations"]) == want["minMember"]
