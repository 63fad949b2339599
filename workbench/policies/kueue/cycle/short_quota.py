"""`ShortQuota`: a nomination that lacks quota and finds no victims, made again for the quota as it is now."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.model.kueue_queues import QueuedWorkload
from workbench.policies.kueue.cycle.cluster import CycleCluster, CycleQueue
from workbench.policies.kueue.cycle.flavor_search import NO_CANDIDATES, FlavorSearch
from workbench.policies.kueue.cycle.nomination import FlavorChoice, Mode, Nomination, PodSetChoice
from workbench.policies.kueue.cycle.victims import VictimSearch

__all__ = ["ShortQuota"]


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
