"""Benchmark of a fleet of a million GPUs, six of ten of them busy: loading, comparing, one gang more, a day, the page.

All rows are slow. Times are processor time unless the row says otherwise.
"""

from __future__ import annotations

import json
import os
import resource
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np
from measure import row

import workbench as wb
from workbench.formats.job_logs.table import day_of_jobs
from workbench.model.gang import Gang
from workbench.model.placement import Placement
from workbench.model.scenario import Scenario
from workbench.model.snapshot import ClusterSnapshot
from workbench.policies import get_policy
from workbench.topology.presets import generate_jobs, generate_scenario

POLICIES = ("volcano-1.13", "volcano-1.15", "gang")
#: Fleets of 1,024 to 131,072 nodes: sizes of the HyperNodes of each tier.
SIZES = tuple((16, 16, a, b) for a, b in ((2, 2), (4, 2), (4, 4), (8, 4), (8, 8), (16, 8), (16, 16), (16, 32)))
#: Gangs that are placed one after another for the time of one more.
GANGS = 200
ARRIVALS, DAY_S = 20_000, 86_400.0


def seconds(call: Callable[[], object]) -> float:
    """Processor seconds of a call."""
    begin = time.process_time()
    call()
    return time.process_time() - begin


def cost_per_gang(sizes: Sequence[int], policy: str) -> tuple[int, float]:
    """Nodes of a fleet, and the median microseconds of gangs that come and go one after another.

    Gangs of 8 to 32 pods, so that every size of fleet is asked the same; the first call is left out.
    """
    snapshot = generate_scenario("fleet", sizes=tuple(sizes), pending=0).snapshot
    asked = small_gangs()
    stream = get_policy(policy).stream(snapshot)
    times = []
    for gang in asked:
        begin = time.process_time()
        answer = stream.place(gang)
        times.append(1e6 * (time.process_time() - begin))
        if isinstance(answer, Placement):
            stream.give_back(answer)
    return snapshot.n_nodes, float(np.median(times[1:]))


def small_gangs() -> list[Gang]:
    """Gangs of the preset with 8 to 32 pods."""
    made = (job.gang() for job in generate_jobs("fleet", sizes=(16, 16, 2, 2), pending=GANGS))
    return list(made)


def slope(costs: Sequence[tuple[int, float]]) -> float:
    """Exponent p of cost = c · nodes^p, fitted by least squares on logarithms; `costs` are nodes with times."""
    nodes, times = np.log(np.array(costs, dtype=np.float64)).T
    return float(np.polyfit(nodes, times, 1)[0])


def rows() -> Iterator[dict[str, object]]:
    return iter(())


def slow_rows() -> Iterator[dict[str, object]]:
    fleet = generate_scenario("fleet")
    size = f"{fleet.snapshot.n_nodes:,} nodes"
    with tempfile.TemporaryDirectory() as folder:
        yield loaded(fleet, Path(folder, "fleet.json"), size)
    yield compared(fleet, size)
    yield side_by_side(fleet, size)
    yield from one_more(fleet, size)
    yield opened(fleet.snapshot, size)
    yield simulated(fleet.snapshot, size)


def loaded(fleet: Scenario, path: Path, size: str) -> dict[str, object]:
    wb.save(fleet, path)
    ours = [1e6 * seconds(lambda: wb.load(path)) for _ in range(3)]
    fault = "" if wb.load(path).snapshot == fleet.snapshot else "what is read differs from what was written"
    parsing = 1e6 * seconds(lambda: json.loads(path.read_bytes()))
    note = f"{path.stat().st_size / 1e6:.0f} MB, {len(fleet.snapshot.running):,} running pods"
    return row("load a fleet", size, ours, "json.loads, parsing only", parsing, 5e6, note, "p50", fault)


