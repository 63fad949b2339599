"""The gangs of JobSets, LeaderWorkerSets, Ray's and Kubeflow's jobs and Jobs of Kubernetes, with pods that exist."""

from __future__ import annotations

from typing import Any

import pytest

from tests.jobs.test_gangs import gang, pod, workload
from tests.notices import codes
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
from workbench.jobs.top_owners import top_mentions
from workbench.model.extras import AscendWish, KoordinatorWish, VolcanoMemory
from workbench.model.gang import Gang, TopologyConstraint
from workbench.model.kueue_request import KueueRequest
from workbench.objects.metadata import Metadata, Owner


def shape(found: Gang) -> list[tuple[str, int]]:
    return [(role.name, role.count) for role in found.roles]


def names(found: Gang) -> list[str]:
    return [ref.name for ref in found.pods()]


def annotated(data: dict[str, Any], annotations: dict[str, str], **more: Any) -> dict[str, Any]:
    return {**data, "metadata": {**data["metadata"], "annotations": annotations, **more}}


def owned(name: str, kind: str, version: str, node: str = "", owner: str = "x", **labels: str) -> dict[str, Any]:
    made = pod(name, node=node, labels={key.replace("__", "/").replace("_", "-"): text for key, text in labels.items()})
    made["metadata"]["namespace"] = "default"
    made["metadata"]["ownerReferences"] = [{"apiVersion": version, "kind": kind, "name": owner, "controller": True}]
    return made


def of_job(name: str, node: str = "", phase: str = "") -> dict[str, Any]:
    made = owned(name, "Job", "batch/v1", node)
    if phase:
        made["status"] = {"phase": phase}
    return made


class TestBatchJob:
    def test_all_pods_at_a_time_are_one_gang(self) -> None:
        found = gang(job(parallelism=3, completions=3, completionMode="Indexed"))
        assert (found.kind, found.key, found.min_available) == ("BatchJob", "default/x", 3)
        assert shape(found) == [("main", 3)]
        assert names(found) == ["x-0", "x-1", "x-2"]
        assert found.roles[0].n_gpus == 8

    def test_a_job_of_each_group_is_a_gang_of_its_own(self) -> None:
        volcano = manifest("batch.volcano.sh/v1alpha1", "Job", {"tasks": [{"name": "t", "template": TEMPLATE}]})
        found = workload(job(), {**volcano, "metadata": {"name": "y"}}).gangs
        assert [(one.kind, one.name) for one in found] == [("BatchJob", "x"), ("Job", "y")]

    def test_running_pods_count_and_what_is_missing_is_placed(self) -> None:
        data = job(parallelism=4, completions=4, completionMode="Indexed")
        found = gang(data, of_job("x-1-abcde", node="n"), of_job("x-3-fghij"))
        assert (found.ready, found.min_available) == (1, 4)
        assert names(found) == ["x-0", "x-2", "x-3-fghij"]

    def test_pods_that_run_belong_to_the_gang_and_to_no_second_one(self) -> None:
        read = workload(job(parallelism=2, completions=2), of_job("x-aaaaa", node="n"), of_job("x-bbbbb"))
        assert [one.key for one in read.gangs] == ["default/x"]
        assert [(each.metadata.name, key) for each, key in read.holding] == [("x-aaaaa", "default/x")]
        assert names(read.gangs[0]) == ["x-bbbbb"]

    def test_what_has_succeeded_is_not_run_again(self) -> None:
        data = job(parallelism=3, completions=8, completionMode="Indexed")
        found = gang({**data, "status": {"succeeded": 6}})
        assert (names(found), found.min_available) == (["x-6", "x-7"], 2)

    def test_a_job_without_completions_ends_with_its_first_success(self) -> None:
        data = job(parallelism=3)
        assert workload(data, of_job("x-a", phase="Succeeded")).gangs == ()

    def test_a_failed_pod_is_replaced(self) -> None:
        found = gang(job(parallelism=2, completions=2), of_job("x-a", node="n", phase="Failed"))
        assert (found.n_pods, found.ready) == (2, 0)

    @pytest.mark.parametrize("condition", ["Complete", "Failed"])
    def test_a_finished_job_waits_for_nothing(self, condition: str) -> None:
        data = {**job(parallelism=2), "status": {"conditions": [{"type": condition, "status": "True"}]}}
        assert workload(data).gangs == ()

    def test_volcanos_minimum_on_the_job(self) -> None:
        data = annotated(job(parallelism=4), {"scheduling.volcano.sh/group-min-member": "2"})
        assert gang(data).min_available == 2

    def test_volcano_starts_pods_one_by_one_unless_told(self) -> None:
        data = job({"spec": {**TEMPLATE["spec"], "schedulerName": "volcano"}}, parallelism=4)
        assert codes(gang(data).notes) == ("no-minimum",)
        assert gang(data).min_available == 4

    def test_a_suspended_job_waits_for_kueue_or_for_nobody(self) -> None:
        data = job(suspend=True)
        assert gang(data).n_pods == 1
        stored = {**data, "metadata": {"name": "x", "uid": "u"}}
        assert workload(stored).gangs == ()
        stored["metadata"] = {**stored["metadata"], "labels": {"kueue.x-k8s.io/queue-name": "q"}}
        assert gang(stored).n_pods == 1

    @pytest.mark.parametrize("scheduler", ["default-scheduler", "kai-scheduler"])
    def test_it_is_a_job_whichever_scheduler_it_names(self, scheduler: str) -> None:
        read = workload(job({"spec": {**TEMPLATE["spec"], "schedulerName": scheduler}}))
        assert (len(read.gangs), read.notes) == (1, ())

    def test_annotations_of_the_template_reach_every_reader(self) -> None:
        annotations = {
            "volcano.sh/network-topology-mode": "soft",
            "scheduling.volcano.sh/queue-name": "q",
            "gang.scheduling.koordinator.sh/groups": '["default/x", "default/y"]',
        }
        template = {"metadata": {"annotations": annotations, "labels": {"tor-affinity": "normal-schema"}}, **TEMPLATE}
        found = gang(job(template))
        assert (found.constraint, found.queue) == (TopologyConstraint("soft"), "q")
        assert found.extra(KoordinatorWish).gang_groups == ("default/x", "default/y")
        assert found.extra(AscendWish).job_class == "normal-schema"


