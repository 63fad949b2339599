"""`session_advice`: what would help the pending jobs of a session, with a progress bar, and a note about the others."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from workbench.cli.output import progress_bar, tell

if TYPE_CHECKING:
    from workbench.evaluate.whatif.advice import SessionAdvice
    from workbench.model.placement import Decision
    from workbench.model.snapshot import ClusterSnapshot
    from workbench.policies import Policy

__all__ = ["session_advice", "tell_left_out"]


def session_advice(
    policy: Policy,
    decisions: Sequence[Decision],
    snapshot: ClusterSnapshot,
    *,
    jobs: Collection[str] | None = None,
    classes: Sequence[str] | None = None,
    named: bool = False,
) -> SessionAdvice:
    """Reports on the pending jobs of a session; those that the budget of work leaves out are told on stderr.

    Parameters
    ----------
    decisions : sequence of Decision
        All decisions of the session.
    snapshot : ClusterSnapshot
        The cluster when the session began.
    jobs : collection of str, optional
        ``namespace/name`` of the jobs in question; None: all.
    classes : sequence of str, optional
        Classes of edits that may be used, the most welcome first; None: all (`CLASSES`).
    named : bool
        Whether the note names the policy.
    """
    from workbench.evaluate.whatif.advice import advise_session
    from workbench.evaluate.whatif.edit import CLASSES

    with progress_bar("looking for fixes of") as step:
        found = advise_session(policy, decisions, snapshot, jobs=jobs, classes=classes or CLASSES, progress=step)
    tell_left_out(found, policy.name if named else "")
    return found


def tell_left_out(advice: SessionAdvice, policy: str = "") -> None:
    """Write to stderr for how many jobs there is no advice, if there are any; `policy`: the name to begin with."""
    if advice.note:
        tell(f"note: {policy}{': ' if policy else ''}{advice.note}")
