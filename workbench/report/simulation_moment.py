"""Which jobs of a simulation were on which nodes at one instant, for colouring a picture."""

from __future__ import annotations

import numpy as np

from workbench.model.snapshot import ClusterSnapshot
from workbench.report.colours import NODE, job_colours
from workbench.report.occupancy import OTHERS, Held, Occupancy
from workbench.report.simulation_views import Stretch
from workbench.simulate.result import Attempt, SimulationResult

__all__ = ["attempts_at", "jobs_at", "stretches_of"]

#: The colour of a job that stands out, as in the drawing of the cluster; paler while it waits.
_OWN = job_colours(1)[0].colour


def attempts_at(result: SimulationResult, time_s: float) -> list[Attempt]:
    """The attempts that hold nodes at an instant.

    Those that end then have gone, those that start are there; from the end of the simulation on, those that held nodes
    then are there.
    """
    return [
        attempt
        for attempt in result.attempts
        if attempt.start_s <= time_s
        and (attempt.end_s > time_s or (attempt.end_s == result.ended_s and attempt.outcome in ("running", "standing")))
    ]


def stretches_of(result: SimulationResult, job: int) -> list[Stretch]:
    """When a job waited and when it held nodes, to be marked in charts over time."""
    name, free_s = result.jobs[job].gang.name, result.jobs[job].submitted_s
    found = []
    for attempt in result.attempts:
        if attempt.job == job:
            if attempt.start_s > free_s:
                found.append(Stretch(free_s, attempt.start_s, NODE, f"{name} waits"))
            found.append(Stretch(attempt.start_s, attempt.end_s, _OWN, f"{name} holds nodes"))
            free_s = attempt.end_s
    if job in result.refused:
        found.append(Stretch(free_s, result.ended_s, NODE, f"{name} waits"))
    return found


def jobs_at(result: SimulationResult, snapshot: ClusterSnapshot, time_s: float, job: int | None = None) -> Occupancy:
    """The pods and GPUs of the jobs on each node at one instant.

    Returns: the jobs in the order of their starts; a job that was asked about first, also while it has no node. Numbers
    of GPUs are not known.

    Parameters
    ----------
    snapshot : ClusterSnapshot
        The cluster at the start of the simulation.
    time_s : float
        Jobs that end at this instant have gone, those that start are there; from the end of the simulation on, those
        that held nodes then are there.
    job : int, optional
        Number of a job that has a colour of its own, and all others have one; None: every job has one.
    """
    there = attempts_at(result, time_s)
    keys = [result.jobs[attempt.job].gang.key for attempt in there]
    if job is None:
        names = list(dict.fromkeys(keys))
    else:
        names = [result.jobs[job].gang.key, OTHERS]
        keys = [names[0] if attempt.job == job else OTHERS for attempt in there]
    number = {name: i for i, name in enumerate(names)}
    counted: dict[tuple[int, int], tuple[int, int]] = {}
    for attempt, key in zip(there, keys, strict=True):
        gang = result.jobs[attempt.job].gang
        gpus = np.array([role.n_gpus for role in gang.roles], dtype=np.int64)[gang.role_of_pod]
        for node, of_pod in zip(attempt.nodes, gpus.tolist(), strict=True):
            if node >= 0:
                pods, held = counted.get((node, number[key]), (0, 0))
                counted[node, number[key]] = (pods + 1, held + of_pod)
    held_on: dict[int, list[Held]] = {}
    for (node, which), (pods, n_gpus) in sorted(counted.items()):
        held_on.setdefault(node, []).append(Held(which, pods, n_gpus))
    total = np.bitwise_count(snapshot.gpu_total).sum(axis=1)
    busy = total - np.bitwise_count(snapshot.gpu_free).sum(axis=1)
    return Occupancy(
        tuple(names),
        held_on,
        {node: int(n) for node, n in enumerate(total) if n},
        {node: int(n) for node, n in enumerate(busy) if n},
    )
