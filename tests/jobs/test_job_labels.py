"""Tests that labels of jobs and PodGroups reach gangs and running pods."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

import workbench
from workbench.model.extras import AscendWish

POD = """
    apiVersion: v1
    kind: Pod
    metadata: {{name: {name}, namespace: ml, annotations: {{scheduling.k8s.io/group-name: big}}}}
    spec: {{{node}containers: [{{name: c, resources: {{requests: {{cpu: "1"}}}}}}]}}
    status: {{phase: {phase}}}
"""


def load(folder: Path, *documents: str) -> workbench.Scenario:
    path = folder / "cluster.yaml"
    path.write_text("\n---\n".join(dedent(text) for text in documents), "utf-8")
    return workbench.load(path)


NODE = """
    apiVersion: v1
    kind: Node
    metadata: {name: n1}
    status: {allocatable: {cpu: "8"}}
"""
GROUP = """
    apiVersion: scheduling.volcano.sh/v1beta1
    kind: PodGroup
    metadata: {name: big, namespace: ml, labels: {tor-affinity: large-model-schema, framework: MindSpore}}
    spec: {minMember: 2}
    status: {phase: Unknown}
"""


def test_labels_of_the_pod_group_count_for_pending_and_running_pods(tmp_path: Path) -> None:
    pods = [
        POD.format(name="big-0", node="nodeName: n1, ", phase="Running"),
        POD.format(name="big-1", node="", phase="Pending"),
    ]
    scenario = load(tmp_path, NODE, GROUP, *pods)

    gang = scenario.gang("big")
    assert (gang.extra(AscendWish).job_class, gang.extra(AscendWish).framework, gang.ready) == (
        "large-model-schema",
        "mindspore",
        1,
    )
    (running,) = scenario.snapshot.running
    assert (running.job_class, running.group_phase) == ("large-model-schema", "Unknown")


def test_a_lone_running_pod_speaks_for_itself(tmp_path: Path) -> None:
    pod = """
        apiVersion: v1
        kind: Pod
        metadata: {name: alone, labels: {tor-affinity: normal-schema}}
        spec: {nodeName: n1, containers: [{name: c}]}
        status: {phase: Running}
    """
    (running,) = load(tmp_path, NODE, pod).snapshot.running
    assert (running.job_class, running.group_phase) == ("normal-schema", "")


@pytest.mark.parametrize(
    ("label", "plugins", "want"),
    [
        ("", "plugins: {svc: [], tensorflow: []}", "tensorflow"),
        ("", "plugins: {pytorch: ['--master=m'], mpi: ['--master=w']}", "pytorch"),
        ("", "plugins: {svc: [], ssh: []}", ""),
        ("framework: MindSpore", "plugins: {pytorch: []}", "mindspore"),
    ],
)
def test_a_framework_plugin_names_the_framework_where_no_label_does(
    tmp_path: Path, label: str, plugins: str, want: str
) -> None:
    job = f"""
        apiVersion: batch.volcano.sh/v1alpha1
        kind: Job
        metadata: {{name: train, namespace: ml, labels: {{tor-affinity: normal-schema, {label}}}}}
        spec:
          {plugins}
          tasks: [{{name: w, replicas: 1, template: {{spec: {{containers: [{{name: c}}]}}}}}}]
    """
    (gang,) = load(tmp_path, NODE, job).gangs
    assert gang.extra(AscendWish).framework == want
