"""`QuotaTree`: quotas of ClusterQueues and cohorts with what they use, as a tree in which queues borrow.

Source: Kueue 0.19, pkg/cache/scheduler/resource_node.go.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TypeAlias

from workbench.errors import InputError
from workbench.model.kueue_queues import ClusterQueue, Cohort, FlavorQuotas, Quota

__all__ = ["Amounts", "FlavorResource", "QuotaNode", "quota_nodes"]

#: A flavor and a resource.
FlavorResource: TypeAlias = tuple[str, str]
Amounts: TypeAlias = Mapping[FlavorResource, int]

_NONE = Quota(0)


class QuotaNode:
    """Quotas and usage of a ClusterQueue or a cohort; amounts in base units.

    A node's usage that exceeds what it does not lend counts at its parent, too.

    `weight`: under fair sharing; None: 1. `cohorts`, `queues`: children. `quotas`: by flavor and resource. `usage`: by
    flavor and resource. `subtree`: quota of the node and of what its children lend, by flavor and resource.
    """

    # `sum_up` prepares a tree; `add` and `remove` change usage along `ancestors`. Others are questions: what is free
    # (`free`, `kept_free`, `largest`), who borrows (`over`, `within`), and from how far (`borrowing_height`).

    def __init__(self, name: str, groups: Iterable[Iterable[FlavorQuotas]], weight: float | None = None) -> None:
        self.name = name
        self.weight = 1.0 if weight is None else weight
        self.parent: QuotaNode | None = None
        self.cohorts: list[QuotaNode] = []
        self.queues: list[QuotaNode] = []
        self.quotas: dict[FlavorResource, Quota] = {
            (each.flavor, resource): quota
            for group in groups
            for each in group
            for resource, quota in each.quotas.items()
        }
        self.usage: dict[FlavorResource, int] = {}
        self.subtree: dict[FlavorResource, int] = {}
        # Known once the tree is summed up.
        self._never_lent: dict[FlavorResource, int] = {}
        self._largest: dict[FlavorResource, int] = {}

    def sum_up(self) -> None:
        """Set `subtree` of the node and all below it; call it once for each root, before anything is used."""
        self.subtree = {key: quota.nominal for key, quota in self.quotas.items()}
        for child in (*self.cohorts, *self.queues):
            child.sum_up()
            for key, amount in child.subtree.items():
                self.subtree[key] = self.subtree.get(key, 0) + amount - child._reserved(key)
        for key, quota in self.quotas.items():
            if quota.lending_limit is not None:
                self._never_lent[key] = max(0, self.subtree[key] - quota.lending_limit)

    def quota(self, key: FlavorResource) -> Quota:
        """The node's own quota; 0 where it has none."""
        return self.quotas.get(key, _NONE)

    def used(self, key: FlavorResource) -> int:
        """What the node uses."""
        return self.usage.get(key, 0)

    def _reserved(self, key: FlavorResource) -> int:
        """Quota that the node never lends."""
        return self._never_lent.get(key, 0)

    def kept_free(self, key: FlavorResource) -> int:
        """Unused part of the quota that the node never lends."""
        kept = self._reserved(key)
        return max(0, kept - self.used(key)) if kept else 0

    def free(self, key: FlavorResource) -> int:
        """What the node may use more, quota that it may borrow included; negative after quota was taken away."""
        used = self.usage.get(key, 0)
        if self.parent is None:
            return self.subtree.get(key, 0) - used
        above, limit = self.parent.free(key), self.quota(key).borrowing_limit
        kept = self._never_lent.get(key, 0)
        if limit is not None:
            above = min(above, self.subtree.get(key, 0) - kept - max(0, used - kept) + limit)
        return max(0, kept - used) + above

    def largest(self, key: FlavorResource) -> int:
        """What the node could use at most if nothing were in use."""
        found = self._largest.get(key)
        if found is None:
            found = self.subtree.get(key, 0)
            if self.parent is not None:
                most, limit = self._reserved(key) + self.parent.largest(key), self.quota(key).borrowing_limit
                found = most if limit is None else min(most, found + limit)
            self._largest[key] = found
        return found

    def add(self, key: FlavorResource, amount: int) -> None:
        """Use an amount; a negative one, which upstream reserves above a borrowing limit, counts at this node alone."""
        above = amount - self.kept_free(key)
        self.usage[key] = self.used(key) + amount
        if self.parent is not None and above > 0:
            self.parent.add(key, above)

    def remove(self, key: FlavorResource, amount: int) -> None:
        """Undo `add`."""
        above = self.used(key) - self._reserved(key)
        self.usage[key] = self.used(key) - amount
        if self.parent is not None and above > 0 and amount > 0:
            self.parent.remove(key, min(amount, above))

    def over(self, key: FlavorResource, more: int = 0) -> bool:
        """Whether the node uses, with `more`, above its quota: it borrows."""
        return self.subtree.get(key, 0) < self.used(key) + more

    def within(self, keys: Collection[FlavorResource]) -> bool:
        """Whether the node is above its quota in none of the resources."""
        return all(self.used(key) <= self.subtree.get(key, 0) for key in keys)

    def ancestors(self) -> Iterator[QuotaNode]:
        """The cohort, its parent and so on."""
        at = self.parent
        while at is not None:
            yield at
            at = at.parent

    @property
    def height(self) -> int:
        """Steps down to the farthest queue below the node."""
        below = max((child.height + 1 for child in self.cohorts), default=0)
        return max(below, 1 if self.queues or self.cohorts else 0)

    def borrowing_height(self, key: FlavorResource, amount: int) -> tuple[int, bool]:
        """Height of the smallest subtree whose quota holds `amount` more, and whether that subtree has a parent.

        The height is 0 if the node need not borrow.
        """
        if self.parent is None or not self.over(key, amount):
            return 0, self.parent is not None
        left, at = amount - self.kept_free(key), self.parent
        for at in self.ancestors():
            if not at.over(key, left):
                break
            left -= at.kept_free(key)
        return at.height, at.parent is not None

    def holds(self, amounts: Amounts) -> tuple[bool, dict[FlavorResource, int]]:
        """Whether the quota of the node holds amounts more, and what of them is left for its parent."""
        fits = all(self.used(key) + amount <= self.subtree.get(key, 0) for key, amount in amounts.items())
        return fits, {key: max(0, amount - self.kept_free(key)) for key, amount in amounts.items()}


