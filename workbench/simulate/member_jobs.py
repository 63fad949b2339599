"""Jobs of a HyperJob that hold their nodes while others of its Jobs wait to be placed again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from workbench.jobs.hyper_job.gangs import waiting_jobs
from workbench.model.gang import Gang
from workbench.model.placement import UNPLACED, Placement
from workbench.simulate.result import Attempt

__all__ = ["StandingJobs", "joined", "without_jobs"]

T = TypeVar("T", bound=np.generic)


@dataclass(frozen=True, slots=True)
class StandingJobs:
    """Jobs of a HyperJob that stand still because another Job of it has stopped.

    Attributes
    ----------
    placement : Placement
        Of the whole HyperJob; the pods of Jobs that have stopped are unplaced.
    start_s : float
    gpus : float
        GPUs that they hold; a share counts as a part of one.
    whole : int
        Whole GPUs among them.
    """

    placement: Placement
    start_s: float
    gpus: float
    whole: int

    @property
    def rest(self) -> Gang:
        """The gang of the Jobs that are to be placed again, and of those that never were."""
        return waiting_jobs(self.placement.gang, {name for name, _ in _placed(self.placement)})

    def attempt(self, job: int, end_s: float) -> Attempt:
        """The time that they have stood still, as a row of `SimulationResult.attempts`."""
        nodes = tuple(self.placement.node.tolist())
        return Attempt(job, self.start_s, end_s, "standing", 0.0, nodes, self.gpus)


def without_jobs(placement: Placement, hit: npt.NDArray[np.bool_]) -> Placement | None:
    """The placement of a HyperJob without its Jobs that lost a pod.

    Parameters
    ----------
    placement : Placement
        Of any gang.
    hit : ndarray of shape (n_pods,), bool
        The pods that are lost.

    Returns
    -------
    Placement or None
        None if no Job is left, or the gang is no HyperJob.
    """
    left = {name: pods for name, pods in _placed(placement) if not hit[pods].any()}
    if not left:
        return None
    keeps = np.zeros(len(placement.node), dtype=bool)
    for pods in left.values():
        keeps[pods] = True
    key, words, visible = placement.gang.key, placement.gpu_words, placement.visible_words
    group = placement.annotation_group
    return replace(
        placement,
        node=np.where(keeps, placement.node, UNPLACED).astype(np.int32),
        gpu_words=None if words is None else np.where(keeps[:, np.newaxis], words, np.uint64(0)),
        visible_words=None if visible is None else np.where(keeps[:, np.newaxis], visible, np.uint64(0)),
        annotation_group=None if group is None else np.where(keeps, group, -1).astype(np.int32),
        exclusive={f"{key}/{name}": placement.exclusive[f"{key}/{name}"] for name in left},
    )


def joined(standing: Placement, added: Placement) -> Placement:
    """The placement of a HyperJob of which some Jobs were placed again.

    Parameters
    ----------
    standing : Placement
        Of the whole HyperJob, as `without_jobs` returns it.
    added : Placement
        Of `StandingJobs.rest`, by the same policy.
    """
    pods_of = {part.name: part.pods for part in standing.gang.sub_groups}
    moved = np.zeros(added.gang.n_pods, dtype=np.intp)
    for part in added.gang.sub_groups:
        moved[list(part.pods)] = pods_of[part.name]
    group = added.annotation_group
    if group is not None:
        group = np.where(group >= 0, group + len(standing.annotations), -1).astype(np.int32)
    node = standing.node.copy()
    node[moved] = added.node
    return replace(
        standing,
        node=node,
        gpu_words=_with_rows(standing.gpu_words, added.gpu_words, moved, len(node)),
        visible_words=_with_rows(standing.visible_words, added.visible_words, moved, len(node)),
        annotations=(*standing.annotations, *added.annotations),
        annotation_group=_with_rows(standing.annotation_group, group, moved, len(node), -1),
        record=added.record,
        records={**standing.records, **added.records},
        unplaced=tuple(replace(one, position=int(moved[one.position])) for one in added.unplaced),
        exclusive={**standing.exclusive, **added.exclusive},
    )


def _with_rows(
    own: npt.NDArray[T] | None, added: npt.NDArray[T] | None, at: npt.NDArray[np.intp], n_pods: int, none: int = 0
) -> npt.NDArray[T] | None:
    """A copy of the rows of all pods with those of some; None if nobody has any."""
    if added is None:
        return own
    rows = np.full((n_pods, *added.shape[1:]), none, dtype=added.dtype) if own is None else own.copy()
    rows[at] = added
    return rows


def _placed(placement: Placement) -> Iterator[tuple[str, list[int]]]:
    """Each Job of a HyperJob that has a HyperNode, with its pods; nothing for another gang."""
    gang = placement.gang
    for part in gang.sub_groups if gang.jobs else ():
        if f"{gang.key}/{part.name}" in placement.exclusive:
            yield part.name, list(part.pods)
