"""`advise_session`: what would help each pending job of a session, within one budget of work; `advise`: one job."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence

from workbench.evaluate.switch_sharing import after_session
from workbench.evaluate.whatif.budget import (
    FEWEST_SESSIONS,
    MOST_WORK,
    PROOF_SESSIONS,
    TrialBudget,
    session_work,
)
from workbench.evaluate.whatif.edit import CLASSES
from workbench.evaluate.whatif.fix import FixReport, JobQuestion, fix_report
from workbench.evaluate.whatif.trials import EditTrials, SharedSessions
from workbench.model.counted import counted
from workbench.model.gang import Gang
from workbench.model.placement import Decision, Refusal
from workbench.model.snapshot import ClusterSnapshot
from workbench.policies import Policy

__all__ = ["SessionAdvice", "advise", "advise_session"]


class SessionAdvice(dict[str, FixReport]):
    """Reports on the pending jobs of a session, by ``namespace/name``.

    `left_out`: pending jobs for which nothing was found because more jobs wait than are reported on, or because the
    budget of work ended: those without a report, and those without a fix whose search is not complete.
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

    `policy`: the policy of the session. `gangs`: the gangs of the session in its order. `snapshot`: the cluster when
    the session began. `decisions`: the session's decisions on `gangs`. `job`: ``namespace/name`` of the pending job.
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
    most: int | None = None,
    *,
    jobs: Collection[str] | None = None,
    classes: Sequence[str] = CLASSES,
    progress: Callable[[int, int, str], None] | None = None,
) -> SessionAdvice:
    """Reports on the pending jobs of a scheduling session: why each waits, and the least that would help.

    Jobs beyond `most`, and those for which the budget does not suffice, get no report; `SessionAdvice.note` counts
    them.

    Parameters
    ----------
    policy : Policy
        The policy of the session.
    decisions : sequence of Decision
        All decisions of the session, in the order of its gangs.
    snapshot : ClusterSnapshot
        The cluster when the session began.
    most : int, optional
        Pending jobs to report on at most, the first ones in the order of the decisions; None: all. 0: nobody asks for
        advice.
    jobs : collection of str, optional
        ``namespace/name`` of the jobs in question; None: all.
    classes : sequence of str
        As of `fix_report`.
    progress : callable, optional
        Called with (done, total, name) before each job.

    Notes
    -----
    All jobs share one budget of work (`budget`), and the sessions that were run under edits of no single job. Each job
    is searched in the whole session as `fix_report` does where its share pays for `FEWEST_SESSIONS`. Otherwise it is
    tried by itself after the session, and the first sets of edits that help there are run in the whole session; what
    does not hold there, or cannot be run there within the budget, is not reported. Jobs for which nothing was found
    are searched in the whole session after all others, with the work that is left.
    """
    if most == 0:
        return SessionAdvice()
    # Of two jobs of one name nobody could say which one a change places.
    names = Counter(decision.gang.key for decision in decisions)
    refused = [
        d.result
        for d in decisions
        if isinstance(d.result, Refusal) and names[d.gang.key] == 1 and (jobs is None or d.gang.key in jobs)
    ]
    asked = refused[:most]
    asking = _SessionQuestions(policy, decisions, snapshot, tuple(classes), progress)
    # Jobs for which nothing was found get another search, with the work that the others left.
    missed = asking.ask_all(asking.ask_all(asked, again=False), again=True)
    found = SessionAdvice(
        {one.gang.key: asking.reports[one.gang.key] for one in asked if one.gang.key in asking.reports}
    )
    # A single job has had all of the budget, and its report says what it is worth.
    found.left_out = len(refused) - len(asked) + (len(missed) if len(asked) > 1 else 0)
    return found


class _SessionQuestions:
    """The pending jobs of one session, which share a budget of work and the sessions that were run."""

    def __init__(
        self,
        policy: Policy,
        decisions: Sequence[Decision],
        snapshot: ClusterSnapshot,
        classes: tuple[str, ...],
        progress: Callable[[int, int, str], None] | None,
    ) -> None:
        self.reports: dict[str, FixReport] = {}
        self._progress = progress
        self._policy, self._decisions, self._snapshot, self._classes = policy, decisions, snapshot, classes
        self._gangs = [decision.gang for decision in decisions]
        self._session = session_work(len(self._gangs), snapshot.n_nodes)
        self._fewest = FEWEST_SESSIONS * self._session
        self._budget = TrialBudget(max(MOST_WORK, self._fewest))
        self._shared = SharedSessions()
        self._after: ClusterSnapshot | None = None

    def ask_all(self, refused: Sequence[Refusal], *, again: bool) -> list[Refusal]:
        """Ask about each job, and return those for which more work might find something.

        `again`: the jobs were asked about before, and are searched in the whole session now.
        """
        missed = []
        for number, refusal in enumerate(refused):
            key, n_left = refusal.gang.key, len(refused) - number
            if self._progress is not None and not again:
                self._progress(number, len(refused), key)
            question = self._question(refusal, n_left, again=again)
            if question is not None:
                report = question.answer()
                if report.fixes or key not in self.reports:
                    self.reports[key] = report
                if report.fixes or question.exhausted:
                    continue
            missed.append(refusal)
        return missed

    def _question(self, refusal: Refusal, n_left: int, *, again: bool) -> JobQuestion | None:
        """The question about one job, of so many that are left; None if the budget does not suffice for it."""
        left, share = self._budget.left, self._budget.left // n_left
        if left <= 0 or (again and left < self._fewest):
            return None
        alone = None if again or share >= self._fewest else self._alone(refusal.gang, share // 2)
        searched = alone is None or alone.base.placement is not None
        if searched and left < self._fewest:
            return None
        work = max(share, self._fewest if searched else PROOF_SESSIONS * self._session)
        part = self._budget.part(work, free_answers=again or not searched)
        key = refusal.gang.key
        trials = EditTrials(self._policy, self._gangs, self._snapshot, key, self._decisions, part, self._shared)
        return JobQuestion(self._policy, trials, refusal, self._classes, alone, brief=share < self._fewest)

    def _alone(self, gang: Gang, work: int) -> EditTrials:
        """The job by itself after the session."""
        if self._after is None:
            self._after = after_session(self._snapshot, self._decisions)
        return EditTrials(self._policy, [gang], self._after, gang.key, None, self._budget.part(work))
