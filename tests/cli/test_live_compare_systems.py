"""`workbench live compare` on clusters of Kueue and kube-scheduler: what they did beside what their twins say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.controlplane.other_systems import HOST, RACK, kueue_cluster, workload

SPEC = {
    "schedulerName": "default-scheduler",
    "containers": [
        {
            "name": "c",
            "image": "i",
            "resources": {"requests": {"cpu": "1", "nvidia.com/gpu": "2"}, "limits": {"nvidia.com/gpu": "2"}},
        }
    ],
}
ADMITTED = [{"type": kind, "status": "True"} for kind in ("QuotaReserved", "Admitted")]
WAITS = {"type": "QuotaReserved", "status": "False", "reason": "Pending", "message": "insufficient unused quota"}
OWNER = {"apiVersion": "batch/v1", "kind": "Job", "name": "train"}


def admission(*hosts: str) -> dict[str, Any]:
    """The assignment of one pod to each host, in the form of v1beta2."""
    slices = {
        "domainCount": len(hosts),
        "valuesPerLevel": [{"individual": {"prefix": "n", "roots": [host[1:] for host in hosts]}}],
        "podCounts": {"universal": 1},
    }
    assignment = {"levels": [HOST], "slices": [slices]}
    flavors = {"cpu": "gpu", "nvidia.com/gpu": "gpu"}
    usage = {"cpu": str(len(hosts)), "nvidia.com/gpu": str(2 * len(hosts))}
    sets = {
        "name": "main",
        "count": len(hosts),
        "flavors": flavors,
        "resourceUsage": usage,
        "topologyAssignment": assignment,
    }
    return {"clusterQueue": "team", "podSetAssignments": [sets]}


def job(pods: int, wish: str = "required", **spec: Any) -> dict[str, Any]:
    annotations = {f"kueue.x-k8s.io/podset-{wish}-topology": RACK}
    template = {"metadata": {"annotations": annotations}, "spec": {**SPEC, "restartPolicy": "Never"}}
    metadata = {"name": "train", "namespace": "default", "labels": {"kueue.x-k8s.io/queue-name": "lq"}, "uid": "u"}
    spec = {"parallelism": pods, "completions": pods, "completionMode": "Indexed", "template": template, **spec}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


def of_job(number: int, node: str) -> dict[str, Any]:
    """A running pod as Kueue has let it go: it selects its host."""
    metadata = {
        "name": f"train-{number}-x",
        "namespace": "default",
        "labels": {"kueue.x-k8s.io/podset": "main", "batch.kubernetes.io/job-completion-index": str(number)},
        "annotations": {
            "kueue.x-k8s.io/workload": "job-train",
            "batch.kubernetes.io/job-completion-index": str(number),
        },
        "ownerReferences": [{**OWNER, "controller": True, "uid": "u"}],
    }
    spec = {**SPEC, "nodeName": node, "nodeSelector": {HOST: node, "pool": "gpu"}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": "Running"}}


def preferring(data: dict[str, Any]) -> dict[str, Any]:
    data["spec"]["podSets"][0]["topologyRequest"] = {"preferred": RACK}
    return data


def compared(run: Run, folder: Path, *objects: dict[str, Any], policies: str = "kueue-0.19") -> Any:
    path = folder / "cluster.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}))
    return run("live", "compare", path, "--policies", policies, "-o", "json")


def test_a_running_job_is_placed_anew_without_its_admission(run: Run, tmp_path: Path) -> None:
    """Four GPUs of quota, all of them the job's own: it would find none while its Workload held them."""
    one = workload("job-train", 2, OWNER, admission=admission("n0", "n1"), conditions=ADMITTED)
    pods = [of_job(0, "n0"), of_job(1, "n1")]
    result = compared(run, tmp_path, *kueue_cluster(4), job(2), one, *pods)
    assert result.status == 0, result.out
    (row,) = result.json
    assert (row["job"], row["verdict"], row["pods"], row["observed_pods"]) == ("default/train", "placed", 2, 2)
    assert row["is_in"]["tier"] == row["could_be_in"]["tier"] and row["agrees"]


