"""`advise_session`: what would help each pending job of a session, within one budget of work; `advise`: one job."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from workbench.evaluate.switch_sharing import after_session
from workbench.evaluate.whatif.budget import FEWEST_SESSIONS, MOST_WORK, TrialBudget, session_work
from workbench.evaluate.whatif.edit import CLASSES
from workbench.evaluate.whatif.fix import FixReport, JobQuestion, fix_report
from workbench.evaluate.whatif.trials import EditTrials
from workbench.model.counted import counted
from workbench.model.gang import Gang
from workbench.model.placement import Decision, Refusal
from workbench.model.snapshot import ClusterSnapshot
from workbench.policies import Policy

__all__ = ["MOST_ADVISED", "SessionAdvice", "advise", "advise_session"]

#: Pending jobs of a session for which edits are tried where nobody says how many; a table shows no more.
MOST_ADVISED = 40

#: Pending jobs for each of which edits are tried in the whole session; of more jobs each is tried by itself first.
_FEW_JOBS = 8
#: Whole sessions that a job's share must pay for, so that sets that help the job by itself are run in the session.
_PROOF_SESSIONS = 5


class SessionAdvice(dict[str, FixReport]):
    """Reports on the pending jobs of a session, by ``namespace/name``.

    Attributes
    ----------
    left_out : int
        Pending jobs without a report because the budget of work was spent.
    """

    left_out: int = 0

    @property
    def note(self) -> str:
        """A sentence about the jobs without a report; empty if there are none."""
        if not self.left_out:
            return ""
        jobs = counted(self.left_out, "job")
        return f"advice left out for {jobs}: running this session again for each takes too long; ask for one job"


def advise(
    policy: Policy, gangs: Sequence[Gang], snapshot: ClusterSnapshot, decisions: Sequence[Decision], job: str
) -> FixReport | None:
    """`fix_report` for a job of a session that was run, with as much effort as a page waits for.

    None if the policy fails on a changed cluster, as one from a notebook may.

    Parameters
    ----------
    policy : Policy
        The policy of the session.
    gangs : sequence of Gang
        The gangs of the session in its order.
    snapshot : ClusterSnapshot
        The cluster when the session began.
    decisions : sequence of Decision
        The session's decisions on `gangs`.
    job : str
        ``namespace/name`` of the pending job.
    """
    try:
        return fix_report(policy, gangs, snapshot, job, decisions=decisions)
    except (
        Exception
    ):  # the policy answered what it was asked; that it fails on a cluster that might be takes nothing away
        return None


def advise_session(
    policy: Policy,
    decisions: Sequence[Decision],
    snapshot: ClusterSnapshot,
    most: int | None = MOST_ADVISED,
    *,
    jobs: Collection[str] | None = None,
    classes: Sequence[str] = CLASSES,
    progress: Callable[[int, int, str], None] | None = None,
) -> SessionAdvice:
    """Reports on the pending jobs of a scheduling session: why each waits, and the least that would help.

    Parameters
    ----------
    policy : Policy
        The policy of the session.
    decisions : sequence of Decision
        All decisions of the session, in the order of its gangs.
    snapshot : ClusterSnapshot
        The cluster when the session began.
    most : int, optional
        Pending jobs to report on at most, the first ones in the order of the decisions. None: all of them, each tried
        in the whole session as `fix_report` does, as far as the budget of work allows.
    jobs : collection of str, optional
        ``namespace/name`` of the jobs in question; None: all.
    classes : sequence of str
        As of `fix_report`.
    progress : callable, optional
        Called with (done, total, name) before each job.

    Returns
    -------
    SessionAdvice
        Jobs for which the budget does not suffice have no report; `SessionAdvice.note` says so.

    Notes
    -----
    All jobs share one budget of work (`budget`). Of more than a few jobs, each is tried by itself after the session,
    and the first sets of edits that help there are run in the whole session; what does not hold there is not reported.
    Where running the session for each takes too long, their fixes are not `verified`, and say so.
    """
    refused = [d.result for d in decisions if isinstance(d.result, Refusal) and (jobs is None or d.gang.key in jobs)]
    if most is not None:
        del refused[most:]
    few = most is None or len(refused) <= _FEW_JOBS
    asking = _SessionQuestions(policy, decisions, snapshot, tuple(classes), len(refused))
    found = SessionAdvice()
    for done, refusal in enumerate(refused):
        key = refusal.gang.key
        if progress is not None:
            progress(done, len(refused), key)
        report = asking.report(refusal, len(refused) - done, few=few)
        if report is None:
            found.left_out += 1
        else:
            found[key] = report
    return found


class _SessionQuestions:
    """The pending jobs of one session, which share a budget of work."""

    def __init__(
        self,
        policy: Policy,
        decisions: Sequence[Decision],
        snapshot: ClusterSnapshot,
        classes: tuple[str, ...],
        n_jobs: int,
    ) -> None:
        self._policy, self._decisions, self._snapshot, self._classes = policy, decisions, snapshot, classes
        self._gangs = [decision.gang for decision in decisions]
        self._session = session_work(len(self._gangs), snapshot.n_nodes)
        self._budget = TrialBudget(max(MOST_WORK, FEWEST_SESSIONS * self._session))
        self._proves = self._budget.left // max(n_jobs, 1) >= _PROOF_SESSIONS * self._session
        self._after: ClusterSnapshot | None = None

    def report(self, refusal: Refusal, n_left: int, *, few: bool) -> FixReport | None:
        """The report on one job, of so many that are left; None if the budget does not suffice for it."""
        if self._budget.spent:
            return None
        key, share = refusal.gang.key, self._budget.left // n_left
        part = self._budget.part(max(share, FEWEST_SESSIONS * self._session))
        trials = EditTrials(self._policy, self._gangs, self._snapshot, key, self._decisions, part)
        if few and share >= FEWEST_SESSIONS * self._session:
            return JobQuestion(self._policy, trials, refusal, self._classes).answer()
        if self._after is None:
            self._after = after_session(self._snapshot, self._decisions)
        by_itself = self._budget.part(share)
        alone = EditTrials(self._policy, [refusal.gang], self._after, key, None, by_itself)
        if alone.base.placement is not None and self._budget.left < FEWEST_SESSIONS * self._session:
            return None
        return JobQuestion(self._policy, trials, refusal, self._classes, alone, proves=self._proves).answer()