class TestJobSet:
    def test_an_entry_is_a_role_with_the_pods_of_all_its_jobs(self) -> None:
        found = gang(job_set(entry("driver"), entry("w", 2, parallelism=2, completions=2)))
        assert (found.kind, shape(found), found.min_available) == ("JobSet", [("driver", 1), ("w", 4)], 5)
        assert names(found) == ["x-driver-0-0", "x-w-0-0", "x-w-0-1", "x-w-1-0", "x-w-1-1"]

    def test_its_jobs_and_their_pods_are_no_gangs_of_their_own(self) -> None:
        labels = {"jobset.sigs.k8s.io/jobset-name": "x", "jobset.sigs.k8s.io/replicatedjob-name": "w"}
        owner = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "name": "x", "controller": True}
        child = job(parallelism=2, completions=2)
        child["metadata"] = {"name": "x-w-0", "labels": labels, "ownerReferences": [owner]}
        runs = owned("x-w-0-0-abcde", "Job", "batch/v1", "n", owner="x-w-0")
        runs["metadata"]["labels"] = labels
        read = workload(job_set(entry("w", 1, parallelism=2, completions=2)), child, runs)
        (found,) = read.gangs
        assert (found.key, found.ready, names(found)) == ("default/x", 1, ["x-w-0-1"])
        assert [key for _, key in read.holding] == ["default/x"]
        # Without the JobSet the Job is the outermost object that is known.
        (found,) = workload(child, runs).gangs
        assert (found.kind, found.key, found.ready) == ("BatchJob", "default/x-w-0", 1)

    def test_jobs_that_have_succeeded_are_not_run_again(self) -> None:
        data = job_set(entry("w", 3, parallelism=2, completions=2))
        data["status"] = {"replicatedJobsStatus": [{"name": "w", "succeeded": 2}]}
        assert names(gang(data)) == ["x-w-2-0", "x-w-2-1"]

    @pytest.mark.parametrize(
        ("spec", "more"),
        [
            ({"startupPolicy": {"startupPolicyOrder": "InOrder"}}, {}),
            ({}, {"dependsOn": [{"name": "a", "status": "Ready"}]}),
        ],
    )
    def test_an_order_of_starting_is_told(self, spec: dict[str, Any], more: dict[str, Any]) -> None:
        data = job_set(entry("a"), {**entry("b"), **more}, **spec)
        assert codes(gang(data).notes) == ("start-order-not-followed",)

    def test_exclusive_placement_is_told_for_the_entries_that_want_it(self) -> None:
        key = "alpha.jobset.sigs.k8s.io/exclusive-topology"
        one = entry("a")
        one["template"]["metadata"] = {"annotations": {key: "rack"}}
        assert [str(note) for note in gang(job_set(one, entry("b"))).notes] == [
            "exclusive topology: each Job of a alone in one value of rack is not followed"
        ]


