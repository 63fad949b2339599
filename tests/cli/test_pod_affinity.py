"""Policies that do not follow affinity between pods say so, whatever object the pods are of; so does each command."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Run
from workbench import load
from workbench.policies import get_policy, list_policies

AFFINITY = "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: h}]}}"
CONTAINERS = "containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]"
SPEC = f"{{restartPolicy: OnFailure, {AFFINITY}, {CONTAINERS}}}"
TASKS = f"tasks: [{{name: w, replicas: 2, template: {{spec: {SPEC}}}}}]"
OBJECTS = {
    "Job": f"""\
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {{name: a}}
spec: {{schedulerName: volcano, {TASKS}}}
""",
    "HyperJob": f"""\
apiVersion: training.volcano.sh/v1alpha1
kind: HyperJob
metadata: {{name: a}}
spec: {{replicatedJobs: [{{name: m, replicas: 2, templateSpec: {{schedulerName: volcano, {TASKS}}}}}]}}
""",
    "Deployment": f"""\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: a}}
spec:
  replicas: 2
  selector: {{matchLabels: {{app: a}}}}
  template:
    metadata: {{labels: {{app: a}}}}
    spec: {SPEC.replace("OnFailure", "Always").replace("{restart", "{schedulerName: volcano, restart")}
""",
    "Pod": f"""\
apiVersion: v1
kind: Pod
metadata: {{name: a}}
spec: {SPEC.replace("{restart", "{schedulerName: volcano, restart")}
""",
}
POLICIES = [info.name for info in list_policies() if info.kind != "gpu"]


@pytest.mark.parametrize("kind", OBJECTS)
@pytest.mark.parametrize("command", ["place", "compare", "run"])
def test_each_command_says_that_it_is_not_read(run: Run, files: Path, kind: str, command: str) -> None:
    (files / "job.yaml").write_text(OBJECTS[kind], encoding="utf-8")
    more = ["--until", "5"] if command == "run" else []
    result = run(command, files / "cluster.yaml", files / "job.yaml", *more)
    assert "affinity.podAntiAffinity of" in " ".join((result.out + result.err).split())


@pytest.mark.parametrize("policy", POLICIES)
def test_each_policy_says_it_with_its_answer(files: Path, policy: str) -> None:
    for kind, text in OBJECTS.items():
        (files / "job.yaml").write_text(text, encoding="utf-8")
        scenario = load(files / "cluster.yaml", files / "job.yaml")
        for decision in get_policy(policy).schedule(scenario.gangs, scenario.snapshot):
            told = "pod-rules-not-read" in [notice.code for notice in decision.result.warnings]
            assert told is not get_policy(policy).traits.reads_pods, kind
