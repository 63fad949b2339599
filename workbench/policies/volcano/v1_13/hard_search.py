"""Search of Volcano 1.13 for jobs with a hard topology constraint: all HyperNodes of a tier are tried, tier by tier.

The best HyperNode of the first tier in which the job fits wins. The record of a job is the HyperNode in which Volcano
1.13 considers the job allocated.

Source: docs/reference/volcano-topology.md, sections 4 and 5.2. Only HyperNodes count: nodes outside them cannot be
reached.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from workbench.kernels.domains import NO_RECORD, TopologyScores
from workbench.kernels.dry_run_values import Trials
from workbench.kernels.tiers import VIRTUAL_TOP
from workbench.model.arrays import Ints, Longs
from workbench.model.explanation import Recorder
from workbench.model.topology import TOP, Topology
from workbench.policies.nearest import held_pods
from workbench.policies.volcano.filling import Filling, FillPass
from workbench.policies.volcano.parts.gradients import V1_13, Gradients
from workbench.policies.volcano.parts.job_parts import JobProgress
from workbench.policies.volcano.parts.scored_nodes import FillContext
from workbench.policies.volcano.parts.scores import best
from workbench.policies.volcano.parts.texts import above_text, pods_text, room_for_text, room_text

__all__ = ["NO_RECORD", "UNKNOWN_RECORD", "HardSearch", "Round", "read_record", "to_score", "widen"]

#: Leaves from which on it is cheaper to find those that are alike than to try each.
_MANY = 64


@dataclass(frozen=True, eq=False)
class Round:
    """Result of one round of a hard job. `domain`: the chosen HyperNode. `done`: the pods placed there."""

    domain: int
    done: FillPass


class HardSearch:
    """Finds HyperNodes for one job with a hard topology constraint as Volcano 1.13 does, round by round.

    The first round places the job's minimum, each later round one more pod.

    `last_tried`: domain tried last in the last round; None: none was tried.

    Parameters
    ----------
    context : FillContext
        Present amounts of the nodes; the caller updates them with the pods of the round before.
    scores : TopologyScores
        Scores of leaf HyperNodes by closeness to the HyperNode of the job so far.
    highest_tier : int
        Highest tier allowed.
    tasks_on_leaf : ndarray of shape (d,), int64
        Number of the job's running pods on each leaf HyperNode; the caller updates it between rounds.
    total_tasks : int
        All tasks of the job, for the share of tasks on a leaf.
    """

    # A round (`next_round`):
    #   1. HyperNodes that may be tried, tier by tier, the lowest first (`gradients`)
    #   2. of a tier, those with room by counts alone (`_holds`) are tried (`_dry_run`, `_try_leaves`)
    #   3. the first tier in which the job fits ends the search; `choose` takes the best HyperNode of it
    #   4. its pods are placed for good; trials of HyperNodes around them are forgotten (`_forget_around`)

    def __init__(
        self, context: FillContext, scores: TopologyScores, highest_tier: int, tasks_on_leaf: Longs, total_tasks: int
    ) -> None:
        self.context = context
        self.highest_tier = highest_tier
        self.last_tried: int | None = None
        self._scores = scores
        self._tasks_on_leaf = tasks_on_leaf
        self._total_tasks = total_tasks
        # Upstream never resets this sum; here it lives as long as one session's rounds of the job (docs/decisions.md,
        # decision 10).
        n_domains = context.request.snapshot.topology.n_domains
        self._sums = np.zeros(n_domains, dtype=np.float64)
        # Once the gang is ready each round asks for one pod, and a domain answers as in the round before unless a pod
        # came to it or the question changed.
        self._question: object = None
        self._known = np.zeros(n_domains, dtype=np.bool_)
        self._one_score = np.zeros(n_domains, dtype=np.float64)
        self._filling = Filling(context, scores=scores, even=True)
        demand = context.request.demand
        # Pods accept every node and gain nothing beyond its amounts: two nodes with equal amounts are alike to them.
        self._nodes_differ_by_state = all(
            demand.restriction(role) is None and context.extra(role) is None
            for role in (*demand.order, *demand.best_effort)
        )

    def look_again(self, context: FillContext) -> None:
        """Use the present amounts of the nodes (`context`) from now on, because other jobs were placed in between."""
        self.context = context
        self._question = None
        self._filling = Filling(context, scores=self._scores, even=True)

    def next_round(self, progress: JobProgress, record: int, recorder: Recorder | None = None) -> Round | None:
        """Place pods in the best HyperNode of the lowest tier in which enough pods fit (one round of the job).

        Returns None if enough pods fit in no HyperNode.

        `progress`: counts before the round. `record`: HyperNode in which the job is allocated so far (its record), or
        `NO_RECORD`. `recorder`: receives every HyperNode that is considered.
        """
        topology = self.context.request.snapshot.topology
        self.last_tried = None
        needs = max(progress.missing, 1)
        # A domain is dry-run even when it cannot succeed if a later round would see the sum of its scores.
        rounds_follow = progress.missing < sum(progress.left)
        holds = self._holds(progress)
        gradients = dict(self.gradients(record))
        self._same_question(progress, record)
        self._filling.ask(
            progress,
            record=NO_RECORD if record == UNKNOWN_RECORD else record,
            update_record=True,
            tasks_on_leaf=self._tasks_on_leaf,
            total_tasks=self._total_tasks,
        )
        winner: Round | None = None
        for tier in topology.tiers:
            domains = topology.domains_at(tier)
            if tier > self.highest_tier or winner is not None:
                self._tell_untried(recorder, tier, domains, needs)
                continue
            tried = gradients.get(tier, domains[:0])
            if len(tried):
                self.last_tried = int(tried[-1])
            held = holds[tried]
            worth = held >= needs
            if rounds_follow:
                worth |= held > 0
            if self._question is None:
                solved, unknown = np.zeros_like(worth), worth.nonzero()[0]
            else:
                solved = worth & self._known[tried]
                self._sums[tried[solved]] += self._one_score[tried[solved]]
                unknown = np.flatnonzero(worth & ~self._known[tried])
            if len(unknown):
                # Pods of a role that has its minimum do not bring the gang nearer.
                leaves = tier == topology.tiers[0] and record == NO_RECORD
                solved[unknown] = self._dry_run(tried[unknown], leaves=leaves)
            self._tell_tried(recorder, tier, domains, tried, solved, needs, record, progress)
            solutions = tried[solved]
            if len(solutions):
                domain = self.choose(solutions, record)
                winner = Round(domain, self._filling.settle(domain, progress))
        if winner is not None:
            self._forget_around(winner.done)
        return winner

    def choose(self, solutions: Ints, record: int) -> int:
        """The best HyperNode of a tier that holds the job: the largest sum of node scores, then the smallest name.

        `solutions`: ndarray of shape (n,), int32; in byte order of their names. `record`: HyperNode in which the job is
        allocated so far.
        """
        return int(solutions[best(self._sums[solutions])])

    def parts(self, domain: int, solved: Ints, record: int) -> Mapping[str, float]:
        """Parts of the score of one HyperNode by name, for explanations.

        `domain`: one of `solved`. `solved`: ndarray of shape (n,), int32; the HyperNodes of its tier that hold the job.
        `record`: HyperNode in which the job is allocated so far.
        """
        return {"node scores": float(self._sums[domain])}

    def _same_question(self, progress: JobProgress, record: int) -> None:
        """Forget the kept trials unless this round asks the same: one pod, same roles, same HyperNode so far."""
        question = None
        if progress.ready:
            # The roles in the order of their next pods: where one fits nowhere the next is tried.
            waiting = self._filling.run_role[self._filling.left_in_runs(progress) > 0]
            roles, first = np.unique(waiting, return_index=True)
            question = record, *(int(role) for role in roles[np.argsort(first)] if progress.left[role])
        if question is None or question != self._question:
            self._known[:] = False
        self._question = question

    def _forget_around(self, done: FillPass) -> None:
        """Forget the trial results of HyperNodes that hold the node or the leaf of a newly placed pod."""
        if self._question is None:
            return
        topology = self.context.request.snapshot.topology
        start, domains = topology.node_domains
        lowest = topology.tiers[0]
        for node in done.nodes:
            around = domains[start[node] : start[node + 1]]
            self._known[around] = False
            for leaf in around[topology.tier[around] == lowest]:
                for near in topology.nodes_of(int(leaf)):
                    self._known[domains[start[near] : start[near + 1]]] = False

    def _dry_run(self, domains: Ints, *, leaves: bool) -> npt.NDArray[np.bool_]:
        """Try some HyperNodes; return in which of them the job fits.

        Scores are added to the sums. `leaves`: the domains are of the lowest tier, and the job has no record that would
        tell them apart.
        """
        trials = self._try_leaves(domains) if leaves else self._filling.try_each(domains, self._sums[domains])
        self._sums[domains] = trials.sums
        solved: npt.NDArray[np.bool_] = trials.ready & (trials.placed > 0)
        if self._question is not None:
            self._known[domains[solved]] = True
            self._one_score[domains[solved]] = trials.first[solved]
        return solved

    def _try_leaves(self, domains: Ints) -> Trials:
        """Try each leaf HyperNode, but only the first of those whose nodes, by name, have equal amounts."""
        topology, states, sums = self.context.request.snapshot.topology, self.context.states, self._sums[domains]
        if states is None or not self._nodes_differ_by_state or len(domains) < _MANY or not topology.leaves_by_name:
            return self._filling.try_each(domains, sums)
        assert topology.spans is not None
        marks = np.empty((len(domains), 2), dtype=np.uint64)
        marks[:, 0], marks[:, 1] = sums.view(np.uint64), self._tasks_on_leaf[domains]
        first, kind = states.kinds_of_spans(topology.spans[domains], marks)
        tried = self._filling.try_each(domains[first], sums[first])
        placed, ready, missing, sums, first_scores = tried
        return Trials(placed.take(kind), ready.take(kind), missing.take(kind), sums.take(kind), first_scores.take(kind))

    def _holds(self, progress: JobProgress) -> Longs:
        """Upper bound on the number of pods left that fit in each HyperNode, int64 (d,); exact for identical pods."""
        request = self.context.request
        topology = request.snapshot.topology
        total = np.zeros(topology.n_domains, dtype=np.int64)
        for role in request.demand.order:
            left = progress.left[role]
            if left == 0:
                continue
            counts = topology.domain_sums(self.context.capacity(role, left)[:, None])[:-1, 0]
            total += np.minimum(counts, left)
        return total

    def gradients(self, record: int) -> list[tuple[int, Ints]]:
        """HyperNodes that may be tried, by tier; none if the job's recorded HyperNode does not exist.

        ``record`` is the HyperNode in which the job is allocated so far.
        """
        if record == UNKNOWN_RECORD:
            return []
        topology = self.context.request.snapshot.topology
        return Gradients(topology, V1_13).of(VIRTUAL_TOP, record, self.highest_tier)

    def _too_far(self, domain: int, record: int) -> str:
        topology = self.context.request.snapshot.topology
        if record == UNKNOWN_RECORD:
            return "the recorded HyperNode does not exist"
        common = topology.lca(domain, record)
        name = topology.domain_names[record]
        if common < 0:
            return f"no common HyperNode with the recorded {name}"
        return f"meets the recorded {name} only at tier {topology.tier[common]}, {self.highest_tier} is allowed"

    def _near(self, domain: int, record: int) -> str:
        """Text that names the common ancestor of a HyperNode and the job's HyperNode so far; empty without one."""
        if record == NO_RECORD:
            return ""
        topology = self.context.request.snapshot.topology
        common = topology.lca(domain, record)
        names = topology.domain_names
        return f", meets the recorded {names[record]} in {names[common]} (tier {topology.tier[common]})"

    def _tell_untried(self, recorder: Recorder | None, tier: int, domains: Ints, needs: int) -> None:
        if recorder is None or recorder.ties_only:
            return
        request = self.context.request
        for domain, held in zip(domains.tolist(), held_pods(request, domains).tolist(), strict=True):
            why = f"{above_text(tier, self.highest_tier)}; {room_for_text(held, needs)}"
            if tier <= self.highest_tier:
                why = "not tried: a lower tier has a solution"
            recorder.domain(request.snapshot.topology.domain_names[domain], tier, False, why)

    def _tell_tried(
        self,
        recorder: Recorder | None,
        tier: int,
        domains: Ints,
        tried: Ints,
        solved: npt.NDArray[np.bool_],
        needs: int,
        record: int,
        progress: JobProgress,
    ) -> None:
        if recorder is None:
            return
        held = np.where(solved, needs, held_pods(self.context.request, tried))
        topology, demand = self.context.request.snapshot.topology, self.context.request.demand
        names = topology.domain_names
        at = {domain: i for i, domain in enumerate(tried.tolist())}
        if recorder.ties_only:
            domains = domains[np.isin(domains, tried[solved])]
        for domain in domains.tolist():
            if domain not in at:
                recorder.domain(names[domain], tier, False, self._too_far(domain, record))
                continue
            why = f"holds {held[at[domain]]} of {pods_text(needs)}{self._near(domain, record)}"
            if not solved[at[domain]]:
                taken = sum(progress.left)
                room = f"its queue takes {taken or 'none'} of them"
                if taken >= needs:
                    room = room_text(demand, topology.nodes_of(domain), self.context.idle, progress.left, needs)
                recorder.domain(names[domain], tier, False, f"{why}; {room}")
                continue
            parts = self.parts(domain, tried[solved], record)
            recorder.domain(names[domain], tier, True, why, sum(parts.values()), **parts)


