"""The unit of work of a study: one simulation, from a case, a policy, a discipline and a seed to its numbers.

What stands here runs in the workers.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np

from workbench.errors import ClusterError
from workbench.evaluate.contention import Network
from workbench.evaluate.metric import Metric
from workbench.evaluate.simulation_metrics import SIMULATION_METRICS
from workbench.model.snapshot import ClusterSnapshot
from workbench.model.value import Value
from workbench.policies.contract import Policy
from workbench.policies.retry import AT_CHANGES
from workbench.simulate import Breakdown, Discipline, FaultRates, SimulatedJob, Simulation, draw_breakdowns
from workbench.simulate.arrivals import Arrivals, at_load
from workbench.simulate.from_log import fault_horizon_s
from workbench.study.digest import package_digest

__all__ = ["Case", "shared_case", "simulate_case", "simulate_shared"]

#: Seeds the generator of faults together with the run's seed, so that faults are independent of arrivals.
_FAULTS = 1


@dataclass(frozen=True, eq=False)
class Case(Value):
    """The input of a run except its policy, discipline and seed.

    Attributes
    ----------
    jobs : tuple of SimulatedJob
        With the times of their log.
    quotas : mapping of str to mapping of str to int
        As of `Simulation`.
    load : float, optional
        Draw new arrivals at this load (`at_load`); None: those of the log.
    arrivals : {"poisson", "diurnal", "bursty"}
        How they are drawn.
    faults : FaultRates, optional
        None: nothing breaks.
    until_s : float, optional
        End of the simulation; None: when nothing is left to happen.
    network : Network, optional
        Links that the jobs share; the seed of a run is that of hashed routes, too. None: none.
    own_retry : bool
        Whether waiting jobs are tried by the retry rule of the policy's scheduler (`SchedulerTraits.retry`).
    """

    snapshot: ClusterSnapshot
    jobs: tuple[SimulatedJob, ...]
    quotas: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    load: float | None = None
    arrivals: Arrivals = "poisson"
    faults: FaultRates | None = None
    until_s: float | None = None
    network: Network | None = None
    own_retry: bool = False

    @property
    def draws(self) -> bool:
        """Whether the simulation depends on the seed."""
        hashed = self.network is not None and self.network.fabric.routes == "hashed"
        return self.load is not None or self.faults is not None or hashed


def shared_case(case: bytes) -> bytes:
    """Return the pickled case; as a Dask task it sends the case to each worker once, however many runs need it.

    As a `Case` it would be pickled and read back by the scheduler and by the first worker, too.
    """
    return case


def simulate_shared(case: bytes, *arguments: Any) -> dict[str, Any]:
    """Do `simulate_case` with a pickled case, which a worker reads for the first run that needs it."""
    return simulate_case(_read_case(case), *arguments)


@lru_cache(maxsize=2)
def _read_case(case: bytes) -> Case:
    found: Case = pickle.loads(case)
    return found


def simulate_case(
    case: Case, policy: Policy, discipline: Discipline, seed: int, package: str, added: Sequence[Metric] = ()
) -> dict[str, Any]:
    """Simulate one case and return the numbers of `SimulationResult.summary`.

    `seed`: seed of the arrivals, as `workbench simulate --seed` takes it, and of the faults. `package`:
    `package_digest` of whoever asks. `added`: metrics of simulations that the user added, which the process of a worker
    does not know. Raises ClusterError: this process runs another version of the package.
    """
    if package != package_digest():
        raise ClusterError("a worker runs another version of the workbench than this process; install the same on both")
    jobs = list(case.jobs)
    if case.load is not None:
        jobs = at_load(jobs, case.snapshot, case.load, np.random.default_rng(seed), case.arrivals)
    breakdowns: tuple[Breakdown, ...] = ()
    until = float("inf") if case.until_s is None else case.until_s
    if case.faults is not None:
        horizon = fault_horizon_s(jobs) if case.until_s is None else case.until_s
        fabric = None if case.network is None else case.network.fabric
        rng = np.random.default_rng((seed, _FAULTS))
        breakdowns = draw_breakdowns(case.snapshot, case.faults, horizon, rng, fabric)
    network = case.network
    if network is not None:
        network = replace(network, fabric=replace(network.fabric, seed=seed))
    simulation = Simulation(
        case.snapshot,
        policy,
        jobs,
        discipline=discipline,
        breakdowns=breakdowns,
        quotas=case.quotas,
        retry=policy.traits.retry if case.own_retry else AT_CHANGES,
        network=network,
    )
    measured = simulation.run(until).result().measured((*SIMULATION_METRICS, *added))
    return {key: float("nan") if value is None else value for key, value in measured.values.items()}
