"""Edits of the level, and of the slices, that a job asks Kueue for."""

from __future__ import annotations

from pathlib import Path

import pytest

import workbench
from tests.cli.conftest import Run
from workbench.evaluate.whatif.edit import EditedSession
from workbench.evaluate.whatif.kueue_edits import level_edits

HOST = "kubernetes.io/hostname"
CLUSTER = """
apiVersion: v1
kind: Node
metadata: {name: n0, labels: {block: b0, rack: r0, kubernetes.io/hostname: n0}}
status: {allocatable: {cpu: "4", pods: "10"}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Topology
metadata: {name: used}
spec: {levels: [{nodeLabel: block}, {nodeLabel: rack}, {nodeLabel: kubernetes.io/hostname}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Topology
metadata: {name: a-spare}
spec: {levels: [{nodeLabel: hall}, {nodeLabel: kubernetes.io/hostname}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: f}
spec: {nodeLabels: {block: b0}, topologyName: used}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: q}
spec:
  namespaceSelector: {}
  resourceGroups: [{coveredResources: [cpu], flavors: [{name: f, resources: [{name: cpu, nominalQuota: 8}]}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: q, namespace: default}
spec: {clusterQueue: q}
---
apiVersion: batch/v1
kind: Job
metadata: {name: job, namespace: default, labels: {kueue.x-k8s.io/queue-name: q}}
spec:
  parallelism: 2
  completions: 2
  template:
    metadata: {annotations: {kueue.x-k8s.io/podset-required-topology: kubernetes.io/hostname}}
    spec: {restartPolicy: Never, containers: [{name: a, resources: {requests: {cpu: "3"}}}]}
"""


def test_only_levels_of_a_topology_that_a_flavor_uses_are_named_and_a_preference_is_the_last(tmp_path: Path) -> None:
    path = tmp_path / "all.yaml"
    path.write_text(CLUSTER, "utf-8")
    scenario = workbench.load(path)
    found = list(level_edits(EditedSession(tuple(scenario.gangs), scenario.snapshot, "default/job")))
    named = [[(edit.new_level, edit.new_required) for edit in edits] for edits in found]
    assert named == [[("rack", True), ("block", True), (HOST, False)]]


SLICED = CLUSTER.partition("---\napiVersion: batch/v1")[0]
SLICED += "".join(
    f"""---
apiVersion: v1
kind: Node
metadata: {{name: n{i}, labels: {{block: b0, rack: r{i // 2}, kubernetes.io/hostname: n{i}}}}}
status: {{allocatable: {{cpu: "4", pods: "10"}}}}
"""
    for i in range(1, 4)
)
SLICED = SLICED.replace("nominalQuota: 8", "nominalQuota: 80")
JOB = """---
apiVersion: batch/v1
kind: Job
metadata: {name: job, namespace: default, labels: {kueue.x-k8s.io/queue-name: q}}
spec:
  parallelism: PODS
  completions: PODS
  template:
    metadata:
      annotations:
        kueue.x-k8s.io/podset-required-topology: block
        SLICES
    spec: {restartPolicy: Never, containers: [{name: a, resources: {requests: {cpu: "2"}}}]}
"""
PLAIN = (
    'kueue.x-k8s.io/podset-slice-required-topology: LEVEL\n        kueue.x-k8s.io/podset-slice-size: "SIZE"',
    'kueue.x-k8s.io/podset-slice-required-topology-constraints: \'[{"topology":"LEVEL","size":SIZE}]\'',
)


@pytest.mark.parametrize("form", PLAIN)
@pytest.mark.parametrize(
    ("pods", "level", "size", "first", "said"),
    [
        (6, "rack", 4, "ask for slices of 3 pods instead of 4", "the slice size 4 does not divide the 6 pods"),
        (6, HOST, 3, "ask for slices of 2 pods instead of 3", ""),
        (4, HOST, 4, "ask for slices of 2 pods instead of 4", ""),
        (8, "hall", 4, "ask for slices in one rack instead of hall", ""),
    ],
)
def test_slices_that_do_not_divide_or_fit_get_another_size_or_level(
    tmp_path: Path, run: Run, form: str, pods: int, level: str, size: int, first: str, said: str
) -> None:
    """The remedy is made in the manifests, which are read and placed again."""
    path, out = tmp_path / "all.yaml", tmp_path / "fixed.yaml"
    slices = form.replace("LEVEL", level).replace("SIZE", str(size))
    path.write_text(SLICED + JOB.replace("PODS", str(pods)).replace("SLICES", slices), "utf-8")
    result = run("fix", path, "--job", "job", "--policy", "kueue-0.19", "-o", "json")
    assert result.status == 0, result.err
    texts = [" and ".join(edit["text"] for edit in fix["edits"]) for fix in result.json["fixes"]]
    assert first in texts, (texts, result.json["headline"])
    assert said in result.json["headline"]
    run("fix", path, "--job", "job", "--policy", "kueue-0.19", "--order", "job", "--out", out)
    assert run("place", out, "--policy", "kueue-0.19").status == 0
