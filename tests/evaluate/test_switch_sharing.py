"""Sharing of switches between jobs, against counts by hand and over every pair of pods."""

from __future__ import annotations

import dataclasses
from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.hand_made import gang_of, placement_of
from tests.profiles import max_examples
from tests.switch_fabric import Switch, fabric, job, running_pod, with_running
from workbench.evaluate.compare import compare
from workbench.evaluate.metrics import measure_run
from workbench.evaluate.switch_sharing import JobSwitches, measure_switches, switches_matter
from workbench.model.extras import AscendWish
from workbench.model.placement import Decision
from workbench.model.snapshot import ClusterSnapshot
from workbench.model.topology import DomainSpec, Topology

#   s0: n0 n1 n2    s1: n0 n1 n2    s2: n0 n1 n2
CLUSTER = fabric([Switch(name, 3, 3) for name in ("s0", "s1", "s2")], 3)


def decided(cluster: ClusterSnapshot, **nodes: list[int]) -> list[Decision]:
    made = [placement_of(gang_of(name, len(at)), cluster.topology, at) for name, at in nodes.items()]
    return [Decision(placement.gang, placement) for placement in made]


def test_two_jobs_that_meet_on_one_switch() -> None:
    found = measure_switches(decided(CLUSTER, a=[0, 1, 3], b=[4, 6, 7], pad=[5]), CLUSTER)
    assert found is not None
    assert found.crossing == {"s0": 1, "s1": 2, "s2": 1}
    assert found.jobs == {
        "default/a": JobSwitches(switches=2, shared=1, pairs_across=2),
        "default/b": JobSwitches(switches=2, shared=1, pairs_across=2),
        "default/pad": JobSwitches(switches=1, shared=0, pairs_across=0),
    }
    assert (found.cross_jobs, found.shared, found.most_crossing, found.most_shared, found.pairs_across) == (
        2,
        1,
        2,
        1,
        4,
    )


def test_running_jobs_count_for_switches_and_not_as_placed() -> None:
    pods = [running_pod(CLUSTER, f"old-{n}", "old", "common", n, {}) for n in ("s0-n2", "s2-n2")]
    busy = with_running(CLUSTER, pods)
    found = measure_switches(decided(busy, a=[0, 3]), busy)
    assert found is not None
    assert found.crossing == {"s0": 2, "s1": 1, "s2": 1}
    assert found.jobs == {"default/a": JobSwitches(2, 1, 1)}
    leaving = dataclasses.replace(
        busy, running=tuple(dataclasses.replace(pod, terminating=True) for pod in busy.running)
    )
    gone = measure_switches(decided(leaving, a=[0, 3]), leaving)
    assert gone is not None and gone.crossing == {"s0": 1, "s1": 1, "s2": 0}


@st.composite
def sessions(draw: st.DrawFn) -> tuple[ClusterSnapshot, list[Decision]]:
    n = draw(st.integers(1, 8))
    under = draw(st.lists(st.integers(-1, 2), min_size=n, max_size=n).filter(lambda found: max(found) >= 0))
    names = [f"n{i}" for i in range(n)]
    leaves = sorted({leaf for leaf in under if leaf >= 0})
    specs = [DomainSpec(f"s{leaf}", 1, [i for i in range(n) if under[i] == leaf]) for leaf in leaves]
    cluster = fabric([Switch("x", n, n)], n)
    cluster = dataclasses.replace(cluster, topology=Topology.build(names, specs), switches=None)
    jobs = draw(st.lists(st.lists(st.integers(0, n - 1), min_size=1, max_size=5), min_size=1, max_size=4))
    return cluster, decided(cluster, **{f"j{i}": nodes for i, nodes in enumerate(jobs)})


@given(sessions())
@max_examples(150)
def test_counts_are_those_of_looking_at_every_pod(session: tuple[ClusterSnapshot, list[Decision]]) -> None:
    cluster, decisions = session
    table, found = cluster.switch_table, measure_switches(decisions, cluster)
    assert table is not None and found is not None
    where = {
        d.gang.key: [
            (f"node {node}" if table.node_switch[node] < 0 else table.names[table.node_switch[node]])
            for node in d.result.node.tolist()  # type: ignore[union-attr]
        ]
        for d in decisions
    }
    crossing = {name: sum(name in at and len(set(at)) > 1 for at in where.values()) for name in table.names}
    assert found.crossing == crossing
    for key, at in where.items():
        under = {name for name in at if name in crossing}
        shared = sum(crossing[name] > 1 for name in under) if len(set(at)) > 1 else 0
        assert found.jobs[key] == JobSwitches(len(under), shared, sum(a != b for a, b in combinations(at, 2)))


def test_without_switches_there_is_nothing_to_measure() -> None:
    flat = dataclasses.replace(CLUSTER, topology=Topology.build(CLUSTER.topology.node_names, []), switches=None)
    decisions = decided(flat, a=[0, 1])
    assert measure_switches(decisions, flat) is None
    assert not switches_matter(decisions, flat)
    assert measure_run(decisions, flat).switches is None


def test_plain_hyper_nodes_are_measured_once_somebody_asks_for_switches() -> None:
    plain = dataclasses.replace(CLUSTER, switches=None)
    gang = job("big", "foundation", 4).with_extra(AscendWish())
    assert all(row.metrics.switches is None for row in compare([gang], plain, ["gang", "spread"]).rows if row.metrics)
    both = compare([gang], plain, ["gang", "switch-affinity"])
    assert all(row.metrics is not None and row.metrics.switches is not None for row in both.rows)
    labelled = compare([job("big", "foundation", 4)], plain, ["gang"])
    record = labelled.to_dict()["policies"][0]["metrics"]
    assert record["switches"]["cross_switch_jobs"] == {"s0": 1, "s1": 1, "s2": 0}
    assert record["switches"]["pairs_across"] == 3
    assert record["jobs"]["default/big"]["switches"] == {"switches": 2, "shared_switches": 0, "pairs_across": 3}
    frame = labelled.to_dataframe()
    assert frame[["switches", "shared_switches", "pairs_across"]].values.tolist() == [[2, 0, 3]]
    assert "switches" not in compare([gang], plain, ["gang"]).to_dataframe().columns


def test_the_parts_are_plain_python_numbers() -> None:
    found = measure_switches(decided(CLUSTER, a=[0, 1, 3]), CLUSTER)
    assert found is not None
    of_job = dataclasses.astuple(found.jobs["default/a"])
    values = [*found.crossing.values(), *of_job, found.shared, found.pairs_across]
    assert not any(isinstance(value, np.generic) for value in values)
