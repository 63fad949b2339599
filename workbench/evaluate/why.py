"""Why a policy decided as it did on one job of a comparison, worked out when somebody asks."""

from __future__ import annotations

from workbench.evaluate.compare import Comparison
from workbench.evaluate.switch_changes import after_session
from workbench.evaluate.whatif.remedies import Advice, advise
from workbench.model.explanation import Explanation, Recorder
from workbench.model.placement import Refusal
from workbench.policies import Policy

__all__ = ["why"]


def why(comparison: Comparison, policy: Policy, job: int) -> tuple[Explanation, Advice | None]:
    """Run the session of a policy again, record one job, and try what would help it if it is pending.

    Parameters
    ----------
    comparison : Comparison
    policy : Policy
        One that was compared.
    job : int
        Position of the job.

    Returns
    -------
    (Explanation, Advice or None)
        No advice for a placed job, or where the policy fails in a cluster with a change.
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
