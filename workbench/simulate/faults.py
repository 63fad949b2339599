"""Broken nodes and GPUs in a snapshot, and the pods that jobs lose to them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence, Set

import numpy as np

from workbench.errors import InputError
from workbench.model.extras import AscendWish, FormerPod
from workbench.model.gang import Gang, Role
from workbench.model.snapshot import ClusterSnapshot, RunningPod
from workbench.model.switches import IS_HEALTHY, IS_SHARED, RANK_ANNOTATION, SHARED_ADDRESS, mark_of
from workbench.model.whole_number import whole_number

__all__ = ["break_gpus", "break_node", "damaged_gang", "in_sub_groups"]

_WRITTEN = frozenset({IS_SHARED, IS_HEALTHY, SHARED_ADDRESS, RANK_ANNOTATION})


def break_node(snapshot: ClusterSnapshot, node: int) -> ClusterSnapshot:
    """The snapshot after a node has failed: no pod can be placed on it. `node` is the node's index."""
    unschedulable = snapshot.unschedulable.copy()
    unschedulable[node] = True
    return dataclasses.replace(snapshot, unschedulable=unschedulable)


def break_gpus(snapshot: ClusterSnapshot, node: int, gpus: Sequence[int]) -> ClusterSnapshot:
    """The snapshot after some GPUs of a node have failed: the node offers fewer GPUs.

    Parameters
    ----------
    snapshot : ClusterSnapshot
    node : int
        Index of the node.
    gpus : sequence of int
        Numbers of the failed GPUs.

    Raises
    ------
    InputError
        The node has no healthy GPU of such a number.
    """
    total, free = snapshot.gpu_total.copy(), snapshot.gpu_free.copy()
    allocatable = snapshot.allocatable.copy()
    for gpu in gpus:
        word, bit = divmod(gpu, 64)
        mask = np.uint64(1) << np.uint64(bit)
        if gpu < 0 or word >= total.shape[1] or not total[node, word] & mask:
            name = snapshot.topology.node_names[node]
            raise InputError(
                "no such healthy GPU", source="fault", where=name, got=str(gpu), expected="a GPU of the node"
            )
        total[node, word] &= ~mask
        free[node, word] &= ~mask
        for column in snapshot.gpu_columns:
            if allocatable[node, column] > 0:
                allocatable[node, column] -= 1
                break
    return dataclasses.replace(snapshot, gpu_total=total, gpu_free=free, allocatable=allocatable)


def damaged_gang(
    gang: Gang | None, pods: Sequence[RunningPod], lost: Sequence[RunningPod], names: Sequence[str]
) -> Gang:
    """The pods that a running job lost to a fault, as a gang to be placed again.

    The gang's pods are in no sub-group; `in_sub_groups` adds them.

    Parameters
    ----------
    gang : Gang, optional
        The job as it was submitted; None: only its pods are known, and all of them belong together.
    pods : sequence of RunningPod
        Every pod of the job, the lost ones included.
    lost : sequence of RunningPod
        The pods on broken nodes or GPUs.
    names : sequence of str
        Names of the snapshot's nodes.
    """
    shapes: list[list[RunningPod]] = []
    for pod in lost:
        alike = next((s for s in shapes if _shape(s[0]) == _shape(pod)), None)
        if alike is None:
            shapes.append([pod])
        else:
            alike.append(pod)
    roles = tuple(_role(gang, number, shape) for number, shape in enumerate(shapes))
    first = lost[0]
    namespace, _, name = first.gang.partition("/")
    wish = AscendWish(first.job_class)
    whole = gang or Gang(namespace, name, roles, len(pods), queue=first.queue or "default", ascend=wish)
    former = tuple(
        FormerPod(rank, names[pod.node], faulty=True, mark=mark_of(pod.annotations), pod=pod.name)
        for pod in lost
        if (rank := whole_number(pod.annotations.get(RANK_ANNOTATION, ""))) is not None and pod.node >= 0
    )
    succeeded = len(whole.succeeded) + sum(len(group.succeeded) for group in whole.sub_groups)
    ready = len(pods) - len(lost) + succeeded
    return dataclasses.replace(
        whole,
        roles=roles,
        order=(),
        ready=ready,
        sub_groups=(),
        sub_grouped=False,
        volcano=dataclasses.replace(whole.volcano, record=""),
        ascend=dataclasses.replace(whole.ascend, former=former),
    )


def in_sub_groups(gang: Gang, submitted: Gang | None, running: Set[str]) -> Gang:
    """A copy of a gang in which the pods are in the sub-groups that they had when the job was submitted.

    Parameters
    ----------
    gang : Gang
        The pods to be placed again.
    submitted : Gang, optional
        The job as it was submitted; None: only its pods are known, and they are in no sub-group.
    running : set of str
        Names of the job's pods that still run.
    """
    if submitted is None or not submitted.sub_grouped:
        return gang
    position = {gang.pod(i).name: i for i in range(gang.n_pods)}
    groups = []
    for group in submitted.sub_groups:
        names = [*(submitted.pod(i).name for i in group.pods), *group.running]
        groups.append(
            dataclasses.replace(
                group,
                pods=tuple(sorted(position[name] for name in names if name in position)),
                running=tuple(sorted((name for name in names if name in running), key=str.encode)),
            )
        )
    return dataclasses.replace(gang, sub_groups=tuple(groups), sub_grouped=True)


def _shape(pod: RunningPod) -> tuple[object, ...]:
    return pod.role, pod.requests, pod.assumed, pod.gpu_milli


def _role(gang: Gang | None, number: int, pods: Sequence[RunningPod]) -> Role:
    known = None if gang is None else next((role for role in gang.roles if role.name == pods[0].role), None)
    annotations = {key: value for key, value in pods[0].annotations.items() if key not in _WRITTEN}
    base = known or Role(pods[0].role or f"pod{number}", 0, pods[0].requests, labels=pods[0].labels)
    return dataclasses.replace(
        base,
        count=len(pods),
        requests=pods[0].requests,
        assumed=pods[0].assumed,
        gpu_milli=pods[0].gpu_milli,
        min_available=None,
        annotations=annotations,
        pod_names=tuple(pod.name for pod in pods),
        # They are made anew, by the same names.
        pod_uids=None,
        pod_resource_versions=None,
    )
