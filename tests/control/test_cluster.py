"""The embedded cluster: manifests in, pods that run, and what happens when something fails or goes away."""

from __future__ import annotations

import copy

import pytest

from tests.control.manifests import (
    JOB,
    cluster_with,
    command,
    group_of,
    hypernode,
    job,
    job_pods,
    node,
    phase_of,
    pod_template,
    pods_of,
    small_cluster,
    status_of,
    task,
)
from workbench.control.cluster import EmbeddedCluster
from workbench.control.kinds import Ref
from workbench.control.kubelets import containers_environment


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
    placed = {name: {pod["spec"].get("nodeName") for pod in job_pods(cluster, name)} for name in ("train0", "train1")}
    assert sorted(map(sorted, placed.values())) == [["n0", "n1"], ["n2", "n3"]]
    assert phase_of(cluster, "train2") == "Pending"
    cluster.run(60)
    cluster.settle()
    assert phase_of(cluster, "train0") == "Completed" and phase_of(cluster, "train2") == "Running"
    cluster.run()
    assert phase_of(cluster, "train2") == "Completed" and cluster.now == 120


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
    environments = [containers_environment(cluster.store, pod)["main"] for pod in job_pods(cluster, "train")]
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
    (before,) = job_pods(cluster, "train")
    cluster.delete("Node", before["spec"]["nodeName"])
    cluster.settle()
    (after,) = job_pods(cluster, "train")
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


def test_a_node_that_comes_later_lets_a_waiting_job_start() -> None:
    cluster = cluster_with(job(tasks=[task(replicas=5)]))
    assert phase_of(cluster) == "Pending"
    cluster.submit(node("n9"))
    cluster.settle()
    assert phase_of(cluster) == "Running"


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
