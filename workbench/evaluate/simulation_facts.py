"""`SimulationFacts` and `FillFacts`: what the metrics of a simulation, and of a filled cluster, are computed from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.model.arrays import Floats

if TYPE_CHECKING:
    import pandas

__all__ = ["FillFacts", "SimulationFacts"]


class SimulationFacts:
    """The record of one simulation and the quantities that several metrics need. Times are in seconds.

    `result`: with its attempts, its usage over time and `to_dataframe`.
    """

    def __init__(self, result: Any) -> None:
        self.result = result

    @cached_property
    def jobs(self) -> pandas.DataFrame:
        """A row per job, as `SimulationResult.to_dataframe` returns it."""
        frame: pandas.DataFrame = self.result.to_dataframe()
        return frame

    @cached_property
    def waited_s(self) -> Floats:
        """Waiting times of the jobs that started, float64 (jobs that started,)."""
        return self.jobs["waited_s"].dropna().to_numpy(np.float64)

    @cached_property
    def slowdowns(self) -> Floats:
        """(Waiting + running) / running of the completed jobs, float64."""
        whole = self.jobs["ended_s"] - self.jobs["submitted_s"]
        running = whole - self.jobs["waited_s"]
        return (whole / running)[running > 0].dropna().to_numpy(np.float64)

    @cached_property
    def makespan_s(self) -> float:
        """Time of the last completion; NaN if no job completed."""
        ended = self.jobs["ended_s"].dropna()
        return float(ended.max()) if len(ended) else float("nan")

    @property
    def span_s(self) -> float:
        """`makespan_s`, or the time up to which the simulation had run if something was left to happen."""
        return self.makespan_s if self.result.done else float(self.result.ended_s)

    @cached_property
    def gpu_s(self) -> float:
        """GPU seconds in use during the whole simulation."""
        return self._gpu_s_until(self.result.ended_s)

    @cached_property
    def gpu_use(self) -> float:
        """GPU seconds in use up to `span_s`, as a part of those that there are, 0 to 1; NaN without GPUs or time."""
        span = self.span_s
        return self._gpu_s_until(span) / (self.result.n_gpus * span) if self.result.n_gpus and span > 0 else np.nan

    def part_of_use(self, seconds: str) -> float:
        """A kind of lost GPU time as a part of the GPU seconds in use; NaN if no GPU was used.

        `seconds` ({"redone_s", "slowed_s"}): attribute of `Attempt`.
        """
        lost = sum(getattr(attempt, seconds) * attempt.gpus for attempt in self.result.attempts)
        return lost / self.gpu_s if self.gpu_s else np.nan

    def _gpu_s_until(self, end_s: float) -> float:
        time = np.array([row.time_s for row in self.result.usage])
        gpus = np.array([row.gpus for row in self.result.usage], dtype=np.float64)
        until = np.append(time[1:], self.result.ended_s)
        return float((gpus * (np.minimum(until, end_s) - np.minimum(time, end_s))).sum())


@dataclass(frozen=True, eq=False)
class FillFacts:
    """The ends of the runs in which one policy filled a cluster, each an array with a number per seed.

    `allocated`, `fragmented` (ndarray of shape (seeds,), float64): percent of the cluster's GPU thousandths that pods
    hold, and that are idle but of no use to the usual pod. `bounds` (ndarray of shape (seeds,), float64): percent that
    no policy can exceed, were all arrivals known.
    """

    allocated: Floats
    fragmented: Floats
    bounds: Floats
