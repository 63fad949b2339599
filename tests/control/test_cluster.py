"""The embedded cluster: manifests in, pods that run, and what happens when something fails or goes away."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from tests.control.manifests import command, hypernode, job, node, phase_of, pod_template, pods_of, small_cluster, task
from workbench.control.cluster import EmbeddedCluster
from workbench.control.kinds import Ref
from workbench.control.kubelets import containers_environment
from workbench.control.scheduler import Scheduler
from workbench.errors import InputError
from workbench.model.scheduler_config import PluginOption, SchedulerConfig
from workbench.policies.hyper_job.trials import JobTrials
from workbench.policies.registry import get_policy

JOB = Ref("Job", "default", "train")


def cluster_with(*objects: dict[str, Any], policy: str = "volcano-1.15", **options: Any) -> EmbeddedCluster:
    cluster = EmbeddedCluster(policy, **options)
    cluster.submit(*small_cluster(), *objects)
    cluster.settle()
    return cluster


def status_of(cluster: EmbeddedCluster, key: Ref) -> dict[str, Any]:
    found = cluster.store.get(key)
    assert found is not None
    return dict(found.get("status") or {})


def group_of(cluster: EmbeddedCluster) -> dict[str, Any]:
    (group,) = cluster.store.list("PodGroup")
    return dict(group)


@pytest.mark.parametrize(
    "policy", ["volcano-1.13", "volcano-1.15", "allocate", "binpack", "koordinator-network", "gang"]
)
def test_a_job_runs_and_completes_under_every_kind_of_policy(policy: str) -> None:
    cluster = cluster_with(job(plugins={"svc": [], "env": []}), policy=policy, run_seconds=60)
    assert phase_of(cluster) == "Running" and set(pods_of(cluster).values()) == {"Running"}
    cluster.run()
    assert phase_of(cluster) == "Completed" and cluster.now == 60
    assert set(pods_of(cluster).values()) == {"Succeeded"}


def test_a_cluster_without_hypernodes_has_nothing_to_be_inside_of() -> None:
    cluster = EmbeddedCluster()
    objects = [one for one in small_cluster(4) if one["kind"] != "HyperNode"]
    cluster.submit(*objects, job())
    cluster.settle()
    (row,) = cluster.jobs()
    assert (row.phase, row.hypernode, row.tier) == ("Running", "", None)


def test_a_hard_job_stays_inside_its_tier_and_a_second_one_waits_until_it_is_done() -> None:
    hard = {"mode": "hard", "highestTierAllowed": 1}
    jobs = [job(f"train{i}", networkTopology=hard) for i in range(3)]
    cluster = cluster_with(*jobs, run_seconds=60)
    placed = {name: {pod["spec"].get("nodeName") for pod in _pods(cluster, name)} for name in ("train0", "train1")}
    assert sorted(map(sorted, placed.values())) == [["n0", "n1"], ["n2", "n3"]]
    assert phase_of(cluster, "train2") == "Pending"
    cluster.run(60)
    cluster.settle()
    assert phase_of(cluster, "train0") == "Completed" and phase_of(cluster, "train2") == "Running"
    cluster.run()
    assert phase_of(cluster, "train2") == "Completed" and cluster.now == 120


def _pods(cluster: EmbeddedCluster, name: str) -> list[Any]:
    return [pod for pod in cluster.store.list("Pod") if pod["metadata"]["labels"].get("volcano.sh/job-name") == name]


def test_a_pending_job_says_why_on_its_pod_group() -> None:
    cluster = cluster_with(job(tasks=[task(replicas=5)]))
    status = group_of(cluster)["status"]
    (condition,) = status["conditions"]
    assert status["phase"] == "Inqueue" and condition["type"] == "Unschedulable" and condition["message"]
    assert any(line.reason == "Unschedulable" and line.warning for line in cluster.log)


def test_1_13_writes_the_hypernode_on_the_pod_group_and_1_15_does_not() -> None:
    soft = {"mode": "hard", "highestTierAllowed": 2}
    for policy, written in (("volcano-1.13", "leaf0"), ("volcano-1.15", None)):
        cluster = cluster_with(job(networkTopology=soft), policy=policy)
        annotations = group_of(cluster)["metadata"].get("annotations") or {}
        assert annotations.get("volcano.sh/job-allocated-hypernode") == written, policy


def test_containers_see_the_gpus_that_the_annotation_names() -> None:
    one = job(tasks=[task(replicas=2, gpus=4)], plugins={"env": []})
    cluster = cluster_with(one, policy="volcano-1.15+gpu-lowest-index")
    environments = [containers_environment(cluster.store, pod)["main"] for pod in _pods(cluster, "train")]
    assert all(len(each["CUDA_VISIBLE_DEVICES"].split(",")) == 4 for each in environments)
    assert [each["VC_TASK_INDEX"] for each in environments] == ["0", "1"]


def test_an_environment_variable_without_a_name_is_none() -> None:
    """A store that was written elsewhere may hold one; the API server takes none."""
    pod = {"metadata": {"name": "p", "namespace": "ml", "uid": "1"}, "spec": {"containers": [{"name": "main"}]}}
    pod["spec"]["containers"][0]["env"] = [{"value": "lost"}, {"name": "kept", "value": "1"}]
    assert containers_environment(cluster_with(job()).store, pod) == {"main": {"kept": "1"}}


def test_a_failed_pod_restarts_the_job_as_its_policy_says_until_no_try_is_left() -> None:
    failing = task(replicas=1)
    failing["template"] = pod_template(**{"annotations": {"topology-workbench/exit-code": "1"}})
    policies = [{"event": "PodFailed", "action": "RestartJob"}]
    cluster = cluster_with(job(tasks=[failing], policies=policies, maxRetry=3), run_seconds=10)
    cluster.run()
    assert phase_of(cluster) == "Failed"
    assert status_of(cluster, JOB)["retryCount"] == 3
    failures = [line for line in cluster.log if line.key.kind == "Pod" and line.reason == "Failed"]
    assert len(failures) == 3 and all(line.warning for line in failures)


def test_a_policy_with_a_time_out_waits_that_long() -> None:
    big = task(replicas=5)
    big["policies"] = [{"event": "PodPending", "action": "AbortJob", "timeout": "5m"}]
    cluster = cluster_with(job(tasks=[big], minAvailable=1))
    cluster.run(299)
    assert phase_of(cluster) in ("Pending", "Running")
    cluster.run(301)
    cluster.settle()
    assert phase_of(cluster) == "Aborted"


def test_a_command_aborts_and_another_one_resumes() -> None:
    cluster = cluster_with(job())
    cluster.submit(command("c1", "train", "AbortJob"))
    cluster.settle()
    assert phase_of(cluster) == "Aborted" and pods_of(cluster) == {} and cluster.store.list("Command") == []
    cluster.submit(command("c2", "train", "ResumeJob"))
    cluster.settle()
    assert phase_of(cluster) == "Running" and len(pods_of(cluster)) == 2


def test_a_deleted_job_takes_everything_along_that_it_owns() -> None:
    cluster = cluster_with(job(plugins={"svc": [], "ssh": []}))
    kinds = ("Pod", "PodGroup", "Service", "ConfigMap", "Secret", "NetworkPolicy")
    assert all(cluster.store.list(kind) for kind in kinds)
    cluster.delete("Job", "train")
    cluster.settle()
    assert [kind for kind in kinds if cluster.store.list(kind)] == []


def test_a_lost_node_evicts_its_pods_and_they_come_back_elsewhere() -> None:
    cluster = cluster_with(job(tasks=[task(replicas=1)]))
    (before,) = _pods(cluster, "train")
    cluster.delete("Node", before["spec"]["nodeName"])
    cluster.settle()
    (after,) = _pods(cluster, "train")
    assert after["metadata"]["uid"] != before["metadata"]["uid"]
    assert after["spec"]["nodeName"] != before["spec"]["nodeName"] and phase_of(cluster) == "Running"


def test_a_scaled_job_gains_and_loses_pods_at_the_end() -> None:
    cluster = cluster_with(job(tasks=[task(replicas=2, gpus=1)], minAvailable=1))
    for replicas, names in ((4, 4), (1, 1)):
        stored = cluster.store.get(JOB)
        assert stored is not None
        spec = copy.deepcopy(dict(stored["spec"]))
        spec["tasks"][0]["replicas"] = replicas
        spec["tasks"][0]["minAvailable"] = 1
        cluster.submit({**stored, "metadata": {"name": "train"}, "spec": spec})
        cluster.settle()
        assert sorted(pods_of(cluster)) == [f"train-worker-{i}" for i in range(names)]


def test_tasks_start_in_the_order_of_depends_on() -> None:
    first = task("first", 1, 1)
    second = task("second", 1, 1, dependsOn={"name": ["first"]})
    cluster = EmbeddedCluster("volcano-1.15", start_seconds=10)
    cluster.submit(*small_cluster(), job(tasks=[second, first], minAvailable=1))
    cluster.settle()
    assert set(pods_of(cluster)) == {"train-first-0"}
    cluster.run(10)
    cluster.settle()
    assert set(pods_of(cluster)) == {"train-first-0", "train-second-0"}


def test_a_finished_job_is_deleted_after_its_time_to_live() -> None:
    cluster = cluster_with(job(ttlSecondsAfterFinished=30), run_seconds=10)
    cluster.run(39)
    assert phase_of(cluster) == "Completed"
    cluster.run()
    assert cluster.store.list("Job") == [] and cluster.store.list("Pod") == [] and cluster.now == 40


def test_the_time_to_live_of_a_finished_job_goes_on_in_a_saved_cluster(tmp_path: Path) -> None:
    cluster = cluster_with(job(ttlSecondsAfterFinished=30), run_seconds=10)
    cluster.run(25)
    cluster.save(tmp_path / "store.json")
    resumed = EmbeddedCluster()
    resumed.resume(tmp_path / "store.json")
    for one in (copy.copy(cluster), resumed):
        one.run()
        assert one.store.list("Job") == [] and one.now == 40


def test_nothing_is_planned_for_a_pod_that_failed_or_a_job_that_was_deleted() -> None:
    cluster = cluster_with(job(tasks=[task(replicas=1)]), run_seconds=1000)
    cluster.fail("train-worker-0")
    cluster.run()
    assert phase_of(cluster) == "Failed" and cluster.now == 0
    cluster = cluster_with(job(ttlSecondsAfterFinished=500), run_seconds=10)
    cluster.run(20)
    cluster.delete("Job", "train")
    cluster.run()
    assert cluster.now == 20


def test_the_pods_of_a_pod_group_that_is_made_anew_are_counted() -> None:
    cluster = cluster_with(job())
    cluster.delete("PodGroup", group_of(cluster)["metadata"]["name"])
    cluster.settle()
    assert set(pods_of(cluster).values()) == {"Running"}
    status = group_of(cluster)["status"]
    assert (status["phase"], status["running"]) == ("Running", 2)


def test_a_deployment_becomes_pods_with_a_pod_group_of_their_own() -> None:
    template = pod_template(1, labels={"app": "serve"})
    template["spec"]["schedulerName"] = "volcano"
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "serve", "annotations": {"scheduling.volcano.sh/group-min-member": "3"}},
        "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "serve"}}, "template": template},
    }
    cluster = cluster_with(deployment)
    pods = cluster.store.list("Pod")
    assert len(pods) == 3 and all(pod["status"]["phase"] == "Running" for pod in pods)
    assert group_of(cluster)["spec"]["minMember"] == 3
    cluster.submit({**deployment, "spec": {**deployment["spec"], "replicas": 1}})
    cluster.settle()
    assert len(cluster.store.list("Pod")) == 1
    cluster.delete("Deployment", "serve")
    cluster.settle()
    assert cluster.store.list("Pod") == [] and cluster.store.list("PodGroup") == []


def test_a_stateful_set_numbers_its_pods() -> None:
    template = pod_template(1, labels={"app": "db"})
    spec = {"replicas": 2, "serviceName": "db", "selector": {"matchLabels": {"app": "db"}}, "template": template}
    cluster = cluster_with({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db"}, "spec": spec})
    assert [pod["metadata"]["name"] for pod in cluster.store.list("Pod")] == ["db-0", "db-1"]


def test_queues_and_hypernodes_show_their_counts() -> None:
    queue = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "research"}}
    cluster = cluster_with({**queue, "spec": {"weight": 1}}, job(queue="research"))
    assert status_of(cluster, Ref("Queue", "", "research")) == {"state": "Open", "running": 1}
    assert status_of(cluster, Ref("HyperNode", "", "leaf0"))["nodeCount"] == 2
    by_pattern = hypernode("all", 3, [])
    by_pattern["spec"]["members"] = [{"type": "Node", "selector": {"regexMatch": {"pattern": "^n"}}}]
    cluster.submit(by_pattern, node("n9"))
    cluster.settle()
    assert status_of(cluster, Ref("HyperNode", "", "all"))["nodeCount"] == 5


SWITCHES = Path("datasets/switch-affinity")


def switch_states(cluster: EmbeddedCluster) -> dict[str, Any]:
    stored = cluster.store.get(Ref("ConfigMap", "volcano-system", "tor-share-cm"))
    assert stored is not None
    return dict(json.loads(stored["data"]["global-tor-info"]))


@pytest.mark.parametrize("table", [True, False])
def test_switch_affinity_publishes_the_states_of_the_switches_and_annotates_pods(table: bool) -> None:
    cluster = EmbeddedCluster("switch-affinity", run_seconds=60)
    tables = [SWITCHES / "tor-node.yaml"] if table else []
    cluster.submit(SWITCHES / "cluster.yaml", *tables, SWITCHES / "jobs-hard.yaml")
    cluster.settle()
    states = switch_states(cluster)
    assert len(states) == 6 and {one["IsSharedTor"] for one in states.values()} == {1, 2}
    jobs = {name for one in states.values() for each in one["nodes"] for name in each["JobName"]}
    assert jobs == {row.name for row in cluster.jobs() if row.running}
    at = {node["NodeName"]: one["IsSharedTor"] for one in states.values() for node in one["nodes"]}
    bound = [pod for pod in cluster.store.list("Pod") if pod["spec"].get("nodeName")]
    crossing = [pod for pod in bound if pod["metadata"]["annotations"]["isSharedTor"] != "0"]
    assert crossing
    for pod in crossing:
        assert pod["metadata"]["annotations"]["isSharedTor"] == str(at[pod["spec"]["nodeName"]])
    cluster.run()
    assert {one["IsSharedTor"] for one in switch_states(cluster).values()} == {0}
    assert all(each["JobName"] == [] for one in switch_states(cluster).values() for each in one["nodes"])


def test_other_schedulers_publish_no_switches_and_a_table_nobody_can_read_is_told() -> None:
    for policy in ("volcano-1.15", "switch-affinity-1.0"):
        cluster = EmbeddedCluster(policy)
        cluster.submit(SWITCHES / "cluster.yaml", SWITCHES / "tor-node.yaml", SWITCHES / "jobs-hard.yaml")
        cluster.settle()
        assert cluster.store.get(Ref("ConfigMap", "volcano-system", "tor-share-cm")) is None
    broken = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "basic-tor-node-cm"}, "data": {}}
    cluster.submit(broken)
    cluster.settle()
    assert [line.reason for line in cluster.log if line.key.name == "basic-tor-node-cm"] == ["NotRead"]


def device_info(faulty: str, updated: int = 1) -> dict[str, Any]:
    """What Ascend's device plugin says of the node n0."""
    text = json.dumps({"DeviceInfo": {"DeviceList": {"huawei.com/npu-Unhealthy": faulty}, "UpdateTime": updated}})
    metadata = {"name": "mindx-dl-deviceinfo-n0", "namespace": "kube-system"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"DeviceInfoCfg": text}}


