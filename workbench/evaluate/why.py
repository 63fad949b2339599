"""`why`: explain a policy's decision on one job of a comparison, by running the policy again."""

from __future__ import annotations

from workbench.evaluate.compare import Comparison
from workbench.evaluate.whatif.advice import advise
from workbench.evaluate.whatif.fix import FixReport
from workbench.model.explanation import Explanation, Recorder
from workbench.model.placement import Refusal
from workbench.policies import Policy

__all__ = ["why"]


def why(comparison: Comparison, policy: Policy, job: int) -> tuple[Explanation, FixReport | None]:
    """Repeat the session of a policy with an explanation of one job, and find what would help if it is pending.

    Parameters
    ----------
    policy : Policy
        One of the policies that were compared.
    job : int
        Index of the job in the comparison's gangs.

    Returns
    -------
    (Explanation, FixReport or None)
        The report is None for a placed job, or if the policy fails in a changed cluster.
    """
    recorder, snapshot, gangs = Recorder(), comparison.snapshot, comparison.gangs
    decisions = policy.schedule(gangs, snapshot, {job: recorder})
    report = None
    if isinstance(decisions[job].result, Refusal):
        report = advise(policy, gangs, snapshot, decisions, gangs[job].key)
    return recorder.explanation(decisions[job]), report
