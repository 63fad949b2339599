"""`Hopeless`: nominations that came to nothing, for workloads that ask for the same; `Shapes`: what they ask for.

`ShortQuota` makes such a nomination again for the quota that has changed since.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass

from workbench.model.kueue_queues import QueuedWorkload
from workbench.policies.kueue.cycle.cluster import CycleCluster, CycleQueue, Holding
from workbench.policies.kueue.cycle.flavor_search import NO_CANDIDATES, FlavorSearch
from workbench.policies.kueue.cycle.nominate import nominate
from workbench.policies.kueue.cycle.nomination import FlavorChoice, Mode, Nomination, PodSetChoice, Tried
from workbench.policies.kueue.cycle.victims import VictimSearch

__all__ = ["Hopeless", "Shapes", "ShortQuota"]

#: Flavors to which a search is bound, by pod set and resource.
Pinned = Mapping[str, Mapping[str, str]]


class Shapes:
    """Numbers of the shapes of workloads: those of one shape have equal priority and equal pod sets.

    Kueue calls it the scheduling hash of a workload.
    """

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        self._of: dict[str, tuple[QueuedWorkload, int]] = {}

    def number(self, workload: QueuedWorkload) -> int:
        """The number of a workload's shape."""
        known = self._of.get(workload.key)
        if known is None or known[0] is not workload:
            shape = workload.priority, tuple([pods.shape for pods in workload.pod_sets])
            number = self._numbers.setdefault(shape, len(self._numbers))
            known = self._of[workload.key] = workload, number
        return known[1]

    def forget(self, key: str) -> None:
        """Drop what is known about a workload that waits no longer."""
        self._of.pop(key, None)


class Hopeless:
    """Nominations that came to nothing, for workloads that ask for the same, until something is entered or released.

    Thousands of waiting workloads are of a few kinds.
    """

    def __init__(self) -> None:
        self._version = -1
        self._known: dict[Hashable, Nomination] = {}
        # The last nomination that was short of quota in vain, by ClusterQueue and shape.
        self._short: dict[tuple[str, int], ShortQuota] = {}
        self.shapes = Shapes()

    def nominate(
        self,
        cluster: CycleCluster,
        queue: CycleQueue,
        workload: QueuedWorkload,
        tried: Tried,
        pinned: Pinned | None = None,
        after: Hashable = (),
    ) -> tuple[Nomination, list[Holding]]:
        """As `nominate`; the answer for an equal workload which found neither room nor victims, if there is one.

        `cluster`, `queue`, `workload`, `tried`, `pinned`: as of `nominate`. `after`: kinds of the workloads that left
        something behind in the cycle before; None: nothing is remembered.
        """
        if self._version != cluster.version:
            self._version, self._known = cluster.version, {}
        kind = self.kind_of(queue, workload)
        alike = None
        if kind is not None and pinned is None and _is_over(tried):
            alike = queue.spec.name, self.shapes.number(workload)
            short = self._short.get(alike)
            again = None if short is None else short.again(cluster, queue, workload)
            if again is not None:
                return again, []
        key = None
        if kind is not None and after is not None:
            key = kind, after, _plain(tried), None if pinned is None else _plain(pinned.values())
            if key in self._known:
                return self._known[key], []
        nomination, victims = nominate(cluster, queue, workload, tried, pinned)
        if key is not None and nomination.mode is not Mode.FIT and not victims:
            self._known[key] = nomination
            if alike is not None and (short := ShortQuota.of(queue, workload, nomination)) is not None:
                self._short[alike] = short
        return nomination, victims

    def kind_of(self, queue: CycleQueue, workload: QueuedWorkload) -> Hashable:
        """What decides, beside the cluster, whether a pending workload finds room or victims; None: it holds quota."""
        if workload.admission is not None:
            return None
        policies = (queue.spec.within_queue, queue.spec.reclaim_in_cohort)
        created = workload.created if "LowerOrNewerEqualPriority" in policies else None
        return queue.spec.name, self.shapes.number(workload), created


def _is_over(tried: Tried) -> bool:
    """Whether a search begins at the first flavors again."""
    for row in tried:
        for index in row.values():
            if index != -1:
                return False
    return True


def _plain(rows: Iterable[Mapping[str, object]]) -> Hashable:
    return tuple(tuple(sorted(row.items(), key=lambda item: item[0])) for row in rows)


@dataclass(frozen=True, slots=True)
class ShortQuota:
    """A nomination of one pod set for which one resource of the only flavor was short, and no preemption helped.

    As long as that is so, nothing but the amounts changes: its domains are those in a cluster without workloads.
    """

    nomination: Nomination
    resource: str

    @classmethod
    def of(cls, queue: CycleQueue, workload: QueuedWorkload, nomination: Nomination) -> ShortQuota | None:
        """The nomination of a workload as one that can be made again; None: it is of another kind."""
        if len(workload.pod_sets) != 1 or nomination.mode is not Mode.PREEMPT or not nomination.in_vain:
            return None
        (choice,) = nomination.choices
        if len(choice.flavors) != 1:
            return None
        (resource,) = choice.flavors
        if workload.pod_sets[0].min_count is not None or len(queue.group_of(resource)) != 1:
            return None
        return cls(nomination, resource)

    def again(self, cluster: CycleCluster, queue: CycleQueue, workload: QueuedWorkload) -> Nomination | None:
        """The nomination of an equal workload now; None: it is not short in vain any more."""
        before = self.nomination.choices[0]
        chosen = before.flavors[self.resource]
        if before.requests[self.resource] <= queue.free((chosen.flavor, self.resource)):
            return None
        search = FlavorSearch(cluster, queue, workload, VictimSearch(cluster, queue, workload).possibility)
        rank, reasons = search.rank((chosen.flavor, self.resource), 0, before.requests[self.resource])
        if rank.way != NO_CANDIDATES:
            return None
        flavors = {self.resource: FlavorChoice(chosen.flavor, Mode.PREEMPT, rank.borrow, chosen.tried, in_vain=True)}
        found = Nomination()
        found.short = True
        found.append(PodSetChoice(before.pod_set, before.count, before.requests, flavors, reasons))
        return found
