from __future__ import annotations

from typing import Any

import pytest

from tests.notices import codes, said
from workbench.cluster.assemble import assemble
from workbench.errors import InputError
from workbench.jobs.gangs import Workload, read_workload
from workbench.model.extras import AscendWish, Gather, GpuGroup, KoordinatorWish, VolcanoMemory
from workbench.model.gang import Gang, TopologyConstraint
from workbench.objects.kinds import ClusterObjects
from workbench.policies import get_policy, list_policies
from workbench.policies.volcano.parts.task_order import task_rank


def workload(*manifests: dict[str, Any]) -> Workload:
    cluster = ClusterObjects()
    for manifest in manifests:
        cluster.add(manifest)
    return read_workload(cluster)


def gang(*manifests: dict[str, Any]) -> Gang:
    (found,) = workload(*manifests).gangs
    return found


def containers(gpus: int = 0, cpu: int = 1) -> dict[str, Any]:
    requests: dict[str, Any] = {"cpu": cpu}
    if gpus:
        requests["nvidia.com/gpu"] = gpus
    return {"containers": [{"name": "c", "resources": {"requests": requests}}]}


def task(name: str, replicas: int, gpus: int = 0, labels: dict[str, str] | None = None, **more: Any) -> dict[str, Any]:
    template = {"metadata": {"labels": labels or {}}, "spec": containers(gpus)}
    return {"name": name, "replicas": replicas, "template": template, **more}


def job(*tasks: dict[str, Any], name: str = "j", labels: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "ns", "uid": "1-2-3-4-5", "labels": labels or {}}
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": metadata,
        "spec": {"tasks": list(tasks), **spec},
    }


def pod(
    name: str,
    node: str = "",
    phase: str = "",
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    owner: tuple[str, str] | None = None,
    **spec: Any,
) -> dict[str, Any]:
    metadata: dict[str, Any] = {
        "name": name,
        "namespace": "ns",
        "labels": labels or {},
        "annotations": annotations or {},
    }
    if owner:
        metadata["ownerReferences"] = [{"kind": owner[0], "name": owner[1], "controller": True}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {**containers(), **spec, "nodeName": node},
        "status": {"phase": phase or ("Running" if node else "Pending")},
    }


def pod_group(name: str, annotations: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "ns", "annotations": annotations or {}}
    return {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": metadata, "spec": spec}


def priority_class(name: str, value: int, **more: Any) -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
        **more,
    }


def of_job(index: int, role: str = "w") -> dict[str, str]:
    return {"volcano.sh/job-name": "j", "volcano.sh/task-spec": role}


GROUP = {"scheduling.k8s.io/group-name": "g"}