def test_faulty_npus_are_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = cluster_with(device_info("npu-3"), job(tasks=[task(replicas=4)]))
    key = Ref("ConfigMap", "kube-system", "mindx-dl-deviceinfo-n0")

    def write(text: str) -> list[int]:
        """Change the ConfigMap; returns the NPUs of each node that jobs can have."""
        cluster.store.patch(key, {"data": {"DeviceInfoCfg": text}})
        cluster.settle()
        return npus()

    def npus() -> list[int]:
        return [int(row[0]) for row in cluster.snapshot.gpu_total]

    assert phase_of(cluster) == "Pending" and npus() == [0b1111_0111, 255, 255, 255]
    assert write(device_info("")["data"]["DeviceInfoCfg"]) == [255] * 4
    assert phase_of(cluster) == "Running"
    sessions: list[int] = []
    monkeypatch.setattr(Scheduler, "_session", lambda self: sessions.append(1))
    write(device_info("", updated=2)["data"]["DeviceInfoCfg"])
    assert not sessions, "the same NPUs at another time"
    monkeypatch.undo()
    assert write(device_info("npu-1")["data"]["DeviceInfoCfg"]) == [0b1111_1101, 255, 255, 255]
    assert write("{") == [0b1111_1101, 255, 255, 255], "what could be read last counts"
    assert [line.reason for line in cluster.log if line.key == key] == ["NotRead"]
    cluster.store.delete(key)
    cluster.settle()
    assert npus() == [255] * 4


