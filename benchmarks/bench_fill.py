"""Benchmark of filling a cluster with pods that share GPUs, compared with the rules in plain Python."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from measure import microseconds, row

from tests.reference.gpu_sharing import Constants, Machine, Usual, Wish, place
from workbench.formats.openb import MODEL_LABEL, read_openb
from workbench.model.pod_trace import PodTrace
from workbench.policies import get_policy
from workbench.policies.gpu_sharing.policy import TYPICAL_SHARE
from workbench.policies.gpu_sharing.state import GpuModels
from workbench.simulate.day_zero import DayZero, tuned_arrivals

SAMPLE = Path(__file__).parents[1] / "datasets" / "shared-gpus"


def plain(trace: PodTrace, arrivals: np.ndarray) -> list[int]:
    """Node of each arrival by `fgd` in plain Python, -1 for none."""
    snapshot = trace.snapshot
    models = GpuModels.of(snapshot, MODEL_LABEL)
    cpu, memory = (snapshot.resources.index(name) for name in ("cpu", "memory"))
    machines = [
        Machine(int(row[cpu]), [int(row[memory])], [1000] * int(words[0]).bit_count(), int(model), [0] * 9)
        for row, words, model in zip(snapshot.allocatable, snapshot.gpu_total, models.of_node, strict=True)
    ]
    usual = [
        Usual(
            s.cpu_milli,
            s.gpu_milli,
            s.gpus,
            frozenset(i for i in range(len(models.names)) if models.mask(s.models) >> i & 1),
            f,
        )
        for s, f in trace.usual.frequencies(TYPICAL_SHARE)
    ]
    order = [int(i) for i in np.argsort(snapshot.topology.node_rank)]
    found = []
    for i in arrivals:
        shape, role = trace.shapes[i], trace.gangs[i].roles[0]
        accepts = tuple(snapshot.filters.mask(role.filter).tolist())
        wish = Wish(shape.cpu_milli, (role.requests["memory"],), shape.gpu_milli, shape.gpus, accepts)
        chosen = place("fgd", machines, order, wish, usual, Constants(), (0.0, 0.0))
        found.append(-1 if chosen is None else chosen[0])
    return found


def rows() -> Iterator[dict[str, object]]:
    trace = read_openb(SAMPLE / "nodes.csv", SAMPLE / "pods.csv")
    ready = DayZero(trace)
    arrivals = tuned_arrivals(trace, 1.3, np.random.default_rng(1))
    policy = get_policy("fgd")
    begin = time.perf_counter()
    expected = plain(trace, arrivals)
    baseline = (time.perf_counter() - begin) * 1e6
    assert ready.fill(policy, arrivals).node.tolist() == expected
    times = microseconds(lambda: ready.fill(policy, arrivals), 20)
    size = f"{len(arrivals)} pods on {trace.snapshot.n_nodes} nodes"
    yield row("fill a cluster, fgd", size, times, "plain Python", baseline, None, "the same nodes")
