"""`observed_gangs`: each gang that runs in a cluster, with the cluster as it would be without it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from workbench.cluster.changes import ObjectChange, added
from workbench.cluster.kueue_admissions import admissions_of, assigned_nodes, unselected, without_admission
from workbench.cluster.state import ClusterState
from workbench.jobs.hyper_job.gangs import hyper_job_of_jobs
from workbench.model.gang import Gang
from workbench.model.kueue_names import TOPOLOGY_GATE
from workbench.model.snapshot import ClusterSnapshot
from workbench.objects.kinds import ClusterObjects
from workbench.objects.kueue.workload import KueueWorkload
from workbench.objects.pod import Pod
from workbench.objects.pod_group import ALLOCATED_HYPERNODE_ANNOTATION, PodGroup

__all__ = ["ObservedGang", "observed_gangs"]


#: Objects that are changed for the moment.
_Touched = Pod | PodGroup | KueueWorkload


@dataclass(frozen=True, eq=False)
class ObservedGang:
    """A gang of a cluster that has pods with nodes.

    `gang`: the gang as if none of its pods had a node. `snapshot`: the cluster without those pods; everything else is
    where it is. `nodes`: node of each pod; None: the pod waits. Of a gang that Kueue has admitted and of which no pod
    runs, the nodes in its assignment. `scheduler`: spec.schedulerName of its first pod by name; empty: not given.
    """

    gang: Gang
    snapshot: ClusterSnapshot
    nodes: dict[str, str | None]
    scheduler: str


def observed_gangs(
    state: ClusterState, progress: Callable[[int, int, str], object] | None = None
) -> Iterator[ObservedGang]:
    """Take the gangs of a cluster that run, one at a time, off their nodes.

    `state`: changed while the iteration goes on, and as before once it has ended. `progress`: called before each gang
    as ``progress(done, in_all, key)``.

    The cluster is the present one, not that of the moment at which the gang was placed: what came later stands in the
    way, and what has gone since does not.

    Yields
    ------
    ObservedGang
        By namespace and name, first the gangs with running pods, then those that Kueue has admitted. A pod without an
        owner is a gang of its own if it has GPUs; without GPUs it is left out, as clusters run thousands of them. The
        Jobs of a HyperJob are one gang. Pods that are terminating stay where they are. What the scheduler wrote about
        the gang is taken away for the moment, too: the HyperNode on its PodGroups, the condition of groups of
        scheduling.k8s.io, and the admission of its Workload of Kueue, with the node labels that Kueue made its pods
        select.
    """
    gangs: dict[str, list[Pod]] = {}
    owners: dict[str, set[str]] = {}
    hyper_jobs = hyper_job_of_jobs(state.objects)
    for pod, key in state.workload.holding:
        if pod.runs and (key or sum(pod.spec.container_gpus)):
            gang = hyper_jobs.get(key, key) or pod.metadata.key
            gangs.setdefault(gang, []).append(pod)
            owners.setdefault(gang, set()).add(key)
    # What puts the gang before back, in the same step that takes the next one off: a step costs more than its pods.
    back: list[ObjectChange] = []
    try:
        for done, key in enumerate(sorted(gangs, key=str.encode)):
            if progress is not None:
                progress(done, len(gangs), key)
            pods = gangs[key]
            before, changes = _off(state, pods, owners[key])
            step, back = [*back, *changes], before
            snapshot, workload = state.apply(step)
            placed = {pod.metadata.name: pod.spec.node_name for pod in pods}
            for found in workload.gangs:
                # A Job, a PodGroup and a Deployment may have the same name.
                if found.key == key and any(pod.name in placed for pod in found.pods()):
                    nodes = {pod.name: placed.get(pod.name) for pod in found.pods()}
                    yield ObservedGang(found, snapshot, nodes, pods[0].spec.scheduler)
    finally:
        state.apply(back)
    yield from _admitted(state, gangs)


def _admitted(state: ClusterState, running: Collection[str]) -> Iterator[ObservedGang]:
    """The gangs that Kueue has admitted to nodes and of which no pod runs, each with the cluster without its admission.

    The state is as before whenever a gang is yielded and at the end.
    """
    for gang in state.workload.gangs:
        workloads = admissions_of(state.objects, [gang.key]) if gang.key not in running else []
        nodes = assigned_nodes(gang, workloads, state.objects)
        if not nodes:
            continue
        pods = [state.objects.pods[key] for key in state.members_of(gang.key)[0]]
        back, changes = _unadmitted(state, pods, workloads)
        snapshot, workload = state.apply(changes)
        found = [one for one in workload.gangs if (one.kind, one.key) == (gang.kind, gang.key)]
        state.apply(back)
        scheduler = pods[0].spec.scheduler if pods else ""
        yield from (ObservedGang(one, snapshot, nodes, scheduler) for one in found)


def _unadmitted(
    state: ClusterState, pods: Sequence[Pod], workloads: Sequence[KueueWorkload]
) -> tuple[list[ObjectChange], list[ObjectChange]]:
    """The changes that put Workloads and pods back as they are, and those that take the admission from them."""
    stored: list[_Touched] = [*pods, *workloads]
    before = [_present(state.objects, one) for one in stored]
    free = [unselected(pod, workloads) for pod in pods]
    free = [replace(pod, gates=(), gated=False) if set(pod.gates) == {TOPOLOGY_GATE} else pod for pod in free]
    after: list[_Touched] = [*free, *(without_admission(one) for one in workloads)]
    return before, _instead(before, after)


def _off(state: ClusterState, pods: list[Pod], owners: set[str]) -> tuple[list[ObjectChange], list[ObjectChange]]:
    """The changes that put a gang's pods and PodGroups back as they are, and those that take it off its nodes."""
    workloads = admissions_of(state.objects, owners, pods)
    present: list[_Touched] = [*pods, *workloads]
    before = [_present(state.objects, one) for one in present]
    bare: list[_Touched] = [
        replace(pod, spec=replace(pod.spec, node_name=""), phase="Pending")
        for pod in (unselected(pod, workloads) for pod in pods)
    ]
    bare += [without_admission(one) for one in workloads]
    for group in sorted(group for owner in owners for group in state.members_of(owner)[1]):
        stored = state.objects.pod_groups[group]
        free = _undecided(stored)
        if free != stored:
            before.append(_present(state.objects, stored))
            bare.append(free)
    return before, _instead(before, bare)


def _undecided(group: PodGroup) -> PodGroup:
    """A PodGroup without what a scheduler wrote about its gang."""
    if group.kube is not None and group.kube.scheduled:
        group = replace(group, kube=replace(group.kube, scheduled=False))
    if ALLOCATED_HYPERNODE_ANNOTATION not in group.metadata.annotations:
        return group
    annotations = dict(group.metadata.annotations)
    del annotations[ALLOCATED_HYPERNODE_ANNOTATION]
    return replace(group, metadata=replace(group.metadata, annotations=annotations))


def _present(objects: ClusterObjects, value: _Touched) -> ObjectChange:
    """The change that puts an object back as it is, with what admission says of it."""
    kind = value.kind if isinstance(value, KueueWorkload) else type(value).__name__
    name = f"{kind} {value.metadata.key}"
    return added(value, objects.refused.get(name, ""), objects.notes.get(name, ()))


def _instead(present: Sequence[ObjectChange], values: Sequence[_Touched]) -> list[ObjectChange]:
    """The changes of `present` with other objects."""
    pairs = zip(present, values, strict=True)
    return [ObjectChange(one.kind, one.key, value, one.refused, one.notes) for one, value in pairs]
