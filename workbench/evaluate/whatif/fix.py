"""`fix_report`: why a job is pending, and the smallest sets of edits with which its policy places it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.errors import InputError, UnknownNameError, named_arguments
from workbench.evaluate.whatif.budget import FEWEST_SESSIONS, MOST_WORK, TrialBudget, session_work
from workbench.evaluate.whatif.edit import CLASSES, Edit, Effect
from workbench.evaluate.whatif.families import families
from workbench.evaluate.whatif.family import Family, One
from workbench.evaluate.whatif.holders import Holder, holders
from workbench.evaluate.whatif.new_nodes import new_nodes
from workbench.evaluate.whatif.queue_edits import Withdraw
from workbench.evaluate.whatif.sentences import ROOM_KINDS, Rest, cause_text, fix_text, idle_text
from workbench.evaluate.whatif.smallest import FixSearch, combinable, is_free
from workbench.evaluate.whatif.trials import EditTrials
from workbench.evaluate.whatif.victims import Victims
from workbench.model.gang import Gang
from workbench.model.notice import Notice
from workbench.model.placement import Decision, NearestMiss, Refusal
from workbench.model.scenario import Scenario, key_of_job, session_of
from workbench.model.snapshot import ClusterSnapshot
from workbench.model.value import Value
from workbench.policies import Policy, as_policy

__all__ = ["FixReport", "JobFix", "JobQuestion", "fix_report"]

#: Nodes up to which the smaller changes of a kind are tried where the largest does not help.
_SMALL = 16
#: Running gangs of a larger cluster that are tried although their end promises no room.
_UNPROMISING = 24
#: Sets of edits of one class, and pairs, that are reported at most.
_ALTERNATIVES = 3


@dataclass(frozen=True)
class JobFix:
    """A minimal set of edits with which the policy, run again on the whole session, places the job.

    `edits` (tuple of Edit): in the order of `CLASSES`, then by kind and subject. `others` (tuple of Effect): what
    becomes of other jobs, by name. `rest` ({"none", "placed", "pending"}): the other jobs of the session after the
    edits: there are none, all are placed, or some wait.
    """

    edits: tuple[Edit, ...]
    others: tuple[Effect, ...]
    rest: Rest = "placed"

    @property
    def costs(self) -> bool:
        """Whether another job is worse off by it, or the job itself runs with fewer pods."""
        return any(effect.harms for effect in self.others) or any(edit.category == "shrink" for edit in self.edits)

    @property
    def text(self) -> str:
        """What to do and what it does to other jobs: ``allow tier 2 (no other job waits)``."""
        return fix_text(self.edits, self.others, self.rest)

    def to_dict(self) -> dict[str, Any]:
        """The fix as a JSON-ready dict with the keys edits, verified, others and text."""
        return {
            "edits": [edit.to_dict() for edit in self.edits],
            "verified": True,
            "others": [effect.to_dict() for effect in self.others],
            "text": self.text,
        }


@dataclass(frozen=True, eq=False, repr=False)
class FixReport(Value):
    """Why a job is pending, who holds what it needs, and the least that would help.

    Attributes
    ----------
    job, policy : str
        ``namespace/name`` of the job; name of the policy.
    cause : str
        The state that the first fix, and the first fix at no cost, would change, in words and with numbers.
    fixes : tuple of JobFix
        Minimal sets of edits: fewest edits first, then by the class of the dearest edit (`CLASSES`), then those that
        cost nobody anything, then by kind and subject.
    never : bool
        Whether no set of edits without new nodes places the job, every one having been tried, and an empty cluster
        refuses it, too; False where some classes of edits were not to be used.
    never_as_written : bool
        Whether the job, unchanged, would stay pending even if it had the cluster to itself.
    proved : bool
        Whether every smaller set of the edits considered was tried in the whole session.
    nearest : NearestMiss, optional
        HyperNode that comes closest to holding the job, if it holds less than the job needs.
    holders : tuple of Holder
        Gangs that hold what the job lacks, on the nearest HyperNode and in its queue.
    quoted : tuple of Notice
        Reasons of a refusal that `cause` says in the policy's own words.
    """

    job: str
    policy: str
    cause: str
    fixes: tuple[JobFix, ...]
    never: bool
    never_as_written: bool
    proved: bool
    nearest: NearestMiss | None
    holders: tuple[Holder, ...]
    quoted: tuple[Notice, ...] = ()

    def __repr__(self) -> str:
        return f"FixReport({self.job} is pending by {self.policy}: {self.headline})"

    @property
    def causes(self) -> tuple[Edit, ...]:
        """The edits that belong to some minimal set, one for each kind and subject."""
        found: dict[tuple[str, str], Edit] = {}
        for fix in self.fixes:
            for edit in fix.edits:
                found.setdefault((edit.kind, edit.subject), edit)
        return tuple(found.values())

    @property
    def free(self) -> JobFix | None:
        """The first fix that costs neither another job nor this one anything; None if each does."""
        return next((fix for fix in self.fixes if not fix.costs), None)

    @property
    def headline(self) -> str:
        """The report in one line: the cause, the smallest fix, and the first one at no cost if it is another."""
        return "; ".join(self.headline_parts)

    @property
    def headline_parts(self) -> tuple[str, ...]:
        """The parts of `headline`: the cause, then one or two fixes, each with what it is."""
        parts = [self.cause]
        if self.fixes:
            first = self.fixes[0]
            parts.append(f"would help: {first.text}")
            if first.costs and self.free is not None:
                parts.append(f"at no loss: {self.free.text}")
        return tuple(parts)

    def to_dict(self) -> dict[str, Any]:
        """The report as a JSON-ready dict."""
        near = self.nearest
        return {
            "job": self.job,
            "policy": self.policy,
            "headline": self.headline,
            "causes": [edit.to_dict() for edit in self.causes],
            "fixes": [fix.to_dict() for fix in self.fixes],
            "never": self.never,
            "never_as_written": self.never_as_written,
            "proved": self.proved,
            "nearest": None
            if near is None
            else {"tier": int(near.tier), "domain": near.domain, "holds": int(near.holds), "needs": int(near.needs)},
            "holders": [holder.to_dict() for holder in self.holders],
        }


@named_arguments
def fix_report(
    policy: Policy | str,
    gangs: Sequence[Gang] | Scenario,
    snapshot: ClusterSnapshot | Scenario,
    job: str,
    *,
    decisions: Sequence[Decision] | None = None,
    classes: Sequence[str] = CLASSES,
    most_runs: int | None = None,
) -> FixReport:
    """Find why a policy leaves a job pending, and the smallest sets of edits with which it places the job.

    Each set was tried: the policy ran the whole session again with the edits made. A set is minimal: without any of
    its edits, or with a smaller change of its kind, the job stays pending. No edit touches a running pod of the job
    itself.

    Parameters
    ----------
    policy : Policy or str
        The policy that decides, or its name.
    gangs : sequence of Gang, or Scenario
        All gangs of the session.
    snapshot : ClusterSnapshot or Scenario
        The cluster when the session begins.
    job : str
        ``namespace/name`` of a gang that the policy leaves pending; the name alone where one gang has it.
    decisions : sequence of Decision, optional
        The policy's decisions, in the order of the gangs; None: the session is run.
    classes : sequence of str
        Classes of edits that may be used, the most welcome first (`CLASSES`); others are not considered.
    most_runs : int, optional
        Sessions to run at most; None: depends on the numbers of nodes and gangs. It limits larger sets and running
        gangs first.

    Raises
    ------
    UnknownNameError
        No gang has this name, or there is no such class.
    InputError
        The policy places the job, or gangs of several namespaces have this name.

    Examples
    --------
    >>> import workbench as wb
    >>> tree = wb.generate_scenario("three-level-tree")
    >>> report = wb.fix_report("volcano-1.15", [wb.gang("wide", pods=3, gpus=8, tier=1)], tree, "default/wide")
    >>> report.fixes[0].edits[0].kind
    'tier'
    """
    policy = as_policy(policy)
    gangs, snapshot = session_of(gangs, snapshot)
    keys = [gang.key for gang in gangs]
    job = key_of_job(job, keys)
    for name in classes:
        if name not in CLASSES:
            raise UnknownNameError("class of edits", name, list(CLASSES))
    work = session_work(len(gangs), snapshot.n_nodes)
    budget = TrialBudget(max(MOST_WORK, FEWEST_SESSIONS * work) if most_runs is None else most_runs * work)
    trials = EditTrials(policy, gangs, snapshot, job, decisions, budget)
    refusal = trials.base.decisions[keys.index(job)].result
    if not isinstance(refusal, Refusal):
        raise InputError(
            "nothing to fix", source=f"job {job}", got=f"placed by {policy.name}", expected="a pending job"
        )
    return JobQuestion(policy, trials, refusal, tuple(classes)).answer()


class JobQuestion:
    """One pending job, and the edits that may be made for it.

    Parameters
    ----------
    trials : EditTrials
        The whole session; every fix is run in it.
    refusal : Refusal
        The policy's answer on the job in the session without edits.
    classes : tuple of str
        As of `fix_report`.
    alone : EditTrials, optional
        The job by itself after the session: sets of edits are looked for there first, because a session of many jobs
        takes long, and those that are found are run in the whole session before they count. None: they are looked for
        in the whole session.
    brief : bool
        Whether no further classes of edits are tried once one edit helps that costs nobody anything.
    """

    # `answer` looks for sets of edits (`_sets`) with a `FixSearch`, in the whole session or with the job by itself.
    # Sets found with the job by itself are run in the whole session before they count (`_held`). `_fix` adds the
    # effects on other jobs to a set, `_order` sorts the fixes, and `_report` puts all into words.

    def __init__(
        self,
        policy: Policy,
        trials: EditTrials,
        refusal: Refusal,
        classes: tuple[str, ...],
        alone: EditTrials | None = None,
        *,
        brief: bool = False,
    ) -> None:
        self._brief = brief
        self._policy, self._trials, self._refusal, self._classes = policy, trials, refusal, classes
        self._rank = {name: i for i, name in enumerate(classes)}
        self._searched = trials if alone is None or alone.base.placement is not None else alone
        case = self._searched.base.case
        self._small = case.snapshot.n_nodes <= _SMALL
        self._cheap = self._allowed(families(case, len(case.gangs) if self._small else 8))
        unpromising = len(case.snapshot.running) if self._small else _UNPROMISING
        self._victims = Victims(case, unpromising) if "evict" in self._rank else None
        running: list[Family] = [One(edit) for edit in self._victims.edits] if self._victims is not None else []
        self._every = sorted([*self._cheap, *running], key=lambda family: self._rank[family.loosest.category])
        self._search = FixSearch(self._searched, self._every, exhaustive=self._small)

    def answer(self) -> FixReport:
        """Find the fixes and put them into words."""
        sets = self._sets(_ALTERNATIVES)
        fixes = self._held(sets)
        possible = bool(sets)
        # A job that was tried by itself has few sessions, and perhaps none is left.
        if not possible and "nodes" in self._classes and (self.in_session or not self._trials.tired):
            fixes += [self._fix((edit,)) for edit in new_nodes(self._trials, self._refusal)]
        fixes = sorted({fix.edits: fix for fix in fixes}.values(), key=self._order)
        return self._report(fixes, possible=possible)

    def _held(self, sets: Sequence[Collection[Edit]]) -> list[JobFix]:
        """Fixes of those sets that place the job in the whole session.

        Of sets found with the job by itself, only the first one and the first one at no cost are kept, as far as the
        budget allows to run them in the session. There a smaller change may do, because other jobs are placed
        differently, too. If none holds there, the first one is tried together with a higher priority.
        """
        if self.in_session:
            return [self._fix(edits) for edits in sets]
        fixes: list[JobFix] = []
        case = self._trials.base.case
        rise = [family for family in self._allowed(families(case, 0)) if family.loosest.kind == "priority"]
        session = self._search.within(self._trials, rise)
        ordered = sorted(map(self._fix_of_search, sets), key=self._order)
        for found in ordered:
            if self._trials.tired:
                break
            # A session of many jobs takes long: one fix, and one at no cost.
            if (not fixes or not found.costs) and self._trials.works(found.edits):
                fixes.append(self._fix(session.weakened(found.edits)))
                if not fixes[-1].costs:
                    break
        if ordered and rise and not fixes and not self._trials.tired:
            # Another job takes what the edits leave; this one may get it if it comes first.
            both = [*ordered[0].edits, rise[0].loosest]
            fixes += [self._fix(session.weakened(both))] if self._trials.works(both) else []
        return fixes

    @property
    def in_session(self) -> bool:
        """Whether sets of edits are looked for in the whole session."""
        return self._searched is self._trials

    @property
    def exhausted(self) -> bool:
        """Whether sets of edits were looked for in the whole session until the end of the search."""
        return self.in_session and not self._trials.tired

    def _sets(self, most: int) -> list[tuple[Edit, ...]]:
        """Minimal sets of edits: single edits; where none helps, larger sets that avoid dear edits."""
        search = self._search
        found = search.singles(most, (lambda edits: not self._fix_of_search(edits).costs) if self._brief else None)
        sets = list(found)
        if all(self._fix_of_search(edits).costs for edits in found):
            sets += filter(None, [search.preferred(list(filter(is_free, self._cheap)))])
        if found:
            return sets
        sets += filter(None, [next(filter(None, map(search.preferred, combinable(self._every))), ())])
        if not sets or min(map(len, sets)) > 2:
            further = self._victims.sets(most) if self._victims is not None else ()
            sets += search.pairs(most, further)
        return sets

    def _fix_of_search(self, edits: Collection[Edit]) -> JobFix:
        """A fix with its effects in the session searched; no other job is affected if the job was tried by itself."""
        ordered = tuple(edits)
        return JobFix(ordered, self._searched.effects(ordered))

    def _allowed(self, some: Sequence[Family]) -> list[Family]:
        return [family for family in some if family.loosest.category in self._rank]

    def _order(self, fix: JobFix) -> tuple[object, ...]:
        ranks = sorted((self._rank[edit.category] for edit in fix.edits), reverse=True)
        lost = sum(effect.pods for effect in fix.others)
        kinds = [(edit.kind != "tier", edit.kind, edit.subject) for edit in fix.edits]
        return len(fix.edits), ranks, fix.costs, lost, kinds

    def _fix(self, edits: Collection[Edit]) -> JobFix:
        ordered = sorted(edits, key=lambda edit: (self._rank[edit.category], edit.kind, edit.subject))
        outcome = self._trials.outcome(edits)
        placed = [one.placed for one in outcome.decisions if one.gang.key != self._refusal.gang.key]
        rest: Rest = "none" if not placed else "placed" if all(placed) else "pending"
        return JobFix(tuple(ordered), self._trials.effects(ordered), rest=rest)

    def _report(self, fixes: Sequence[JobFix], *, possible: bool) -> FixReport:
        case = self._trials.base.case
        nearest = self._refusal.nearest
        free = next((fix.edits for fix in fixes if not fix.costs), ())
        named = tuple(dict.fromkeys([*(fixes[0].edits if fixes else ()), *free]))
        idle = idle_text(self._policy, case)
        every = self._rank.keys() >= set(CLASSES) - {"nodes"}
        proved = self._search.proved and self.in_session
        never = not possible and every and bool(idle) and proved
        rivals = dict.fromkeys(one.job for fix in fixes[:1] for one in fix.others if one.effect == "waits")
        base = self._trials.base
        # Where another job would take what they leave, they are not what is in the way.
        first = [edit for edit in (fixes[0].edits if fixes else ()) if edit.kind not in ("priority", "withdraw")]
        alone = not rivals or self._trials.works([*first, *map(Withdraw, rivals)])
        cause, quoted = cause_text(
            named,
            self._refusal,
            nearest,
            base,
            rivals=tuple(rivals),
            rivals_alone=alone,
            possible=possible or not every,
            proved=proved,
            idle=idle,
        )
        if not possible and not every:
            cause = f"no change of the classes {', '.join(self._classes)} helps: {cause}"
        of_room = not named or any(edit.kind in ROOM_KINDS | {"priority", "wait"} for edit in named)
        held = holders(self._trials.base, self._refusal, nearest if of_room else None, named)
        key, name = self._refusal.gang.key, self._policy.name
        return FixReport(key, name, cause, tuple(fixes), never, bool(idle), proved, nearest, held, quoted)