class TestLeaderWorkerSet:
    def test_each_replica_is_a_gang(self) -> None:
        found = workload(leader_worker_set(leaderTemplate=TEMPLATE)).gangs
        assert [(one.key, one.min_available, shape(one)) for one in found] == [
            ("default/x-0", 3, [("leader", 1), ("worker", 2)]),
            ("default/x-1", 3, [("leader", 1), ("worker", 2)]),
        ]
        assert names(found[1]) == ["x-1", "x-1-1", "x-1-2"]

    def test_without_a_template_of_the_leader_there_is_one_role(self) -> None:
        found = workload(leader_worker_set()).gangs
        assert [shape(one) for one in found] == [[("main", 3)], [("main", 3)]]

    def test_pods_belong_to_the_gang_of_their_group(self) -> None:
        labels = {"leaderworkerset.sigs.k8s.io/name": "x", "leaderworkerset.sigs.k8s.io/group-index": "1"}
        runs = [
            owned(name, "StatefulSet", "apps/v1", "n", owner="x") for name in ("x-1", "x-1-1", "x-1-2")
        ]  # fmt: skip
        for number, one in enumerate(runs):
            one["metadata"]["labels"] = {**labels, "leaderworkerset.sigs.k8s.io/worker-index": str(number)}
        between = manifest("apps/v1", "StatefulSet", {"replicas": 2, "template": TEMPLATE}, labels=labels)
        read = workload(leader_worker_set(), between, *runs)
        assert [one.key for one in read.gangs] == ["default/x-0"]
        assert {key for _, key in read.holding} == {"default/x-1"}
        assert read.queues["default/x-1"] == "default"

    def test_the_pod_group_of_its_pods_says_the_minimum(self) -> None:
        labels = {"leaderworkerset.sigs.k8s.io/name": "x", "leaderworkerset.sigs.k8s.io/group-index": "0"}
        leader = owned("x-0", "StatefulSet", "apps/v1")
        leader["metadata"] |= {"labels": labels, "annotations": {"scheduling.k8s.io/group-name": "x-0-rev"}}
        spec = {"minMember": 1, "queue": "q", "networkTopology": {"mode": "hard", "highestTierAllowed": 2}}
        made = manifest("scheduling.volcano.sh/v1beta1", "PodGroup", spec)
        made["metadata"] = {"name": "x-0-rev", "annotations": {"volcano.sh/job-allocated-hypernode": "s1"}}
        first, second = workload(leader_worker_set(), leader, made).gangs
        assert (first.min_available, first.queue, first.constraint) == (1, "q", TopologyConstraint("hard", 2))
        assert first.extra(VolcanoMemory).record == "s1"
        assert (second.min_available, second.queue, second.constraint) == (3, "default", None)