class TestJob:
    def test_pods_of_its_tasks_take_turns_by_index(self) -> None:
        high = {"spec": {**containers(), "priority": 3}}
        tasks = [task("ps", 2), task("w", 3), {**task("late", 1), "template": high}]
        found = gang(job(*tasks), pod("j-w-0", "n0", labels=of_job(0)))
        names = [one.name for one in found.pods()]
        order = sorted(range(found.n_pods), key=task_rank(found).tolist().__getitem__)
        assert [names[i] for i in order] == ["j-late-0", "j-ps-0", "j-ps-1", "j-w-1", "j-w-2"]

    def test_tasks_become_roles(self) -> None:
        found = gang(
            job(task("ps", 1), task("w", 3, gpus=2, minAvailable=2), queue="q", networkTopology={"mode": "hard"})
        )
        assert (found.key, found.kind, found.queue) == ("ns/j", "Job", "q")
        assert found.min_available == 1 + 2
        assert found.constraint == TopologyConstraint("hard")
        assert [(r.name, r.count, r.n_gpus, r.container_gpus) for r in found.roles] == [
            ("ps", 1, 0, (0,)),
            ("w", 3, 2, (2,)),
        ]
        assert [p.name for p in found.pods()] == ["j-ps-0", "j-w-0", "j-w-1", "j-w-2"]

    def test_a_role_without_a_minimum_gets_its_replicas_only_beside_one_with_a_minimum(self) -> None:
        assert [r.min_available for r in gang(job(task("a", 2), task("b", 3))).roles] == [None, None]
        assert [r.min_available for r in gang(job(task("a", 2), task("b", 3, minAvailable=1))).roles] == [2, 1]

    def test_pods_that_run_count_and_are_not_placed_again(self) -> None:
        pods = [pod("j-w-0", "n0", labels=of_job(0)), pod("j-w-1", labels=of_job(1))]
        found = gang(job(task("w", 4), minAvailable=4), *pods)
        assert (found.ready, found.roles[0].count, found.roles[0].first_index) == (1, 3, 1)
        assert [p.name for p in found.pods()] == ["j-w-1", "j-w-2", "j-w-3"]

    def test_a_hole_keeps_the_names_of_the_missing_pods(self) -> None:
        found = gang(job(task("w", 4)), pod("j-w-1", "n0", labels=of_job(1)), pod("j-w-2", "n0", labels=of_job(2)))
        assert [p.name for p in found.pods()] == ["j-w-0", "j-w-3"]
        assert found.ready == 2

    @pytest.mark.parametrize(("phase", "ready"), [("Succeeded", 1), ("Failed", 0)])
    def test_finished_pods_are_not_placed_again(self, phase: str, ready: int) -> None:
        found = gang(job(task("w", 3)), pod("j-w-0", "n0", phase, labels=of_job(0)))
        assert (found.n_pods, found.ready) == (2, ready)
        assert [role.succeeded for role in found.roles] == [ready]

    def test_a_job_that_runs_whole_is_no_gang(self) -> None:
        found = workload(job(task("w", 1)), pod("j-w-0", "n0", labels=of_job(0)))
        assert found.gangs == ()
        assert [(p.metadata.name, key) for p, key in found.holding] == [("j-w-0", "ns/j")]

    def test_roles_keep_their_pods_apart(self) -> None:
        found = gang(job(task("a", 2), task("b", 2)), pod("j-a-0", "n0", labels=of_job(0, "a")))
        assert [(r.name, r.count) for r in found.roles] == [("a", 1), ("b", 2)]

    def test_the_record_comes_from_the_jobs_pod_group(self) -> None:
        record = {"volcano.sh/job-allocated-hypernode": "s4"}
        assert gang(job(task("w", 1)), pod_group("j-1-2-3-4-5", record)).extra(VolcanoMemory).record == "s4"
        assert gang(job(task("w", 1)), pod_group("j", record)).extra(VolcanoMemory).record == "s4"
        assert gang(job(task("w", 1)), pod_group("other", record)).extra(VolcanoMemory).record == ""

    def test_priority_and_class_and_gpu_group(self) -> None:
        labels = {
            "gputopology.scheduling.koordinator.sh/name": "g",
            "gputopology.scheduling.koordinator.sh/replica": "2",
        }
        found = gang(
            job(task("w", 2, labels=labels), labels={"tor-affinity": "large-model-schema"}, priorityClassName="high"),
            priority_class("high", 7),
            priority_class("usual", 3, globalDefault=True),
        )
        assert (found.priority, found.extra(AscendWish).job_class, found.extra(KoordinatorWish).gpu_group) == (
            7,
            "large-model-schema",
            GpuGroup("g", 2),
        )
        assert found.roles[0].priority == 3
        assert found.notes == ()

    def test_what_is_not_read_leaves_a_note(self) -> None:
        spread = task("w", 4)
        spread["template"]["spec"]["topologySpreadConstraints"] = [{"maxSkew": 1, "topologyKey": "zone"}]
        notes = gang(job(spread, priorityClassName="unknown")).notes
        assert codes(notes) == ("pod-rules-not-read", "unknown-priority-class")
        assert "topologySpreadConstraints of w" in notes[0].message
        assert notes[1].subject == "PriorityClass unknown"

    def test_a_refused_job_is_no_gang(self) -> None:
        found = workload(job(task("w", 2), minAvailable=3))
        assert found.gangs == ()
        (refused,) = found.refused
        assert (refused.code, refused.subject) == ("refused-by-admission", "Job ns/j")
        assert refused.message == "job 'minAvailable' should not be greater than total replicas in tasks;"