RACKS = """
networkTopologyDiscovery:
- source: label
  enabled: {enabled}
  config:
    networkTopologyTypes:
      fabric:
      - nodeLabel: spine
      - nodeLabel: rack
      - nodeLabel: kubernetes.io/hostname
"""


def controller_conf(text: str) -> dict[str, Any]:
    metadata = {"name": "volcano-controller-configmap", "namespace": "volcano-system"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"volcano-controller.conf": text}}


def labelled(name: str, rack: str, spine: str = "s") -> dict[str, Any]:
    made = node(name)
    made["metadata"]["labels"] = {"rack": rack, "spine": spine}
    return made


def found_in(cluster: EmbeddedCluster) -> list[tuple[int, list[str]]]:
    """Tier and the members of each HyperNode: node names, or tiers of HyperNodes."""
    hypernodes = {one["metadata"]["name"]: one["spec"] for one in cluster.store.list("HyperNode")}
    rows = []
    for spec in hypernodes.values():
        names = [member["selector"]["exactMatch"]["name"] for member in spec["members"]]
        rows.append((spec["tier"], [str(hypernodes[name]["tier"]) if name in hypernodes else name for name in names]))
    return sorted(rows)


def test_hypernodes_follow_the_labels_of_nodes_as_the_controllers_config_map_says() -> None:
    cluster = EmbeddedCluster("volcano-1.15")
    cluster.submit(*(labelled(f"n{i}", f"r{i // 2}") for i in range(4)), controller_conf(RACKS.format(enabled="true")))
    cluster.settle()
    assert found_in(cluster) == [(1, ["n0", "n1"]), (1, ["n2", "n3"]), (2, ["1", "1"])]
    assert all(status_of(cluster, Ref("HyperNode", "", name))["nodeCount"] == 2 for name in hypernode_names(cluster))
    cluster.submit(job(networkTopology={"mode": "hard", "highestTierAllowed": 1}))
    cluster.settle()
    assert phase_of(cluster) == "Running"
    cluster.submit(labelled("n3", "r0"), labelled("n4", "r1"))
    cluster.settle()
    assert found_in(cluster) == [(1, ["n0", "n1", "n3"]), (1, ["n2", "n4"]), (2, ["1", "1"])]
    cluster.delete("HyperNode", hypernode_names(cluster)[0])
    cluster.settle()
    assert len(found_in(cluster)) == 3, "a HyperNode that somebody deletes is made again"
    cluster.submit(controller_conf(RACKS.format(enabled="false")), node("n5"))
    cluster.settle()
    cluster.submit(labelled("n4", "r7"))
    cluster.settle()
    assert len(found_in(cluster)) == 3, "a source that is switched off leaves its HyperNodes"


