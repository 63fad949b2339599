"""Edits of JobSets, Ray's jobs and their like: they end or are withdrawn as a whole, their fields are left alone."""

from __future__ import annotations

from typing import Any

import pytest

from tests.formats.edit_manifests.forms import nodes
from tests.formats.edit_manifests.test_job_edits import edit, edited
from tests.objects.test_top_owners import TEMPLATE, entry, job, job_set, leader_worker_set
from workbench.errors import InputError
from workbench.formats.edit_manifests.commands import kubectl_commands
from workbench.formats.job_text import load_with_job_text
from workbench.formats.write_manifests import to_yaml

Manifest = dict[str, Any]


def named(data: Manifest, name: str = "train", **metadata: Any) -> Manifest:
    return {**data, "metadata": {"name": name, "namespace": "default", **metadata}}


def owned_by(version: str, kind: str, name: str) -> Manifest:
    return {"ownerReferences": [{"apiVersion": version, "kind": kind, "name": name, "controller": True}]}


def running(name: str, owner: str, **labels: str) -> Manifest:
    metadata = {"name": name, "namespace": "default", "labels": labels, **owned_by("batch/v1", "Job", owner)}
    spec = {**TEMPLATE["spec"], "nodeName": "n0"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": "Running"}}


def a_running_job_set() -> list[Manifest]:
    child = named(job(), "train-w-0", **owned_by("jobset.x-k8s.io/v1alpha2", "JobSet", "train"))
    labels = {"jobset.sigs.k8s.io/jobset-name": "train", "jobset.sigs.k8s.io/replicatedjob-name": "w"}
    return [named(job_set(entry())), child, running("train-w-0-0-abcde", "train-w-0", **labels)]


FINISH = {"kind": "finish", "subject": "job default/train", "from": "running", "to": "ended"}


def test_a_job_set_ends_with_its_jobs_and_their_pods() -> None:
    manifests = [*nodes(), *a_running_job_set()]
    before, after, result = edited(manifests, FINISH)
    assert [pod.gang for pod in before.snapshot.running] == ["default/train"]
    assert (after.snapshot.running, after.gangs, len(result)) == ((), (), len(nodes()))
    assert "kubectl -n default delete jobsets.jobset.x-k8s.io train" in kubectl_commands(manifests, [FINISH])


def test_a_job_of_kubernetes_is_not_taken_for_volcanos() -> None:
    manifests = [*nodes(), named(job()), running("train-abcde", "train")]
    _, after, _ = edited(manifests, FINISH)
    assert after.snapshot.running == ()
    assert "kubectl -n default delete jobs.batch train" in kubectl_commands(manifests, [FINISH])


def test_a_pending_one_is_withdrawn_as_a_whole() -> None:
    _, after, _ = edited([*nodes(), named(job_set(entry()))], edit("withdraw"))
    assert after.gangs == ()


@pytest.mark.parametrize("kind", ["min-available", "priority", "tier"])
def test_its_fields_are_not_changed(kind: str) -> None:
    with pytest.raises(InputError, match=r"fields of this kind are not changed here .*JobSet default/train"):
        edited([*nodes(), named(job_set(entry()))], edit(kind, to=1))


def test_the_text_of_jobs_leaves_out_what_runs_as_a_whole() -> None:
    runs = running("serve-0", "x")
    runs["metadata"]["labels"] = {
        "leaderworkerset.sigs.k8s.io/name": "serve",
        "leaderworkerset.sigs.k8s.io/group-index": "0",
    }
    serve = named(leader_worker_set(size=1), "serve")
    for replicas, kept in ((1, False), (2, True)):
        serve["spec"]["replicas"] = replicas
        text = to_yaml([*nodes(), *a_running_job_set(), serve, runs])
        _, jobs = load_with_job_text("-", stdin=text)
        assert ("LeaderWorkerSet" in jobs) is kept
        assert "JobSet" not in jobs