#: A record whose name is no HyperNode.
UNKNOWN_RECORD = -3


def read_record(name: str, topology: Topology) -> int:
    """Index of the HyperNode called `name`, the recorded name of the HyperNode in which a job is allocated.

    `NO_RECORD` if `name` is empty, `UNKNOWN_RECORD` if no such HyperNode exists.
    """
    if not name:
        return NO_RECORD
    return topology.domain(name) if topology.has_domain(name) else UNKNOWN_RECORD


def to_score(record: int) -> int:
    """HyperNode by whose closeness nodes are scored, given the HyperNode in which the job is allocated (`record`).

    It is `record` itself; for `UNKNOWN_RECORD` the virtual top, to which no node counts as close.
    """
    return TOP if record == UNKNOWN_RECORD else record


def widen(record: int, domain: int, topology: Topology) -> int:
    """HyperNode to store as the job's record after a hard job was placed: the LCA of the old record and the new domain.

    `record`: the old record: a HyperNode, or `NO_RECORD` if the job had none; the answer is then `domain`. It is never
    `UNKNOWN_RECORD`, because a hard job with that record is not placed. `domain`: HyperNode where the job was placed.
    Returns `NO_RECORD` if no HyperNode holds both.
    """
    if record == NO_RECORD:
        return domain
    common = topology.lca(domain, record)
    return NO_RECORD if common < 0 else common