def quota_nodes(queues: Iterable[ClusterQueue], cohorts: Iterable[Cohort] = ()) -> dict[str, QuotaNode]:
    """The nodes of ClusterQueues by name, joined to trees by their cohorts; nothing is used yet.

    A cohort that is only named, as parent or by a queue, has no quota of its own.

    Raises InputError: a cohort inside itself.
    """
    known = {cohort.name: cohort for cohort in cohorts}
    above: dict[str, QuotaNode] = {}

    def cohort_of(name: str) -> QuotaNode:
        if name not in above:
            cohort = known.get(name, Cohort(name))
            above[name] = QuotaNode(name, cohort.groups, cohort.weight)
            if cohort.parent:
                parent = above[name].parent = cohort_of(cohort.parent)
                parent.cohorts.append(above[name])
        return above[name]

    found = {}
    for queue in queues:
        node = found[queue.name] = QuotaNode(queue.name, queue.groups, queue.weight)
        if queue.cohort:
            node.parent = cohort_of(queue.cohort)
            node.parent.queues.append(node)
    for name in sorted(known):
        cohort_of(name)
    for name, node in above.items():
        seen = {name}
        for at in node.ancestors():
            if at.name in seen:
                raise InputError("a cohort inside itself", where="Cohort", got=name, expected="parents without a cycle")
            seen.add(at.name)
    for root in (*found.values(), *above.values()):
        if root.parent is None:
            root.sum_up()
    return found
