"""Free nodes over time, by tier, on two switches of four nodes."""

from __future__ import annotations

from tests.simulate.test_engine import SNAPSHOT, job, run
from workbench.formats.job_logs.base import make_gang
from workbench.report.simulation_views import draw_free_nodes
from workbench.simulate import SimulatedJob
from workbench.simulate.free_nodes import free_nodes

LEAF = SNAPSHOT.topology.tiers[0]


def test_free_nodes_anywhere_and_in_one_hypernode() -> None:
    result = run([job("a", 4, 0, 10), job("b", 2, 5, 10), job("c", 1, 20, 5)])
    frame = free_nodes(result, SNAPSHOT)
    assert frame["time_s"].tolist() == [0, 5, 10, 15, 20, 25]
    assert frame["free"].tolist() == [4, 2, 6, 8, 7, 8]
    assert frame[f"tier {LEAF}"].tolist() == [4, 2, 4, 4, 4, 4]
    assert [
        f"tier {tier}" in chart for tier, chart in zip(SNAPSHOT.topology.tiers, draw_free_nodes([result], SNAPSHOT))
    ]


def test_every_node_is_free_until_the_first_job_starts() -> None:
    frame = free_nodes(run([job("late", 2, 100, 10)]), SNAPSHOT)
    assert frame["time_s"].tolist() == [0, 100, 110]
    assert frame["free"].tolist() == [8, 6, 8]


def test_every_node_is_free_if_no_job_starts() -> None:
    result = run([job("huge", 500, 0, 10)])
    frame = free_nodes(result, SNAPSHOT)
    assert frame["free"].tolist() == [8]
    assert frame[f"tier {LEAF}"].tolist() == [4]
    assert "<svg" in draw_free_nodes([result], SNAPSHOT)[0]


def test_pods_without_gpus_leave_their_nodes_free() -> None:
    without = SimulatedJob(make_gang("cpu", 3, {"cpu": 1000}), 0.0, 10.0)
    frame = free_nodes(run([without, job("a", 1, 0, 10)]), SNAPSHOT)
    assert frame["free"].tolist() == [7, 8]