class TestRay:
    def test_the_head_and_the_hosts_of_each_replica(self) -> None:
        found = gang(ray_cluster(group("a", replicas=2, numOfHosts=4), group("b", replicas=1)))
        assert (shape(found), found.min_available) == ([("head", 1), ("a", 8), ("b", 1)], 10)
        assert names(found)[:3] == ["x-head", "x-a-worker-0", "x-a-worker-1"]
        assert [role.min_available for role in found.roles] == [None, None, None]

    def test_the_autoscaler_lets_it_start_with_the_minimum(self) -> None:
        found = gang(ray_cluster(group("a", replicas=3, minReplicas=1, numOfHosts=2), enableInTreeAutoscaling=True))
        assert (found.n_pods, found.min_available) == (7, 3)
        assert [role.min_available for role in found.roles] == [1, 2]

    def test_kai_starts_with_the_minimum_in_any_case(self) -> None:
        groups = (group("a", replicas=3, minReplicas=1, maxReplicas=5), group("b", replicas=2))
        data = ray_cluster(*groups, labels={"ray.io/scheduler-name": "kai-scheduler"})
        assert gang(data).min_available == 4
        labels = {"ray.io/scheduler-name": "volcano", "volcano.sh/queue-name": "q"}
        assert (gang(ray_cluster(*groups, labels=labels)).min_available, gang(ray_cluster(labels=labels)).queue) == (
            6,
            "q",
        )

    def test_the_network_topology_that_kuberay_writes_into_the_pod_group(self) -> None:
        labels = {
            "volcano.sh/network-topology-mode": "soft",
            "volcano.sh/network-topology-highest-tier-allowed": "3",
        }
        assert gang(ray_cluster(labels=labels)).constraint == TopologyConstraint("soft", 3)

    def test_a_ray_job_owns_its_cluster_and_the_pods_of_it(self) -> None:
        spec = {"rayClusterSpec": {"headGroupSpec": {"template": TEMPLATE}, "workerGroupSpecs": [group(replicas=2)]}}
        made = {**manifest("ray.io/v1", "RayJob", spec), "status": {"rayClusterName": "x-abcde"}}
        cluster = ray_cluster(group(replicas=2))
        owner = {"apiVersion": "ray.io/v1", "kind": "RayJob", "name": "x", "controller": True}
        cluster["metadata"] = {"name": "x-abcde", "ownerReferences": [owner]}
        head = owned("x-abcde-head-q2w3e", "RayCluster", "ray.io/v1", "n", owner="x-abcde")
        head["metadata"]["labels"] = {
            "ray.io/cluster": "x-abcde",
            "ray.io/group": "headgroup",
            "ray.io/node-type": "head",
        }
        submits = owned("x-zzzzz", "Job", "batch/v1", owner="x")
        inner = job()
        inner["metadata"] = {"name": "x", "ownerReferences": [owner]}
        read = workload(made, cluster, head, inner, submits)
        (found,) = read.gangs
        assert (found.kind, found.key, found.ready, found.min_available) == ("RayJob", "default/x", 1, 3)
        assert names(found) == ["x-abcde-g-worker-0", "x-abcde-g-worker-1", "x-zzzzz"]
        assert codes(found.notes) == ("start-order-not-followed",)
        assert {key for _, key in read.holding} == {"default/x"}


class TestKubeflow:
    def test_each_type_is_a_role(self) -> None:
        replicas = {"Worker": {"replicas": 3, "template": TEMPLATE}, "Master": {"template": TEMPLATE}}
        found = gang(torch_job(replicas))
        assert (found.kind, shape(found), found.min_available) == ("PyTorchJob", [("master", 1), ("worker", 3)], 4)
        assert names(found) == ["x-master-0", "x-worker-0", "x-worker-1", "x-worker-2"]

    def test_the_scheduling_policy(self) -> None:
        policy = {"minAvailable": 2, "queue": "q", "priorityClass": "high"}
        data = torch_job({"Worker": {"replicas": 4, "template": TEMPLATE}}, runPolicy={"schedulingPolicy": policy})
        high = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 7}
        found = gang(data, high)
        assert (found.min_available, found.queue, found.priority) == (2, "q", 7)

    def test_a_minimum_of_more_pods_than_there_are_is_kept(self) -> None:
        policy = {"schedulingPolicy": {"minAvailable": 9}}
        assert gang(torch_job({"Worker": {"template": TEMPLATE}}, runPolicy=policy)).min_available == 9

    def test_the_launcher_of_an_mpi_job(self) -> None:
        spec = {
            "mpiReplicaSpecs": {"Worker": {"replicas": 2, "template": TEMPLATE}, "Launcher": {"template": TEMPLATE}}
        }
        found = gang(
            manifest("kubeflow.org/v2beta1", "MPIJob", {**spec, "launcherCreationPolicy": "WaitForWorkersReady"})
        )
        assert names(found) == ["x-launcher", "x-worker-0", "x-worker-1"]
        assert codes(found.notes) == ("start-order-not-followed",)

    def test_pods_by_their_labels_and_the_pod_group_of_the_operator(self) -> None:
        labels = {"training.kubeflow.org/job-name": "x", "training.kubeflow.org/replica-type": "worker"}
        made = owned("x-worker-0", "PyTorchJob", "kubeflow.org/v1", "n")
        made["metadata"] |= {"labels": labels, "annotations": {"scheduling.k8s.io/group-name": "x"}}
        members = manifest("scheduling.volcano.sh/v1beta1", "PodGroup", {"minMember": 2, "queue": "q"})
        data = torch_job({"Worker": {"replicas": 3, "template": TEMPLATE}})
        read = workload(data, made, members)
        (found,) = read.gangs
        assert (found.kind, found.min_available, found.ready, found.queue) == ("PyTorchJob", 2, 1, "q")
        assert names(found) == ["x-worker-1", "x-worker-2"]

    def test_more_pods_than_replicas_are_placed_too(self) -> None:
        pods = [owned(f"x-worker-{i}", "PyTorchJob", "kubeflow.org/v1") for i in range(3)]
        found = gang(torch_job({"Worker": {"replicas": 2, "template": TEMPLATE}}), *pods)
        assert (names(found), found.min_available) == (["x-worker-0", "x-worker-1", "x-worker-2"], 2)


