"""`LeastCost`: the communication cost of a training step as the objective of a policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.errors import InputError
from workbench.evaluate.cost.plan import CommunicationPlan
from workbench.model.explanation import Recorder
from workbench.model.gang import Gang
from workbench.model.ledger import Ledger
from workbench.model.placement import Placement, Refusal
from workbench.policies.contract import Policy

__all__ = ["LeastCost"]


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