class TestPodGroup:
    def test_pending_pods_by_role(self) -> None:
        pods = [
            pod("b", annotations=GROUP, labels={"volcano.sh/task-spec": "w"}),
            pod("a", annotations=GROUP, labels={"volcano.sh/task-spec": "w"}),
            pod("c", annotations=GROUP),
            pod("d", "n0", annotations=GROUP),
        ]
        record = {"volcano.sh/job-allocated-hypernode": "s4"}
        topology = {"mode": "soft", "highestTierAllowed": 2}
        group = pod_group("g", record, minMember=3, minTaskMember={"w": 2}, queue="q", networkTopology=topology)
        found = gang(group, *pods)
        assert (found.key, found.kind, found.min_available, found.ready, found.queue) == ("ns/g", "PodGroup", 3, 1, "q")
        assert (found.extra(VolcanoMemory).record, found.constraint) == ("s4", TopologyConstraint("soft", 2))
        assert [(r.name, r.count, r.min_available) for r in found.roles] == [("w", 2, 2), ("pod", 1, None)]
        assert [p.name for p in found.pods()] == ["a", "b", "c"]

    def test_pods_of_one_role_that_differ_become_two_roles(self) -> None:
        found = gang(
            pod_group("g", minTaskMember={"w": 1}),
            pod("a", annotations=GROUP, labels={"volcano.sh/task-spec": "w"}),
            pod("b", annotations=GROUP, labels={"volcano.sh/task-spec": "w"}, nodeSelector={"x": "y"}),
        )
        assert [(r.name, r.count, r.min_available) for r in found.roles] == [("w", 1, None), ("w#2", 1, None)]
        assert "role-minimum-not-kept" in codes(found.notes)

    def test_minimums_that_exceed_min_member_still_do_so_where_pods_of_a_role_differ(self) -> None:
        role = {"volcano.sh/task-spec": "w"}
        found = gang(
            pod_group("g", minMember=2, minTaskMember={"w": 1, "m": 2}),
            pod("a", annotations=GROUP, labels=role),
            pod("b", annotations=GROUP, labels=role, nodeSelector={"x": "y"}),
        )
        assert [(r.name, r.min_available) for r in found.roles] == [("w", 1), ("w#2", None), ("m", 2)]
        assert "role-minimum-not-kept" not in codes(found.notes)

    @pytest.mark.parametrize(("minimum", "want"), [(1, [1, None]), (3, [2, 1]), (4, [3, 1]), (2, [None, None])])
    def test_the_minimum_of_a_role_that_says_which_of_its_pods_are_needed(
        self, minimum: int, want: list[int | None]
    ) -> None:
        role = {"volcano.sh/task-spec": "w"}
        found = gang(
            pod_group("g", minMember=minimum, minTaskMember={"w": minimum}),
            pod("a", "n0", annotations=GROUP, labels=role),
            pod("b", annotations=GROUP, labels=role),
            pod("c", annotations=GROUP, labels=role, nodeSelector={"x": "y"}),
        )
        assert [r.min_available for r in found.roles] == want
        assert [note.message for note in found.notes] == [
            "the pods of role w differ, so its minimum of 2 is not kept for the whole role; "
            "give them equal specs or roles of different names"
        ] * (minimum == 2)

    def test_pods_that_name_no_role_share_nothing(self) -> None:
        found = gang(
            pod_group("g"),
            pod("a", annotations=GROUP),
            pod("b", annotations=GROUP, nodeSelector={"x": "y"}),
        )
        assert [(r.name, r.count, r.min_available) for r in found.roles] == [("pod", 1, None), ("pod-2", 1, None)]
        assert not found.notes

    @pytest.mark.parametrize(("phase", "want"), [("Inqueue", True), ("Pending", False), ("", False)])
    def test_a_group_that_the_scheduler_admitted(self, phase: str, want: bool) -> None:
        group = {**pod_group("g"), "status": {"phase": phase}}
        assert gang(group, pod("a", annotations=GROUP)).extra(VolcanoMemory).inqueue is want

    def test_pods_are_tried_by_index_then_age_then_name(self) -> None:
        def aged(manifest: dict[str, Any], created: str) -> dict[str, Any]:
            return {**manifest, "metadata": {**manifest["metadata"], "creationTimestamp": created}}

        def waiting(name: str, role: str) -> dict[str, Any]:
            return pod(name, annotations=GROUP, labels={"volcano.sh/task-spec": role})

        found = gang(
            aged(pod_group("g"), "2026-01-01T00:00:00Z"),
            waiting("new", "w"),
            aged(waiting("b", "w"), "2026-01-01T00:00:01Z"),
            aged(waiting("a", "m"), "2026-01-01T00:00:02Z"),
            waiting("j-w-10", "w"),
            waiting("j-w-9", "w"),
            aged(waiting("j-m-10", "m"), "2026-01-01T00:00:03Z"),
        )
        assert found.created == "2026-01-01T00:00:00Z"
        assert found.order == ("j-w-9", "j-m-10", "j-w-10", "b", "a", "new")
        ranked = dict(zip(task_rank(found).tolist(), (one.name for one in found.pods())))
        assert [ranked[turn] for turn in range(6)] == list(found.order)

    def test_a_number_that_is_too_long_and_one_after_a_single_hyphen_are_no_index(self) -> None:
        names = ["a-1", "j-w-" + "0" * 5000, "j-w-2", "j-w-" + "1" * 18]
        for roles in ["wwww", "wmwm"]:
            labels = [{"volcano.sh/task-spec": role} for role in roles]
            pods = [pod(name, annotations=GROUP, labels=each) for name, each in zip(names, labels, strict=True)]
            found = gang(pod_group("g"), *pods)
            called = [one.name for one in found.pods()]
            in_turn = sorted(range(4), key=task_rank(found).tolist().__getitem__)
            assert [called[i] for i in in_turn] == [names[2], names[3], names[0], names[1]]

    def test_a_role_without_pending_pods_keeps_its_minimum(self) -> None:
        found = gang(pod_group("g", minTaskMember={"m": 1, "v": 0}), pod("a", annotations=GROUP))
        assert [(r.name, r.count, r.min_available) for r in found.roles] == [("pod", 1, None), ("m", 0, 1)]

    def test_a_nominated_node_is_not_followed(self) -> None:
        waiting = pod("a", annotations=GROUP)
        waiting["status"]["nominatedNodeName"] = "n0"
        (note,) = gang(pod_group("g"), waiting, pod("b", annotations=GROUP)).notes
        assert note.message == "status.nominatedNodeName of a is not followed: Volcano tries that node first"
        owned = pod("j-w-0", labels=of_job(0), owner=("Job", "j"))
        owned["status"]["nominatedNodeName"] = "n0"
        assert "nominatedNodeName of j-w-0" in gang(job(task("w", 2)), owned).notes[0].message

    def test_a_group_that_is_not_there(self) -> None:
        found = gang(pod("a", annotations=GROUP))
        assert (found.key, found.min_available, found.constraint) == ("ns/g", 1, None)
        assert "unknown-pod-group" in codes(found.notes)

    def test_a_group_that_admission_refuses_is_no_gang(self) -> None:
        both = {"mode": "hard", "highestTierAllowed": 1, "highestTierName": "rack"}
        found = workload(pod_group("g", networkTopology=both), pod("a", annotations=GROUP))
        assert found.gangs == ()
        assert [refused.subject for refused in found.refused] == ["PodGroup ns/g"]

    def test_a_group_without_pending_pods_is_no_gang(self) -> None:
        assert workload(pod_group("g"), pod("a", "n0", annotations=GROUP)).gangs == ()