def compared(fleet: Scenario, size: str) -> dict[str, object]:
    """All policies in turn, beside first fit by the policy `gang` alone."""
    found: list[wb.Comparison] = []
    ours = 1e6 * seconds(lambda: found.append(wb.compare(fleet, POLICIES)))
    simple = 1e6 * seconds(lambda: wb.compare(fleet, ["gang"]))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    fault = "" if peak <= 6 else f"{peak:.1f} GiB at the most, 6 are allowed"
    note = f"{len(fleet.gangs):,} gangs, {found[0]}; at most {peak:.2f} GiB"
    return row("compare a fleet's gangs, 3 policies", size, [ours], "gang alone", simple, 60e6, note, "p50", fault)


@contextmanager
def all_cores() -> Iterator[None]:
    """The benchmarks are pinned to one core."""
    before = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
    if before:
        os.sched_setaffinity(0, range(os.cpu_count() or 1))
    try:
        yield
    finally:
        if before:
            os.sched_setaffinity(0, before)


def side_by_side(fleet: Scenario, size: str) -> dict[str, object]:
    """Wall-clock time of two processes beside that of one, in rounds that alternate."""
    found: dict[int, list[float]] = {1: [], 2: []}
    answers = []
    with all_cores():
        for jobs in (1, 2, 1, 2):
            begin = time.perf_counter()
            comparison = wb.compare(fleet, POLICIES, jobs=jobs)
            found[jobs].append(1e6 * (time.perf_counter() - begin))
            record = comparison.to_dict()
            answers.append([{**each, "decision_s": 0} for each in record["policies"]])
    fault = "" if all(each == answers[0] for each in answers) else "two processes answer otherwise than one"
    note = f"wall-clock time, {os.cpu_count()} cores"
    return row("compare, two processes", size, found[2], "one process", min(found[1]), 60e6, note, "p50", fault)


def one_more(fleet: Scenario, size: str) -> Iterator[dict[str, object]]:
    """One more gang in a stream, beside a session of its own."""
    for name in POLICIES:
        policy = get_policy(name)
        stream = policy.stream(fleet.snapshot)
        stream.place(fleet.gangs[0])
        ours = [1e6 * seconds(partial(stream.place, gang)) for gang in fleet.gangs[1 : 1 + GANGS]]
        alone = [1e6 * seconds(partial(wb.place, gang, fleet.snapshot, policy)) for gang in fleet.gangs[1:11]]
        small = [cost_per_gang(sizes, name) for sizes in SIZES[::2]]
        exponent = slope(small)
        note = f"gangs of 8 to 4,096 pods; cost of a small gang grows with nodes^{exponent:.2f}"
        yield row(f"one more gang, {name}", size, ours, "session of its own", float(np.median(alone)), 50e3, note)


def opened(snapshot: ClusterSnapshot, size: str) -> dict[str, object]:
    """The topology editor with the message that it sends to the page; the browser is not measured."""
    wb.TopologyEditor(generate_scenario("fleet", sizes=(4, 4)))
    sent: list[str] = []

    def begin() -> None:
        editor = wb.TopologyEditor(snapshot)
        sent.append(json.dumps(editor.receive({"id": 1, "type": "state", "body": {}})))
        editor.close()

    ours = [1e6 * seconds(begin) for _ in range(3)]
    note = f"message of {len(sent[0]) / 1e6:.0f} MB; the browser is not measured"
    parsing = 1e6 * seconds(lambda: json.loads(sent[0]))
    return row("open a fleet in the editor", size, ours, "json.loads of the message", parsing, 5e6, note, "p50")


def simulated(snapshot: ClusterSnapshot, size: str) -> dict[str, object]:
    jobs = generate_jobs("fleet", pending=ARRIVALS)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "day.csv")
        path.write_text(day_of_jobs([job.gang() for job in jobs], 0))
        log = wb.load_jobs(path)
    found: dict[str, wb.Simulation] = {}

    def run(policy: str) -> None:
        found[policy] = wb.Simulation(snapshot, policy, log).run(DAY_S)

    ours, simple = (1e6 * seconds(partial(run, name)) for name in ("volcano", "gang"))
    note = str(found["volcano"])
    return row("simulate a day of 20,000 arrivals", size, [ours], "gang", simple, 300e6, note, "p50")
