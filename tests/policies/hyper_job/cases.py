"""HyperJobs on small clusters: gangs made by hand, and the HyperNode of each Job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from workbench.jobs.hyper_job.gangs import gang_of_hyper_job
from workbench.model.gang import Gang, MemberJob, Role, TopologyConstraint
from workbench.model.placement import Placement, Refusal
from workbench.objects.hyper_job import HyperJob
from workbench.objects.metadata import Metadata

GPU = "nvidia.com/gpu"

#: Every node policy beside the GPU policies, and the one that does both.
POLICIES = (
    "allocate",
    "volcano-1.13",
    "volcano-1.15",
    "switch-affinity",
    "koordinator-network",
    "koordinator-gpu",
    "gang",
    "binpack",
    "spread",
    "random",
)


def hard(tier: int) -> TopologyConstraint:
    return TopologyConstraint("hard", tier)


def job(
    index: int, pods: int = 2, gpus: int = 8, *, needs: int | None = None, tier: int | None = None, name: str = "h"
) -> Gang:
    """A Job of a HyperJob; `tier`: the highest that its own hard constraint allows."""
    role = Role("w", pods, {GPU: gpus}, container_gpus=(gpus,))
    constraint = None if tier is None else hard(tier)
    return Gang("ml", f"{name}-m-{index}", (role,), pods if needs is None else needs, constraint)


def hyper(
    jobs: Sequence[Gang | None],
    needed: int | None = None,
    constraint: TopologyConstraint | None = None,
    name: str = "h",
) -> Gang:
    """The gang of a HyperJob; None for a Job without pending pods."""
    members = [MemberJob(f"{name}-m-{i}", each) for i, each in enumerate(jobs)]
    least = len(members) if needed is None else needed
    made = gang_of_hyper_job(HyperJob(Metadata(name, "ml"), (), least, constraint), members)
    assert made is not None
    return made


def hypernodes(result: Placement | Refusal) -> list[str | None]:
    """HyperNode of each Job with pending pods."""
    gang = result.gang
    names = [each.gang.name for each in gang.jobs if each.gang is not None]
    if isinstance(result, Refusal):
        return []
    return [result.exclusive.get(f"{gang.key}/{name}") for name in names]


def renamed(gang: Gang, name: str) -> Gang:
    jobs = [each.gang and replace(each.gang, name=each.gang.name.replace(gang.name, name, 1)) for each in gang.jobs]
    return hyper(jobs, sum(gang.min_subgroups.values()), gang.constraint, name)