class TestPodsWithoutGroup:
    def test_a_lone_pod_is_a_gang_of_one(self) -> None:
        annotations = {
            "volcano.sh/network-topology-highest-tier": "2",
            "scheduling.volcano.sh/queue-name": "q",
        }
        found = gang(pod("a", annotations=annotations, priority=9))
        assert (found.key, found.n_pods, found.min_available, found.kind) == ("ns/a", 1, 1, "Pod")
        assert (found.constraint, found.queue, found.priority) == (TopologyConstraint("hard", 2), "q", 9)
        assert next(found.pods()).name == "a"

    def test_a_gpu_group_is_one_gang_with_minimum_one(self) -> None:
        labels = {
            "gputopology.scheduling.koordinator.sh/name": "g",
            "gputopology.scheduling.koordinator.sh/replica": "3",
        }
        found = gang(pod("a", labels=labels), pod("b", labels=labels), pod("c", "n0", labels=labels))
        assert (found.key, found.n_pods, found.min_available, found.ready) == ("ns/g", 2, 1, 1)
        assert found.extra(KoordinatorWish).gpu_group == GpuGroup("g", 3)
        assert found.notes == ()

    def test_pods_of_a_koordinator_gang_are_one(self) -> None:
        annotations = {
            "gang.scheduling.koordinator.sh/name": "g",
            "gang.scheduling.koordinator.sh/min-available": "2",
            "gang.scheduling.koordinator.sh/network-topology-spec": '{"gatherStrategy": '
            '[{"layer": "BlockLayer", "strategy": "MustGather"}]}',
        }
        found = gang(*(pod(name, annotations=annotations) for name in "ab"))
        assert (found.name, found.kind, found.n_pods, found.min_available) == ("g", "Gang", 2, 2)
        assert found.extra(KoordinatorWish).gather == (Gather("BlockLayer", True),)

    @pytest.mark.parametrize("label", ["pod-group.scheduling.sigs.k8s.io", "scheduling.x-k8s.io/pod-group"])
    def test_pods_of_a_pod_group_of_the_scheduler_plugins_are_one(self, label: str) -> None:
        found = gang(*(pod(name, labels={label: "g"}) for name in "ab"))
        assert (found.name, found.n_pods, found.min_available) == ("g", 2, 1)
        (note,) = found.notes
        assert (note.code, note.subject) == ("gang-minimum-unknown", "PodGroup ns/g")
        annotations = {"gang.scheduling.koordinator.sh/min-available": "2"}
        found = gang(*(pod(name, labels={label: "g"}, annotations=annotations) for name in "ab"))
        assert (found.min_available, found.notes) == (2, ())

    @pytest.mark.parametrize("minimum", ["two", "", "²", "9" * 5000])
    def test_a_minimum_that_is_no_whole_number_counts_as_1_with_a_note(self, minimum: str) -> None:
        annotations = {
            "gang.scheduling.koordinator.sh/name": "g",
            "gang.scheduling.koordinator.sh/min-available": minimum,
        }
        found = gang(*(pod(name, annotations=annotations) for name in "ab"))
        assert found.min_available == 1
        assert [note.subject for note in found.notes if note.code == "invalid-annotation"] == ["Pod ns/a"]
        assert all(len(note.message) < 200 for note in found.notes)

    def test_a_gather_rule_that_cannot_be_read_is_noted(self) -> None:
        found = gang(pod("a", annotations={"gang.scheduling.koordinator.sh/network-topology-spec": "x"}))
        assert found.extra(KoordinatorWish).gather == ()
        assert "invalid-gather" in codes(found.notes)

    def test_a_pod_whose_group_and_gang_contradict_each_other_is_refused(self) -> None:
        labels = {
            "gputopology.scheduling.koordinator.sh/name": "g",
            "gputopology.scheduling.koordinator.sh/replica": "2",
        }
        annotations = {"gang.scheduling.koordinator.sh/min-available": "3"}
        found = workload(pod("a", labels=labels, annotations=annotations))
        assert found.gangs == ()
        assert [refused.subject for refused in found.refused] == ["Pod ns/a"]

    def test_a_gpu_group_with_gang_annotations_has_their_minimum(self) -> None:
        labels = {
            "gputopology.scheduling.koordinator.sh/name": "g",
            "gputopology.scheduling.koordinator.sh/replica": "2",
        }
        annotations = {"gang.scheduling.koordinator.sh/min-available": "2"}
        found = gang(pod("a", labels=labels, annotations=annotations))
        assert found.min_available == 2
        assert found.notes[0].code == "gpu-group-size"

    @pytest.mark.parametrize("replica", [None, "0", "two", "-1", "1.0"])
    def test_half_a_gpu_group_is_none(self, replica: str | None) -> None:
        labels = {"gputopology.scheduling.koordinator.sh/name": "g"}
        if replica is not None:
            labels["gputopology.scheduling.koordinator.sh/replica"] = replica
        found = gang(pod("a", labels=labels))
        assert found.extra(KoordinatorWish).gpu_group is None
        assert found.notes[0].code == "invalid-gpu-group"


