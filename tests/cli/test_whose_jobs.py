"""Whose pods are jobs: a policy that follows their scheduler takes plain pods in, gangs are jobs in any case."""

from __future__ import annotations

from pathlib import Path

import pytest

import workbench
from tests.cli.conftest import Run

SPEC = "{schedulerName: default-scheduler, containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]}"
GROUPED = SPEC.replace("{schedulerName", "{schedulingGroup: {podGroupName: gang}, schedulerName", 1)
OBJECTS = f"""\
{{apiVersion: v1, kind: Pod, metadata: {{name: plain}}, spec: {SPEC}}}
---
{{apiVersion: v1, kind: Pod, metadata: {{name: member}}, spec: {GROUPED}}}
---
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {{name: gang}}
spec: {{schedulingPolicy: {{gang: {{minCount: 1}}}}}}
---
{{apiVersion: batch/v1, kind: Job, metadata: {{name: trains}}, spec: {{template: {{spec: {SPEC}}}}}}}
---
{{apiVersion: v1, kind: Node, metadata: {{name: n}}, status: {{allocatable: {{cpu: 8, pods: 9}}}}}}
"""
GANGS = ["gang", "trains"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "cluster.yaml"
    path.write_text(OBJECTS, "utf-8")
    return path


@pytest.mark.parametrize(
    ("policy", "more", "want"),
    [
        ("volcano-1.15", [], GANGS),
        ("kueue-0.19", [], GANGS),
        ("volcano-1.15", ["--any-scheduler"], [*GANGS, "plain"]),
        ("kube-default", [], [*GANGS, "plain"]),
        ("kube-1.37-topology", [], [*GANGS, "plain"]),
    ],
)
def test_place_reads_the_plain_pods_of_its_policys_scheduler(
    run: Run, file: Path, policy: str, more: list[str], want: list[str]
) -> None:
    result = run("place", file, "--policy", policy, "-o", "json", *more)
    assert sorted(job["name"] for job in result.json["jobs"]) == sorted(want)
    assert ("(default-scheduler): 1 Pod (--any-scheduler" in result.err) is (want == GANGS)


def test_one_policy_of_a_comparison_is_enough(run: Run, file: Path) -> None:
    for policies, want in (("volcano-1.15,kueue-0.19", GANGS), ("volcano-1.15,kube-default", [*GANGS, "plain"])):
        result = run("compare", file, "--policies", policies, "-o", "json")
        for row in result.json["policies"]:
            assert sorted(job["name"] for job in row["jobs"]) == sorted(want)


def test_python_names_the_schedulers(file: Path) -> None:
    for taken in (["default-scheduler"], "default-scheduler", True):
        assert len(workbench.load(file, any_scheduler=taken).gangs) == 3
    assert len(workbench.load(file, any_scheduler=["another"]).gangs) == 2
