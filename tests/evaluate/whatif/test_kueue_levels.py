"""Edits of the level that a job asks Kueue for."""

from __future__ import annotations

from pathlib import Path

import workbench
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