class TestDeployment:
    def deployment(self, replicas: int, **annotations: str) -> dict[str, Any]:
        template = {
            "metadata": {"annotations": {"volcano.sh/network-topology-mode": "Soft"}},
            "spec": containers(gpus=1),
        }
        metadata = {"name": "d", "namespace": "ns", "annotations": annotations}
        spec = {"replicas": replicas, "template": template}
        return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}

    def test_replicas_and_annotations(self) -> None:
        found = gang(self.deployment(3, **{"scheduling.volcano.sh/group-min-member": "2"}))
        assert (found.key, found.kind, found.n_pods, found.min_available) == ("ns/d", "Deployment", 3, 2)
        assert found.constraint == TopologyConstraint("soft")

    def test_running_replicas_count(self) -> None:
        pods = [pod("d-5f-x", "n0", owner=("ReplicaSet", "d-5f")), pod("d-5f-y", owner=("ReplicaSet", "d-5f"))]
        found = workload(self.deployment(2), *pods)
        assert [(g.key, g.n_pods, g.ready, next(g.pods()).name) for g in found.gangs] == [("ns/d", 1, 1, "d-5f-y")]
        assert [key for _, key in found.holding] == ["ns/d"]

    def test_no_replica_is_no_gang(self) -> None:
        assert workload(self.deployment(0)).gangs == ()


