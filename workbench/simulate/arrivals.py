"""Times at which jobs arrive, drawn at a given load: evenly at random, by day and night, or in bursts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import pi
from typing import Literal

import numpy as np
import numpy.typing as npt

from workbench.errors import InputError, UnknownNameError
from workbench.model.counted import counted
from workbench.model.gpu_shares import WHOLE_GPU
from workbench.model.snapshot import ClusterSnapshot
from workbench.simulate.job import SimulatedJob

__all__ = ["ARRIVALS", "Arrivals", "at_load"]

Arrivals = Literal["poisson", "diurnal", "bursty"]
ARRIVALS: tuple[Arrivals, ...] = ("poisson", "diurnal", "bursty")

_DAY = 86_400.0
#: At its height the rate of diurnal arrivals is 1.6 times the mean, twelve hours later 0.4 times.
_AMPLITUDE = 0.6
#: Standard deviation of the gaps between bursty arrivals over their mean; 1 is Poisson, a public log has 15.
_SPREAD = 5.0


def at_load(
    jobs: Sequence[SimulatedJob],
    snapshot: ClusterSnapshot,
    load: float,
    rng: np.random.Generator,
    kind: Arrivals = "poisson",
) -> list[SimulatedJob]:
    """Give jobs new times of arrival, in their order, so that they ask for a given part of a cluster's GPU time.

    Raises InputError: a load that is not above 0; jobs that ask for no GPU time; a cluster without GPUs. Raises
    UnknownNameError: no such kind of arrivals.

    Parameters
    ----------
    jobs, snapshot
    load : float
        GPU seconds that the jobs ask for, over those that the cluster has until the last one arrives; above 0. A finite
        number of jobs is a sample: the load that is drawn differs.
    kind : {"poisson", "diurnal", "bursty"}
        ``poisson``: independent arrivals. ``diurnal``: independent, with a rate that swings by 60 % within a day.
        ``bursty``: gaps from a gamma distribution whose standard deviation is five times its mean.
    """
    if kind not in ARRIVALS:
        raise UnknownNameError("kind of arrivals", kind, ARRIVALS)
    gpus = int(np.bitwise_count(snapshot.gpu_total).sum())
    work = sum(_gpus(job) * job.duration_s for job in jobs)
    if not (0 < load < float("inf") and work > 0 and gpus):
        got = f"load {load:g}, {work:g} GPU seconds of jobs, {counted(gpus, 'GPU')}"
        raise InputError("no load to draw arrivals for", source="arrivals", got=got, expected="all above 0")
    mean = work / (len(jobs) * load * gpus)
    shape = 1.0 if kind != "bursty" else 1 / _SPREAD**2
    times = rng.gamma(shape, mean / shape, len(jobs)).cumsum()
    if kind == "diurnal":
        times = _by_day(times)
    return [replace(job, submitted_s=float(time)) for job, time in zip(jobs, times, strict=True)]


def _gpus(job: SimulatedJob) -> float:
    return sum(role.count * (role.n_gpus + role.gpu_milli / WHOLE_GPU) for role in job.gang.roles)


def _by_day(times: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Move times of a constant rate so that the rate swings within a day, highest a quarter of a day after midnight."""
    # The expected number of arrivals until t, in units of the mean gap, inverted on a grid of minutes.
    grid = np.arange(0.0, float(times[-1]) + 2 * _DAY, 60.0)
    expected = grid + _AMPLITUDE * _DAY / (2 * pi) * (1 - np.cos(2 * pi * grid / _DAY))
    moved: npt.NDArray[np.float64] = np.interp(times, expected, grid)
    return moved
