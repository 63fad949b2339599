"""Benchmark of a study on Dask: two workers of one thread each beside one. Goal: 1.9 times as fast, on runs of 1 s.

Start-up is left out: the clusters stand, and every worker has imported the package and done a run.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from measure import row

from workbench.model.gang import Gang, Role, TopologyConstraint
from workbench.model.job_log import JobLog, LoggedJob
from workbench.policies import get_policy
from workbench.study import Study, StudyWorkload
from workbench.study.cluster import local_cluster
from workbench.topology.presets import generate_scenario

#: The second worker has to be at least so much of one.
GOAL = 1.9
JOBS = 6_400


def log(jobs: int) -> JobLog:
    """Jobs of 1 to 8 nodes, hard at tier 2, with log-normal times."""
    rng = np.random.default_rng(19)
    pods = rng.choice([1, 1, 2, 4, 8], jobs).tolist()
    seconds = rng.lognormal(8.0, 1.0, jobs).tolist()
    hard = TopologyConstraint("hard", 2)
    made = []
    for i, (n, work) in enumerate(zip(pods, seconds, strict=True)):
        role = Role("w", n, {"nvidia.com/gpu": 8, "cpu": 8000}, (8,))
        made.append(LoggedJob(Gang("default", f"job-{i}", (role,), n, constraint=hard), float(i), work, 1800.0))
    return JobLog(tuple(made), "made")


def study(seeds: Sequence[int], jobs: int = JOBS) -> Study:
    """Runs of one policy on 160 nodes at 90 % load, one for each seed."""
    snapshot = generate_scenario("balanced", sizes=(8, 5, 4)).snapshot
    workloads = {"drawn": StudyWorkload(log(jobs), load=0.9)}
    return Study("bench", {"160 nodes": snapshot}, workloads, {"volcano": get_policy("volcano")}, seeds=tuple(seeds))


@dataclass(frozen=True)
class Ready:
    """A cluster whose workers are ready: its address, and the settings by which clients reach it."""

    address: str
    settings: Mapping[str, object]


@contextmanager
def cluster(workers: int) -> Iterator[Ready]:
    """The cluster that a study starts for itself, of so many workers, which have done a run."""
    import dask
    from distributed import Client

    with local_cluster(workers) as found:
        keys = found.security
        settings = {
            "distributed.comm.require-encryption": True,
            "distributed.comm.tls.ca-file": keys.tls_ca_file,
            "distributed.comm.tls.client.key": keys.tls_client_key,
            "distributed.comm.tls.client.cert": keys.tls_client_cert,
        }
        with dask.config.set(settings), Client(found.scheduler_address, set_as_default=False) as client:
            client.run(_warm_up)
        yield Ready(found.scheduler_address, settings)


def seconds_of(measured: Study, ready: Ready) -> tuple[float, float]:
    """Wall-clock seconds of a study, none of whose runs is done, and processor seconds of all but the workers."""
    import dask

    with tempfile.TemporaryDirectory() as folder, dask.config.set(ready.settings):
        begin, busy = time.perf_counter(), time.process_time()
        measured.run(folder, ready.address)
        return time.perf_counter() - begin, time.process_time() - busy


def _warm_up() -> None:
    from workbench.simulate import get_discipline
    from workbench.study.digest import package_digest
    from workbench.study.work import simulate_case

    small = study([0], jobs=20)
    (case,) = small.cases.values()
    simulate_case(case, get_policy("volcano"), get_discipline("best-effort"), 0, package_digest())


def measured(runs: int, rounds: int) -> dict[str, object]:
    """One row: two workers beside one, in rounds that alternate, because other work on the machine comes and goes.

    The best round of each counts.
    """
    before = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
    if before:  # the benchmarks are pinned to one core
        os.sched_setaffinity(0, range(os.cpu_count() or 1))
    whole = study(range(runs))
    assert len(whole.runs) == runs  # asking for the runs works out the plan
    try:
        with cluster(1) as alone, cluster(2) as both:
            times = [(seconds_of(whole, alone), seconds_of(whole, both)) for _ in range(rounds)]
    finally:
        if before:
            os.sched_setaffinity(0, before)
    (one, _), (two, busy) = (min(each) for each in zip(*times, strict=True))
    note = (
        f"{one / runs:.2f} s per run on one worker; {one / two:.2f} times as fast, goal {GOAL}; {os.cpu_count()} cores"
        f"; scheduler and client: {busy / runs * 1e3:.0f} ms of processor time per run"
    )
    size = f"{runs} runs, {JOBS:,} jobs on 160 nodes"
    ours = [seconds * 1e6 for _, (seconds, _) in times]
    return row("study, two workers", size, ours, "one worker", one * 1e6, one / GOAL * 1e6, note, "p50")


def rows() -> Iterator[dict[str, object]]:
    yield measured(8, 2)


def slow_rows() -> Iterator[dict[str, object]]:
    yield measured(100, 1)