def test_gangs_come_sorted_and_pods_are_found_by_their_owner() -> None:
    found = workload(job(task("w", 2), name="z"), job(task("w", 2), name="b"), pod("z-w-0", "n0", owner=("Job", "z")))
    assert [(g.name, g.n_pods) for g in found.gangs] == [("b", 2), ("z", 1)]


class TestSchedulingGates:
    GATED = {"schedulingGates": [{"name": "example.com/wait"}]}

    def test_pods_of_a_pod_group_are_left_out_and_named(self) -> None:
        found = gang(pod("a", annotations=GROUP), pod("b", annotations=GROUP, **self.GATED))
        assert [found.pod(i).name for i in range(found.n_pods)] == ["a"]
        assert "scheduling gates hold back b: not tried" in said(found.notes)

    def test_of_a_job_the_gated_pods_keep_their_places(self) -> None:
        gated = pod("j-w-1", labels=of_job(1), **self.GATED)
        found = gang(job(task("w", 3)), gated)
        assert [found.pod(i).name for i in range(found.n_pods)] == ["j-w-0", "j-w-2"]
        assert (found.ready, found.min_available) == (0, 3)
        assert "scheduling gates hold back j-w-1: not tried" in said(found.notes)

    def test_of_a_deployment_the_others_are_tried(self) -> None:
        deployment = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "d", "namespace": "ns"},
            "spec": {"replicas": 3, "template": {"metadata": {}, "spec": containers()}},
        }
        assert gang(deployment, pod("d-1-x", owner=("ReplicaSet", "d-1"), **self.GATED)).n_pods == 2

    def test_where_all_are_gated_there_is_no_gang_but_their_number(self) -> None:
        found = workload(pod("a", **self.GATED), pod("b", annotations=GROUP, **self.GATED), pod("c"))
        assert [gang.name for gang in found.gangs] == ["c"]
        assert found.gated == 2

    def test_a_pod_that_runs_had_its_gates_removed(self) -> None:
        found = workload(pod("a", node="n", phase="Running", annotations=GROUP, **self.GATED))
        assert (found.gated, len(found.holding)) == (0, 1)


