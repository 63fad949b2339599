"""Rows of `cases/kueue-tas` about whole scheduling cycles, and recorded cycles of the real Kueue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tests.conformance.registry import Runners
from tests.conformance.runners import kueue_values as read
from workbench.model.kueue import Flavor
from workbench.model.kueue_queues import (
    ClusterQueue,
    Cohort,
    FlavorQuotas,
    PodSetAdmission,
    QueueCheck,
    QueuedWorkload,
    Quota,
    WorkloadAdmission,
)
from workbench.model.labels import Taint
from workbench.objects.quantity import to_base_units
from workbench.policies.kueue.cycle.cluster import CycleCluster
from workbench.policies.kueue.cycle.pending import PendingQueues
from workbench.policies.kueue.cycle.turns import Fate, Turn
from workbench.policies.kueue.messages import cut

Json = Mapping[str, Any]

FILES = ("schedule", "schedule-second-pass", "schedule-preemption", "schedule-cohort")

GIVEN = ("gates", "topologies", "nodes", "pods", "flavors", "cluster_queues", "check_kinds", "workloads")

WANT = ("admitted", "preempted", "evicted", "left", "inadmissible", "messages")

#: Cycles of a recording at most.
MOST_CYCLES = 12


def register(runners: Runners) -> None:
    """Register the operation of the files."""
    for file in FILES:
        runners.op(file, "schedule", given=GIVEN, want=WANT)(schedule)


def schedule(given: dict[str, Any], want: dict[str, Any]) -> None:
    """One cycle; the order of names has no meaning, and only some messages are pinned."""
    cluster, workloads = state_of(given)
    pending = PendingQueues(cluster, workloads)
    turns = pending.run()
    admitted = {
        each.key: written(each.admission)
        for each in workloads
        if each.admission is not None and (not each.admitted or each.unhealthy_nodes)
    }
    admitted |= {turn.workload.key: written(turn.admission) for turn in turns if turn.admission is not None}
    assert admitted == want["admitted"]
    assert sorted({key for turn in turns for key in turn.victims}) == sorted(want["preempted"])
    assert sorted(turn.workload.key for turn in turns if turn.fate is Fate.EVICTED) == sorted(want["evicted"])
    assert sorted(pending.active) == sorted(want["left"])
    assert sorted(pending.parked) == sorted(want["inadmissible"])
    said = {turn.workload.key: turn.message for turn in turns}
    assert {key: said.get(key) for key in want["messages"]} == want["messages"]


def check_recorded(given: Json, want: Json) -> None:
    """Cycle by cycle one of the answers that the real program gave.

    Which one of several failing pod sets a message names is chance there, in every cycle anew.
    """
    cluster, workloads = state_of(given)
    pending = PendingQueues(cluster, workloads)
    # Kueue says nothing again of workloads that are on their way out already.
    leaving = {each.key for each in workloads if each.evicted}
    answers = [want["cycles"], *(other["cycles"] for other in want.get("other_answers", ()))]
    number = 0
    while pending.active and number < MOST_CYCLES:
        found = _told(pending, pending.run())
        found["preempted"] = [key for key in found["preempted"] if key not in leaving]
        real = [_in_order(answer[number]) for answer in answers if number < len(answer)]
        assert found in real
        number += 1
        if found["preempted"]:
            break
    assert number in {len(answer) for answer in answers}


def _told(pending: PendingQueues, turns: list[Turn]) -> dict[str, Any]:
    return {
        "admitted": {
            turn.workload.key: written(turn.admission, delayed=False) for turn in turns if turn.admission is not None
        },
        "preempted": sorted({key for turn in turns for key in turn.victims}),
        "left": sorted(pending.active),
        "inadmissible": sorted(pending.parked),
        "messages": {turn.workload.key: cut(turn.message) for turn in turns if turn.message},
    }


def _in_order(cycle: Json) -> dict[str, Any]:
    return {**cycle, **{key: sorted(cycle[key]) for key in ("preempted", "left", "inadmissible")}}


def state_of(given: Json) -> tuple[CycleCluster, list[QueuedWorkload]]:
    """The cluster of a case with what its workloads hold, and all workloads."""
    cluster = CycleCluster(
        [queue(each, given["check_kinds"]) for each in given["cluster_queues"]],
        [cohort(each) for each in given.get("cohorts", ())],
        [flavor(each) for each in given["flavors"]],
        given["topologies"],
        [read.node(each) for each in given["nodes"]],
        read.held_pods(given["pods"]),
        read.gates(given["gates"]),
        given.get("fair_sharing", ()),
    )
    workloads = [workload(each) for each in given["workloads"]]
    for each in workloads:
        holding = cluster.holding(each)
        if holding is not None:
            cluster.hold(holding)
    return cluster, workloads


def flavor(given: Json) -> Flavor:
    taints = tuple(Taint(each["key"], each["value"], each["effect"]) for each in given["taints"])
    tolerations = read.tolerations(given["tolerations"])
    return Flavor(given["name"], given["topology"], given["node_labels"], tolerations, taints)


def queue(given: Json, kinds: Mapping[str, str]) -> ClusterQueue:
    checks = [
        QueueCheck(each["name"], tuple(each["flavors"]), kinds[each["name"]] == "provisioning")
        for each in given["checks"]
    ]
    highest = given["borrow_preempt_max_priority"]
    return ClusterQueue(
        given["name"],
        given["cohort"] or "",
        tuple(group(each) for each in given["groups"]),
        given["within_queue"],
        given["reclaim_in_cohort"],
        given.get("borrows_while_preempting", highest is not None),
        highest,
        given.get("when_can_borrow") == "TryNextFlavor",
        given.get("when_can_preempt", "TryNextFlavor") == "TryNextFlavor",
        tuple(checks),
        given.get("strict", False),
        preempts_before_borrowing=given.get("preference") == "PreemptionOverBorrowing",
        weight=given.get("weight"),
    )


def cohort(given: Json) -> Cohort:
    groups = tuple(group(each) for each in given["groups"])
    return Cohort(given["name"], given["parent"] or "", groups, given.get("weight"))


def group(given: list[Json]) -> tuple[FlavorQuotas, ...]:
    return tuple(FlavorQuotas(each["flavor"], quotas(each["quotas"])) for each in given)


def quotas(given: Json) -> dict[str, Quota]:
    limits = ("nominal", "borrowing_limit", "lending_limit")
    return {
        name: Quota(*(None if each[key] is None else to_base_units(name, each[key]) for key in limits))
        for name, each in given.items()
    }


def workload(given: Json) -> QueuedWorkload:
    owners = given["owners"]
    return QueuedWorkload(
        given["name"],
        given["cluster_queue"],
        tuple(replace(read.pod_set(each), min_count=each["min_count"]) for each in given["pod_sets"]),
        given["priority"],
        given["created"],
        given["uid"],
        given["reserved_at"],
        admission(given["admission"]),
        given["admitted"],
        given["checks"],
        tuple(given["unhealthy_nodes"]),
        [(each["api_version"], each["kind"]) for each in owners] == [("v1", "Pod")],
        given.get("evicted", False),
    )


def admission(given: Json | None) -> WorkloadAdmission | None:
    if given is None:
        return None
    sets = [
        PodSetAdmission(
            each["name"],
            each["flavors"],
            read.amounts(each["usage"]),
            each["count"],
            read.assignment(each["assignment"]),
            each["delayed"],
        )
        for each in given["pod_sets"]
    ]
    return WorkloadAdmission(given["cluster_queue"], tuple(sets))


def written(found: WorkloadAdmission, *, delayed: bool = True) -> Json:
    sets = [
        {
            "name": each.name,
            "flavors": dict(each.flavors),
            "count": each.count,
            "assignment": read.written(each.assignment),
            **({"delayed": each.delayed} if delayed else {}),
        }
        for each in found.pod_sets
    ]
    return {"cluster_queue": found.cluster_queue, "pod_sets": sets}