def hypernode_names(cluster: EmbeddedCluster) -> list[str]:
    return [one["metadata"]["name"] for one in cluster.store.list("HyperNode")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("networkTopologyDiscovery: 5", "failed to parse config"),
        ("- source: roce", "failed to parse config"),
        (
            "networkTopologyDiscovery: [{source: roce, enabled: true}, {source: label, enabled: true}]",
            "unsupported discoverer type: roce; waiting behind it: label",
        ),
        ("networkTopologyDiscovery: [{source: ufm, enabled: true}]", "opens no connection"),
    ],
)
def test_a_discovery_that_cannot_run_is_told_and_the_old_one_goes_on(text: str, said: str) -> None:
    cluster = EmbeddedCluster()
    cluster.submit(labelled("n0", "r0"), controller_conf(RACKS.format(enabled="true")))
    cluster.settle()
    cluster.submit(controller_conf(text))
    cluster.settle()
    (line,) = [one for one in cluster.log if one.reason == "DiscoveryFailed"]
    assert said in line.message and line.warning
    cluster.submit(labelled("n1", "r1"))
    cluster.settle()
    assert len(found_in(cluster)) == (2 if "ufm" in text else 3)


def test_discovery_leaves_the_hypernodes_of_others_alone() -> None:
    cluster = EmbeddedCluster()
    mine = hypernode("mine", 1, ["n0"])
    cluster.submit(mine, labelled("n0", "r0"), controller_conf(RACKS.format(enabled="true")))
    cluster.settle()
    assert hypernode_names(cluster)[-1] == "mine" and len(found_in(cluster)) == 3


