"""`EditTrials`: runs a session again under edits, remembers the answers, within a budget of work.

`SharedSessions` keeps what all pending jobs of a session can learn from one run.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from workbench.cancel import check
from workbench.evaluate.whatif.budget import TrialBudget, session_work
from workbench.evaluate.whatif.cluster_edits import Finish
from workbench.evaluate.whatif.edit import Edit, EditedSession, Effect, restarts
from workbench.evaluate.whatif.job_edits import JobEdit
from workbench.model.gang import Gang
from workbench.model.placement import Decision, Placement
from workbench.model.snapshot import ClusterSnapshot
from workbench.policies import Policy

__all__ = ["EditOutcome", "EditTrials", "SharedSessions"]

#: Edits that change indices of nodes come last; edits that take something away come first.
_LAST = "add-nodes"


def _is_of_job(edit: Edit) -> bool:
    return isinstance(edit, JobEdit)


@dataclass(frozen=True, eq=False)
class EditOutcome:
    """What the policy decides under some edits.

    `case`: the session with the edits made. `decisions` (tuple of Decision): in the order of ``case.gangs``; empty if
    the policy raised an exception.
    """

    case: EditedSession
    decisions: tuple[Decision, ...]

    @cached_property
    def placement(self) -> Placement | None:
        """Placement of the job in question, with at least one pod; None if it stays pending."""
        for decision in self.decisions:
            result = decision.result
            if decision.gang.key == self.case.job:
                return result if isinstance(result, Placement) and result.n_placed else None
        return None


class SharedSessions(dict[frozenset[Edit], EditOutcome]):
    """Outcomes of one session under edits of which none is of a single job: they answer for every job of the session.

    A queue with more capability or the end of a running gang is tried once, whoever of the pending jobs asks.
    """


class EditTrials:
    """Runs one session under edits.

    `base`: the session without edits. `work`: work of one trial, as `session_work` counts it.

    Parameters
    ----------
    snapshot : ClusterSnapshot
        The cluster when the session begins.
    job : str
        ``namespace/name`` of the job in question, one of the gangs.
    decisions : sequence of Decision, optional
        The session's decisions without edits, in the order of the gangs; None: the session is run.
    budget : TrialBudget, optional
        Work that trials may do; `tired` is True afterwards. None: a new one.
    shared : SharedSessions, optional
        Outcomes of this session that other jobs asked for, to which new ones are added.
    """

    def __init__(
        self,
        policy: Policy,
        gangs: Sequence[Gang],
        snapshot: ClusterSnapshot,
        job: str,
        decisions: Sequence[Decision] | None = None,
        budget: TrialBudget | None = None,
        shared: SharedSessions | None = None,
    ) -> None:
        case = EditedSession(tuple(gangs), snapshot, job)
        self._policy = policy
        self._known: dict[frozenset[Edit], EditOutcome] = {}
        self._budget = TrialBudget() if budget is None else budget
        self._shared = SharedSessions() if shared is None else shared
        self.work = session_work(len(gangs), snapshot.n_nodes)
        self.base = EditOutcome(case, tuple(policy.schedule(gangs, snapshot) if decisions is None else decisions))
        self._known[frozenset()] = self.base

    @property
    def tired(self) -> bool:
        """Whether the budget is spent; further questions are still answered."""
        return self._budget.spent

    def affords(self, edits: Iterable[Edit]) -> bool:
        """Whether the budget is not spent, or the answer is known and costs nothing."""
        wanted = frozenset(edits)
        known = wanted in self._known or wanted in self._shared
        return not self.tired or (self._budget.free_answers and known)

    def outcome(self, edits: Iterable[Edit]) -> EditOutcome:
        """The session under some edits; equal sets of edits are run once."""
        wanted = frozenset(edits)
        found = self._known.get(wanted)
        if found is None:
            found = self._known[wanted] = self._run(wanted) if any(map(_is_of_job, wanted)) else self._of_all(wanted)
        return found

    def works(self, edits: Iterable[Edit]) -> bool:
        """Whether the policy places the job under some edits."""
        return self.outcome(edits).placement is not None

    def effects(self, edits: Collection[Edit]) -> tuple[Effect, ...]:
        """The other jobs that start, wait, end or are withdrawn under some edits, in the order of their names."""
        before = {decision.gang.key: decision.placed for decision in self.base.decisions}
        after = {decision.gang.key: decision.placed for decision in self.outcome(edits).decisions}
        found = [
            Effect(key, "starts" if placed else "waits")
            for key, placed in after.items()
            if key != self.base.case.job and placed != before[key]
        ]
        ended = {edit.name: edit for edit in edits if isinstance(edit, Finish)}
        found += [Effect(name, "ends", edit.pods, edit.gpus) for name, edit in ended.items()]
        gone = [key for key in before if key not in after and key not in ended]
        found += [Effect(key, "waits" if before[key] else "withdrawn") for key in gone]
        if any(map(_is_of_job, edits)):
            found += restarts(self.base.case)
        return tuple(sorted(found, key=lambda effect: (effect.job.encode(), effect.effect)))

    def _of_all(self, edits: frozenset[Edit]) -> EditOutcome:
        """The session under edits that are the same for every job in question."""
        found = self._shared.get(edits)
        if found is None:
            found = self._shared[edits] = self._run(edits)
        else:
            self._budget.learn(self.work)
        job = self.base.case.job
        return found if found.case.job == job else EditOutcome(replace(found.case, job=job), found.decisions)

    def _run(self, edits: frozenset[Edit]) -> EditOutcome:
        check()
        self._budget.spend(self.work)
        case = self.base.case
        for edit in sorted(edits, key=lambda one: (one.kind == _LAST, one.kind, one.subject, repr(one))):
            case = edit.apply(case)
        try:
            return EditOutcome(case, tuple(self._policy.schedule(case.gangs, case.snapshot)))
        except Exception:  # a policy from a notebook may fail on a cluster that only might be; such an edit is no help
            return EditOutcome(case, ())
