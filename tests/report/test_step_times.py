"""The chart of step times."""

from __future__ import annotations

from workbench.evaluate.contention import Network, RoutedFabric, TierLinks, TrainingStep
from workbench.formats.job_logs.base import make_gang
from workbench.policies.registry import get_policy
from workbench.report.simulation_views import draw_step_times
from workbench.simulate import SimulatedJob, Simulation
from workbench.topology.presets import generate_scenario


def test_jobs_that_hold_no_gpu_have_no_gpu_time_to_share() -> None:
    snapshot = generate_scenario("balanced", sizes="2,2").snapshot
    fabric = RoutedFabric.of(snapshot, 10.0, {tier: TierLinks(2.5) for tier in snapshot.topology.tiers})
    jobs = [
        SimulatedJob(make_gang("plain", 2, {"cpu": 1000}), 0.0, 10.0, step=TrainingStep(1.0, {"data": 8.0})),
    ]
    result = Simulation(snapshot, get_policy("gang"), jobs, network=Network(fabric)).run().result()
    assert (result.step_frame()["card_s"] > 0).any()
    assert draw_step_times([result]).startswith("<svg")
    assert draw_step_times([result], (0.0, 5.0)).startswith("<svg")
