"""The Jobs of a placed HyperJob, each with its HyperNode and as a placement of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from workbench.kernels.domains import NO_RECORD
from workbench.model.placement import Placement

__all__ = ["PlacedJob", "placed_jobs"]


@dataclass(frozen=True)
class PlacedJob:
    """One Job of a placed HyperJob that had pending pods.

    `placement`: the Job's pods alone; none of them has a node if the Job was left out.
    """

    name: str
    placement: Placement

    @property
    def placed(self) -> bool:
        """Whether the Job has a HyperNode."""
        return self.placement.has_record

    @property
    def pods(self) -> str | int:
        """Number of the Job's pods if all have a node, otherwise a text such as ``3 of 4``."""
        n_pods, n_placed = self.placement.gang.n_pods, self.placement.n_placed
        return n_pods if n_placed == n_pods else f"{n_placed} of {n_pods}"

    def to_dict(self) -> dict[str, Any]:
        """The Job as a JSON-ready dict: name, outcome, HyperNode and its tier, and the number of pods with a node."""
        return {
            "name": self.name,
            "outcome": "placed" if self.placed else "pending",
            "hypernode": self.placement.hypernode or None,
            "tier": self.placement.tier,
            "pods": self.placement.n_placed,
        }


def placed_jobs(placement: Placement) -> Iterator[PlacedJob]:
    """The Jobs with pending pods of a placed HyperJob, in its order; nothing for a gang that is no HyperJob."""
    gang, topology = placement.gang, placement.topology
    jobs = [job.gang for job in gang.jobs if job.gang is not None]
    for part, job in zip(gang.sub_groups, jobs, strict=False):
        pods = slice(part.pods[0], part.pods[-1] + 1)
        name = placement.exclusive.get(f"{gang.key}/{job.name}")
        yield PlacedJob(
            job.name,
            replace(
                placement,
                gang=job,
                node=placement.node[pods],
                gpu_words=None if placement.gpu_words is None else placement.gpu_words[pods],
                visible_words=None if placement.visible_words is None else placement.visible_words[pods],
                annotation_group=None if placement.annotation_group is None else placement.annotation_group[pods],
                record=NO_RECORD if name is None else topology.domain(name),
                has_record=name is not None,
                records={},
                unplaced=tuple(
                    replace(one, position=one.position - pods.start)
                    for one in placement.unplaced
                    if pods.start <= one.position < pods.stop
                ),
                warnings=(),
                exclusive={},
            ),
        )
