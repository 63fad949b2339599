"""`workbench validate` on whole Jobs and Queues: every finding with its path, and the object as stored."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tests.cli.conftest import Run

JOB = """\
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {{name: train, namespace: ml}}
spec:
  plugins: {{{plugin}: []}}
{more}  tasks:
  - name: {task}
    replicas: 2
{policy}    template: {{spec: {{restartPolicy: {restart}, containers: [{{name: c, image: "{image}"}}]}}}}
"""


def job(
    plugin: str = "svc",
    more: str = "",
    task: str = "master",
    policy: str = "",
    restart: str = "OnFailure",
    image: str = "i",
) -> str:
    return JOB.format(plugin=plugin, more=more, task=task, policy=policy, restart=restart, image=image)


def write(files: Path, text: str) -> Path:
    path = files / "more.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_every_finding_has_its_path(run: Run, files: Path) -> None:
    text = job("warp", "  policies: [{event: Sometimes, action: AbortJob}]\n  minAvailable: 5\n", image="")
    result = run("validate", "-f", write(files, text), "-o", "json")
    assert result.status == 1
    (one,) = result.json["objects"]
    found = {finding["path"]: finding["message"] for finding in one["findings"]}
    assert list(found) == [
        "spec.tasks[0].template.spec.containers[0].image",
        "spec.minAvailable",
        "spec.policies[0]",
        "spec.plugins.warp",
    ]
    assert found["spec.plugins.warp"] == "unable to find job plugin: warp;"
    assert all(message in one["message"] for message in found.values())
    table = " ".join(run("validate", "-f", files / "more.yaml").out.split())
    assert "spec.plugins.warp: unable to find job plugin: warp" in table


def test_arguments_of_a_plugin_are_text(run: Run, files: Path) -> None:
    result = run("validate", "-f", write(files, job().replace("svc: []", "svc: [{a: b}]")))
    assert result.status == 2
    assert "more.yaml" in result.err and "spec.plugins.svc" in result.err


def test_yaml_is_the_object_as_stored(run: Run, files: Path) -> None:
    result = run("validate", "-f", write(files, job("mpi")), "-o", "yaml")
    assert result.status == 0
    spec = yaml.safe_load(result.out)["spec"]
    assert spec["plugins"] == {"mpi": [], "svc": [], "ssh": []}
    assert (spec["queue"], spec["schedulerName"], spec["maxRetry"], spec["minAvailable"]) == (
        "default",
        "volcano",
        3,
        2,
    )
    assert {key: spec["tasks"][0][key] for key in ("minAvailable", "maxRetry")} == {"minAvailable": 2, "maxRetry": 3}
    again = run("validate", "-f", write(files, result.out), "-o", "json")
    assert again.json["objects"][0]["defaults"] == {}


def test_yaml_leaves_out_what_is_refused_and_says_so(run: Run, files: Path) -> None:
    result = run("validate", "-f", write(files, job("warp")), "-o", "yaml")
    assert (result.status, result.out) == (1, "")
    assert "refused: Job ml/train: spec.plugins.warp: unable to find job plugin: warp (" in result.err


@pytest.mark.parametrize(("release", "status"), [((), 0), (("--release", "1.15"), 1), (("--release", "1.13"), 1)])
def test_the_plugin_mxnet_is_this_project_s_own(run: Run, files: Path, release: tuple[str, ...], status: int) -> None:
    ends = "    policies: [{event: TaskCompleted, action: CompleteJob}]\n"
    text = job("mxnet", task="scheduler", policy=ends)
    result = run("validate", "-f", write(files, text), *release, "-o", "json")
    assert result.status == status
    (one,) = result.json["objects"]
    codes = [warning["code"] for warning in one["warnings"]]
    assert codes == ["own-plugin"]
    assert ("unable to find job plugin: mxnet" in one["message"]) == (status == 1)


@pytest.mark.parametrize(
    ("restart", "policy", "warned"),
    [
        ("OnFailure", "    policies: [{event: TaskCompleted, action: CompleteJob}]\n", []),
        ("Never", "    policies: [{event: TaskCompleted, action: CompleteJob}]\n", ["restartPolicy"]),
        ("OnFailure", "", ["policies"]),
        ("Always", "", ["restartPolicy", "policies"]),
    ],
)
def test_the_task_that_leads_a_framework_should_say_how_it_ends(
    run: Run, files: Path, restart: str, policy: str, warned: list[str]
) -> None:
    result = run("validate", "-f", write(files, job("pytorch", policy=policy, restart=restart)), "-o", "json")
    assert result.status == 0
    warnings = result.json["objects"][0]["warnings"]
    assert [one["message"].partition(":")[0].rpartition(".")[2] for one in warnings] == warned


QUEUE = """\
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {{name: {name}}}
spec: {spec}
"""


@pytest.mark.parametrize(
    ("spec", "path", "text"),
    [
        ("{weight: -1}", "spec.weight", "requestBody.spec.weight: Invalid value: -1: queue weight must be a positive"),
        ("{capability: {cpu: 1}, deserved: {cpu: 2}}", "spec.deserved", "deserved should less equal than capability"),
        ("{deserved: {cpu: 1}, guarantee: {resource: {cpu: 2}}}", "spec.guarantee", "less equal than deserved"),
    ],
)
def test_a_queue_that_contradicts_itself(run: Run, files: Path, spec: str, path: str, text: str) -> None:
    result = run("validate", "-f", write(files, QUEUE.format(name="q", spec=spec)), "-o", "json")
    (one,) = result.json["objects"]
    assert result.status == 1
    assert [finding["path"] for finding in one["findings"]] == [path] and text in one["message"]


def test_a_queue_gets_its_weight(run: Run, files: Path) -> None:
    result = run("validate", "-f", write(files, QUEUE.format(name="q", spec="{}")), "-o", "yaml")
    assert yaml.safe_load(result.out)["spec"] == {"reclaimable": True, "weight": 1}


@pytest.mark.parametrize(
    ("queue", "text"),
    [("root", "can not submit job to root queue"), ("top", "leaf queue, queue `top` has 1 child queues"), ("low", "")],
)
def test_a_job_goes_into_a_leaf_of_the_queues(run: Run, files: Path, queue: str, text: str) -> None:
    queues = QUEUE.format(name="top", spec="{}") + "---\n" + QUEUE.format(name="low", spec="{parent: top}") + "---\n"
    result = run("validate", "-f", write(files, queues + job(more=f"  queue: {queue}\n")), "-o", "json")
    verdict = result.json["objects"][-1]
    assert verdict["allowed"] == (not text) and text in verdict["message"]


def test_a_namespace_names_the_queue_of_its_pod_groups(run: Run, files: Path) -> None:
    text = """\
