"""`CommunicationPlan`: what the communication of jobs costs in a comparison; `LeastCost`: the policy of least cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from workbench.errors import InputError
from workbench.evaluate.cost.calibration import Calibration
from workbench.evaluate.cost.cost_model import LEFT_OUT, CostModel
from workbench.evaluate.cost.job_cost import JobCost, job_cost, nodes_by_rank
from workbench.evaluate.cost.parallel_shape import ParallelShape, TrainingModel
from workbench.model.explanation import Recorder
from workbench.model.gang import Gang
from workbench.model.ledger import Ledger
from workbench.model.placement import Placement, Refusal
from workbench.model.topology import Topology
from workbench.model.value import Value
from workbench.policies.contract import Policy

__all__ = ["CommunicationPlan", "LeastCost"]


@dataclass(frozen=True, eq=False)
class CommunicationPlan(Value):
    """A calibration, the speeds of the fabric, and the parallel shapes of jobs.

    `machine`: machine of the calibration that all nodes count as. `jobs`: by ``namespace/name``; other jobs get no
    cost. `tier_gb_s`: as for `CostModel`: of the tiers that priced jobs cross.
    """

    calibration: Calibration
    machine: str
    jobs: Mapping[str, tuple[ParallelShape, TrainingModel]]
    tier_gb_s: Mapping[int, float] = field(default_factory=dict)

    def check(self, topology: Topology) -> None:
        """Raise an error if machine or tiers are unknown. Raises UnknownNameError, InputError."""
        self._costs(topology)

    def check_speeds(self, placements: Iterable[Placement]) -> None:
        """Raise an error if a placement that has a price crosses a tier without a speed.

        Raises InputError: the tier, and the option that gives its speed.
        """
        for placement in placements:
            if self._has_price(placement):
                self._costs(placement.topology).crossed(nodes_by_rank(placement))

    def to_dict(self) -> dict[str, Any]:
        """Machine, calibration, speeds and shapes behind the prices, and what these leave out, as a JSON-ready dict."""
        return {
            "machine": self.machine,
            "calibration": {"name": self.calibration.name, "sources": list(self.calibration.sources)},
            "tier_gb_s": {str(tier): gb_s for tier, gb_s in self.tier_gb_s.items()},
            "jobs": {job: {"shape": str(shape), "model": asdict(model)} for job, (shape, model) in self.jobs.items()},
            "left_out": list(LEFT_OUT),
        }

    def cost_of(self, placement: Placement) -> JobCost | None:
        """Cost of a placed job; None if its shape is not stated or a pod has no node.

        Raises InputError: the shape does not multiply to the job's GPUs, or the job is placed across a tier without a
        speed.
        """
        if not self._has_price(placement):
            return None
        job = placement.gang.key
        return job_cost(job, nodes_by_rank(placement), *self.jobs[job], self._costs(placement.topology))

    def _has_price(self, placement: Placement) -> bool:
        return placement.gang.key in self.jobs and not (placement.node < 0).any()

    def _costs(self, topology: Topology) -> CostModel:
        return CostModel(self.calibration, self.machine, topology, self.tier_gb_s)


class LeastCost(Policy):
    """Asks several policies, and takes the placement whose communication costs a training step least.

    Raises InputError: no policy to choose among.

    `plan`: prices the jobs that it names, by the milliseconds per step with nothing hidden. `among`: ties, and jobs
    without a price, go to the first that places the job.
    """

    name = "least-cost"

    def __init__(self, plan: CommunicationPlan, among: Sequence[Policy]) -> None:
        if not among:
            raise InputError("no policy to choose among", source=self.name, expected="one or more")
        self.plan, self.among = plan, tuple(among)

    @property
    def parameters(self) -> Mapping[str, Any]:
        return {"among": ",".join(policy.name for policy in self.among), "machine": self.plan.machine}

    def place(self, gang: Gang, ledger: Ledger, recorder: Recorder | None = None) -> Placement | Refusal:
        """Place a gang as the policy does whose placement costs least; refuse it as the first one does.

        Raises InputError: the parallel shape of the job does not multiply to its GPUs, or a placement crosses a tier
        without a speed.
        """
        best, least = self.among[0], float("inf")
        for policy in self.among:
            answer = policy.place(gang, ledger.copy())
            if not isinstance(answer, Placement):
                continue
            cost = self.plan.cost_of(answer)
            ms = cost.exposed.ms if cost is not None else 0.0
            if ms < least:
                best, least = policy, ms
        return best.place(gang, ledger, recorder)