class TestPodGroupOfKoordinator:
    LABEL = "pod-group.scheduling.sigs.k8s.io"
    GROUPS = "gang.scheduling.koordinator.sh/groups"

    def group(self, name: str = "g", annotations: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
        metadata = {"name": name, "namespace": "ns", "annotations": annotations or {}}
        return {"apiVersion": "scheduling.sigs.k8s.io/v1alpha1", "kind": "PodGroup", "metadata": metadata, "spec": spec}

    def test_one_of_the_scheduler_plugins_is_read_like_it(self) -> None:
        group = {**self.group(minMember=2), "apiVersion": "scheduling.x-k8s.io/v1alpha1"}
        found = gang(group, *(pod(name, labels={"scheduling.x-k8s.io/pod-group": "g"}) for name in "ab"))
        assert (found.key, found.n_pods, found.min_available, found.notes) == ("ns/g", 2, 2, ())

    def test_it_is_the_gang_that_its_pods_would_be_by_their_annotations(self) -> None:
        labelled = [pod(name, labels={self.LABEL: "g"}) for name in "cab"]
        names = {"gang.scheduling.koordinator.sh/name": "g", "gang.scheduling.koordinator.sh/min-available": "2"}
        annotated = [pod(name, annotations=names) for name in "cab"]
        found, other = gang(self.group(minMember=2, scheduleTimeoutSeconds=600), *labelled), gang(*annotated)
        for one in (found, other):
            assert (one.key, one.kind, one.n_pods, one.min_available, one.queue) == ("ns/g", "Gang", 3, 2, "default")
            assert [each.name for each in one.pods()] == ["a", "b", "c"]
        assert (found.priority, found.constraint, found.extra(KoordinatorWish)) == (
            other.priority,
            other.constraint,
            other.extra(KoordinatorWish),
        )

    def test_its_minimum_comes_before_that_of_the_pods_and_running_pods_count(self) -> None:
        names = {"gang.scheduling.koordinator.sh/name": "g", "gang.scheduling.koordinator.sh/min-available": "1"}
        found = gang(self.group(minMember=3), pod("a", annotations=names), pod("b", "n0", annotations=names))
        assert (found.min_available, found.ready, found.n_pods) == (3, 1, 1)

    def test_without_a_minimum_it_is_one(self) -> None:
        assert gang(self.group(), pod("a", labels={self.LABEL: "g"})).min_available == 1

    def test_its_annotations_come_before_those_of_the_pods(self) -> None:
        groups = self.group(annotations={self.GROUPS: '["ns/g", "ns/h"]'}, minMember=1)
        member = pod("a", labels={self.LABEL: "g"}, annotations={self.GROUPS: '["ns/g", "ns/i"]'})
        assert gang(groups, member).extra(KoordinatorWish).gang_groups == ("ns/g", "ns/h")
        unreadable = self.group(annotations={self.GROUPS: "ns/g"}, minMember=1)
        found = gang(unreadable, member)
        assert found.extra(KoordinatorWish).gang_groups == ("ns/g", "ns/i") and "invalid-gang-groups" in codes(
            found.notes
        )

    def test_a_label_comes_before_the_annotation(self) -> None:
        both = {"labels": {self.LABEL: "g"}, "annotations": {"gang.scheduling.koordinator.sh/name": "other"}}
        (found,) = workload(self.group("other", minMember=2), pod("a", **both)).gangs
        assert (found.key, codes(found.notes)) == ("ns/g", ("gang-minimum-unknown",))
        assert gang(self.group(minMember=1), pod("a", **both)).notes == ()

    def test_without_that_group_the_pods_are_a_gang_of_which_one_may_start(self) -> None:
        # A PodGroup of another name or of Volcano is not the one that the label means.
        for other in (self.group("other", minMember=2), pod_group("g", minMember=2)):
            (found,) = workload(other, *(pod(name, labels={self.LABEL: "g"}) for name in "ab")).gangs
            assert (found.kind, found.n_pods, found.min_available) == ("Gang", 2, 1)
            assert codes(found.notes) == ("gang-minimum-unknown",)

    def test_a_volcano_job_of_its_name_is_another_job(self) -> None:
        found = workload(
            self.group("j", minMember=1),
            pod("a", labels={self.LABEL: "j"}),
            job({"name": "w", "replicas": 1, "template": {"spec": containers()}}),
        )
        assert sorted(one.kind for one in found.gangs) == ["Gang", "Job"]

    @pytest.mark.parametrize("field", ["minMember", "scheduleTimeoutSeconds"])
    @pytest.mark.parametrize("value", [-1, "2", 2.5, True, [2], 1 << 40])
    def test_a_number_that_is_none_is_refused_with_its_place(self, field: str, value: object) -> None:
        with pytest.raises(InputError) as caught:
            workload(self.group(**{field: value}))
        assert f"spec.{field}" in str(caught.value) and "\n" not in str(caught.value)

    def test_wrong_resources_and_two_of_a_name_are_refused(self) -> None:
        with pytest.raises(InputError, match="minResources"):
            workload(self.group(minResources={"cpu": "many"}))
        with pytest.raises(InputError, match="twice"):
            workload(self.group(), self.group())

    @pytest.mark.parametrize("policy", [entry.name for entry in list_policies() if entry.kind != "gpu"])
    def test_every_policy_places_all_of_it_or_nothing(self, policy: str) -> None:
        for pods in (2, 5):
            node = {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": "n0"},
                "status": {"allocatable": {"cpu": "4", "memory": "4Gi", "pods": "10"}},
            }
            objects = ClusterObjects()
            for one in (
                node,
                self.group(minMember=pods),
                *(pod(f"p{i}", labels={self.LABEL: "g"}) for i in range(pods)),
            ):
                objects.add(one)
            snapshot, read = assemble(objects, any_scheduler=True)
            (found,) = get_policy(policy).schedule(read.gangs, snapshot)
            assert found.placed == (pods == 2)
