"""Edits of JobSets, Ray's jobs and their like: sizes, annotations of Kueue; they end or are withdrawn as a whole."""

from __future__ import annotations

from typing import Any

import pytest

from tests.formats.edit_manifests.forms import nodes
from tests.formats.edit_manifests.test_job_edits import edit, edited, read
from tests.objects.test_top_owners import (
    TEMPLATE,
    entry,
    group,
    job,
    job_set,
    leader_worker_set,
    manifest,
    ray_cluster,
    torch_job,
)
from workbench.errors import InputError
from workbench.evaluate.whatif.kueue_edits import AskLevel
from workbench.evaluate.whatif.size_edits import FewerReplicas
from workbench.formats.edit_manifests.commands import kubectl_commands
from workbench.formats.job_text import load_with_job_text
from workbench.formats.write_manifests import to_yaml
from workbench.model.kueue_request import KueueRequest
from workbench.objects.fields import path_steps

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


RACK = "kueue.x-k8s.io/podset-required-topology"
ASKING = {**TEMPLATE, "metadata": {"annotations": {RACK: "rack"}}}


def mpi_job(template: Manifest) -> Manifest:
    replicas = {"Launcher": {"template": template}, "Worker": {"replicas": 4, "template": template}}
    return manifest("kubeflow.org/v2beta1", "MPIJob", {"mpiReplicaSpecs": replicas})


def torch(template: Manifest) -> Manifest:
    replicas = {"Master": {"template": template}, "Worker": {"replicas": 4, "template": template}}
    more = {"elasticPolicy": {"minReplicas": 4, "maxReplicas": 8}}
    return torch_job(replicas, runPolicy={"schedulingPolicy": {"minAvailable": 5}}, **more)


def ray(template: Manifest) -> Manifest:
    workers = group("g", replicas=2, minReplicas=2, numOfHosts=2, template=template)
    return ray_cluster(workers, headGroupSpec={"template": template})


#: Object, key of its (first) gang, role, pods before and after, and the fields that change, by path.
SHRUNK: list[tuple[Manifest, str, str, int, int, dict[str, int]]] = [
    (job(ASKING, parallelism=4), "train", "main", 4, 2, {"parallelism": 2}),
    (job(ASKING, parallelism=4, completions=9), "train", "main", 4, 3, {"parallelism": 3, "completions": 9}),
    (
        job(ASKING, parallelism=4, completions=4, completionMode="Indexed"),
        "train",
        "main",
        4,
        1,
        {"parallelism": 1, "completions": 1},
    ),
    (
        job_set(entry("w", 3, template=ASKING, parallelism=2)),
        "train",
        "w",
        6,
        4,
        {"replicatedJobs[0].replicas": 2, "replicatedJobs[0].template.spec.parallelism": 2},
    ),
    (
        job_set(entry("a"), entry("w", 1, template=ASKING, parallelism=4)),
        "train",
        "w",
        4,
        3,
        {"replicatedJobs[1].template.spec.parallelism": 3, "replicatedJobs[1].replicas": 1},
    ),
    (
        leader_worker_set(size=5, leaderTemplate=ASKING, workerTemplate=ASKING),
        "train-0",
        "worker",
        4,
        2,
        {"leaderWorkerTemplate.size": 3},
    ),
    (leader_worker_set(size=4, workerTemplate=ASKING), "train-0", "main", 4, 2, {"leaderWorkerTemplate.size": 2}),
    (ray(ASKING), "train", "g", 4, 2, {"workerGroupSpecs[0].replicas": 1, "workerGroupSpecs[0].minReplicas": 1}),
    (mpi_job(ASKING), "train", "worker", 4, 3, {"mpiReplicaSpecs.Worker.replicas": 3}),
    (
        torch(ASKING),
        "train",
        "worker",
        4,
        2,
        {
            "pytorchReplicaSpecs.Worker.replicas": 2,
            "elasticPolicy.minReplicas": 2,
            "elasticPolicy.maxReplicas": 2,
            "runPolicy.schedulingPolicy.minAvailable": 3,
        },
    ),
]


