"""The benchmark of Volcano's two-level search: what it times side by side answers one question."""

from __future__ import annotations

import importlib.util
import math
import random
import sys
from pathlib import Path

import pytest

from workbench.model.labels import NodeLabels, NodeTaints
from workbench.model.placement import Placement
from workbench.policies import get_policy

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    spec = importlib.util.spec_from_file_location("bench_volcano", FOLDER / "bench_volcano.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "bench_volcano", module)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("kind", ["identical", "roles", "distinct"])
def test_search_policy_and_naive_search_choose_the_same_nodes(bench, kind):
    rng = random.Random(f"one question {kind}")
    made = bench.cluster("small", 300, [300, 150, 40, 6], rng, singles=290)
    topology, policy = bench.topology_of(made), get_policy("volcano-1.15")
    labels = NodeLabels.from_rows(topology.node_names, [{}] * made.n)
    taints = NodeTaints.from_rows([()] * made.n)
    placed = 0
    for i in range(30):
        bench.occupy(made, rng)
        ask = bench.draw(made, rng, 1 + i % 6, kind, 0, placed=i % 3 != 2)
        result = policy.place(bench.gang_of(ask), bench.snapshot_of(made, topology, labels, taints).ledger())
        assert bench.disagreement(made, ask, result) == ""
        assert bench.naive(made, ask, math.inf) == bench.search(made, ask)
        placed += isinstance(result, Placement)
    assert 10 <= placed <= 25


def test_an_answer_to_another_question_is_found_out(bench):
    """Once other nodes are busy, what the policy chose before is no longer what the search chooses."""
    rng = random.Random("another question")
    made = bench.cluster("small", 300, [300, 150, 40, 6], rng, singles=290)
    topology = bench.topology_of(made)
    free = (NodeLabels.from_rows(topology.node_names, [{}] * made.n), NodeTaints.from_rows([()] * made.n))
    ask = bench.draw(made, rng, 3, "roles", 0, placed=True)
    result = get_policy("volcano-1.15").place(bench.gang_of(ask), bench.snapshot_of(made, topology, *free).ledger())
    assert bench.disagreement(made, ask, result) == ""
    bench.occupy(made, rng, 0.5, 0.0)
    assert bench.disagreement(made, ask, result)