def hyper_job(name: str = "llm", replicas: int = 2, tasks: list[Any] | None = None, **spec: Any) -> dict[str, Any]:
    members = [{"name": "w", "replicas": replicas, "templateSpec": job(tasks=tasks)["spec"]}]
    return {
        "apiVersion": "training.volcano.sh/v1alpha1",
        "kind": "HyperJob",
        "metadata": {"name": name},
        "spec": {"replicatedJobs": members, **spec},
    }


def nodes_of(cluster: EmbeddedCluster, name: str) -> list[str]:
    return sorted({pod["spec"].get("nodeName", "") for pod in _pods(cluster, name)})


def records_of(cluster: EmbeddedCluster) -> dict[str, str]:
    groups = cluster.store.list("PodGroup")
    written = {one["metadata"]["name"]: one["metadata"].get("annotations") or {} for one in groups}
    return {name[: name.index("-", 6)]: each.get(RECORD, "") for name, each in written.items()}


RECORD = "volcano.sh/job-allocated-hypernode"


@pytest.mark.parametrize("policy", ["volcano-1.13", "volcano-1.15", "allocate"])
def test_the_jobs_of_a_hyper_job_are_decided_together_each_alone_in_a_hypernode(policy: str) -> None:
    cluster = cluster_with(hyper_job(tasks=[task(gpus=4)]), policy=policy)
    homes = {nodes[0][:2] in ("n0", "n1") for nodes in (nodes_of(cluster, "llm-w-0"), nodes_of(cluster, "llm-w-1"))}
    assert homes == {True, False}, "one Job in each leaf"
    assert records_of(cluster) == {"llm-w-0": "leaf0", "llm-w-1": "leaf1"}
    assert cluster.snapshot.topology.n_nodes == 4
    cluster.submit(job("other", [task(replicas=1, gpus=1)]))
    cluster.settle()
    assert phase_of(cluster, "other") == "Pending", "the accelerators that the Jobs leave idle are nobody else's"
    assert {phase_of(cluster, name) for name in ("llm-w-0", "llm-w-1")} == {"Running"}


