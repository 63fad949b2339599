"""Rounds of one job in `volcano-1.15`: on any node, or in the HyperNodes that a search chooses."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Protocol

import numpy as np

from workbench.kernels.domains import NO_RECORD
from workbench.kernels.tiers import VIRTUAL_TOP
from workbench.kernels.two_level import TwoLevel
from workbench.model.arrays import Longs
from workbench.model.notice import Notice
from workbench.policies.request import Assignment, Declined, Request
from workbench.policies.volcano.filling import Filling, FillPass
from workbench.policies.volcano.parts.scored_nodes import FillContext
from workbench.policies.volcano.session.queues import QueueHeadroom
from workbench.policies.volcano.session.rounds import Rounds, declined_flat, tell_whole_cluster
from workbench.policies.volcano.v1_15.compiled_search import enter_records, nodes_of_pods, reasons_of, shapes_of
from workbench.policies.volcano.v1_15.queue_caps import QueueCaps
from workbench.policies.volcano.v1_15.search_misses import declined_by_search
from workbench.policies.volcano.v1_15.search_query import SearchQuery

__all__ = ["FlatRounds115", "RoundExplainer", "SearchRounds", "Searcher"]


class RoundExplainer(Protocol):
    """Takes the rounds of one job's search and records what the search considers."""

    def take_round(self, search: TwoLevel) -> bool:
        """Take one round of the search, as `TwoLevel.turn` does."""


class Searcher(Protocol):
    """What the rounds of a job ask of the policy `volcano-1.15`."""

    def context(self, request: Request) -> FillContext:
        """Make the `FillContext` of a request: node amounts and the policy's score weights."""

    def cluster_fill(self, request: Request, *, topology: bool) -> Filling:
        """Make the `Filling` that places pods on any node; `topology`: they have a topology constraint."""

    def tell_first_pod(self, asked: SearchQuery, sub: int, domain: int, record: int) -> None:
        """Record for the explanation how the nodes of a HyperNode score for the first pod of a sub-job.

        `sub`: number of the sub-job. `domain`: the HyperNode; -1 for the virtual top. `record`: HyperNode in which the
        sub-job is allocated so far, or `NO_RECORD`.
        """

    def search(self, asked: SearchQuery) -> TwoLevel:
        """Make the search of a job, before its first round."""

    def explainer_of(self, asked: SearchQuery, *, first: bool) -> RoundExplainer | None:
        """Make the explainer of a job's search; None: no explanation is wanted."""

    def place_at_once(self, asked: SearchQuery) -> Assignment | Declined:
        """Place all pods of a job for which HyperNodes are searched, in as many rounds as it takes."""


class _Rounds115(Rounds):
    """Base of a job's rounds in `volcano-1.15`, which see the present state; holds the sub-jobs' HyperNodes so far."""

    def __init__(self, asked: SearchQuery, policy: Searcher) -> None:
        super().__init__(asked.request)
        self._policy = policy
        self._asked = asked
        self._at_once: Assignment | None = None

    def take(self, request: Request, room: QueueHeadroom | None, *, every: bool) -> None:
        asked = self._asked.on(request)
        self.declined = asked.unready()
        if self.declined is None:
            self._place(asked, room, every)
        self.over |= self.declined is not None

    @abstractmethod
    def _place(self, asked: SearchQuery, room: QueueHeadroom | None, every: bool) -> None:
        """Place pods of the job as `take` does, or set `declined`."""

    def answer(self, request: Request, idle: Longs | None) -> Assignment | Declined:
        if self.declined is not None:
            return self.declined
        if self._at_once is not None:
            return self._at_once
        return self._answer(self._asked.on(request), reasons_of(request, self.node, idle))

    @abstractmethod
    def _answer(self, asked: SearchQuery, reasons: dict[int, tuple[Notice, ...]]) -> Assignment:
        """Make the answer to a job that is placed; `reasons` as in `Assignment`."""