apiVersion: v1
kind: Namespace
metadata: {name: ml, annotations: {scheduling.volcano.sh/queue-name: research}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: g, namespace: ml}
spec: {minMember: 2}
"""
    result = run("validate", "-f", write(files, text), "-o", "json")
    assert result.json["objects"][0]["defaults"] == {"spec.queue": "research"}


def test_place_does_not_ask_for_images_but_for_plugins(run: Run, files: Path) -> None:
    inputs = ("-f", files / "cluster.yaml", "-f")
    assert run("place", *inputs, write(files, job(image="")), "-o", "json").status == 0
    refused = run("place", *inputs, write(files, job("warp")), "-o", "json")
    assert (refused.status, refused.json["refused"][0]["subject"]) == (1, "Job ml/train")


@pytest.mark.parametrize("amount", ["7.5", "7500m", "1e-1", "0.999", 7.5])
@pytest.mark.parametrize("where", ["limits", "requests"])
@pytest.mark.parametrize("kind", ["Job", "Pod"])
def test_a_part_of_a_gpu_is_refused_by_validate_and_place_alike(
    run: Run, tmp_path: Path, kind: str, where: str, amount: object
) -> None:
    container = {"name": "c", "image": "x", "resources": {where: {"nvidia.com/gpu": amount, "cpu": "500m"}}}
    spec = {"schedulerName": "volcano", "containers": [container]}
    if kind == "Job":
        spec = {"minAvailable": 1, "tasks": [{"name": "w", "replicas": 1, "template": {"spec": spec}}]}
    version = "v1" if kind == "Pod" else "batch.volcano.sh/v1alpha1"
    path = tmp_path / "half.json"
    path.write_text(json.dumps({"apiVersion": version, "kind": kind, "metadata": {"name": "half"}, "spec": spec}))
    told = {run(*command, path).err for command in (("validate",), ("place", "datasets/demo/cluster.yaml"))}
    assert len(told) == 1
    place = f".containers[0].resources.{where}['nvidia.com/gpu']: a part of a device (found "
    assert place in told.pop()


@pytest.mark.parametrize("amount", ["8", 8, "8000m", "8.0", "0.8e1"])
def test_a_whole_number_of_gpus_may_be_written_in_any_way(run: Run, tmp_path: Path, amount: object) -> None:
    container = {"name": "c", "image": "x", "resources": {"limits": {"nvidia.com/gpu": amount}}}
    spec = {"schedulerName": "volcano", "containers": [container]}
    path = tmp_path / "pod.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}))
    assert run("place", "datasets/demo/cluster.yaml", path).status == 0
