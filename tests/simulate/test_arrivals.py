"""Arrivals drawn at a load."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from tests.hand_made import document_tree, gang_of, snapshot_of
from workbench.errors import InputError, UnknownNameError
from workbench.simulate import SimulatedJob
from workbench.simulate.arrivals import ARRIVALS, Arrivals, at_load

SNAPSHOT = snapshot_of(document_tree(), 8)
GPUS = 64


@cache
def jobs_of(n: int) -> list[SimulatedJob]:
    kinds = [SimulatedJob(gang_of(f"{pods} pods", pods, 4), 5.0, 3600.0) for pods in (1, 2)]
    return [kinds[i % 2] for i in range(n)]


@pytest.mark.parametrize("kind", ARRIVALS)
def test_jobs_ask_for_the_load(kind: Arrivals) -> None:
    drawn = at_load(jobs_of(20_000), SNAPSHOT, 0.8, np.random.default_rng(1), kind)
    times = [job.submitted_s for job in drawn]
    assert times == sorted(times)
    work = sum(job.gang.n_pods * 4 * job.duration_s for job in drawn)
    assert work / (GPUS * times[-1]) == pytest.approx(0.8, rel=0.08)
    again = at_load(jobs_of(20_000), SNAPSHOT, 0.8, np.random.default_rng(1), kind)
    assert [job.submitted_s for job in again] == times


@pytest.mark.slow
def test_kinds_differ_as_they_say() -> None:
    gaps = {
        kind: np.diff(
            [job.submitted_s for job in at_load(jobs_of(40_000), SNAPSHOT, 0.8, np.random.default_rng(2), kind)]
        )
        for kind in ARRIVALS
    }
    assert gaps["poisson"].std() / gaps["poisson"].mean() == pytest.approx(1, rel=0.05)
    assert gaps["bursty"].std() / gaps["bursty"].mean() == pytest.approx(5, rel=0.15)
    hours = np.cumsum(gaps["diurnal"]) % 86_400 // 3600
    count = np.bincount(hours.astype(int), minlength=24)
    assert count[5:7].mean() / count[17:19].mean() == pytest.approx(1.6 / 0.4, rel=0.25)


def test_bad_input_is_named() -> None:
    rng = np.random.default_rng(1)
    unknown: Any = "weekly"
    with pytest.raises(UnknownNameError):
        at_load(jobs_of(3), SNAPSHOT, 0.5, rng, unknown)
    for jobs, load in ((jobs_of(3), 0.0), ([], 0.5), (jobs_of(3), float("inf"))):
        with pytest.raises(InputError, match="no load"):
            at_load(jobs, SNAPSHOT, load, rng)
