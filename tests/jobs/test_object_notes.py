"""Tests that notes about objects are told at their gangs, and all others by the object's name."""

from __future__ import annotations

from typing import Any

from tests.jobs.test_gangs import containers, job, pod, task
from tests.jobs.test_schedulers import workload
from tests.notices import said

TYPO = "spec.typo is unknown and not read"


def submitted(manifest: dict[str, Any], **spec: Any) -> dict[str, Any]:
    """The manifest as a user writes it: without a uid, and with a field too many."""
    metadata = {key: value for key, value in manifest["metadata"].items() if key != "uid"}
    return {**manifest, "metadata": metadata, "spec": {**manifest["spec"], "typo": 1, **spec}}


def group(name: str, **spec: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "ns"}
    return {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": metadata, "spec": spec}


def test_the_notes_of_a_job_stand_on_its_gang() -> None:
    found = workload(submitted(job(task("t", 1))))
    assert (said(found.gangs[0].notes), found.notes) == ((TYPO,), ())


def test_the_fields_of_a_pod_with_a_node_do_not_matter() -> None:
    assert workload(submitted(pod("p", node="n", phase="Running"))).notes == ()


def test_the_notes_of_a_group_and_of_its_pods_stand_together() -> None:
    pods = [submitted(pod(f"p{i}", annotations={"scheduling.k8s.io/group-name": "g"})) for i in range(3)]
    found = workload(group("g", minMember=3, oops=1), *pods)
    assert said(found.gangs[0].notes) == ("spec.oops is unknown and not read", f"{TYPO} (3 pods)")
    assert found.notes == ()


def test_the_group_of_a_job_is_named() -> None:
    found = workload(submitted(job(task("t", 1))), group("j", oops=1))
    assert said(found.gangs[0].notes) == (TYPO, "PodGroup j: spec.oops is unknown and not read")


def test_objects_without_a_gang_are_told_by_name_equal_ones_together() -> None:
    queues = [
        {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": n}, "spec": {"wight": 1}}
        for n in ("a", "b", "c")
    ]
    refused = submitted(job(task("t", 1)), minAvailable=2)
    assert said(workload(*queues, refused).notes) == (
        "Queue a and 2 more: spec.wight is unknown and not read (did you mean weight?)",
        f"Job ns/j: {TYPO}",
    )


def test_a_mode_that_is_filled_in_holds_and_is_told() -> None:
    (gang,) = workload(submitted(job(task("t", 1)), typo=None, networkTopology={"highestTierAllowed": 1})).gangs
    assert gang.constraint is not None and gang.constraint.mode == "hard" and not gang.stored
    assert "spec.networkTopology.mode: hard is filled in, as the API server does" in said(gang.notes)
    (read,) = workload(job(task("t", 1), networkTopology={"highestTierAllowed": 1})).gangs
    assert read.constraint is not None and read.constraint.mode == "" and read.stored


def test_a_deployment_says_what_becomes_of_its_annotations() -> None:
    metadata = {"name": "d", "namespace": "ns", "annotations": {"scheduling.volcano.sh/group-min-member": "bogus"}}
    spec = {**containers(), "schedulerName": "volcano"}
    template = {"metadata": {"annotations": {"volcano.sh/network-topology-mode": "hardd"}}, "spec": spec}
    manifest = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": {"template": template}}
    (gang,) = workload(manifest).gangs
    assert gang.min_available == 1 and gang.constraint is not None and gang.constraint.mode == "hard"
    assert [note.message.split(" is ")[0] for note in gang.notes] == [
        "annotation scheduling.volcano.sh/group-min-member",
        "annotation volcano.sh/network-topology-mode",
    ]
