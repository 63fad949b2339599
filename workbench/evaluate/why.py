"""`why`: explain a policy's decision on one job of a comparison, by running the policy again."""

from __future__ import annotations

from workbench.evaluate.compare import Comparison
from workbench.evaluate.switch_changes import after_session
from workbench.evaluate.whatif.remedies import Advice, advise
from workbench.model.explanation import Explanation, Recorder
from workbench.model.placement import Refusal
from workbench.policies import Policy

__all__ = ["why"]


def why(comparison: Comparison, policy: Policy, job: int) -> tuple[Explanation, Advice | None]:
    """Repeat the session of a policy with an explanation of one job, and find changes that would help if it is pending.

    Parameters
    ----------
    comparison : Comparison
    policy : Policy
        One of the policies that were compared.
    job : int
        Index of the job in the comparison's gangs.

    Returns
    -------
    (Explanation, Advice or None)
        The advice is None for a placed job, or if the policy fails in a changed cluster.
    """
    recorder, snapshot = Recorder(), comparison.snapshot
    decisions = policy.schedule(comparison.gangs, snapshot, {job: recorder})
    result = decisions[job].result
    advice = None
    if isinstance(result, Refusal):
        try:
            advice = advise(policy, result, after_session(snapshot, decisions))
        except Exception:  # a notebook's policy may raise anything; the reasons of its decision are told all the same
            advice = None
    return recorder.explanation(decisions[job]), advice
