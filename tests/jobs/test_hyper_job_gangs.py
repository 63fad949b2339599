"""HyperJobs as gangs: pods, sub-groups and minimums, and Jobs that exist already."""

from __future__ import annotations

from typing import Any

from tests.notices import codes
from tests.objects.test_hyper_job import HARD, hyper_job
from workbench.cluster.assemble import assemble
from workbench.jobs.hyper_job.next_step import next_hyper_job
from workbench.model.gang import Gang, TopologyConstraint
from workbench.objects.kinds import ClusterObjects

GPU = "nvidia.com/gpu"


def entry(name: str, replicas: int, pods: int, **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "i", "resources": {"limits": {GPU: 4}}}
    tasks = [{"name": "w", "replicas": pods, "template": {"spec": {"containers": [container]}}}]
    return {"name": name, "replicas": replicas, "templateSpec": {"tasks": tasks, **spec}}


def gangs(*manifests: dict[str, Any], **options: Any) -> dict[str, Gang]:
    cluster = ClusterObjects()
    for manifest in manifests:
        cluster.add(manifest)
    _, workload = assemble(cluster, **options)
    return {f"{gang.kind} {gang.name}": gang for gang in workload.gangs}


def made_by(manifest: dict[str, Any]) -> list[dict[str, Any]]:
    """The Jobs that the controller makes."""
    return [dict(job) for job in next_hyper_job(manifest).create]


def pod(job: str, index: int, node: str = "", phase: str = "Pending") -> dict[str, Any]:
    labels = {"volcano.sh/job-name": job, "volcano.sh/task-spec": "w"}
    container = {"name": "c", "resources": {"limits": {GPU: 4}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"{job}-w-{index}", "namespace": "ml", "labels": labels},
        "spec": {"containers": [container], **({"nodeName": node} if node else {})},
        "status": {"phase": phase},
    }


def test_the_jobs_become_sub_groups_of_one_gang() -> None:
    members = [entry("a", 2, 3, networkTopology=HARD, queue="q", minAvailable=2), entry("b", 1, 1)]
    topology = {"mode": "hard", "highestTierAllowed": 2}
    found = gangs(hyper_job(replicatedJobs=members, networkTopology=topology, minAvailable=2))
    (gang,) = found.values()
    assert (gang.kind, gang.key, gang.queue, gang.constraint) == (
        "HyperJob",
        "ml/h",
        "q",
        TopologyConstraint("hard", 2),
    )
    assert [each.name for each in gang.pods()] == [
        *(f"h-a-{i}-w-{k}" for i in range(2) for k in range(3)),
        "h-b-0-w-0",
    ]
    assert [(one.name, one.pods, one.min_available, one.constraint) for one in gang.sub_groups] == [
        ("h-a-0", (0, 1, 2), 2, TopologyConstraint("hard", 1)),
        ("h-a-1", (3, 4, 5), 2, TopologyConstraint("hard", 1)),
        ("h-b-0", (6,), 1, None),
    ]
    assert all(one.exclusive_domain and one.policy == "jobs" for one in gang.sub_groups)
    assert gang.min_subgroups == {"jobs": 2}
    # The two smallest Jobs: one pod, and two of three.
    assert gang.min_available == 3
    assert repr(gang) == "Gang(ml/h: 7 pods of 3 Jobs, min_available 3, hard)"


def test_each_job_is_the_gang_that_its_manifest_gives() -> None:
    manifest = hyper_job(replicatedJobs=[entry("a", 2, 3, networkTopology=HARD)])
    (gang,) = gangs(manifest).values()
    for job, made in zip(gang.jobs, made_by(manifest), strict=True):
        (alone,) = gangs(made).values()
        assert job.gang is not None
        for name in ("name", "roles", "min_available", "constraint", "queue", "sub_groups", "extras"):
            assert getattr(job.gang, name) == getattr(alone, name)


def test_jobs_that_exist_give_their_pending_pods() -> None:
    manifest = hyper_job(replicatedJobs=[entry("a", 3, 2)], minAvailable=2)
    first, second, third = made_by(manifest)
    running = [pod("h-a-0", i, "n", "Running") for i in range(2)]
    half = [pod("h-a-1", 0, "n", "Running"), pod("h-a-1", 1)]
    found = gangs(manifest, first, second, third, *running, *half)
    assert list(found) == ["HyperJob h"]
    gang = found["HyperJob h"]
    assert [(job.name, job.gang and job.gang.n_pods) for job in gang.jobs] == [
        ("h-a-0", None),
        ("h-a-1", 1),
        ("h-a-2", 2),
    ]
    # One Job has started, so one more is needed; the one that lacks a single pod is nearest.
    assert gang.min_subgroups == {"jobs": 1}
    assert (gang.ready, gang.min_available) == (1, 2)
    assert [one.name for one in gang.sub_groups] == ["h-a-1", "h-a-2"]


def test_a_restarted_job_is_placed_without_the_others() -> None:
    manifest = hyper_job(replicatedJobs=[entry("a", 2, 1)])
    jobs = made_by(manifest)
    jobs[0]["metadata"] |= {"annotations": {"volcano.sh/job-allocated-hypernode": "s0"}}
    (gang,) = gangs(manifest, *jobs, pod("h-a-0", 0, "n", "Running")).values()
    assert [(job.name, job.gang is None, job.record) for job in gang.jobs] == [
        ("h-a-0", True, "s0"),
        ("h-a-1", False, ""),
    ]
    assert gang.n_pods == 1
    everything = [pod(f"h-a-{i}", 0, "n", "Running") for i in range(2)]
    assert gangs(manifest, *jobs, *everything) == {}


def test_a_job_of_that_name_without_the_label_is_not_the_hyper_jobs() -> None:
    manifest = hyper_job(replicatedJobs=[entry("a", 1, 1)])
    (job,) = made_by(manifest)
    job["metadata"] = {"name": "h-a-0", "namespace": "ml"}
    assert set(gangs(manifest, job)) == {"HyperJob h", "Job h-a-0"}


def test_a_hyper_job_that_is_over_makes_no_gang() -> None:
    manifest = hyper_job(replicatedJobs=[entry("a", 1, 1)])
    ended = {"conditions": [{"type": "Failed", "status": "True"}]}
    assert gangs({**manifest, "status": ended}) == {}
    deleted = {**manifest["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}
    assert gangs({**manifest, "metadata": deleted}) == {}


def test_another_scheduler_and_admission_leave_it_out() -> None:
    manifest = hyper_job(replicatedJobs=[entry("a", 2, 1, schedulerName="other")])
    assert gangs(manifest) == {}
    assert set(gangs(manifest, any_scheduler=True)) == {"HyperJob h"}
    cluster = ClusterObjects()
    cluster.add(manifest)
    _, workload = assemble(cluster)
    assert codes(workload.notes) == ("other-scheduler",) and "1 HyperJob" in workload.notes[0].message
    assert gangs(hyper_job(replicatedJobs=[entry("a", 1, 1)], minAvailable=2)) == {}


def test_one_without_pods_makes_no_gang() -> None:
    assert gangs(hyper_job()) == {}
    assert gangs(hyper_job(replicatedJobs=[entry("a", 0, 1)])) == {}
