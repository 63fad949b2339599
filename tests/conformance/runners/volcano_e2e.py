"""Runner of upstream's end-to-end tests: a job beside filler pods, checked step by step (`e2e-allocate.json`)."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from tests.conformance.registry import NotUnderstood, Runners
from tests.conformance.runners.volcano_tree import hypernode_of
from workbench.cluster.assemble import assemble
from workbench.formats.scheduler_conf import parse_config
from workbench.model.release import Release
from workbench.model.snapshot import ClusterSnapshot
from workbench.objects.kinds import ClusterObjects
from workbench.policies import get_policy
from workbench.policies.volcano.parts.plugins import config_warnings

Json = Mapping[str, Any]

JOB_LABEL = "volcano.sh/job-name"
ROLE_LABEL = "volcano.sh/task-spec"
PARTITION_LABEL = "volcano.sh/partition-id"

#: What the nodes of upstream's end-to-end cluster hold before any row begins, and no row lists: kind gives every node,
#: the simulated ones too, a pod of its network's DaemonSet. Without it nodes of 8 CPU with a filler of 4 have room for
#: another 4, where the rows say that they have none.
NETWORK_POD = {"cpu": "100m", "memory": "50Mi"}


def register(runners: Runners) -> None:
    """Add the operation of e2e-allocate.json to the area's runners."""
    asked = ("nodes", "topology", "filler_pods", "job", "scheduler_config")
    runners.op("e2e-allocate", "e2e", asked, ("checks",))(run)


class Cluster:
    """The cluster of a case and the pods of its job that run."""

    def __init__(self, given: Json) -> None:
        self.given = given
        self.running: dict[str, Json] = {}
        # What the scheduler remembers from one session to the next.
        self.records: Mapping[str, str] = {}
        self.snapshot: ClusterSnapshot
        self.placed = True

    def schedule(self) -> None:
        """One session of Volcano 1.15 with upstream's configuration."""
        cluster = ClusterObjects()
        for entry in self.given["topology"]["hypernodes"]:
            cluster.hypernodes[entry["name"]] = hypernode_of(entry)
        for node in self.given["nodes"]:
            metadata = {"name": node["name"], "labels": node.get("labels") or {}}
            cluster.add({"kind": "Node", "apiVersion": "v1", "metadata": metadata, "status": node})
            cluster.add(pod_manifest(f"kindnet-{node['name']}", NETWORK_POD, node["name"], {}))
        for pod in self.given["filler_pods"]:
            cluster.add(pod_manifest(pod["name"], pod["requests"], pod["node"], {}))
        for manifest in self.running.values():
            cluster.add(manifest)
        cluster.add(job_manifest(self.given["job"]))
        snapshot, workload = assemble(cluster)
        self.snapshot = dataclasses.replace(snapshot, records=self.records)
        assert not workload.refused
        config = parse_config(self.given["scheduler_config"].encode(), "scheduler_config")
        for decision in get_policy("volcano-1.15", config=config).schedule(workload.gangs, self.snapshot):
            self.placed = decision.placed
            if decision.placed:
                assert set(config_warnings(config, Release.V1_15)) <= set(decision.result.warnings)
                self.records = {**self.records, **decision.result.records}
                for position, pod in enumerate(decision.result.pods()):
                    ref = decision.gang.pod(position)
                    assert ref.name == pod.name
                    self.start(pod.name, pod.node, ref.role.name, ref.index)

    def start(self, name: str, node: str, role: str, index: int) -> None:
        (task,) = [task for task in self.given["job"]["tasks"] if task["name"] == role]
        labels = {JOB_LABEL: self.given["job"]["name"], ROLE_LABEL: role}
        if task.get("partitionPolicy"):
            labels[PARTITION_LABEL] = str(index // task["partitionPolicy"]["partitionSize"])
        self.running[name] = pod_manifest(name, task["requests"], node, labels)

    @property
    def nodes(self) -> list[str]:
        """Node of each running pod of the job."""
        return [manifest["spec"]["nodeName"] for manifest in self.running.values()]


def pod_manifest(name: str, requests: Json, node: str, labels: Json) -> Json:
    containers = [{"name": "c", "resources": {"requests": requests}}]
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"name": name, "namespace": "default", "labels": labels},
        "spec": {"nodeName": node, "containers": containers},
        "status": {"phase": "Running"},
    }


def job_manifest(job: Json) -> Json:
    tasks = []
    for task in job["tasks"]:
        containers = [{"name": "c", "resources": {"requests": task["requests"]}}]
        entry = {
            key: task[key]
            for key in ("name", "replicas", "minAvailable", "partitionPolicy")
            if task.get(key) is not None
        }
        tasks.append({**entry, "template": {"spec": {"containers": containers}}})
    spec = {"minAvailable": job["minAvailable"], "networkTopology": job.get("networkTopology"), "tasks": tasks}
    return {
        "kind": "Job",
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "metadata": {"name": job["name"], "namespace": "default"},
        "spec": spec,
    }


def run(given: dict[str, Any], want: dict[str, Any]) -> None:
    cluster = Cluster(given)
    cluster.schedule()
    for step in want["checks"]:
        if step.get("do") == "delete_job_pods":
            for name in sorted(cluster.running)[: step["count"]]:
                del cluster.running[name]
            cluster.schedule()
        else:
            check(cluster, step)


def check(cluster: Cluster, step: dict[str, Any]) -> None:
    topology = cluster.snapshot.topology
    total = sum(task["replicas"] for task in cluster.given["job"]["tasks"])
    match step["check"]:
        case "job_ready":
            assert cluster.placed
            assert len(cluster.running) >= cluster.given["job"]["minAvailable"]
        case "every_pod_on_any_of":
            assert len(cluster.running) == total
            assert set(cluster.nodes) <= set(step["nodes"])
        case "total_pods_in_hypernode":
            inside = {topology.node_names[i] for i in topology.nodes_of(topology.domain(step["hypernode"]))}
            everyone = cluster.nodes + [pod["node"] for pod in cluster.given["filler_pods"]]
            assert sum(node in inside for node in everyone) == step["count"]
        case "pods_in_phase":
            counts = {"Pending": total - len(cluster.running), "Running": len(cluster.running)}
            if step["phase"] not in counts:
                raise NotUnderstood(f"phase {step['phase']!r}")
            assert counts[step["phase"]] >= step["at_least"]
        case other:
            raise NotUnderstood(f"check {other!r}")
