"""`simulate`: a simulation in one call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.cancel import ProgressOption
from workbench.model.job_log import JobLog
from workbench.model.scenario import Scenario
from workbench.model.snapshot import ClusterSnapshot
from workbench.policies.contract import Policy
from workbench.simulate.engine import Simulation
from workbench.simulate.job import SimulatedJob
from workbench.simulate.result import SimulationResult

__all__ = ["simulate"]


def simulate(
    cluster: ClusterSnapshot | Scenario,
    jobs: Sequence[SimulatedJob] | JobLog,
    policy: Policy | str = "volcano",
    *,
    until_s: float = float("inf"),
    progress: ProgressOption = None,
    **options: Any,
) -> SimulationResult:
    """Let jobs arrive, wait, run and end on a cluster, placed by one policy.

    Parameters
    ----------
    cluster : ClusterSnapshot or Scenario
        The cluster at the start; jobs that wait in a scenario are left out.
    jobs : sequence of SimulatedJob, or JobLog
        Jobs with the times of their arrival and their work, such as `workbench.load_jobs` reads.
    policy : Policy or str
    until_s : float
        Instant up to which time passes.
    progress : bool or callable, optional
        True: show a bar; a function is called with (jobs completed, jobs, name of the job).
    **options
        Further arguments of `workbench.Simulation`: discipline, breakdowns, quotas, weights, retry, network.

    Returns
    -------
    SimulationResult

    Examples
    --------
    >>> import workbench as wb
    >>> tree = wb.generate_scenario("three-level-tree")
    >>> work = [wb.SimulatedJob(wb.gang(f"job-{i}", pods=5, gpus=8), 0.0, 60.0) for i in range(2)]
    >>> result = wb.simulate(tree, work, "binpack")
    >>> result.to_dataframe()["waited_s"].tolist()
    [0.0, 60.0]
    """
    return Simulation(cluster, policy, jobs, **options).run(until_s, progress).result()