@pytest.mark.parametrize(
    ("labels", "owner", "want"),
    [
        ({}, None, ()),
        ({"batch.kubernetes.io/job-name": "j"}, None, ("BatchJob n/j",)),
        ({"job-name": "j"}, ("CronJob", "batch/v1"), ()),
        ({}, ("Job", "batch/v1"), ("BatchJob n/o",)),
        ({}, ("Job", "batch.volcano.sh/v1alpha1"), ()),
        ({"training.kubeflow.org/job-name": "k"}, ("TFJob", "kubeflow.org/v1"), ("TFJob n/k", "TFJob n/o")),
        (
            {"training.kubeflow.org/job-name": "k", "training.kubeflow.org/operator-name": "mpi-operator"},
            ("Job", "batch/v1"),
            ("MPIJob n/k", "BatchJob n/o"),
        ),
        (
            {
                "ray.io/cluster": "c",
                "ray.io/originated-from-cr-name": "r",
                "ray.io/originated-from-crd": "RayJob",
            },
            ("RayCluster", "ray.io/v1"),
            ("RayJob n/r", "RayCluster n/c", "RayCluster n/o"),
        ),
    ],
)
def test_what_a_pod_names(labels: dict[str, str], owner: tuple[str, str] | None, want: tuple[str, ...]) -> None:
    owners = (Owner(owner[0], "o", True, "", owner[1]),) if owner else ()
    assert top_mentions(Metadata("p", "n", labels=labels, owners=owners)) == want


def test_owners_in_a_circle_are_left() -> None:
    first, second = job(), job()
    for data, name, other in ((first, "a", "b"), (second, "b", "a")):
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": other, "controller": True}
        data["metadata"] = {"name": name, "ownerReferences": [owner]}
    assert workload(first, second).gangs == ()


class TestKueue:
    def test_annotations_of_a_template_and_what_the_controller_tells_of_the_pods(self) -> None:
        annotations = {"kueue.x-k8s.io/podset-required-topology": "rack"}
        data = job_set(entry("a"), entry("b", 2, parallelism=2, completions=2))
        data["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "team"}
        spec = data["spec"]["replicatedJobs"][1]["template"]["spec"]
        spec["template"] = {**TEMPLATE, "metadata": {"annotations": annotations}}
        found = gang(data).extra(KueueRequest)
        assert (found.queue, [one.role for one in found.roles]) == ("team", ["b"])
        asked = found.of("b").topology
        assert asked is not None and asked.required == "rack"
        assert (asked.pod_index_label, asked.sub_group_label, asked.sub_group_count) == (
            "batch.kubernetes.io/job-completion-index",
            "jobset.sigs.k8s.io/job-index",
            2,
        )

    def test_a_leader_and_its_workers_are_one_group(self) -> None:
        annotations = {
            "kueue.x-k8s.io/podset-group-name": "g",
            "kueue.x-k8s.io/podset-preferred-topology": "host",
        }
        template = {**TEMPLATE, "metadata": {"annotations": annotations}}
        found = workload(leader_worker_set(leaderTemplate=template, workerTemplate=template)).gangs[1]
        asked = [one.topology for one in found.extra(KueueRequest).roles]
        assert [(one.group, one.preferred, one.pod_index_label) for one in asked if one is not None] == [
            ("g", "host", None),
            ("g", "host", "leaderworkerset.sigs.k8s.io/worker-index"),
        ]

    def test_fewest_pods_of_a_job(self) -> None:
        data = annotated(job(parallelism=4), {"kueue.x-k8s.io/job-min-parallelism": "2"})
        assert gang(data).extra(KueueRequest).of("main").min_count == 2

    def test_annotations_that_contradict_are_refused(self) -> None:
        template = {**TEMPLATE, "metadata": {"annotations": {"kueue.x-k8s.io/podset-unconstrained-topology": "maybe"}}}
        found = workload(job(template))
        assert not found.gangs
        assert [(one.code, one.subject) for one in found.refused] == [("refused-by-admission", "BatchJob default/x")]
        assert 'Invalid value: "maybe": must be a boolean value' in found.refused[0].message