@pytest.mark.parametrize(("data", "key", "role", "old", "new", "fields"), SHRUNK)
def test_a_role_gets_fewer_pods_in_the_field_of_its_kind(
    data: Manifest, key: str, role: str, old: int, new: int, fields: dict[str, int]
) -> None:
    """The manifests say what the edit of the gang says, which the policy was asked with."""
    before = read([*nodes(), named(data)]).gang(key)
    found = next(one for one in before.roles if one.name == role)
    wanted = FewerReplicas.of(before, found, new)
    _, after, result = edited([*nodes(), named(data)], wanted.to_dict())
    spec = next(one["spec"] for one in result if one["kind"] == data["kind"])
    for path, value in fields.items():
        where: Any = spec
        for step in path_steps(path):
            where = where[step]
        assert where == value, path
    changed, expected = after.gang(key), wanted.changed(before)
    assert [(one.name, one.count) for one in changed.roles] == [(one.name, one.count) for one in expected.roles]
    assert changed.min_available == expected.min_available
    shown = next(iter(fields.values()))
    assert f"{new} instead of {old} pods of {role} (" in wanted.text and f" {shown})" in wanted.text
    assert "minimum" not in wanted.text


@pytest.mark.parametrize(("data", "key"), [(one[0], one[1]) for one in SHRUNK])
@pytest.mark.parametrize(("level", "required"), [("block", True), ("rack", False)])
def test_every_template_of_a_kind_names_another_level(data: Manifest, key: str, level: str, required: bool) -> None:
    wanted = AskLevel(f"default/{key}", "rack", True, level, required)
    before, after, _ = edited([*nodes(), named(data)], wanted.to_dict())
    asked = after.gang(key).extra(KueueRequest)
    assert asked == wanted.changed(before.gang(key)).extra(KueueRequest)
    assert {one.topology.required or one.topology.preferred for one in asked.roles if one.topology} == {level}


def test_a_job_set_shrinks_by_whole_jobs() -> None:
    data = named(job_set(entry("w", 3, parallelism=2)))
    with pytest.raises(
        InputError, match=r"role w consists of equal parts .*a multiple of the 2 pods of one of its rep"
    ):
        edited([*nodes(), data], edit("replicas", role="w", **{"from": 6, "to": 5}))
    ray_head = named(ray(TEMPLATE))
    with pytest.raises(InputError, match="no role of this name that can be made smaller"):
        edited([*nodes(), ray_head], edit("replicas", role="head", **{"from": 1, "to": 0}))


def test_commands_say_which_field_of_a_job_kubernetes_lets_nobody_change() -> None:
    """parallelism always; completions with it, of an Indexed Job; a template never."""
    plain = [*nodes(), named(job(ASKING, parallelism=4))]
    shrunk = edit("replicas", role="main", **{"from": 4, "to": 2})
    assert kubectl_commands(plain, [shrunk])[0].startswith("kubectl -n default patch jobs.batch train ")
    indexed = [*nodes(), named(job(ASKING, parallelism=4, completions=4, completionMode="Indexed"))]
    assert '"completions":2' in kubectl_commands(indexed, [shrunk])[0]
    level = edit("kueue-level", **{"from": {"required": "rack"}, "to": {"preferred": "rack"}})
    assert "cannot be changed" in kubectl_commands(plain, [level])[0]


@pytest.mark.parametrize("kind", ["min-available", "priority", "tier"])
def test_other_fields_are_not_changed(kind: str) -> None:
    with pytest.raises(InputError, match=r"fields of this kind are not changed here .*JobSet default/train"):
        edited([*nodes(), named(job_set(entry()))], edit(kind, to=1))


def test_a_job_of_kubernetes_has_its_own_kind_in_messages() -> None:
    with pytest.raises(InputError, match=r"not changed here .found Job .batch/v1. default/train, expected a Volcano"):
        edited([*nodes(), named(job(ASKING, parallelism=4))], edit("priority", to=1))


def test_a_replica_of_a_set_is_not_withdrawn_alone() -> None:
    serve = leader_worker_set(size=2)
    serve["spec"]["replicas"] = 12
    change = edit("withdraw") | {"subject": "job default/train-0"}
    said = r"a replica .* without the others .found default/train-0, expected a change of the LeaderWorkerSet default/"
    with pytest.raises(InputError, match=said):
        edited([*nodes(), named(serve)], change)


def test_a_job_that_is_not_there_has_an_expectation() -> None:
    with pytest.raises(InputError, match=r"no job of this name .*expected a job, of which the manifests have none\)"):
        edited(nodes(), edit("withdraw"))


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
