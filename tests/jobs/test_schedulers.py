"""Jobs, Deployments and pods of other schedulers: left out and counted, or taken in on demand."""

from __future__ import annotations

from typing import Any

import pytest

from tests.jobs.test_gangs import containers, job, pod, task
from tests.notices import said
from workbench.jobs.gangs import Workload, read_workload
from workbench.objects.kinds import ClusterObjects


def workload(*manifests: dict[str, Any], **options: Any) -> Workload:
    cluster = ClusterObjects()
    for manifest in manifests:
        cluster.add(manifest)
    return read_workload(cluster, **options)


def deployment(scheduler: str) -> dict[str, Any]:
    template = {"spec": {**containers(), "schedulerName": scheduler}}
    metadata = {"name": "d", "namespace": "ns"}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": {"template": template}}


def templated(scheduler: str) -> dict[str, Any]:
    return task("t", 1, template={"spec": {**containers(), "schedulerName": scheduler}})


IN_KUEUE = {"kueue.x-k8s.io/queue-name": "team"}


def in_kueue(data: dict[str, Any]) -> dict[str, Any]:
    return {**data, "metadata": {**data["metadata"], "labels": IN_KUEUE}}


PLACED = {
    "a Job without a name": job(task("t", 1)),
    "a Job of Volcano": job(task("t", 1), schedulerName="volcano"),
    "a Job whose template names Volcano": job(templated("volcano"), schedulerName="default-scheduler"),
    "a pod without a name": pod("p"),
    "a pod of Koordinator": pod("p", schedulerName="koord-scheduler"),
    "a Deployment of Volcano": deployment("volcano"),
    "a pod of a group of scheduling.k8s.io": pod(
        "p", schedulerName="default-scheduler", schedulingGroup={"podGroupName": "g"}
    ),
    "a pod in a queue of Kueue": pod("p", schedulerName="default-scheduler", labels=IN_KUEUE),
    "a Deployment in a queue of Kueue": in_kueue(deployment("default-scheduler")),
    "a Volcano Job in a queue of Kueue": in_kueue(job(task("t", 1), schedulerName="default-scheduler")),
}


@pytest.mark.parametrize("manifest", PLACED.values(), ids=PLACED.keys())
def test_own_schedulers_are_placed(manifest: dict[str, Any]) -> None:
    found = workload(manifest)
    assert (len(found.gangs), found.notes) == (1, ())


OTHERS = {
    "a Job": (job(task("t", 1), schedulerName="default-scheduler"), "Job"),
    "a Job of which one task is another's": (job(task("a", 1), {**templated("default-scheduler"), "name": "b"}), "Job"),
    "a pod": (pod("p", schedulerName="default-scheduler"), "Pod"),
    "a pod of a PodGroup": (
        pod("p", schedulerName="default-scheduler", annotations={"scheduling.k8s.io/group-name": "g"}),
        "Pod",
    ),
    "a Deployment": (deployment("default-scheduler"), "Deployment"),
}


@pytest.mark.parametrize(("manifest", "kind"), OTHERS.values(), ids=OTHERS.keys())
def test_other_schedulers_are_left_out_unless_asked_for(manifest: dict[str, Any], kind: str) -> None:
    found = workload(manifest)
    assert found.gangs == ()
    names = "left out, because another scheduler places them (default-scheduler)"
    assert said(found.notes) == (f"{names}: 1 {kind} (--any-scheduler takes them in)",)
    taken = workload(manifest, any_scheduler=True)
    assert (len(taken.gangs), taken.notes) == (1, ())


@pytest.mark.parametrize(("manifest", "kind"), OTHERS.values(), ids=OTHERS.keys())
def test_the_jobs_of_one_more_scheduler_are_taken_in(manifest: dict[str, Any], kind: str) -> None:
    found = workload(manifest, any_scheduler=["default-scheduler"])
    assert (len(found.gangs), found.notes) == (1, ())
    assert workload(manifest, any_scheduler=["another"]).gangs == ()


def test_one_line_counts_all_of_them() -> None:
    jobs = [job(task("t", 1), name=f"j{i}", schedulerName=name) for i, name in enumerate(("b", "a", "volcano"))]
    (note,) = workload(*jobs, deployment("b")).notes
    assert note.numbers == {"count": 3}
    assert note.message.startswith("left out, because another scheduler places them (a, b): 1 Deployment, 2 Jobs")


def test_running_pods_of_other_schedulers_hold_what_they_hold() -> None:
    found = workload(pod("p", node="n", phase="Running", schedulerName="default-scheduler"))
    assert [held.metadata.name for held, _ in found.holding] == ["p"]
    assert found.notes == ()


def test_running_pods_of_others_count_for_a_group_whose_waiting_pods_are_ours() -> None:
    member = {"scheduling.k8s.io/group-name": "g"}
    running = pod("a", node="n", phase="Running", annotations=member, schedulerName="default-scheduler")
    (gang,) = workload(running, pod("b", annotations=member, schedulerName="volcano")).gangs
    assert (gang.ready, gang.n_pods) == (1, 1)
