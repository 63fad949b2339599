"""PodGroups as the controllers keep them."""

from __future__ import annotations

from typing import Any

import pytest

from workbench import InputError
from workbench.jobs import next_pod_group
from workbench.objects.pod_group import read_pod_group
from workbench.objects.pod_group_manifest import pod_group_manifest

JOB: dict[str, Any] = {
    "kind": "Job",
    "metadata": {"name": "train", "namespace": "ml", "uid": "u", "labels": {"team": "a"}},
    "spec": {
        "networkTopology": {"mode": "hard", "highestTierAllowed": 0},
        "tasks": [{"name": "w", "replicas": 4, "partitionPolicy": {"totalPartitions": 2, "partitionSize": 2}}],
    },
}
OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "rs", "uid": "R", "controller": True}


def pod(name: str, **annotations: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "ml", "labels": {"app": "a"}, "ownerReferences": [OWNER]}
    return {"kind": "Pod", "metadata": {**metadata, "annotations": annotations}, "spec": {"schedulerName": "volcano"}}


def test_a_group_that_is_up_to_date_is_not_written_again() -> None:
    made = next_pod_group(JOB).write
    assert made is not None
    assert next_pod_group(JOB, made).write is None
    grown = {**JOB, "spec": {**JOB["spec"], "minAvailable": 2, "queue": "other"}}
    changed = next_pod_group(grown, made).write
    assert changed is not None
    # The queue of a group stays what it was when the group was made.
    assert (changed["spec"]["minMember"], changed["spec"]["queue"]) == (2, "default")


def test_a_group_is_read_back_as_it_was_written() -> None:
    made = next_pod_group(JOB).write
    assert made is not None
    assert pod_group_manifest(read_pod_group(made)) == made


def test_the_group_of_a_replica_set_comes_with_its_first_pod_and_goes_with_its_last() -> None:
    owner: dict[str, Any] = {
        "kind": "ReplicaSet",
        "metadata": {"name": "rs", "namespace": "ml", "uid": "R"},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "a"}}},
    }
    assert next_pod_group(owner) == next_pod_group(owner, pods=[{**pod("b"), "metadata": {"name": "b"}}])
    step = next_pod_group(owner, pods=[pod("b"), pod("c")])
    assert step.write is not None and step.write["metadata"]["name"] == "podgroup-R" and step.member == "b"
    gone = next_pod_group({**owner, "spec": {**owner["spec"], "replicas": 0}})
    assert (gone.delete, gone.write) == ("podgroup-R", None)


def test_a_member_of_a_group_and_a_pod_of_another_scheduler_get_none() -> None:
    member = pod("b", **{"scheduling.k8s.io/group-name": "mine"})
    other = {**pod("b"), "spec": {"schedulerName": "default-scheduler"}}
    assert next_pod_group(member).write is None and next_pod_group(other).write is None


def test_another_kind_is_refused() -> None:
    with pytest.raises(InputError, match=r"kind: .*expected Job, Pod, ReplicaSet or StatefulSet"):
        next_pod_group({"kind": "CronJob"})