def test_a_hyper_job_that_does_not_fit_waits_as_a_whole_and_says_why_on_each_pod_group() -> None:
    cluster = cluster_with(hyper_job(replicas=3))
    assert {name: phase_of(cluster, name) for name in ("llm-w-0", "llm-w-1", "llm-w-2")} == {
        f"llm-w-{i}": "Pending" for i in range(3)
    }
    for group in cluster.store.list("PodGroup"):
        (condition,) = group["status"]["conditions"]
        assert condition["type"] == "Unschedulable" and "2 of the 3 HyperNodes needed" in condition["message"]
    cluster.submit(*(node(f"n{i}") for i in (4, 5)), hypernode("leaf2", 1, ["n4", "n5"]))
    cluster.settle()
    assert [phase_of(cluster, f"llm-w-{i}") for i in range(3)] == ["Running"] * 3


def test_a_hyper_job_starts_with_min_available_jobs_and_the_others_follow() -> None:
    cluster = cluster_with(hyper_job(replicas=3, minAvailable=2), run_seconds=60)
    assert [phase_of(cluster, f"llm-w-{i}") for i in range(3)] == ["Running", "Running", "Pending"]
    cluster.run(60)
    cluster.settle()
    assert [phase_of(cluster, f"llm-w-{i}") for i in range(3)] == ["Completed", "Completed", "Running"]
    cluster.run()
    (condition,) = status_of(cluster, Ref("HyperJob", "default", "llm"))["conditions"]
    assert condition["type"] == "Completed" and cluster.now == 120


def test_one_job_of_a_hyper_job_restarts_without_the_others() -> None:
    policies = [{"event": "PodFailed", "action": "RestartJob"}]
    many = hyper_job()
    many["spec"]["replicatedJobs"][0]["templateSpec"]["policies"] = policies
    cluster = cluster_with(many)
    kept = {pod["metadata"]["uid"] for pod in _pods(cluster, "llm-w-1")}
    gone = {pod["metadata"]["uid"] for pod in _pods(cluster, "llm-w-0")}
    cluster.fail("llm-w-0-worker-0")
    cluster.settle()
    assert [phase_of(cluster, f"llm-w-{i}") for i in range(2)] == ["Running", "Running"]
    assert {pod["metadata"]["uid"] for pod in _pods(cluster, "llm-w-1")} == kept
    assert gone.isdisjoint({pod["metadata"]["uid"] for pod in _pods(cluster, "llm-w-0")})
    assert nodes_of(cluster, "llm-w-0") == ["n0", "n1"]


def test_a_hyper_job_waits_while_too_few_of_its_jobs_are_admitted() -> None:
    tiers = [PluginOption(name) for name in ("overcommit", "gang", "predicates", "network-topology-aware")]
    config = SchedulerConfig(("enqueue", "allocate"), (tuple(tiers),))
    cluster = EmbeddedCluster(get_policy("volcano-1.15", config=config))
    cluster.submit(*small_cluster(), hyper_job(replicas=3))
    cluster.settle()
    assert [phase_of(cluster, f"llm-w-{i}") for i in range(3)] == ["Pending"] * 3
    (line,) = [one for one in cluster.log if one.reason == "WaitsForJobs"]
    assert line.key == Ref("HyperJob", "default", "llm") and line.message == "2 Jobs have pods; minAvailable is 3"
    cluster.submit(*(node(f"n{i}") for i in (4, 5)), hypernode("leaf2", 1, ["n4", "n5"]))
    cluster.settle()
    assert [phase_of(cluster, f"llm-w-{i}") for i in range(3)] == ["Running"] * 3


def test_a_saved_cluster_remembers_which_hypernodes_a_hyper_job_holds(tmp_path: Path) -> None:
    first = cluster_with(hyper_job(tasks=[task(gpus=4)]))
    first.save(tmp_path / "store.json")
    second = EmbeddedCluster("volcano-1.15")
    second.resume(tmp_path / "store.json")
    second.submit(job("other", [task(replicas=1, gpus=1)]))
    second.settle()
    assert phase_of(second, "other") == "Pending"
    second.delete("HyperJob", "llm")
    second.settle()
    assert phase_of(second, "other") == "Running"


