"""`nominate`: what a workload would get now, with the victims that it would need, or with fewer pods.

Source: Kueue 0.19, pkg/scheduler/scheduler.go (getAssignments) and flavorassigner/podset_reducer.go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from workbench.model.kueue import PodSet
from workbench.model.kueue_queues import QueuedWorkload
from workbench.policies.kueue.cycle.cluster import CycleCluster, CycleQueue, Holding
from workbench.policies.kueue.cycle.flavor_search import FlavorSearch, asks_explicitly
from workbench.policies.kueue.cycle.nomination import Mode, Nomination, Tried
from workbench.policies.kueue.cycle.topology import TopologyStep, has_unhealthy_domain
from workbench.policies.kueue.cycle.victims import VictimSearch

__all__ = ["nominate"]

T = TypeVar("T")


def nominate(
    cluster: CycleCluster,
    queue: CycleQueue,
    workload: QueuedWorkload,
    tried: Tried = (),
    pinned: Mapping[str, Mapping[str, str]] | None = None,
) -> tuple[Nomination, list[Holding]]:
    """The nomination of a workload and its victims; the cluster is left as found.

    `tried`, `pinned`: as in `FlavorSearch`.

    Returns
    -------
    Nomination
        With all pods, or, if these neither fit nor find victims, with the most pods that do.
    list of Holding
        The victims; empty: it needs none, or there are none.
    """
    victims = VictimSearch(cluster, queue, workload)
    search = FlavorSearch(cluster, queue, workload, victims.possibility, tried, pinned)
    step = TopologyStep(cluster, queue, workload)

    def attempt(counts: Sequence[int] | None) -> tuple[Nomination, list[Holding]]:
        nomination = search.choose(counts)
        step.judge(nomination)
        return nomination, victims.victims(nomination) if nomination.mode is Mode.PREEMPT else []

    def fewer(counts: Sequence[int]) -> tuple[Nomination, list[Holding]] | None:
        nomination, gone = attempt(counts)
        return (nomination, gone) if nomination.mode is Mode.FIT or gone else None

    full = attempt(None)
    found = None
    if full[0].mode is not Mode.FIT and not full[1] and workload.admission is None:
        found = _most_pods(workload.pod_sets, fewer)
    nomination, gone = found or full
    explicit = any(asks_explicitly(each) for each in workload.pod_sets)
    if nomination.mode is Mode.PREEMPT and (explicit or queue.only_topologies) and not has_unhealthy_domain(workload):
        if gone:
            with cluster.without(gone):
                step.reserve(nomination)
        else:
            step.reserve_in_empty(nomination)
    return nomination, gone


def _most_pods(pod_sets: Sequence[PodSet], attempt: Callable[[Sequence[int]], T | None]) -> T | None:
    """The answer with the fewest pods taken away, down to the minimum of each pod set; None: none fits.

    The number of pods taken away is found by bisection, and is shared among pod sets in proportion to what each can
    spare.
    """
    full = [each.count for each in pod_sets]
    spare = [each.count - (each.count if each.min_count is None else each.min_count) for each in pod_sets]
    total = sum(spare)
    if total <= 0:
        return None
    best: T | None = None
    low, high = 0, total + 1
    while low < high:
        middle = (low + high) // 2
        answer = attempt([count - more * middle // total for count, more in zip(full, spare, strict=True)])
        if answer is None:
            low = middle + 1
        else:
            high, best = middle, answer
    return best
