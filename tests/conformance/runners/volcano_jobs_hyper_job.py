"""HyperJobs: `cases/volcano-jobs/hyperjob.json`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.conformance.registry import Runners
from tests.conformance.runners.volcano_jobs_asserts import assert_holds, includes
from workbench.jobs.hyper_job.children import HASH_LABEL, MEMBER_LABEL, kept_defaults, template_hash
from workbench.jobs.hyper_job.next_step import HyperStep, next_hyper_job
from workbench.objects.hyper_job import read_members

_LISTS = ("jobs", "jobNames", "propagationPolicies", "updated", "deleted")


def register(runners: Runners) -> None:
    """Add the operations of the HyperJob file to the area's runners."""
    expanded = ("error", *_LISTS, "splitCount", "assert")
    runners.op("hyperjob", "expand", ("hyperJob", "existingJobs", "existingPolicies"), expanded)(expand)
    runners.op("hyperjob", "reconcile", ("hyperJob", "existingJobs"), ("created", "updated", "deleted"))(reconcile)
    totals = ("condition", "splitCount", "observedGeneration", "totals", "statusUpdated", "assert")
    runners.op("hyperjob", "aggregate-status", ("hyperJob", "splitCount", "childJobs"), totals)(aggregate_status)
    kept = ("queue", "schedulerName", "maxRetry", "minAvailable", "tasks")
    runners.op("hyperjob", "preserve-defaults", ("existing", "desired"), kept)(preserve_defaults)


def existing_jobs(given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Jobs in short form: what their HyperJob gave them besides the name follows from the name."""
    hyper_job = given["hyperJob"]["metadata"]["name"]
    members = {f"{hyper_job}-{member.name}-": member for member in read_members(given["hyperJob"])}
    jobs = []
    for short in given.get("existingJobs") or ():
        member = members.get(short["name"].rstrip("0123456789"))
        labels = {**short.get("labels", {})}
        if member is not None:
            labels[MEMBER_LABEL] = member.name
        current = short.get("templateHash") == "current" and member is not None
        labels[HASH_LABEL] = template_hash(member) if current and member else "of-an-older-template"
        owner = {"kind": "HyperJob", "name": short["controlledBy"], "controller": True}
        metadata = {**given["hyperJob"]["metadata"], "name": short["name"], "labels": labels}
        spec = member.template if member else {}
        jobs.append({"metadata": {**metadata, "ownerReferences": [owner]}, "spec": spec})
    return jobs


def names(manifests: Sequence[Mapping[str, Any]]) -> list[str]:
    return sorted(manifest["metadata"]["name"] for manifest in manifests)


def expand(given: dict[str, Any], want: dict[str, Any]) -> None:
    before = existing_jobs(given)
    step = next_hyper_job(given["hyperJob"], before)
    jobs = _afterwards(before, step)
    if want.get("error"):
        assert any(want["error"] in error for error in step.errors)
    else:
        assert step.errors == ()
    if "jobNames" in want:
        assert names(jobs) == sorted(want["jobNames"])
    if "jobs" in want:
        _assert_listed([_flat_job(job) for job in jobs], want["jobs"])
    if "propagationPolicies" in want:
        flat = [{**policy["metadata"], "spec": policy["spec"]} for policy in step.policies]
        _assert_listed(flat, want["propagationPolicies"])
    if "splitCount" in want:
        assert step.status["splitCount"] == want["splitCount"]
    for key, found in (("updated", names(step.update)), ("deleted", list(step.delete))):
        if key in want:
            assert found == sorted(want[key])
    assert_holds({"policies": step.policies, "pods": []}, want.get("assert", ()))


def _afterwards(before: Sequence[Mapping[str, Any]], step: HyperStep) -> list[Mapping[str, Any]]:
    after = {job["metadata"]["name"]: job for job in (*before, *step.create, *step.update)}
    return [job for name, job in after.items() if name not in step.delete]


def _flat_job(job: Mapping[str, Any]) -> dict[str, Any]:
    owners = [owner for owner in job["metadata"]["ownerReferences"] if owner.get("controller")]
    return {**job["metadata"], "controllerOwner": owners[0] if owners else None, "spec": job["spec"]}


def _assert_listed(found: Sequence[Mapping[str, Any]], want: Sequence[Mapping[str, Any]]) -> None:
    by_name = {one["name"]: one for one in found}
    assert by_name.keys() == {one["name"] for one in want}
    assert all(includes(by_name[one["name"]], one) for one in want)


def reconcile(given: dict[str, Any], want: dict[str, Any]) -> None:
    step = next_hyper_job(given["hyperJob"], existing_jobs(given))
    found = {"created": names(step.create), "updated": names(step.update), "deleted": list(step.delete)}
    assert found == {key: sorted(value) for key, value in want.items()}


def aggregate_status(given: dict[str, Any], want: dict[str, Any]) -> None:
    before = given["hyperJob"].get("status", {})
    label = "volcano.sh/hyperjob-name"
    jobs = [
        {
            "metadata": {
                "name": job["name"],
                "labels": {label: given["hyperJob"]["metadata"]["name"], MEMBER_LABEL: job["replicatedJob"]},
            },
            "status": {
                "state": {"phase": job["phase"]},
                **{key: job.get(key, 0) for key in ("running", "succeeded", "failed")},
            },
        }
        for job in given["childJobs"]
    ]
    status = next_hyper_job(given["hyperJob"], jobs).status
    if "statusUpdated" in want:
        assert (status != before) == want["statusUpdated"]
    terminal = next((one for one in status.get("conditions", ()) if one["type"] in ("Completed", "Failed")), None)
    if "condition" in want:
        assert (terminal is None) == (want["condition"] is None)
        assert want["condition"] is None or includes(terminal, want["condition"])
    for key in ("splitCount", "observedGeneration"):
        if key in want:
            assert status[key] == want[key]
    if "totals" in want:
        members = status["replicatedJobsStatus"]
        assert {key: sum(member.get(key, 0) for member in members) for key in want["totals"]} == want["totals"]
    assert_holds({"hyperJob": {**given["hyperJob"], "status": status}}, want.get("assert", ()))


def preserve_defaults(given: dict[str, Any], want: dict[str, Any]) -> None:
    spec = kept_defaults(given["existing"], given["desired"])
    assert includes(spec, want)
