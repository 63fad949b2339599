"""Admission of Jobs and PodGroups: `cases/volcano-jobs/{webhook-mutate,webhook-validate,podgroup-admission}.json`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.conformance.registry import NotUnderstood, Runners
from tests.conformance.runners.volcano_jobs_asserts import includes, same
from workbench.objects.admission.job import job_defaults, job_findings, task_defaults
from workbench.objects.admission.job_update import refuse_job_update
from workbench.objects.admission.known import KnownQueue, with_defaults
from workbench.objects.admission.plugins import plugin_defaults
from workbench.objects.admission.pod_group import queue_of_namespace, refuse_pod_group
from workbench.objects.admission.pod_template import topology_policy_findings
from workbench.objects.admission.schema import refusal_text
from workbench.objects.deployment import QUEUE_ANNOTATION
from workbench.objects.job import launch_order, read_job
from workbench.objects.pod_group import read_pod_group

_GATES = {"PodLevelResources"}
_VERDICT = ("allowed", "messageContains")


def register(runners: Runners) -> None:
    """Add the operations of the admission files to the area's runners."""
    for file, op, given, want, runner in (
        ("webhook-validate", "create", ("job", "queues", "featureGates"), _VERDICT, create),
        ("webhook-validate", "update", ("oldJob", "job"), _VERDICT, update),
        ("webhook-validate", "task-topology-policy", ("task", "taskIndex"), _VERDICT, task_topology_policy),
        ("webhook-validate", "topo-sort", ("tasks",), ("isDag", "sortedTasks"), topo_sort),
        ("webhook-mutate", "mutate-tasks", ("tasks",), ("patch", "tasks"), mutate_tasks),
        ("webhook-mutate", "mutate-plugins", ("plugins",), ("patch", "plugins"), mutate_plugins),
        (
            "webhook-mutate",
            "mutate-job",
            ("spec",),
            ("queue", "schedulerName", "maxRetry", "minAvailable"),
            mutate_job,
        ),
        ("podgroup-admission", "validate-podgroup", ("podGroup", "queues"), _VERDICT, validate_pod_group),
        ("podgroup-admission", "mutate-podgroup", ("queue", "namespaceAnnotations"), ("patch",), mutate_pod_group),
    ):
        runners.op(file, op, given, want)(runner)


def assert_verdict(refusal: str, want: Mapping[str, Any], message: str = "") -> None:
    """`message`: the text before it is trimmed, where a fragment may begin or end with a space."""
    assert (not refusal) == want["allowed"], refusal
    if want.get("messageContains"):
        assert want["messageContains"] in (message or refusal), refusal


def create(given: dict[str, Any], want: dict[str, Any]) -> None:
    """As Volcano: without this project's own plugins."""
    gates = given.get("featureGates") or {}
    if gates.keys() - _GATES:
        raise NotUnderstood(f"feature gates {', '.join(sorted(gates.keys() - _GATES))}")
    queues = {
        name: KnownQueue(queue.get("state", ""), queue.get("parent", "")) for name, queue in given["queues"].items()
    }
    findings = job_findings(
        given["job"],
        queues=queues,
        pod_level_resources=gates.get("PodLevelResources", False),
        own_plugins=False,
    )
    assert_verdict(refusal_text(findings), want, "".join(finding.text for finding in findings))


def update(given: dict[str, Any], want: dict[str, Any]) -> None:
    assert_verdict(refuse_job_update(given["job"], before=given["oldJob"]), want)


def task_topology_policy(given: dict[str, Any], want: dict[str, Any]) -> None:
    assert_verdict(refusal_text(topology_policy_findings(given["task"], given["taskIndex"])), want)


def topo_sort(given: dict[str, Any], want: dict[str, Any]) -> None:
    tasks = [(task["name"], (task.get("dependsOn") or {}).get("name") or ()) for task in given["tasks"]]
    order = launch_order(tasks)
    assert (order is not None) == want["isDag"]
    if want.get("sortedTasks"):
        assert list(order or ()) == want["sortedTasks"]


def mutate_tasks(given: dict[str, Any], want: dict[str, Any]) -> None:
    data = {"metadata": {"name": "job"}, "spec": {"tasks": given["tasks"]}}
    defaults = task_defaults(data["spec"], read_job(data))
    _assert_patch({"op": "replace", "path": "/spec/tasks"} if defaults else None, want)
    stored = with_defaults(data, defaults)["spec"]["tasks"]
    assert len(stored) == len(want["tasks"])
    assert all(includes(task, wanted) for task, wanted in zip(stored, want["tasks"], strict=True)), stored


def mutate_plugins(given: dict[str, Any], want: dict[str, Any]) -> None:
    """The webhook replaces the plugins wherever there are any, also where it adds none."""
    plugins = given["plugins"]
    _assert_patch(None if plugins is None else {"op": "replace", "path": "/spec/plugins"}, want)
    stored = {**(plugins or {}), **plugin_defaults(plugins)}
    wanted = want.get("plugins") or {}
    assert stored.keys() == wanted.keys()
    assert all(same(arguments, wanted[name]) for name, arguments in stored.items())


def mutate_job(given: dict[str, Any], want: dict[str, Any]) -> None:
    data = {"metadata": {"name": "job"}, "spec": given["spec"]}
    stored = with_defaults(data, job_defaults(data, read_job(data)))["spec"]
    assert {key: stored[key] for key in want} == want


def _assert_patch(found: Mapping[str, Any] | None, want: Mapping[str, Any]) -> None:
    if "patch" not in want:
        return
    wanted = want["patch"]
    if isinstance(wanted, list):
        if len(wanted) > 1:
            raise NotUnderstood("more than one patch")
        wanted = wanted[0] if wanted else None
    assert (found is None) == (wanted is None)
    if found is not None:
        assert {key: found.get(key) for key in wanted} == wanted


def validate_pod_group(given: dict[str, Any], want: dict[str, Any]) -> None:
    group = given["podGroup"]
    queue = group.get("spec", {}).get("queue", "")
    known = given["queues"].get(queue)
    state = None if known is None else known.get("state", "")
    assert_verdict(refuse_pod_group(read_pod_group(group), queue, state), want)


def mutate_pod_group(given: dict[str, Any], want: dict[str, Any]) -> None:
    if given["namespaceAnnotations"].keys() - {QUEUE_ANNOTATION}:
        raise NotUnderstood("another annotation of a namespace")
    queue = queue_of_namespace(given["queue"], given["namespaceAnnotations"])
    _assert_patch({"op": "add", "path": "/spec/queue", "value": queue} if queue else None, want)