def test_a_job_that_could_be_closer_is_a_difference(run: Run, tmp_path: Path) -> None:
    one = preferring(workload("job-train", 2, OWNER, admission=admission("n0", "n2"), conditions=ADMITTED))
    pods = [of_job(0, "n0"), of_job(1, "n2")]
    result = compared(run, tmp_path, *kueue_cluster(), job(2, "preferred"), one, *pods)
    (row,) = result.json
    assert (result.status, row["could_be_closer"]) == (1, True)
    assert row["difference"].startswith("farther apart than necessary")


def test_an_admitted_job_without_pods_is_where_kueue_assigned_it(run: Run, tmp_path: Path) -> None:
    one = workload("job-train", 2, OWNER, admission=admission("n2", "n3"), conditions=ADMITTED)
    result = compared(run, tmp_path, *kueue_cluster(4), job(2), one)
    (row,) = result.json
    assert (row["observed_verdict"], row["observed_pods"], row["verdict"], row["agrees"]) == (
        "placed",
        2,
        "placed",
        True,
    )
    assert row["is_in"] is not None and row["is_in"]["tier"] == row["could_be_in"]["tier"]
    assert "cluster_says" not in row


@pytest.mark.parametrize(("gpus", "status"), [(2, 0), (16, 1)])
def test_what_waits_is_told_in_kueues_words(run: Run, tmp_path: Path, gpus: int, status: int) -> None:
    one = workload("job-train", 2, OWNER, conditions=[WAITS])
    result = compared(run, tmp_path, *kueue_cluster(gpus), job(2, suspend=True), one)
    (row,) = result.json
    said = [(each["source"], each["kind"], each["objects"], each["message"]) for each in row["cluster_says"]]
    assert said == [("condition", "Workload", ["default/job-train"], "insufficient unused quota")]
    assert (result.status, row["observed_verdict"]) == (status, "pending")
    assert (row["verdict"] == "pending") is (not status)
    assert bool(row["difference"]) is bool(status)


def test_every_twin_answers_for_such_a_job(run: Run, tmp_path: Path) -> None:
    one = workload("job-train", 2, OWNER, admission=admission("n0", "n1"), conditions=ADMITTED)
    pods = [of_job(0, "n0"), of_job(1, "n1")]
    result = compared(run, tmp_path, *kueue_cluster(), job(2), one, *pods, policies="field")
    assert {row["verdict"] for row in result.json} == {"placed"}
    assert {"kueue-0.19", "kube-default", "volcano-1.15"} <= {row["policy"] for row in result.json}


def group(**status: Any) -> dict[str, Any]:
    spec = {"schedulingPolicy": {"gang": {"minCount": 2}}, "schedulingConstraints": {"topology": [{"key": RACK}]}}
    metadata = {"name": "gang", "namespace": "default"}
    found = {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "metadata": metadata, "spec": spec}
    return {**found, "status": status} if status else found


def member(number: int, node: str = "") -> dict[str, Any]:
    spec = {**SPEC, "schedulingGroup": {"podGroupName": "gang"}, **({"nodeName": node} if node else {})}
    metadata = {"name": f"gang-{number}", "namespace": "default"}
    status = {"phase": "Running" if node else "Pending"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}


def initially(status: str, message: str = "") -> dict[str, str]:
    reason = "Scheduled" if status == "True" else "Unschedulable"
    return {"type": "PodGroupInitiallyScheduled", "status": status, "reason": reason, "message": message}


def test_a_running_group_of_kube_scheduler_is_not_pinned_by_itself(run: Run, tmp_path: Path) -> None:
    objects = [*kueue_cluster(), group(conditions=[initially("True")]), member(0, "n0"), member(1, "n1")]
    result = compared(run, tmp_path, *objects, policies="kube-1.37-topology,kube-default")
    assert result.status == 0, result.out
    assert [(row["policy"], row["verdict"], row["observed_pods"]) for row in result.json] == [
        ("kube-1.37-topology", "placed", 2),
        ("kube-default", "placed", 2),
    ]


def test_a_group_that_waits_says_why(run: Run, tmp_path: Path) -> None:
    told = initially("False", "0/2 placements are available")
    objects = [*kueue_cluster(), group(conditions=[told]), member(0), member(1)]
    (row,) = compared(run, tmp_path, *objects, policies="kube-1.37-topology").json
    assert [(one["kind"], one["message"]) for one in row["cluster_says"]] == [
        ("PodGroup", "0/2 placements are available")
    ]
    assert row["difference"] == "2 pods placed, but the cluster placed none"