def test_a_hyper_job_becomes_jobs() -> None:
    cluster = cluster_with(hyper_job(), run_seconds=5)
    assert [one["metadata"]["name"] for one in cluster.store.list("Job")] == ["llm-w-0", "llm-w-1"]
    cluster.run()
    (condition,) = status_of(cluster, Ref("HyperJob", "default", "llm"))["conditions"]
    assert condition["type"] == "Completed"
    cluster.delete("HyperJob", "llm")
    cluster.settle()
    assert cluster.store.list("Job") == [] and cluster.store.list("Pod") == []


def pod_group(queue: str) -> dict[str, Any]:
    kind = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup"}
    return {**kind, "metadata": {"name": "g"}, "spec": {"queue": queue}}


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (job(queue="missing"), 'queue.scheduling.volcano.sh "missing" not found'),
        (pod_group("missing"), 'unable to find queue: queue.scheduling.volcano.sh "missing" not found'),
        (job(tasks=[task(), task()]), "duplicated"),
        (job(plugins={"nonsense": []}), "nonsense"),
        (job(plugins={"svc": ["--nonsense"]}), "spec.plugins.svc[0]"),
        (job(tasks=[task("a", dependsOn={"name": ["b"]}), task("b", dependsOn={"name": ["a"]})]), "DAG"),
        (job("a" * 70), "must be no more than"),
        (job("Train"), "RFC 1123"),
    ],
)
def test_a_refused_object_is_told_and_nothing_of_the_submission_is_stored(bad: dict[str, Any], said: str) -> None:
    cluster = EmbeddedCluster()
    with pytest.raises(InputError) as caught:
        cluster.submit(*small_cluster(), job("good"), bad)
    assert said in str(caught.value) and str(caught.value).startswith("object 9: ")
    assert cluster.store.contents() == [] and cluster.warnings == ()


@pytest.mark.parametrize(
    ("kind", "version", "fields", "said"),
    [
        ("Deployment", "apps/v1", {"spec": {"replicas": "x"}}, "spec.replicas"),
        ("StatefulSet", "apps/v1", {"spec": {"replicas": "x"}}, "spec.replicas"),
        ("ReplicaSet", "apps/v1", {"spec": {"template": {"spec": {"containers": 5}}}}, "containers"),
        ("Command", "bus.volcano.sh/v1alpha1", {"target": "train"}, "target"),
        ("Service", "v1", {"spec": []}, "spec"),
        ("Node", "v1", {"status": {"allocatable": {"cpu": "many"}}}, "cpu"),
    ],
)
def test_a_field_of_the_wrong_type_is_refused_before_a_controller_reads_it(
    kind: str, version: str, fields: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError, match="object 1: ") as caught:
        EmbeddedCluster().submit({"apiVersion": version, "kind": kind, "metadata": {"name": "x"}, **fields})
    assert said in str(caught.value)


def test_owners_that_are_no_list_are_refused() -> None:
    with pytest.raises(InputError, match="ownerReferences"):
        EmbeddedCluster().submit(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "ownerReferences": 5}}
        )


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "StatefulSet"])
def test_an_owner_of_pods_may_lack_its_spec(kind: str) -> None:
    cluster = EmbeddedCluster()
    cluster.submit({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "x"}})
    cluster.settle()
    assert cluster.store.list(kind)


def test_a_field_that_no_kind_has_is_a_warning() -> None:
    cluster = cluster_with(job(netwrokTopology={"mode": "hard"}))
    assert phase_of(cluster) == "Running"
    (warning,) = [notice for _, notice in cluster.warnings]
    assert "netwrokTopology" in warning.message


def test_running_pods_of_another_cluster_are_taken_over() -> None:
    running = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "busy", "namespace": "default", "uid": "u", "resourceVersion": "7"},
        "spec": {**pod_template(8)["spec"], "nodeName": "n0"},
        "status": {"phase": "Running"},
    }
    cluster = cluster_with(running, job(tasks=[task(replicas=4)]))
    assert phase_of(cluster) == "Pending"
    cluster.delete("Pod", "busy")
    cluster.settle()
    assert phase_of(cluster) == "Running"


def test_a_saved_cluster_goes_on_where_it_stopped(tmp_path: Path) -> None:
    failing = task(replicas=2)
    failing["policies"] = [{"event": "PodFailed", "action": "AbortJob", "timeout": "20s"}]
    failing["template"] = pod_template(**{"annotations": {"topology-workbench/exit-code": "1"}})
    first = cluster_with(job(tasks=[failing]), run_seconds=60)
    first.run(65)
    path = tmp_path / "store.json"
    first.save(path)
    second = EmbeddedCluster("volcano-1.15", run_seconds=60)
    second.resume(path)
    assert second.now == 65 and second.log == first.log
    first.run()
    second.run()
    assert first.now == second.now == 80
    assert [_lasting(one) for one in first.store.contents()] == [_lasting(one) for one in second.store.contents()]


