"""Rows of `cases/kueue-tas` about pods behind Kueue's topology gate: the file `ungate`."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tests.conformance.registry import NotUnderstood, Runners
from tests.conformance.runners import kueue_values as read
from workbench.errors import InputError
from workbench.jobs.kueue_ungater import domains_of_gated_pods
from workbench.model.kueue import PodSet, TopologyRequest
from workbench.model.kueue_names import POD_SET_LABEL, TOPOLOGY_GATE
from workbench.model.kueue_queues import PodSetAdmission, QueuedWorkload, WorkloadAdmission
from workbench.objects.pod import Pod, read_pod


def register(runners: Runners) -> None:
    """Register the operation of the file."""
    given = ("admitted", "pending_ungates", "unhealthy_nodes", "pod_sets", "assignments", "pods")
    runners.op("ungate", "ungate", given=given, want=("error", "still_gated", "node_selectors", "counts"))(ungate)


def ungate(given: dict[str, Any], want: dict[str, Any]) -> None:
    """Which pods stay gated, and the selectors of the others; null: only how many pods have each."""
    if given["pending_ungates"]:
        raise NotUnderstood("a controller that waits for its own writes; the workbench reads a cluster once")
    pods = [_pod(each) for each in given["pods"] if each["of_workload"]]
    error, found = "", {}
    try:
        found = domains_of_gated_pods(_workload(given), pods)
    except InputError:
        error = "bad-offset"
    assert error == want["error"]
    gated = {each["name"] for each in given["pods"] if each["gated"]}
    assert sorted(gated - found.keys()) == sorted(want["still_gated"])
    selectors = {each["name"]: {**each["node_selector"], **found.get(each["name"], {})} for each in given["pods"]}
    past = {name: selectors[name] for name in selectors if name not in gated or name in found}
    if want["node_selectors"] is not None:
        assert past == want["node_selectors"]
    ended = {each["name"] for each in given["pods"] if each["phase"] in ("Failed", "Succeeded")}
    counts = Counter(tuple(sorted(selector.items())) for name, selector in past.items() if name not in ended)
    pinned = {tuple(sorted(each["node_selector"].items())): each["count"] for each in want["counts"]}
    assert counts == pinned


def _workload(given: dict[str, Any]) -> QueuedWorkload:
    pod_sets = tuple(
        PodSet(
            each["name"],
            each["count"],
            {},
            TopologyRequest(
                group=each["group"],
                pod_index_label=each["pod_index_label"],
                sub_group_label=each["sub_group_label"],
                sub_group_count=each["sub_group_count"],
            )
            if each["has_request"]
            else None,
        )
        for each in given["pod_sets"]
    )
    sets = tuple(
        PodSetAdmission(each["name"], {}, {}, each["count"], read.assignment(each["assignment"]))
        for each in given["assignments"]
    )
    return QueuedWorkload(
        "default/one",
        "queue",
        pod_sets,
        admission=WorkloadAdmission("queue", sets),
        admitted=given["admitted"],
        unhealthy_nodes=tuple(given["unhealthy_nodes"]),
    )


def _pod(given: dict[str, Any]) -> Pod:
    gates = [TOPOLOGY_GATE] * given["gated"] + [f"example.com/{i}" for i in range(given["other_gates"])]
    labels = {**given["labels"], POD_SET_LABEL: given["pod_set"]}
    return read_pod(
        {
            "metadata": {"name": given["name"], "labels": labels, "annotations": given["annotations"]},
            "spec": {"schedulingGates": [{"name": gate} for gate in gates], "nodeSelector": given["node_selector"]},
            "status": {"phase": given["phase"] or "Pending"},
        }
    )
