"""Fair sharing: the dominant resource share of a queue or a cohort, and whose turn it is by that.

Source: Kueue 0.19, pkg/cache/scheduler/fair_sharing.go and pkg/scheduler/fair_sharing_iterator.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

from workbench.policies.kueue.quota import Amounts, FlavorResource, QuotaNode

__all__ = ["NO_SHARE", "Share", "in_fair_order", "share_of", "using", "without"]

T = TypeVar("T")


class Share(NamedTuple):
    """How much a node of the tree of cohorts borrows; the larger one has more.

    `weightless`: whether it borrows although its weight is 0, which is more than any other share. `weighted`: dominant
    resource share in thousandths: what it borrows of what its parent could lend, of the resource of which that is most,
    divided by its weight. `borrowed`: flavors and resources of which it uses more than its quota.
    """

    weightless: bool
    weighted: float
    borrowed: frozenset[FlavorResource] = frozenset()

    @property
    def order(self) -> tuple[bool, float]:
        """By which shares are compared."""
        return self.weightless, self.weighted


#: Less than any share.
NO_SHARE = Share(False, -1.0)


def share_of(node: QuotaNode) -> Share:
    """The dominant resource share of a node with what it uses now; 0 at the root."""
    if node.parent is None:
        return Share(False, 0.0)
    borrowed: dict[FlavorResource, int] = {}
    by_resource: dict[str, int] = {}
    for key, quota in node.subtree.items():
        more = node.used(key) - quota
        if more > 0:
            borrowed[key] = more
            by_resource[key[1]] = by_resource.get(key[1], 0) + more
    lendable: dict[str, int] = {}
    *_, root = node.ancestors()
    for key in root.subtree if borrowed else ():
        lendable[key[1]] = lendable.get(key[1], 0) + node.parent.largest(key)
    ratio = max((more * 1000 / lendable[name] for name, more in by_resource.items() if lendable[name] > 0), default=0.0)
    if ratio and not node.weight:
        return Share(True, ratio, frozenset(borrowed))
    return Share(False, ratio / node.weight if ratio else 0.0, frozenset(borrowed))


@contextmanager
def using(node: QuotaNode, amounts: Amounts) -> Iterator[None]:
    """Context manager in which a queue uses amounts more."""
    for key, amount in amounts.items():
        node.add(key, amount)
    try:
        yield
    finally:
        for key, amount in amounts.items():
            node.remove(key, amount)


@contextmanager
def without(node: QuotaNode, amounts: Amounts) -> Iterator[None]:
    """Context manager in which a queue uses amounts less."""
    for key, amount in amounts.items():
        node.remove(key, amount)
    try:
        yield
    finally:
        for key, amount in amounts.items():
            node.add(key, amount)


class _Runner(NamedTuple):
    """What one queue puts forward, and by parent the share that its branch has with it."""

    queue: str
    amounts: Amounts
    shares: Mapping[str, Share]


def in_fair_order(
    entries: Sequence[T],
    queue_of: Callable[[T], QuotaNode],
    amounts_of: Callable[[T], Amounts],
    behind: Callable[[T], tuple[object, ...]],
) -> Iterator[T]:
    """Yield entries in the order of fair sharing; the shares are those at the moment when the next one is asked for.

    In a cohort the children are compared by what they would have with the entry that each puts forward: who does not
    borrow of what it asks for comes first, then the smaller share, then as `behind` says. Trees of cohorts follow the
    names of their queues; upstream takes them by chance.

    `entries`: at most one of each queue. `queue_of`, `amounts_of`, `behind`: of an entry: its queue, the quota that it
    would use, and a key that orders those of equal shares.
    """
    left = {queue_of(each).name: each for each in entries}
    while left:
        first = queue_of(left[min(left)])
        chosen = first.name
        if first.parent is not None:
            *_, root = first.ancestors()
            runners = {}
            for name, each in left.items():
                if root in queue_of(each).ancestors():
                    runners[name] = _runner(queue_of(each), amounts_of(each))
            found = _winner(root, runners, {name: behind(each) for name, each in left.items()})
            assert found is not None
            chosen = found.queue
        yield left.pop(chosen)


def _runner(queue: QuotaNode, amounts: Amounts) -> _Runner:
    shares: dict[str, Share] = {}
    with using(queue, amounts):
        at = queue
        for parent in queue.ancestors():
            shares[parent.name], at = share_of(at), parent
    return _Runner(queue.name, amounts, shares)


def _winner(
    cohort: QuotaNode, runners: Mapping[str, _Runner], behind: Mapping[str, tuple[object, ...]]
) -> _Runner | None:
    """The entry that a cohort puts forward; None: no queue below it has one left."""
    found = [_winner(child, runners, behind) for child in sorted(cohort.cohorts, key=lambda each: each.name)]
    found += [runners.get(child.name) for child in sorted(cohort.queues, key=lambda each: each.name)]
    here = [each for each in found if each is not None]

    def key(runner: _Runner) -> tuple[object, ...]:
        share = runner.shares[cohort.name]
        borrows = any(runner.amounts.get(each, 0) > 0 for each in share.borrowed)
        return borrows, share.order, behind[runner.queue]

    return min(here, key=key, default=None)
