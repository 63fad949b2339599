"""Pods behind Kueue's topology gate: the domain that each gets from the assignment of its Workload.

Source: Kueue 0.19, pkg/controller/tas/topology_ungater.go.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.errors import InputError
from workbench.model.kueue_names import INDEX_OFFSET, POD_SET_LABEL, TOPOLOGY_GATE, WORKLOAD
from workbench.model.labels import HOSTNAME_LABEL, Requirement
from workbench.objects.kinds import ClusterObjects
from workbench.objects.pod import Pod

if TYPE_CHECKING:
    from workbench.model.kueue import PodSet, TopologyAssignment
    from workbench.model.kueue_queues import PodSetAdmission, QueuedWorkload

__all__ = ["domains_of_gated_pods", "ungated"]

_UNSIGNED = re.compile(r"[0-9]{1,18}", re.ASCII)
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}", re.ASCII)

Values = tuple[str, ...]


def ungated(cluster: ClusterObjects) -> ClusterObjects:
    """The objects with pods of admitted Workloads past Kueue's topology gate: they select the nodes of their domain.

    The same object if there are none. Pods that another gate holds back stay gated.
    """
    waiting: dict[str, list[Pod]] = {}
    for pod in cluster.pods.values():
        if WORKLOAD in pod.metadata.annotations and POD_SET_LABEL in pod.metadata.labels:
            key = f"Workload {pod.metadata.namespace}/{pod.metadata.annotations[WORKLOAD]}"
            if key in cluster.requests:
                waiting.setdefault(key, []).append(pod)
    if not waiting:
        return cluster
    from workbench.objects.kueue.workload import KueueWorkload

    changed: dict[str, Pod] = {}
    for key, pods in waiting.items():
        workload = cluster.requests[key]
        if not isinstance(workload, KueueWorkload) or not any(TOPOLOGY_GATE in pod.gates for pod in pods):
            continue
        by_name = {pod.metadata.name: pod for pod in pods}
        # Kueue ungates no pod of a workload whose offset it cannot read.
        with suppress(InputError):
            for name, selector in domains_of_gated_pods(workload.queued, pods).items():
                changed[by_name[name].metadata.key] = _past_gate(by_name[name], selector)
    return replace(cluster, pods={**cluster.pods, **changed}) if changed else cluster


def _past_gate(pod: Pod, selector: Mapping[str, str]) -> Pod:
    given = pod.spec.filter
    kept = {each.key: each for each in given.required}
    kept |= {key: Requirement(key, "In", (value,)) for key, value in selector.items()}
    required = tuple(kept[key] for key in sorted(kept))
    gates = tuple(gate for gate in pod.gates if gate != TOPOLOGY_GATE)
    spec = replace(pod.spec, filter=replace(given, required=required))
    return replace(pod, spec=spec, gates=gates, gated=bool(gates))


def domains_of_gated_pods(workload: QueuedWorkload, pods: Sequence[Pod]) -> dict[str, dict[str, str]]:
    """Node selectors that gated pods of a workload get, by name; pods that stay gated are left out.

    Raises InputError: an offset of indices that is no number: Kueue then ungates no pod of the workload.

    `pods`: all pods of the workload, gated or not, in the order in which the API lists them.
    """
    if workload.admission is None or not workload.admitted:
        return {}
    found: dict[str, dict[str, str]] = {}
    for admitted in workload.admission.pod_sets:
        pod_set = next((each for each in workload.pod_sets if each.name == admitted.name), None)
        if pod_set is None or admitted.assignment is None:
            continue
        mine = [pod for pod in pods if pod.metadata.labels.get(POD_SET_LABEL) == admitted.name and not pod.finished]
        for name, values in _domains(workload, pod_set, admitted, mine).items():
            levels = admitted.assignment.levels
            if levels[-1:] != (HOSTNAME_LABEL,) or values[-1] not in workload.unhealthy_nodes:
                found[name] = dict(zip(levels, values, strict=True))
    return found


def _domains(
    workload: QueuedWorkload, pod_set: PodSet, admitted: PodSetAdmission, pods: Sequence[Pod]
) -> dict[str, Values]:
    """Domain of each gated pod of a pod set: by rank if all pods have ranks that agree with where others are."""
    assignment = admitted.assignment
    assert assignment is not None
    gated = [pod for pod in pods if TOPOLOGY_GATE in pod.gates]
    table = [values for values, count in assignment.domains for _ in range(count)]
    ranks = _ranks(workload, pod_set, pods)
    if ranks is not None and all(_agrees(pod, ranks[pod.metadata.name], table, assignment) for pod in pods):
        return {pod.metadata.name: table[ranks[pod.metadata.name]] for pod in gated}
    return _greedy(assignment, pods, gated)


def _greedy(assignment: TopologyAssignment, pods: Sequence[Pod], gated: Sequence[Pod]) -> dict[str, Values]:
    """Fill the open places of the domains in their order with the gated pods in theirs."""
    taken: dict[Values, int] = {}
    for pod in pods:
        if TOPOLOGY_GATE not in pod.gates:
            values = _selected(pod, assignment)
            taken[values] = taken.get(values, 0) + 1
    left, found = list(gated), dict[str, Values]()
    for values, count in assignment.domains:
        for pod in left[: max(count - taken.get(values, 0), 0)]:
            found[pod.metadata.name] = values
        left = left[max(count - taken.get(values, 0), 0) :]
    return found


def _selected(pod: Pod, assignment: TopologyAssignment) -> Values:
    chosen = {each.key: each.values[0] for each in pod.spec.filter.required if each.operator == "In"}
    return tuple(chosen.get(level, "") for level in assignment.levels)


def _agrees(pod: Pod, rank: int, table: Sequence[Values], assignment: TopologyAssignment) -> bool:
    return rank < len(table) and (TOPOLOGY_GATE in pod.gates or _selected(pod, assignment) == table[rank])


def _ranks(workload: QueuedWorkload, pod_set: PodSet, pods: Sequence[Pod]) -> dict[str, int] | None:
    """Rank of each pod by its labels; None: some pod has none, or two have the same."""
    asked = pod_set.topology
    if asked is None or asked.pod_index_label is None:
        return None
    offset, bound = _bounds(workload, pod_set)
    more = pods[0].metadata.annotations.get(INDEX_OFFSET) if pods else None
    if more is not None:
        if _INTEGER.fullmatch(more) is None:
            raise InputError("not a number", where=f"annotations[{INDEX_OFFSET!r}]", got=more, expected="an offset")
        offset, bound = offset + int(more), bound + int(more)
    found: dict[str, int] = {}
    for pod in pods:
        index = _label(pod, asked.pod_index_label)
        if asked.sub_group_label is None:
            rank = None if index is None or index >= bound else index - offset
        else:
            rank = _rank_in_sub_group(pod, index, asked.sub_group_label, asked.sub_group_count or 0, pod_set.count)
            rank = None if rank is None else rank - offset
        if rank is None or not 0 <= rank < pod_set.count or rank in found.values():
            return None
        found[pod.metadata.name] = rank
    return found


def _rank_in_sub_group(pod: Pod, index: int | None, label: str, groups: int, count: int) -> int | None:
    job = _label(pod, label)
    if index is None or job is None or groups <= 0 or job >= groups or index >= count // groups:
        return None
    return index + job * (count // groups)


def _bounds(workload: QueuedWorkload, pod_set: PodSet) -> tuple[int, int]:
    """First index of a pod set, and one past the last: in a group the larger pod set counts on from the smaller."""
    if pod_set.group is not None:
        members = [each for each in workload.pod_sets if each.group == pod_set.group]
        if len(members) == 2:
            smaller, larger = sorted(members, key=lambda each: each.count)
            return (0, smaller.count) if pod_set is smaller else (smaller.count, smaller.count + larger.count)
    return 0, pod_set.count


def _label(pod: Pod, label: str) -> int | None:
    text = pod.metadata.labels.get(label, "")
    return int(text) if _UNSIGNED.fullmatch(text) else None