class FlatRounds115(_Rounds115):
    """Rounds of a job that may use any node, as if the cluster were one HyperNode."""

    def __init__(self, asked: SearchQuery, policy: Searcher) -> None:
        super().__init__(asked, policy)
        self._record = asked.records[0]

    def _place(self, asked: SearchQuery, room: QueueHeadroom | None, every: bool) -> None:
        request = asked.request
        self.cap(request, room)
        first = not (self.node >= 0).any()
        if first:
            self._policy.tell_first_pod(asked, 0, VIRTUAL_TOP, self._record)
        # Only a search writes a record. If there is a limit but no plugin says which HyperNodes are tried, upstream
        # searches the virtual top, which becomes the record.
        after = VIRTUAL_TOP if asked.limits.top_only else self._record
        for done in self._passes(asked, after, every):
            if first:
                tell_whole_cluster(request, done, self.progress)
            if not done.progress.ready:
                self.declined = declined_flat(request, done, request.progress(), asked.limits.warnings)
                return
            self.enter(done)
            first = first and not done.n_placed
        if not first:
            self._record = after

    def _passes(self, asked: SearchQuery, after: int, every: bool) -> Iterator[FillPass]:
        """Fill nodes: the job's minimum in the first round, one pod more in each later round.

        The record (HyperNode in which the job is allocated) widens with every pod of the first round, and is `after`
        at the beginning of each later one. With `every`, all following rounds are taken, else only the next one.
        """
        progress, sub = self.progress, asked.subs[0]
        filling = self._policy.cluster_fill(asked.request, topology=sub.topology)
        if not sub.topology:
            filling.ask(progress, every=every)
            yield filling.settle(VIRTUAL_TOP, progress)
            return
        placed = np.concatenate([sub.running_nodes, self.node[self.node >= 0]])
        on_leaf, record = asked.topology.count_on_leaves(placed), self._record
        if not progress.ready:
            filling.ask(progress, record=record, update_record=True, tasks_on_leaf=on_leaf, total_tasks=sub.total)
            done = filling.settle(VIRTUAL_TOP, progress)
            yield done
            progress, record = done.progress, after
            if not (every and progress.ready and done.n_placed and sum(progress.left)):
                return
            on_leaf = on_leaf + asked.topology.count_on_leaves(done.nodes)
        # From here on a round is one pod: what its node makes of the record nobody sees.
        filling.ask(progress, record=record, tasks_on_leaf=on_leaf, total_tasks=sub.total, every=every)
        yield filling.settle(VIRTUAL_TOP, progress)

    def _answer(self, asked: SearchQuery, reasons: dict[int, tuple[Notice, ...]]) -> Assignment:
        answer = Assignment(self.node, reasons, score=self.score, warnings=asked.limits.warnings)
        if asked.subs.topology[0] and self._record != NO_RECORD:
            enter_records(asked, answer, [self._record], self._record)
        return answer


class SearchRounds(_Rounds115):
    """Rounds of a job with a tier limit or sub-groups, all by one search.

    The search sees the present state of the cluster in each round.
    """

    def __init__(self, asked: SearchQuery, policy: Searcher) -> None:
        super().__init__(asked, policy)
        self._begun = False
        self._search: TwoLevel | None = None

    def _place(self, asked: SearchQuery, room: QueueHeadroom | None, every: bool) -> None:
        if self._all_at_once(asked, room, every):
            return
        first, search = self._search is None, self._search_now(asked)
        if room is not None:
            QueueCaps(asked.request.gang, asked.request.demand, asked.subs).apply(search, self.node, room)
        explainer = self._policy.explainer_of(asked, first=first)
        self.over = True
        while search.pods_left:
            if not (search.turn() if explainer is None else explainer.take_round(search)):
                break
            self.score += search.score
            if not every:
                self.over = not search.pods_left
                break
        if not search.ready:
            self.declined = declined_by_search(asked, search)
            return
        self._count(asked, search)

    def _all_at_once(self, asked: SearchQuery, room: QueueHeadroom | None, every: bool) -> bool:
        """Place all pods of the job at once; False, with nothing placed, if single rounds may differ."""
        progress = self.progress
        needed = progress.min_available >= progress.counted + sum(progress.left)
        if self._begun or room is not None or not (every or (needed and not asked.request.gang.sub_grouped)):
            self._begun = True
            return False
        answer = self._policy.place_at_once(asked)
        self.over = True
        if isinstance(answer, Declined):
            self.declined = answer
            return True
        self._at_once, self.node = answer, answer.node
        for role in asked.request.demand.order:
            progress.place(role, int((self.node[asked.request.gang.role_of_pod == role] >= 0).sum()))
        return True

    def _search_now(self, asked: SearchQuery) -> TwoLevel:
        """The job's search on the present state of the nodes."""
        if self._search is None:
            self._search = self._policy.search(asked)
        else:
            context = self._policy.context(asked.request)
            seen = context.scored
            self._search.update_nodes(seen.idle, seen.used, shapes_of(context, seen.rows))
        return self._search

    def _count(self, asked: SearchQuery, search: TwoLevel) -> None:
        """Update the counts of placed pods, and of pods that further rounds would try."""
        node, role_of = nodes_of_pods(asked, search), asked.request.gang.role_of_pod
        new = role_of[(node >= 0) & (self.node < 0)]
        self.node = node
        order = asked.request.demand.order
        _, shapes, left = search.left()
        still = np.bincount(shapes, weights=left, minlength=len(order))
        for place, role in enumerate(order):
            self.progress.place(role, int((new == role).sum()))
            self.progress.left[role] = int(still[place])

    def _answer(self, asked: SearchQuery, reasons: dict[int, tuple[Notice, ...]]) -> Assignment:
        answer = Assignment(self.node, reasons, score=self.score, warnings=asked.limits.warnings)
        if self._search is not None and asked.recorded and self._search.record != NO_RECORD:
            enter_records(asked, answer, self._search.records().tolist(), self._search.record)
        return answer
