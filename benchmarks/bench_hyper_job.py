"""Benchmark of placing a HyperJob: 40 Jobs × 32 pods × 8 GPUs on 5,000 nodes of three tiers.

Goals: 5 ms, placed and refused. The baseline is the same 1,280 pods as one plain gang by the same policy, without a
HyperNode for each Job.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from measure import microseconds, row
from numpy.typing import NDArray

from workbench.jobs.hyper_job.gangs import gang_of_hyper_job
from workbench.model.gang import Gang, MemberJob, Role, TopologyConstraint
from workbench.model.snapshot import ClusterSnapshot
from workbench.objects.hyper_job import HyperJob
from workbench.objects.metadata import Metadata
from workbench.policies import Policy, get_policy
from workbench.topology.presets import generate_scenario

GOAL_US = 5_000.0
GPU = "nvidia.com/gpu"
#: Nodes of a HyperNode of tier 1, those of tier 1 in one of tier 2, those of tier 2.
FITS, TOO_NARROW = (32, 52, 3), (32, 39, 4)


def hyper_job(jobs: int = 40, pods: int = 32) -> Gang:
    """The HyperJob of the design document: across tier 2, each Job inside tier 1."""
    role = Role("worker", pods, {GPU: 8}, container_gpus=(8,))
    one = Gang("default", "", (role,), pods, TopologyConstraint("hard", 1))
    members = [MemberJob(f"h-m-{i}", replace(one, name=f"h-m-{i}")) for i in range(jobs)]
    made = gang_of_hyper_job(HyperJob(Metadata("h", "default"), (), jobs, TopologyConstraint("hard", 2)), members)
    if made is None:
        raise RuntimeError("benchmark: the HyperJob has no pods")
    return made


def place_us(policy: Policy, gang: Gang, snapshot: ClusterSnapshot) -> NDArray[np.float64]:
    """Microseconds of placing a gang on a fresh ledger."""
    return microseconds(lambda: policy.place(gang, snapshot.ledger()), 20)


def rows() -> Iterator[dict[str, object]]:
    """The rows of this file."""
    gang = hyper_job()
    plain = Gang("default", "plain", (Role("worker", 1280, {GPU: 8}, container_gpus=(8,)),), 1280)
    for name, sizes in (("place", FITS), ("refuse", TOO_NARROW)):
        snapshot = generate_scenario("use-case-1", pods=3000, sizes=sizes).snapshot
        size = f"40 Jobs × 32 pods × 8 GPUs, {snapshot.n_nodes:,} nodes"
        for policy in ("gang", "volcano-1.13", "volcano-1.15"):
            chosen = get_policy(policy)
            if chosen.schedule([gang], snapshot)[0].placed != (name == "place"):
                raise RuntimeError(f"benchmark: {policy} does not {name} the HyperJob")
            alone = float(place_us(chosen, plain, snapshot).min())
            times = place_us(chosen, gang, snapshot)
            yield row(f"hyper_job.{name}", size, times, "one plain gang", alone, GOAL_US, policy, goal_of="p50")
