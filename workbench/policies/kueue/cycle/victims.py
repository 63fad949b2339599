"""`VictimSearch`: the workloads that have to go so that another one gets its quota and its domains.

Source: Kueue 0.19, pkg/scheduler/preemption: the classical search, and where the one by shares begins.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from workbench.model.kueue import PodSet
from workbench.model.kueue_queues import QueuedWorkload
from workbench.policies.kueue.cycle.cluster import CycleCluster, CycleQueue, Holding
from workbench.policies.kueue.cycle.fair_victims import FairVictims
from workbench.policies.kueue.cycle.flavor_search import NO_CANDIDATES, PREEMPT, RECLAIM
from workbench.policies.kueue.cycle.nomination import Nomination
from workbench.policies.kueue.cycle.topology import TopologyStep
from workbench.policies.kueue.quota import Amounts, FlavorResource, QuotaNode

__all__ = ["VictimSearch", "queue_time"]

#: Reservation times sort the newest first; a workload without one counts as reserved now.
_NOW = float("inf")


def queue_time(workload: QueuedWorkload) -> float:
    """Seconds by which a workload stands in its queue; the oldest if unknown."""
    return -_NOW if workload.created is None else workload.created


class _Candidate(NamedTuple):
    holding: Holding
    #: Cohort in which its queue and the preemptor's meet; None: they share the queue.
    meet: QuotaNode | None
    #: Whether it may only go if the preemptor does not borrow.
    only_without_borrowing: bool


@dataclass(frozen=True)
class _Need:
    """What a preemptor needs: which resources are short, all that it uses, and its pod sets by flavor."""

    short: Collection[FlavorResource]
    amounts: Amounts
    pods: Mapping[str, list[PodSet]]


class VictimSearch:
    """The search for victims of one workload. `cluster`: left as found. `workload`: the preemptor."""

    # Overview:
    #   1. candidates: of the own queue (`_own`), and of queues that borrow (`_elsewhere`), in their order (`_in_order`)
    #   2. take them out one by one until the preemptor fits, then put back those that it can spare (`_remove`)
    #   3. everything is back at the end: the caller carries the eviction out

    def __init__(self, cluster: CycleCluster, queue: CycleQueue, workload: QueuedWorkload) -> None:
        self._cluster = cluster
        self._queue = queue
        self._workload = workload

    def possibility(self, key: FlavorResource, amount: int) -> tuple[int, int]:
        """How an amount of one resource may be had by preemption, as ranks of flavors say it, and the borrowing height
        then.
        """
        victims = self._search(_Need(frozenset((key,)), {key: amount}, {}))
        if not victims:
            return NO_CANDIDATES, self._queue.quota.borrowing_height(key, amount)[0]
        # Only quota counts here.
        for each in victims:
            self._change_quota(each, -1)
        height, _ = self._queue.quota.borrowing_height(key, amount)
        for each in victims:
            self._change_quota(each, 1)
        own = any(each.queue == self._queue.spec.name for each in victims)
        return PREEMPT if own else RECLAIM, height

    def _change_quota(self, holding: Holding, sign: int) -> None:
        node = self._cluster.queues[holding.queue].quota
        for key, amount in holding.taken.quota.items():
            (node.add if sign > 0 else node.remove)(key, amount)

    def victims(self, nomination: Nomination) -> list[Holding]:
        """The workloads that have to go for a nomination; empty: none are enough."""
        if nomination.in_vain:
            return []
        pods = TopologyStep(self._cluster, self._queue, self._workload).requests(nomination)
        return self._search(_Need(nomination.needing_preemption, nomination.total(), pods))

    def _search(self, need: _Need) -> list[Holding]:
        if self._cluster.fair:
            return self._search_by_shares(need)
        own = self._own(need)
        forbidden = not self._queue.spec.borrows_while_preempting
        only_borrowing = forbidden and not self._below_nominal(need.short)
        with_advantage, others = self._elsewhere(need, only_with_advantage=only_borrowing)
        if not (own or with_advantage or others):
            return []
        candidates = [
            each
            for evicted in (True, False)
            for some in (with_advantage, others, own)
            for each in some
            if each.holding.workload.evicted is evicted
        ]
        if not (with_advantage or others) or only_borrowing:
            tries: Sequence[bool] = (True,)
        elif forbidden and not with_advantage:
            tries = (False, True)
        else:
            tries = (True, False)
        for borrowing in tries:
            victims = self._remove(candidates, need, borrowing)
            if victims:
                return victims
        return []

    def _search_by_shares(self, need: _Need) -> list[Holding]:
        spec, quota = self._queue.spec, self._queue.quota
        found = self._own(need)
        for name in self._cluster.tree_of(spec.name) if spec.reclaim_in_cohort != "Never" else ():
            other = self._cluster.queues[name]
            if other is not self._queue and any(other.quota.over(key) for key in need.short):
                found += self._of_queue(other, quota.parent, need, advantage=True)

        def order(each: _Candidate) -> tuple[bool, bool]:
            return not each.holding.workload.evicted, each.holding.queue == spec.name

        candidates = [each.holding for each in sorted(self._in_order(found), key=order)]
        if not candidates:
            return []
        within = not any(quota.over(key, need.amounts.get(key, 0)) for key in need.short)
        search = FairVictims(
            self._cluster, self._queue, need.amounts, within=within, fits=lambda: self._fits(need, borrowing=True)
        )
        return search.search(candidates, self._cluster.fair)

    def _below_nominal(self, short: Collection[FlavorResource]) -> bool:
        quota = self._queue.quota
        return all(quota.used(key) < quota.quota(key).nominal for key in short)

    def _own(self, need: _Need) -> list[_Candidate]:
        if self._queue.spec.within_queue == "Never":
            return []
        return self._of_queue(self._queue, None, need, advantage=False)

    def _elsewhere(self, need: _Need, *, only_with_advantage: bool) -> tuple[list[_Candidate], list[_Candidate]]:
        """Candidates of other queues: those whose quota the preemptor's place in the tree entitles it to, the rest.

        `only_with_advantage`: the rest could not be used, and is left out.
        """
        found: tuple[list[_Candidate], list[_Candidate]] = ([], [])
        quota = self._queue.quota
        if quota.parent is None or self._queue.spec.reclaim_in_cohort == "Never":
            return found
        advantage, left = quota.holds(need.amounts)
        below: QuotaNode | None = None
        for root in quota.ancestors():
            wanted = advantage or not only_with_advantage
            for queue in self._queues_below(root, below, need.short) if wanted else ():
                found[0 if advantage else 1].extend(self._of_queue(queue, root, need, advantage))
            fits, left = root.holds(left)
            advantage, below = advantage or fits, root
        return self._in_order(found[0]), self._in_order(found[1])

    def _queues_below(
        self, node: QuotaNode, skipped: QuotaNode | None, short: Collection[FlavorResource]
    ) -> Iterator[CycleQueue]:
        """Queues under a cohort that are above their quota, as are all cohorts between."""
        for child in node.cohorts:
            if child is not skipped and not child.within(short):
                yield from self._queues_below(child, skipped, short)
        for child in node.queues:
            if child is not self._queue.quota and not child.within(short):
                yield self._cluster.queues[child.name]

    def _of_queue(self, queue: CycleQueue, meet: QuotaNode | None, need: _Need, advantage: bool) -> list[_Candidate]:
        found = []
        for holding in queue.holdings.values():
            other = holding.workload
            if not self._may_go(holding) or holding.keys.isdisjoint(need.short) or other.key == self._workload.key:
                continue
            only_without = meet is not None and not advantage and not self._may_go_while_borrowing(other)
            found.append(_Candidate(holding, meet, only_without))
        return self._in_order(found)

    def _may_go(self, holding: Holding) -> bool:
        """Whether the preemption policy of the queue allows a victim."""
        mine, other = self._workload, holding.workload
        same = holding.queue == self._queue.spec.name
        policy = self._queue.spec.within_queue if same else self._queue.spec.reclaim_in_cohort
        lower = other.priority < mine.priority
        if policy == "LowerOrNewerEqualPriority":
            return lower or (other.priority == mine.priority and queue_time(mine) < queue_time(other))
        return policy == "Any" or (policy == "LowerPriority" and lower)

    def _may_go_while_borrowing(self, other: QueuedWorkload) -> bool:
        spec = self._queue.spec
        if not spec.borrows_while_preempting or other.priority >= self._workload.priority:
            return False
        return spec.borrow_max_priority is None or other.priority <= spec.borrow_max_priority

    @staticmethod
    def _in_order(candidates: list[_Candidate]) -> list[_Candidate]:
        """Lower priority first, then the newest reservation, then by uid and name."""
        if len(candidates) < 2:
            return candidates

        def key(each: _Candidate) -> tuple[int, float, bytes, bytes]:
            workload = each.holding.workload
            reserved = _NOW if workload.reserved_at is None else workload.reserved_at
            return workload.priority, -reserved, workload.uid.encode(), workload.key.encode()

        return sorted(candidates, key=key)

    def _valid(self, candidate: _Candidate, need: _Need, borrowing: bool) -> bool:
        """Whether a candidate may still go, after those before it went."""
        if candidate.meet is None:
            return True
        if borrowing and candidate.only_without_borrowing:
            return False
        node = self._cluster.queues[candidate.holding.queue].quota
        if node.within(need.short):
            return False
        for above in node.ancestors():
            if above is candidate.meet:
                break
            if above.within(need.short):
                return False
        return True

    def _remove(self, candidates: Sequence[_Candidate], need: _Need, borrowing: bool) -> list[Holding]:
        """Take candidates out until the preemptor fits, then spare those not needed; all are back at the end."""
        gone: list[Holding] = []
        fits = False
        for candidate in candidates:
            if not self._valid(candidate, need, borrowing):
                continue
            self._cluster.let_go(candidate.holding)
            gone.append(candidate.holding)
            fits = self._fits(need, borrowing)
            if fits:
                break
        if fits:
            self._cluster.spare(gone, lambda: self._fits(need, borrowing))
        for each in gone:
            self._cluster.put_back(each)
        return gone if fits else []

    def _fits(self, need: _Need, borrowing: bool) -> bool:
        for key, amount in need.amounts.items():
            if not borrowing and self._queue.quota.over(key, amount):
                return False
            if amount > self._queue.free(key):
                return False
        step = TopologyStep(self._cluster, self._queue, self._workload)
        return step.failure(step.place(need.pods)) is None
