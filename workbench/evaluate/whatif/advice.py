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
#: Whole sessions in which sets that help a job by itself may be run although its share pays for fewer.
_PROOF_SESSIONS = 2


class SessionAdvice(dict[str, FixReport]):
    """Reports on the pending jobs of a session, by ``namespace/name``.

    Attributes
    ----------
    left_out : int
        Pending jobs for which nothing was found because more jobs wait than are reported on, or because the budget of
        work allows too few sessions: those without a report, and those without a fix that were tried by themselves.
    """

    left_out: int = 0

    @property
    def note(self) -> str:
        """A sentence about the jobs that are left out; empty if there are none."""
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
        in the whole session as `fix_report` does, as far as the budget of work allows. 0: nobody asks for advice.
    jobs : collection of str, optional
        ``namespace/name`` of the jobs in question; None: all.
    classes : sequence of str
        As of `fix_report`.
    progress : callable, optional
        Called with (done, total, name) before each job.

    Returns
    -------
    SessionAdvice
        Without reports on the jobs beyond `most` and those for which the budget does not suffice; `SessionAdvice.note`
        counts them.

    Notes
    -----
    All jobs share one budget of work (`budget`). Of more than a few jobs, each is tried by itself after the session,
    and the first sets of edits that help there are run in the whole session; what does not hold there, or cannot be
    run there within the budget, is not reported.
    """
    if most == 0:
        return SessionAdvice()
    refused = [d.result for d in decisions if isinstance(d.result, Refusal) and (jobs is None or d.gang.key in jobs)]
    waiting = len(refused)
    if most is not None:
        del refused[most:]
    few = most is None or len(refused) <= _FEW_JOBS
    asking = _SessionQuestions(policy, decisions, snapshot, tuple(classes))
    found = SessionAdvice()
    found.left_out = waiting - len(refused)
    for done, refusal in enumerate(refused):
        key = refusal.gang.key
        if progress is not None:
            progress(done, len(refused), key)
        question = asking.ask(refusal, len(refused) - done, few=few)
        if question is not None:
            found[key] = question.answer()
        if question is None or not (found[key].fixes or question.in_session):
            found.left_out += 1
    return found


class _SessionQuestions:
    """The pending jobs of one session, which share a budget of work."""

    def __init__(
        self,
        policy: Policy,
        decisions: Sequence[Decision],
        snapshot: ClusterSnapshot,
        classes: tuple[str, ...],
    ) -> None:
        self._policy, self._decisions, self._snapshot, self._classes = policy, decisions, snapshot, classes
        self._gangs = [decision.gang for decision in decisions]
        self._session = session_work(len(self._gangs), snapshot.n_nodes)
        self._budget = TrialBudget(max(MOST_WORK, FEWEST_SESSIONS * self._session))
        self._after: ClusterSnapshot | None = None

    def ask(self, refusal: Refusal, n_left: int, *, few: bool) -> JobQuestion | None:
        """The question about one job, of so many that are left; None if the budget does not suffice for it."""
        if self._budget.spent:
            return None
        key, share = refusal.gang.key, self._budget.left // n_left
        whole = few and share >= FEWEST_SESSIONS * self._session
        alone = None if whole else self._alone(refusal.gang, share // 2)
        searched = alone is None or alone.base.placement is not None
        if searched and not whole and self._budget.left < FEWEST_SESSIONS * self._session:
            return None
        part = self._budget.part(max(share, (FEWEST_SESSIONS if searched else _PROOF_SESSIONS) * self._session))
        trials = EditTrials(self._policy, self._gangs, self._snapshot, key, self._decisions, part)
        return JobQuestion(self._policy, trials, refusal, self._classes, alone)

    def _alone(self, gang: Gang, work: int) -> EditTrials:
        """The job by itself after the session."""
        if self._after is None:
            self._after = after_session(self._snapshot, self._decisions)
        return EditTrials(self._policy, [gang], self._after, gang.key, None, self._budget.part(work))
