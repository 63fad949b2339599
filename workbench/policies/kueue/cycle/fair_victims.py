"""`FairVictims`: who has to go under fair sharing, queue by queue from the one that has the largest share.

Source: Kueue 0.19, pkg/scheduler/preemption/preemption.go and fairsharing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from workbench.policies.kueue.cycle.cluster import CycleCluster, CycleQueue, Holding
from workbench.policies.kueue.cycle.fair_shares import NO_SHARE, share_of, using, without
from workbench.policies.kueue.quota import Amounts, QuotaNode

__all__ = ["FINAL", "INITIAL", "FairVictims"]

#: Strategies: with the preemptor, its branch has at most the share that the branch of the victim keeps (FINAL), or less
#: than the share that the branch of the victim has before (INITIAL).
FINAL, INITIAL = "LessThanOrEqualToFinalShare", "LessThanInitialShare"


class FairVictims:
    """The search for victims of one workload by shares.

    Parameters
    ----------
    cluster : CycleCluster
        Left as found.
    queue : CycleQueue
        Of the preemptor.
    amounts : mapping
        Quota that the preemptor would use; its shares are those with that.
    within : bool
        Whether its queue stays within its quota with that, in all that is short.
    fits : callable
        Whether quota and nodes now hold the preemptor.
    """

    # `search` tries upstream's two strategies, `_first` and `_second`; both walk over `_targets`, queue by queue,
    # and let workloads go by `_take`. `_next`, `_before` and `_branches` give the order of the queues.

    def __init__(
        self, cluster: CycleCluster, queue: CycleQueue, amounts: Amounts, *, within: bool, fits: Callable[[], bool]
    ) -> None:
        self._cluster = cluster
        self._queue = queue
        self._amounts = amounts
        self._within = within
        self._fits_now = fits
        self._path = [queue.quota, *queue.quota.ancestors()]
        self._gone: list[Holding] = []
        self._again: list[Holding] = []
        self._rank: dict[str, int] = {}

    def search(self, candidates: Sequence[Holding], strategies: Sequence[str]) -> list[Holding]:
        """Victims among candidates, in the order in which these are given; empty: none are enough."""
        self._rank = {each.workload.key: number for number, each in enumerate(candidates)}
        with using(self._queue.quota, self._amounts):
            found = self._first(candidates, strategies[0])
            if not found and len(strategies) > 1:
                found = self._second()
        if found:
            self._cluster.spare(self._gone, self._fits_now)
        for each in self._gone:
            self._cluster.put_back(each)
        return self._gone if found else []

    def _first(self, candidates: Sequence[Holding], strategy: str) -> bool:
        lines = _lines(candidates)
        for target in self._targets(lines, set()):
            line = lines[target.name]
            if target is self._queue.quota or self._within:
                if self._take(line.pop(0)):
                    return True
                continue
            mine, theirs = self._branches(target)
            share, before = share_of(mine), share_of(theirs)
            while line:
                each = line.pop(0)
                if strategy == INITIAL:
                    passed = share.order < before.order
                else:
                    with without(target, each.taken.quota):
                        passed = share.order <= share_of(theirs).order
                if not passed:
                    self._again.append(each)
                elif self._take(each):
                    return True
                else:
                    break
        return False

    def _second(self) -> bool:
        """Try one more victim of each queue, judged by the share that the queue has before the victim goes."""
        lines, dropped = _lines(self._again), set[str]()
        for target in self._targets(lines, dropped):
            each = lines[target.name].pop(0)
            mine, theirs = self._branches(target)
            if share_of(mine).order < share_of(theirs).order and self._take(each):
                return True
            dropped.add(target.name)
        return False

    def _take(self, holding: Holding) -> bool:
        """Let a workload go; whether the preemptor fits then."""
        self._cluster.let_go(holding)
        self._gone.append(holding)
        with without(self._queue.quota, self._amounts):
            return self._fits_now()

    def _targets(self, lines: dict[str, list[Holding]], dropped: set[str]) -> Iterator[QuotaNode]:
        """Queues with candidates left, from the root always into the child with the largest share that borrows."""
        if len(self._path) == 1:
            own = self._queue.quota
            while lines.get(own.name) and own.name not in dropped:
                yield own
            return
        over = set[str]()
        while f"/{self._path[-1].name}" not in over:
            found = self._next(self._path[-1], lines, dropped, over)
            if found is not None:
                yield found

    def _next(
        self, cohort: QuotaNode, lines: dict[str, list[Holding]], dropped: set[str], over: set[str]
    ) -> QuotaNode | None:
        queue, largest = None, NO_SHARE
        for child in sorted(cohort.queues, key=lambda each: each.name):
            if child.name in dropped or child.name in over:
                continue
            share = share_of(child)
            if (not share.borrowed and child is not self._queue.quota) or not lines.get(child.name):
                over.add(child.name)
            elif share.order > largest.order:
                queue, largest = child, share
            elif share.order == largest.order and queue is not None and self._before(lines, child, queue):
                queue = child
        below, most = None, NO_SHARE
        for child in sorted(cohort.cohorts, key=lambda each: each.name):
            if f"/{child.name}" in over:
                continue
            share = share_of(child)
            if not share.borrowed and child not in self._path:
                over.add(f"/{child.name}")
            elif share.order >= most.order:
                below, most = child, share
        if below is None and queue is None:
            over.add(f"/{cohort.name}")
            return None
        if below is not None and most.order >= largest.order:
            return self._next(below, lines, dropped, over)
        return queue

    def _before(self, lines: dict[str, list[Holding]], one: QuotaNode, other: QuotaNode) -> bool:
        """Whether the next candidate of a queue goes before that of another."""
        return self._rank[lines[one.name][0].workload.key] < self._rank[lines[other.name][0].workload.key]

    def _branches(self, target: QuotaNode) -> tuple[QuotaNode, QuotaNode]:
        """The children of the cohort in which two queues meet: the preemptor's and the target's."""
        theirs = target
        for cohort in target.ancestors():
            if cohort in self._path:
                return self._path[self._path.index(cohort) - 1], theirs
            theirs = cohort
        raise AssertionError("candidates are of one tree")


def _lines(candidates: Sequence[Holding]) -> dict[str, list[Holding]]:
    """Candidates by queue, in their order."""
    found: dict[str, list[Holding]] = {}
    for each in candidates:
        found.setdefault(each.queue, []).append(each)
    return found
