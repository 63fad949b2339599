"""Placements that lose pods to a fault: what is left, the gang of the pods that are missing, and their union."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from workbench.errors import UnknownNameError
from workbench.jobs.hyper_job.gangs import waiting_jobs
from workbench.model.extras import AscendWish, FormerPod, KoordinatorWish, VolcanoMemory, extras_of
from workbench.model.gang import Gang, Role, SubGroup
from workbench.model.gpu_shares import words_of_mask
from workbench.model.number_text import whole_number
from workbench.model.placement import UNPLACED, Placement
from workbench.model.running_pod import RunningPod
from workbench.model.snapshot import ClusterSnapshot
from workbench.model.switches import IS_HEALTHY, IS_SHARED, RANK_ANNOTATION, SHARED_ADDRESS, mark_of

__all__ = ["after_fault", "can_go_on", "former_pods", "missing_pods", "placement_of_running", "with_pods_placed_again"]

T = TypeVar("T", bound=np.generic)
Mask = npt.NDArray[np.bool_]

_WRITTEN = frozenset({IS_SHARED, IS_HEALTHY, SHARED_ADDRESS, RANK_ANNOTATION})


def after_fault(placement: Placement, lost: Mask, *, by_pods: bool) -> Placement | None:
    """Return what a job keeps after a fault.

    `lost`: ndarray of shape (n_pods,), bool. `by_pods`: whether a job loses these pods only; otherwise it loses all of
    them. A HyperJob loses its Jobs with such pods in either case. Returns: placement of the whole job with lost pods
    unplaced, possibly all of them; None: the job keeps nothing and is placed anew.
    """
    if placement.gang.jobs:
        return _without_jobs(placement, lost)
    return _only(placement, (placement.node >= 0) & ~lost) if by_pods else None


def _without_jobs(placement: Placement, lost: Mask) -> Placement | None:
    left = {name: pods for name, pods in _placed_jobs(placement) if not lost[pods].any()}
    if not left:
        return None
    keeps = np.zeros(len(placement.node), dtype=bool)
    for pods in left.values():
        keeps[pods] = True
    key = placement.gang.key
    exclusive = {f"{key}/{name}": placement.exclusive[f"{key}/{name}"] for name in left}
    return replace(_only(placement, keeps), exclusive=exclusive)


def _only(placement: Placement, keeps: Mask) -> Placement:
    words, visible, group = placement.gpu_words, placement.visible_words, placement.annotation_group
    return replace(
        placement,
        node=np.where(keeps, placement.node, UNPLACED).astype(np.int32),
        gpu_words=None if words is None else np.where(keeps[:, np.newaxis], words, np.uint64(0)),
        visible_words=None if visible is None else np.where(keeps[:, np.newaxis], visible, np.uint64(0)),
        annotation_group=None if group is None else np.where(keeps, group, -1).astype(np.int32),
    )


def former_pods(placement: Placement, lost: Mask) -> tuple[FormerPod, ...]:
    """Ranks and nodes of the pods that a placement loses, for policies that let a pod keep its rank.

    Pods without the annotation of a rank are left out.
    """
    found = []
    for position in np.flatnonzero(lost & (placement.node >= 0)).tolist():
        ref, node = placement.gang.pod(position), placement.topology.node_names[int(placement.node[position])]
        written = {**ref.role.annotations, **placement.annotations_of(position)}
        rank = whole_number(written.get(RANK_ANNOTATION, ""))
        if rank is not None:
            unhealthy = written.get(IS_HEALTHY) == "1"
            found.append(FormerPod(rank, node, True, mark_of(written), ref.name, unhealthy))
    return tuple(found)


def missing_pods(placement: Placement, former: Collection[FormerPod] = (), faulty: Collection[str] = ()) -> Gang:
    """The gang of the pods of a job that have no node; those that have one are `Gang.ready`, by the same names.

    `placement`: placement of the whole job; of a HyperJob whole Jobs are missing. `former`: what pods of the job had
    before faults took them. `faulty`: names of nodes that are broken now.
    """
    gang = placement.gang
    if gang.jobs:
        return waiting_jobs(gang, {name for name, _ in _placed_jobs(placement)})
    missing = np.flatnonzero(placement.node < 0)
    roles = tuple(role for number in range(len(gang.roles)) if (role := _role_of(gang, number, missing)).count)
    again = replace(
        gang,
        roles=roles,
        order=(),
        ready=gang.ready + len(placement.node) - len(missing),
        sub_groups=(),
        sub_grouped=False,
    ).with_extra(
        replace(gang.extra(VolcanoMemory), record=""),
        replace(
            gang.extra(AscendWish),
            former=tuple(replace(pod, faulty=pod.faulty and pod.node in faulty) for pod in former),
        ),
    )
    if not gang.sub_grouped:
        return again
    position = {pod: i for i, pod in enumerate(again.pod_names(np.arange(again.n_pods)))}
    groups = tuple(_left_of(gang, group, position) for group in gang.sub_groups)
    return replace(again, sub_groups=groups, sub_grouped=True)


def _role_of(gang: Gang, number: int, missing: npt.NDArray[np.intp]) -> Role:
    """The pods of one role among the missing ones."""
    role, start = gang.roles[number], gang.role_start
    mine = missing[(missing >= start[number]) & (missing < start[number + 1])]
    return replace(
        role,
        count=len(mine),
        annotations={key: value for key, value in role.annotations.items() if key not in _WRITTEN},
        pod_names=tuple(gang.pod_names(mine)),
        # They are made anew, by the same names.
        pod_uids=None,
        pod_resource_versions=None,
    )


def _left_of(gang: Gang, group: SubGroup, position: dict[str, int]) -> SubGroup:
    names = [*gang.pod_names(np.array(group.pods, dtype=np.intp)), *group.running]
    return replace(
        group,
        pods=tuple(sorted(position[name] for name in names if name in position)),
        running=tuple(sorted((name for name in names if name not in position), key=str.encode)),
    )


def can_go_on(placement: Placement) -> bool:
    """Whether the pods of a job that have nodes are enough for it to work: its minimum, and that of each role.

    A job with sub-groups, and a HyperJob, needs all that it had.
    """
    gang, placed = placement.gang, placement.node >= 0
    if gang.jobs or gang.sub_grouped:
        return bool(placed.all())
    by_role = np.bincount(gang.role_of_pod[placed], minlength=len(gang.roles)).tolist()
    enough = all(n + role.succeeded >= (role.min_available or 0) for n, role in zip(by_role, gang.roles, strict=True))
    return enough and placement.n_placed + gang.ready >= gang.min_available and bool(placed.any())


def with_pods_placed_again(standing: Placement, added: Placement) -> Placement:
    """The placement of a job of which some pods were placed again.

    `standing`: of the whole job, without the pods that are missing. `added`: of the gang of `missing_pods`, by the same
    policy.
    """
    moved = _positions(standing.gang, added.gang)
    group = added.annotation_group
    if group is not None:
        group = np.where(group >= 0, group + len(standing.annotations), -1).astype(np.int32)
    node, rank = standing.node.copy(), standing.rank
    node[moved] = added.node
    if rank is None and added.rank is not None:
        rank = np.arange(len(node), dtype=np.int32)
    return replace(
        standing,
        node=node,
        gpu_words=_with_rows(standing.gpu_words, added.gpu_words, moved, len(node)),
        visible_words=_with_rows(standing.visible_words, added.visible_words, moved, len(node)),
        annotations=(*standing.annotations, *added.annotations),
        annotation_group=_with_rows(standing.annotation_group, group, moved, len(node), -1),
        rank=_with_rows(rank, added.rank, moved, len(node)),
        record=added.record,
        has_record=standing.has_record or added.has_record,
        records={**standing.records, **added.records},
        unplaced=tuple(replace(one, position=int(moved[one.position])) for one in added.unplaced),
        job_class=added.job_class or standing.job_class,
        exclusive={**standing.exclusive, **added.exclusive},
    )


def _positions(whole: Gang, part: Gang) -> npt.NDArray[np.intp]:
    """Positions in a gang of the pods of a part of it."""
    moved = np.zeros(part.n_pods, dtype=np.intp)
    if whole.jobs:
        pods_of = {group.name: group.pods for group in whole.sub_groups}
        for group in part.sub_groups:
            moved[list(group.pods)] = pods_of[group.name]
    else:
        position = {name: i for i, name in enumerate(whole.pod_names(np.arange(whole.n_pods)))}
        moved[:] = [position[name] for name in part.pod_names(np.arange(part.n_pods))]
    return moved


def _with_rows(
    own: npt.NDArray[T] | None, added: npt.NDArray[T] | None, at: npt.NDArray[np.intp], n_pods: int, none: int = 0
) -> npt.NDArray[T] | None:
    """Rows of all pods, with the rows at `at` replaced by `added`; None if neither has rows."""
    if added is None:
        return own
    rows = np.full((n_pods, *added.shape[1:]), none, dtype=added.dtype) if own is None else own.copy()
    rows[at] = added
    return rows


def _placed_jobs(placement: Placement) -> Iterator[tuple[str, list[int]]]:
    """Each Job of a HyperJob that has a HyperNode, with its pods; nothing for another gang."""
    gang = placement.gang
    for part in gang.sub_groups if gang.jobs else ():
        if f"{gang.key}/{part.name}" in placement.exclusive:
            yield part.name, list(part.pods)


def placement_of_running(key: str, snapshot: ClusterSnapshot) -> Placement:
    """The running pods of a gang of a snapshot as a placement; all of them are needed.

    `key`: ``namespace/name`` of the gang. Raises UnknownNameError: no pod of such a gang runs on a node of the
    snapshot.
    """
    shapes: dict[tuple[object, ...], list[RunningPod]] = {}
    for pod in snapshot.running:
        if pod.gang == key and pod.node >= 0 and not pod.terminating:
            amounts = (tuple(sorted(each.items())) for each in (pod.requests, pod.assumed, pod.labels))
            shape = pod.role, *amounts, pod.gpu_milli, pod.rules
            shapes.setdefault(shape, []).append(pod)
    if not shapes:
        raise UnknownNameError("job", key, sorted({pod.gang for pod in snapshot.running if pod.gang}, key=str.encode))
    pods = [pod for alike in shapes.values() for pod in alike]
    first, (namespace, _, name) = pods[0], key.partition("/")
    roles = tuple(
        Role(
            alike[0].role or f"pod{number}",
            len(alike),
            alike[0].requests,
            labels=alike[0].labels,
            pod_names=tuple(pod.name for pod in alike),
            pod_uids=tuple(pod.uid for pod in alike),
            assumed=alike[0].assumed,
            gpu_milli=alike[0].gpu_milli,
            rules=alike[0].rules,
        )
        for number, alike in enumerate(shapes.values())
    )
    gang = Gang(
        namespace,
        name,
        roles,
        len(pods),
        queue=first.queue or "default",
        extras=extras_of(KoordinatorWish(gpu_group=first.gpu_group), AscendWish(first.job_class)),
    )
    width = snapshot.gpu_total.shape[1]
    ranks = [whole_number(pod.annotations.get(RANK_ANNOTATION, "")) for pod in pods]
    known = [rank for rank in ranks if rank is not None]
    # Ranks of all pods are fields of the placement; else each pod keeps the annotation that it has.
    by_rank = len(known) == len(pods)
    annotations = [
        {key: value for key, value in pod.annotations.items() if not (by_rank and key == RANK_ANNOTATION)}
        for pod in pods
    ]
    return Placement(
        gang,
        snapshot.topology,
        "",
        {},
        node=np.array([pod.node for pod in pods], dtype=np.int32),
        gpu_words=np.array([words_of_mask(pod.gpu_mask, width) for pod in pods]).reshape(len(pods), width),
        records={at: domain for at, domain in snapshot.records.items() if at == key or at.startswith(f"{key}/")},
        rank=np.array(known, dtype=np.int32) if by_rank else None,
        annotations=tuple(annotations),
        annotation_group=np.arange(len(pods), dtype=np.int32),
        job_class=first.job_class,
        exclusive={at: domain for at, domain in snapshot.exclusive.items() if at.startswith(f"{key}/")},
    )
