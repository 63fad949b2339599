"""`measure_switches`: how the jobs of a cluster share leaf switches (ToR) after a scheduling session.

`switch_changes`: the state of every leaf switch before and after the session.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from workbench.model.extras import AscendWish
from workbench.model.placement import Decision, Placement
from workbench.model.snapshot import ClusterSnapshot
from workbench.model.value import Value

__all__ = [
    "JobSwitches",
    "SwitchChange",
    "SwitchSharing",
    "after_session",
    "measure_switches",
    "switch_changes",
    "switches_matter",
]


@dataclass(frozen=True)
class JobSwitches:
    """How one job uses the leaf switches.

    Attributes
    ----------
    switches : int
        Number of switches with a pod of the job.
    shared : int
        Number of the job's switches that another cross-switch job uses too; 0 for a job under one switch.
    pairs_across : int
        Unordered pairs of the job's pods that share no switch. A pod without a switch shares one only with pods on its
        own node.
    """

    switches: int
    shared: int
    pairs_across: int


@dataclass(frozen=True, eq=False)
class SwitchSharing(Value):
    """How all jobs use the leaf switches after a scheduling session.

    A cross-switch job has pods both under a switch and elsewhere. Counts are of pods and nodes, never of annotations,
    so that all policies are measured equally.

    `crossing`: cross-switch jobs of every switch, running ones included, in configuration order. `jobs`: use of
    switches by each placed gang, including its pods that ran before.
    """

    crossing: Mapping[str, int]
    jobs: Mapping[str, JobSwitches]

    @property
    def shared(self) -> int:
        """Number of leaf switches that two or more cross-switch jobs share."""
        return sum(count > 1 for count in self.crossing.values())

    @property
    def most_crossing(self) -> int:
        """Largest number of cross-switch jobs on one leaf switch."""
        return max(self.crossing.values(), default=0)

    @property
    def most_shared(self) -> int:
        """Largest number of shared leaf switches that one placed job uses."""
        return max((job.shared for job in self.jobs.values()), default=0)

    @property
    def cross_jobs(self) -> int:
        """Number of placed jobs with pods both under a switch and elsewhere."""
        return sum(job.switches > 0 and job.pairs_across > 0 for job in self.jobs.values())

    @property
    def pairs_across(self) -> int:
        """Number of pairs of pods of one job that share no leaf switch, summed over the placed jobs."""
        return sum(job.pairs_across for job in self.jobs.values())


def switches_matter(decisions: Sequence[Decision], snapshot: ClusterSnapshot) -> bool:
    """Whether the sharing of leaf switches is worth measuring for these decisions.

    It is if there is a switch file, a job has the label tor-affinity, or a policy placed a job by switches. Tier-1
    HyperNodes alone do not count.
    """
    if snapshot.switches is not None and snapshot.switches.names:
        return True
    asked = any(
        d.gang.extra(AscendWish).job_class or (isinstance(d.result, Placement) and d.result.job_class)
        for d in decisions
    )
    return asked and snapshot.switch_table is not None


def measure_switches(decisions: Sequence[Decision], snapshot: ClusterSnapshot) -> SwitchSharing | None:
    """Measure how jobs share the leaf switches once all placements of a session are running.

    `snapshot`: the cluster before the session; terminating pods and pods of no job are left out. Returns None where the
    snapshot has no switches.
    """
    table = snapshot.switch_table
    if table is None:
        return None
    running = snapshot.running_jobs
    placements = [d.result for d in decisions if isinstance(d.result, Placement)]
    number = {key: i for i, key in enumerate(running.keys)}
    jobs, nodes = [np.repeat(np.arange(len(running.keys)), np.diff(running.start))], [running.node]
    for placement in placements:
        at = number.setdefault(placement.gang.key, len(number))
        placed = placement.node[placement.node >= 0]
        jobs.append(np.full(len(placed), at, dtype=np.int32))
        nodes.append(placed)
    job, node = np.concatenate(jobs).astype(np.int64), np.concatenate(nodes).astype(np.int64)
    s = table.n_switches
    # Location of a pod: its switch, else a number of its node alone; -1 is a node that is not in the snapshot.
    alone = s + 1 + node
    place = np.where(node >= 0, np.where(table.node_switch[node] >= 0, table.node_switch[node], alone), s)
    width = s + 1 + table.n_nodes
    places, pods = np.unique(job * width + place, return_counts=True)
    job, switch = places // width, places % width
    n_jobs = len(number)
    of_job = np.bincount(job, minlength=n_jobs)
    under = switch < s
    crossing = np.bincount(switch[under & (of_job[job] > 1)], minlength=s)
    n_pods = np.bincount(job, weights=pods, minlength=n_jobs).astype(np.int64)
    together = np.bincount(job, weights=pods * (pods - 1) // 2, minlength=n_jobs).astype(np.int64)
    across = n_pods * (n_pods - 1) // 2 - together
    switches = np.bincount(job[under], minlength=n_jobs)
    theirs = under & (of_job[job] > 1)
    shared = np.bincount(job[theirs][crossing[switch[theirs]] > 1], minlength=n_jobs)
    return SwitchSharing(
        dict(zip(table.names, crossing.tolist(), strict=True)),
        {
            p.gang.key: JobSwitches(int(switches[at]), int(shared[at]), int(across[at]))
            for p in placements
            for at in (number[p.gang.key],)
        },
    )


@dataclass(frozen=True)
class SwitchChange:
    """State of one leaf switch before and after a scheduling session.

    `switch`: name of the switch. `address`: the switch's address (tor_ip); empty if unknown. `before`, `after`:
    ``idle``, ``exclusive``, ``shared/healthy`` or ``shared/unhealthy``.
    """

    switch: str
    address: str
    before: str
    after: str

    def to_dict(self) -> dict[str, Any]:
        """The change as a JSON-ready dict."""
        return asdict(self)


def after_session(snapshot: ClusterSnapshot, decisions: Sequence[Decision]) -> ClusterSnapshot:
    """The snapshot as it is once every placed gang of a session is running."""
    for decision in decisions:
        if isinstance(decision.result, Placement):
            snapshot = snapshot.with_placement(decision.result)
    return snapshot


def switch_changes(before: ClusterSnapshot, after: ClusterSnapshot) -> tuple[SwitchChange, ...]:
    """State of every leaf switch in two snapshots of one cluster, in configuration order; empty without switches."""
    old, new = before.ledger().switches, after.ledger().switches
    if old is None or new is None:
        return ()
    table = old.table
    rows = zip(table.names, table.addresses, old.states().names(), new.states().names(), strict=True)
    return tuple(SwitchChange(*row) for row in rows)
