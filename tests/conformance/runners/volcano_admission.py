"""Runner of the admission cases: `cases/volcano-topology/webhook-*.json`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.conformance.registry import NotUnderstood, Runners
from tests.conformance.runners.volcano_tree import hypernode_manifest
from workbench.model.release import Release
from workbench.objects.admission.hypernode import (
    hypernode_policy,
    hypernode_schema,
    hypernode_webhook,
    refuse_hypernode,
)
from workbench.objects.admission.job import refuse_job
from workbench.objects.admission.job_update import refuse_job_update
from workbench.objects.admission.pod_group import refuse_pod_group
from workbench.objects.job import read_job
from workbench.objects.pod_group import read_pod_group

_LAYERS = {
    "webhook": hypernode_webhook,
    "admission-policy": hypernode_policy,
    "crd-schema": hypernode_schema,
    "api-server": refuse_hypernode,
}
_OPERATIONS = ("CREATE", "UPDATE")
_VERDICT = ("allowed", "error_contains_all", "error_contains_any")


def register(runners: Runners) -> None:
    """Add the operations of the webhook files to the area's runners."""
    runners.op("webhook-hypernode", "admit-hypernode", ("hypernode", "layer", "operation"), _VERDICT, per_release=True)(
        admit_hypernode
    )
    runners.op(
        "webhook-podgroup", "admit-podgroup", ("podgroup", "existing_queue", "operation"), _VERDICT, per_release=True
    )(admit_podgroup)
    runners.op("webhook-job", "admit-job", ("job", "operation"), _VERDICT, per_release=True)(admit_job)
    runners.op("webhook-job", "mutate-job", ("tasks",), ("tasks",))(mutate_job)


def admit_hypernode(given: dict[str, Any], want: dict[str, Any], release: Release) -> None:
    known(given["operation"], _OPERATIONS)
    known(given["layer"], _LAYERS)
    assert_verdict(_LAYERS[given["layer"]](hypernode_manifest(given["hypernode"]), release), want)


def admit_podgroup(given: dict[str, Any], want: dict[str, Any], release: Release) -> None:
    known(given["operation"], _OPERATIONS[:1])
    group, queue = given["podgroup"], given["existing_queue"]
    state = queue["state"] if queue and queue["name"] == group["queue"] else None
    parsed = read_pod_group({"metadata": {"name": "group"}, "spec": group})
    assert_verdict(refuse_pod_group(parsed, group["queue"], state, release), want)


def admit_job(given: dict[str, Any], want: dict[str, Any], release: Release) -> None:
    known(given["operation"], _OPERATIONS)
    refuse = refuse_job if given["operation"] == "CREATE" else refuse_job_update
    job = given["job"]
    assert_verdict(refuse({"metadata": {"name": job["name"]}, "spec": job}, release), want)


def mutate_job(given: dict[str, Any], want: dict[str, Any]) -> None:
    job = read_job({"metadata": {"name": "job"}, "spec": {"tasks": given["tasks"]}})
    found = [
        {**entry, "name": task.name, "minAvailable": task.minimum}
        for entry, task in zip(given["tasks"], job.tasks, strict=True)
    ]
    assert found == want["tasks"]


def assert_verdict(refusal: str, want: Mapping[str, Any]) -> None:
    assert (not refusal) == want["allowed"], refusal
    for text in want.get("error_contains_all") or ():
        assert text in refusal
    if want.get("error_contains_any"):
        assert any(text in refusal for text in want["error_contains_any"]), refusal


def known(value: str, values: Any) -> None:
    if value not in values:
        raise NotUnderstood(f"{value!r}; known are {', '.join(values)}")
