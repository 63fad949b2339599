"""`StudyPlan`: what a study combines, and the runs that it consists of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any, Literal

from workbench.errors import InputError, UnknownNameError
from workbench.evaluate.contention import Network, TrainingStep
from workbench.evaluate.metric_table import added_simulation_metrics
from workbench.evaluate.provenance import version
from workbench.model.job_log import JobLog
from workbench.model.snapshot import ClusterSnapshot
from workbench.model.typical_shapes import TypicalShapes
from workbench.model.value import Value
from workbench.policies.contract import Policy
from workbench.simulate import FaultRates
from workbench.simulate.arrivals import ARRIVALS, Arrivals
from workbench.simulate.disciplines import get_discipline
from workbench.simulate.from_log import judging_by, simulated_jobs
from workbench.simulate.job import RESTARTS, Restarts
from workbench.study.digest import digest_of, package_digest, policy_digest
from workbench.study.work import Case

__all__ = ["Retry", "Run", "StudyPlan", "StudyWorkload"]

_SEED = "seed"

Retry = Literal["changes", "own"]
_RETRIES: tuple[Retry, ...] = ("changes", "own")


@dataclass(frozen=True, eq=False)
class StudyWorkload(Value):
    """Jobs of a log, at the times of the log or at times drawn for a load.

    Attributes
    ----------
    log : JobLog
        What `workbench.formats.job_logs.load_jobs` reads.
    load : float, optional
        Draw new arrivals, so that the jobs ask for this part of the GPUs' time; above 0. None: the times of the log.
    arrivals : {"poisson", "diurnal", "bursty"}
        How arrivals are drawn (`workbench.simulate.arrivals.at_load`).
    step : TrainingStep, optional
        Step of the jobs of which the log tells none; it matters where jobs share a network.
    usual : TypicalShapes, optional
        What pods usually ask for, given to policies that judge by that (``fgd``); None: the log does not say.
    """

    log: JobLog
    load: float | None = None
    arrivals: Arrivals = "poisson"
    step: TrainingStep | None = None
    usual: TypicalShapes | None = None

    def __post_init__(self) -> None:
        if self.load is not None and not 0 < self.load < float("inf"):
            raise InputError("not a load", source="workload", got=f"{self.load:g}", expected="above 0")
        if self.arrivals not in ARRIVALS:
            raise UnknownNameError("kind of arrivals", self.arrivals, ARRIVALS)


@dataclass(frozen=True)
class Run:
    """One simulation of a study: the names of its parts, its seed, and the digest of its content.

    `digest`: SHA-256 in hex of the package's sources and of the contents of cluster, jobs, policy, parameters, seed and
    the metrics that the user added. Runs of equal content have equal digests, in whatever study and by whatever names.
    """

    topology: str
    workload: str
    discipline: str
    policy: str
    seed: int
    digest: str

    @property
    def title(self) -> str:
        """Description of the run, for progress and errors."""
        return f"{self.topology}, {self.workload}, {self.discipline}, {self.policy}, seed {self.seed}"


@dataclass(frozen=True, eq=False)
class StudyPlan(Value):
    """Simulations of every policy on every topology, workload and discipline, with several seeds.

    Two studies are equal only if they hold the same policies, because a policy equals itself only.

    Raises InputError: a part with nothing in it, a value twice, a time that is none; UnknownNameError: a discipline, a
    baseline, a restart, a retry or the topology of a network that does not exist.

    Attributes
    ----------
    policies : mapping of str to Policy
        Policies by the name that tables show. A policy with a parameter ``seed`` gets the seed of each run.
    disciplines : tuple of str
        As of `workbench.simulate.Simulation`.
    seeds : tuple of int
        Each draws the arrivals of workloads with a load, and the faults. Where nothing is drawn, the first seed stands
        for all.
    faults : FaultRates, optional
        How often things break; None: never.
    restart_s : float
        Seconds from a placement after a fault until the work goes on.
    until_s : float, optional
        End of each simulation, seconds; None: when nothing is left to happen.
    baseline : str
        The policy with which the others are compared; by default the first.
    inputs : mapping of str to str
        SHA-256 of each input file's content, by its path relative to the study's file.
    networks : mapping of str to Network
        Links that the jobs share, by the name of the topology; hashed routes follow the seed of each run.
    restarts : {"job", "pods"}
        What a fault takes from a job, as of `SimulatedJob`.
    retry : {"changes", "own"}
        When waiting jobs are tried: whenever something arrives or is freed, or by the retry rule of the scheduler
        that the policy models (`SchedulerTraits.retry`).

    Notes
    -----
    Runs are ordered by topology, workload, discipline, policy and seed, each in the order given. The same seed draws
    the same arrivals and faults for every policy and discipline, so that runs can be compared in pairs.
    """

    name: str
    topologies: Mapping[str, ClusterSnapshot]
    workloads: Mapping[str, StudyWorkload]
    policies: Mapping[str, Policy]
    disciplines: tuple[str, ...] = ("best-effort",)
    seeds: tuple[int, ...] = (0,)
    faults: FaultRates | None = None
    restart_s: float = 300.0
    until_s: float | None = None
    baseline: str = ""
    inputs: Mapping[str, str] = field(default_factory=dict)
    networks: Mapping[str, Network] = field(default_factory=dict)
    restarts: Restarts = "job"
    retry: Retry = "changes"

    def __post_init__(self) -> None:
        for part in ("topologies", "workloads", "policies", "disciplines", "seeds"):
            values = list(getattr(self, part))
            if not values:
                raise InputError("nothing in it", source="study", where=part, expected="one or more")
            if len(set(values)) < len(values):
                raise InputError("a value twice", source="study", where=part, expected="each once")
        for discipline in self.disciplines:
            for policy in self.policies.values():
                get_discipline(discipline).check(policy)
        if self.restarts not in RESTARTS:
            raise UnknownNameError("restart", self.restarts, RESTARTS)
        if self.retry not in _RETRIES:
            raise UnknownNameError("retry", self.retry, _RETRIES)
        if any(type(seed) is not int or seed < 0 for seed in self.seeds):
            raise InputError("not a seed", source="study", where="seeds", expected="whole numbers from 0 on")
        for name, value in (("restart_s", self.restart_s), ("until_s", self.until_s)):
            if value is not None and not 0 <= value < float("inf"):
                raise InputError(
                    "not a time", source="study", where=name, got=f"{value:g}", expected="seconds from 0 on"
                )
        if self.baseline and self.baseline not in self.policies:
            raise UnknownNameError("policy of the study", self.baseline, self.policies)
        for name in self.networks:
            if name not in self.topologies:
                raise UnknownNameError("topology of the study", name, self.topologies)

    @property
    def compared_with(self) -> str:
        """Name of the policy that the others are compared with."""
        return self.baseline or next(iter(self.policies))

    @cached_property
    def cases(self) -> Mapping[tuple[str, str], Case]:
        """The cases to simulate, by the names of topology and workload."""
        found = {}
        for topology, snapshot in self.topologies.items():
            for name, workload in self.workloads.items():
                found[topology, name] = Case(
                    snapshot,
                    tuple(simulated_jobs(workload.log, snapshot, self.restart_s, workload.step, self.restarts)),
                    workload.log.quotas,
                    workload.load,
                    workload.arrivals,
                    self.faults,
                    self.until_s,
                    self.networks.get(topology),
                    self.retry == "own",
                )
        return found

    @cached_property
    def case_digests(self) -> Mapping[tuple[str, str], str]:
        """SHA-256 of each case's content, by the names of topology and workload."""
        return {names: digest_of(case) for names, case in self.cases.items()}

    def policy_of(self, name: str, workload: str, seed: int) -> Policy:
        """The policy of a run.

        `name`: name of the policy in the study. `workload`: a policy that judges by usual pods gets those of this
        workload, unless the user named others. `seed`: a policy with a parameter ``seed`` gets this one. Raises
        InputError: a policy with a parameter that has to change was not made by `get_policy`, and its class has no
        `with_parameters` of its own.
        """
        policy, usual = self.policies[name], self.workloads[workload].usual
        if usual is not None:
            policy = judging_by(policy, usual)
        if policy.parameters.get(_SEED, seed) == seed:
            return policy
        return policy.with_parameters(**{_SEED: seed})

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        """Every run, in the order of topologies, workloads, disciplines, policies and seeds."""
        added = added_simulation_metrics()
        drawing = any(_SEED in policy.parameters for policy in self.policies.values())
        seeds = {names: self.seeds if drawing or case.draws else self.seeds[:1] for names, case in self.cases.items()}
        digests = {of: policy_digest(self.policy_of(*of)) for of in product(self.policies, self.workloads, self.seeds)}
        return tuple(
            Run(
                topology,
                workload,
                discipline,
                policy,
                seed,
                digest_of(
                    package_digest(),
                    case,
                    get_discipline(discipline),
                    digests[policy, workload, seed],
                    seed,
                    *added,
                ),
            )
            for (topology, workload), case in self.case_digests.items()
            for discipline in self.disciplines
            for policy in self.policies
            for seed in seeds[topology, workload]
        )

    def parameters_text(self, name: str) -> str:
        """Parameters of a policy as ``name=value``, separated by commas; without the seed that each run sets."""
        parameters = self.policies[name].parameters.items()
        return ", ".join(f"{key}={_brief(value)}" for key, value in parameters if key != _SEED)

    def provenance(self) -> dict[str, Any]:
        """The origin of the results: version, sources, policies with parameters, inputs; no time."""
        return {
            "study": self.name,
            "version": version(),
            "sources": package_digest(),
            "policies": {name: self.parameters_text(name) for name in self.policies},
            "policy_names": {name: policy.name for name, policy in self.policies.items()},
            "inputs": dict(self.inputs),
        }


def _brief(value: Any) -> str:
    """A parameter as a short text; for a configuration or a table, the first digits of its digest."""
    if isinstance(value, bool | int | float | str):
        return str(value)
    if value is None:
        return "default"
    if isinstance(value, Mapping) and not value:
        return "none"
    return f"#{digest_of(value)[:8]}"
