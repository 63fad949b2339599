"""Free nodes over time, by tier, on two switches of four nodes."""

from __future__ import annotations

from tests.simulate.test_engine import SNAPSHOT, job, run
from workbench.report.simulation_views import draw_free_nodes
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
