"""The groups of options of ``workbench simulate``: where jobs come from, when they arrive, what fails, when it ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workbench.cli.option_values import one_of, seconds, whole
from workbench.cli.options import ArrivalKind, Restarts, Retry
from workbench.errors import InputError

if TYPE_CHECKING:
    from workbench.evaluate.contention import Network
    from workbench.model.snapshot import ClusterSnapshot
    from workbench.policies import Policy
    from workbench.policies.retry import RetryRule
    from workbench.simulate import Breakdown, SimulatedJob

__all__ = ["ArrivalOptions", "ClockOptions", "FaultOptions", "JobSource"]

_LONGEST = 1e9


@dataclass(frozen=True)
class JobSource:
    """The options that say where the jobs come from: a trace, or published shapes."""

    trace: Annotated[
        Path | None,
        typer.Option(
            "--trace",
            metavar="FILE",
            help="Jobs with times: CSV or YAML, - for standard input; see docs/simulation.md.",
        ),
    ] = None
    shapes: Annotated[
        Path | None,
        typer.Option(
            "--shapes", metavar="FILE", help="Instead of a trace: published parallel shapes (JSON) to draw from."
        ),
    ] = None
    count: Annotated[
        int | None,
        whole("--jobs", least=1, most=100_000, metavar="N", help="Jobs to draw from --shapes; by default 100."),
    ] = None
    gpu_tflops: Annotated[
        str,
        typer.Option("--gpu-tflops", metavar="N", help="With --shapes: 10^12 operations a second that a GPU reaches."),
    ] = ""

    def check(self, load: int | None) -> None:
        """Refuse jobs from nowhere or from two places; `load` is the value of ``--load``."""
        if self.trace is None and self.shapes is None:
            raise InputError("no jobs given", source="--trace", expected="a file of jobs with times")
        if self.shapes is not None and (self.trace is not None or load is None):
            got = "--trace beside it" if self.trace is not None else "no --load"
            raise InputError(
                "published shapes have no times", source="--shapes", got=got, expected="--load, and no --trace"
            )
        for option, given in (("--jobs", self.count is not None), ("--gpu-tflops", self.gpu_tflops)):
            if given and self.shapes is None:
                raise InputError("an option of published shapes", source=option, expected="--shapes beside it")


@dataclass(frozen=True)
class ArrivalOptions:
    """The options that draw times of arrival anew."""

    load: Annotated[
        int | None,
        whole(
            "--load",
            least=1,
            most=1000,
            metavar="PERCENT",
            help="Draw new times of arrival, so that the jobs ask for this much of the GPUs' time.",
        ),
    ] = None
    arrivals: Annotated[
        ArrivalKind | None,
        one_of(ArrivalKind, "--arrivals", help="How arrivals are drawn for --load; by default poisson."),
    ] = None
    seed: Annotated[int, whole("--seed", metavar="SEED", help="Seed of the arrivals and of hashed routes.")] = 0

    def check(self) -> None:
        """Refuse a kind of arrivals where none are drawn."""
        if self.arrivals is not None and self.load is None:
            raise InputError("only used with --load", source="--arrivals", got="no --load", expected="--load beside it")

    def drawn(self, jobs: list[SimulatedJob], snapshot: ClusterSnapshot) -> list[SimulatedJob]:
        """The jobs with new times of arrival, or as they are without ``--load``."""
        if self.load is None:
            return jobs
        import numpy as np

        from workbench.simulate.arrivals import at_load

        kind = self.arrivals or ArrivalKind.poisson
        return at_load(jobs, snapshot, self.load / 100, np.random.default_rng(self.seed), kind.value)


@dataclass(frozen=True)
class FaultOptions:
    """The options of faults, and of what they take from a job."""

    faults: Annotated[
        int | None,
        whole(
            "--faults",
            metavar="SEED",
            help="Draw faults of nodes, GPUs, switches and cables; without it there are none.",
        ),
    ] = None
    restart: Annotated[
        float, seconds("--restart", least=0, most=_LONGEST, help="From a placement after a fault until work goes on.")
    ] = 300.0
    restarts: Annotated[
        Restarts, one_of(Restarts, "--restarts", help="What a fault takes: the whole job, or the pods on what broke.")
    ] = Restarts.job

    def drawn(
        self, jobs: Sequence[SimulatedJob], snapshot: ClusterSnapshot, until: float | None, network: Network | None
    ) -> tuple[Breakdown, ...]:
        """The breakdowns until the end of the simulation; none without ``--faults``.

        `until`: value of ``--until``; None: twice the time that the jobs may take. `network`: its cables may break,
        too.
        """
        if self.faults is None:
            return ()
        import numpy as np

        from workbench.simulate import FaultRates, draw_breakdowns
        from workbench.simulate.from_log import fault_horizon_s

        horizon = until if until is not None else fault_horizon_s(jobs)
        fabric = None if network is None else network.fabric
        return draw_breakdowns(snapshot, FaultRates(), horizon, np.random.default_rng(self.faults), fabric)


@dataclass(frozen=True)
class ClockOptions:
    """The options that say when the simulation ends, and when waiting jobs are tried."""

    until: Annotated[
        float | None,
        seconds("--until", least=0, most=_LONGEST, help="Stop at this time; by default when nothing is left to do."),
    ] = None
    retry: Annotated[
        Retry,
        one_of(
            Retry,
            "--retry",
            help="When waiting jobs are tried: at changes, or by the rule of the scheduler that the policy models.",
        ),
    ] = Retry.changes
    cycle: Annotated[
        float | None,
        seconds("--cycle", least=0, most=_LONGEST, help="Try waiting jobs in cycles of so many seconds."),
    ] = None

    def check(self) -> None:
        """Raise InputError for ``--cycle`` beside ``--retry own``: each says when waiting jobs are tried."""
        if self.cycle is not None and self.retry is Retry.own:
            raise InputError(
                "cannot be combined with --retry own",
                source="--cycle",
                got="--retry own beside it",
                expected="one of them",
            )

    def rule(self, policy: Policy) -> RetryRule:
        """When waiting jobs are tried under a policy."""
        from workbench.policies.retry import RetryRule

        return policy.traits.retry if self.retry is Retry.own else RetryRule(cycle_s=self.cycle or 0.0)