def _lasting(data: Any) -> Any:
    return {**data, "metadata": {name: value for name, value in data["metadata"].items() if name != "resourceVersion"}}


def test_a_broken_store_file_is_one_error_and_the_cluster_stays(tmp_path: Path) -> None:
    cluster = cluster_with(job())
    path = tmp_path / "store.json"
    cluster.save(path)
    whole = path.read_text()
    before = cluster.store.contents()
    data = json.loads(whole)
    del data["objects"][0]["metadata"]["uid"]
    twice = json.loads(whole)
    twice["objects"].append(twice["objects"][0])
    broken = [whole[: len(whole) // 2], "[]", '{"format": "another"}', json.dumps(data), json.dumps(twice)]
    for text, said in zip(broken, ["no JSON", "format", "format", "metadata.uid", "each object once"], strict=True):
        path.write_text(text)
        with pytest.raises(InputError, match=said) as caught:
            cluster.resume(path)
        assert str(path) in str(caught.value)
    assert cluster.store.contents() == before


def test_a_generated_name_is_refused_by_the_name_of_its_field() -> None:
    nameless = job()
    nameless["metadata"] = {"generateName": "train-"}
    with pytest.raises(InputError, match=r"metadata.name: Required value; generateName is not supported"):
        cluster_with(nameless)


def test_a_store_file_without_one_of_its_fields_is_refused(tmp_path: Path) -> None:
    cluster = cluster_with(job(), run_seconds=60)
    path = tmp_path / "store.json"
    cluster.save(path)
    whole = json.loads(path.read_text())
    # Some came later, and stores without them are read.
    for name in whole.keys() - {"former", "session_due", "policy", "rested_at"}:
        path.write_text(json.dumps({key: value for key, value in whole.items() if key != name}))
        with pytest.raises(InputError, match=f"{name}: the field is missing"):
            EmbeddedCluster().resume(path)


def test_two_runs_are_equal_byte_by_byte(tmp_path: Path) -> None:
    texts = []
    for number in range(2):
        cluster = cluster_with(job(plugins={"svc": [], "env": []}), run_seconds=60)
        cluster.run()
        cluster.save(tmp_path / str(number))
        texts.append((tmp_path / str(number)).read_bytes())
    assert texts[0] == texts[1]


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_a_copy_lives_its_own_life(copied: Any) -> None:
    cluster = cluster_with(job(), run_seconds=60)
    other = copied(cluster)
    other.run()
    assert phase_of(other) == "Completed" and phase_of(cluster) == "Running"
    cluster.run()
    assert [_lasting(o) for o in cluster.store.contents()] == [_lasting(o) for o in other.store.contents()]


def test_a_node_that_comes_later_lets_a_waiting_job_start() -> None:
    cluster = cluster_with(job(tasks=[task(replicas=5)]))
    assert phase_of(cluster) == "Pending"
    cluster.submit(node("n9"))
    cluster.settle()
    assert phase_of(cluster) == "Running"


def test_equal_jobs_of_a_hyper_job_are_one_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pods of a cluster are labelled with their Job's name: that alone must not make a policy be asked for each Job."""
    kinds: list[int] = []
    made = JobTrials.__init__

    def counted(self: JobTrials, *args: Any) -> None:
        made(self, *args)
        kinds.extend(self.kinds)

    monkeypatch.setattr(JobTrials, "__init__", counted)
    cluster_with(hyper_job(), job())
    assert kinds == [0, 0]


@pytest.mark.parametrize("group", ["scheduling.sigs.k8s.io", "scheduling.x-k8s.io"])
@pytest.mark.parametrize("minimum", [2, 3])
def test_a_pod_group_of_koordinator_says_how_many_pods_must_start(group: str, minimum: int) -> None:
    cluster = EmbeddedCluster("koordinator-network")
    metadata = {"name": "g", "namespace": "default"}
    made = {
        "apiVersion": f"{group}/v1alpha1",
        "kind": "PodGroup",
        "metadata": metadata,
        "spec": {"minMember": minimum},
    }
    pods = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": "default", "labels": {"pod-group.scheduling.sigs.k8s.io": "g"}},
            "spec": {"schedulerName": "koord-scheduler", "containers": [{"name": "main", "image": "train"}]},
        }
        for name in "ab"
    ]
    cluster.submit(*small_cluster(), made, *pods)
    cluster.run(10)
    placed = [bool(cluster.pod(name).row.node) for name in "ab"]
    assert placed == [minimum == 2] * 2
    # Nothing is written to an object that another scheduler owns.
    stored = cluster.store.get(Ref(f"PodGroup.{group}", "default", "g"))
    assert stored is not None and "status" not in stored
