"""`observed_gangs`: each gang that runs in a cluster, with the cluster as it would be without it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from workbench.cluster.changes import ObjectChange, added
from workbench.cluster.state import ClusterState
from workbench.jobs.hyper_job.gangs import hyper_job_of_jobs
from workbench.model.gang import Gang
from workbench.model.snapshot import ClusterSnapshot
from workbench.objects.kinds import ClusterObjects
from workbench.objects.pod import Pod
from workbench.objects.pod_group import ALLOCATED_HYPERNODE_ANNOTATION, PodGroup

__all__ = ["ObservedGang", "observed_gangs"]


@dataclass(frozen=True, eq=False)
class ObservedGang:
    """A gang of a cluster that has pods with nodes.

    Attributes
    ----------
    gang : Gang
        The gang as if none of its pods had a node.
    snapshot : ClusterSnapshot
        The cluster without those pods; everything else is where it is.
    nodes : mapping of str to str or None
        Node of each pod; None: the pod waits.
    scheduler : str
        spec.schedulerName of its first pod by name; empty: not given.
    """

    gang: Gang
    snapshot: ClusterSnapshot
    nodes: dict[str, str | None]
    scheduler: str


def observed_gangs(
    state: ClusterState, progress: Callable[[int, int, str], object] | None = None
) -> Iterator[ObservedGang]:
    """Take the gangs of a cluster that run, one at a time, off their nodes.

    Parameters
    ----------
    state : ClusterState
        Changed while the iteration goes on, and as before once it has ended.
    progress : callable, optional
        Called before each gang as ``progress(done, in_all, key)``.

    Yields
    ------
    ObservedGang
        By namespace and name. A pod without an owner is a gang of its own if it has GPUs; without GPUs it is left out,
        as clusters run thousands of them. The Jobs of a HyperJob are one gang. Pods that are terminating stay where
        they are. What Volcano wrote on the PodGroups about the HyperNode of the gang is taken away for the moment, too.

    Notes
    -----
    The cluster is the present one, not that of the moment at which the gang was placed: what came later stands in the
    way, and what has gone since does not.
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


def _off(state: ClusterState, pods: list[Pod], owners: set[str]) -> tuple[list[ObjectChange], list[ObjectChange]]:
    """The changes that put a gang's pods and PodGroups back as they are, and those that take it off its nodes."""
    before = [_present(state.objects, pod) for pod in pods]
    changes = [
        replace(one, value=replace(pod, spec=replace(pod.spec, node_name=""), phase="Pending"))
        for one, pod in zip(before, pods, strict=True)
    ]
    for group in sorted(group for owner in owners for group in state.members_of(owner)[1]):
        stored = state.objects.pod_groups[group]
        if ALLOCATED_HYPERNODE_ANNOTATION in stored.metadata.annotations:
            annotations = dict(stored.metadata.annotations)
            del annotations[ALLOCATED_HYPERNODE_ANNOTATION]
            before.append(_present(state.objects, stored))
            bare = replace(stored, metadata=replace(stored.metadata, annotations=annotations))
            changes.append(replace(before[-1], value=bare))
    return before, changes


def _present(objects: ClusterObjects, value: Pod | PodGroup) -> ObjectChange:
    """The change that puts an object back as it is, with what admission says of it."""
    name = f"{type(value).__name__} {value.metadata.key}"
    return added(value, objects.refused.get(name, ""), objects.notes.get(name, ()))
