"""`run_cycle`: one scheduling cycle over the heads of the queues.

Source: Kueue 0.19, pkg/scheduler/scheduler.go.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from workbench.cancel import check
from workbench.model.kueue_queues import QueuedWorkload, WorkloadAdmission
from workbench.policies.kueue.cycle.cluster import CycleCluster, CycleQueue, Holding, Taken
from workbench.policies.kueue.cycle.fair_shares import in_fair_order
from workbench.policies.kueue.cycle.hopeless import Hopeless
from workbench.policies.kueue.cycle.nomination import Mode, Nomination, Tried
from workbench.policies.kueue.cycle.topology import READY, TopologyStep, has_unhealthy_domain
from workbench.policies.kueue.cycle.victims import queue_time

__all__ = ["Fate", "Turn", "needs_second_pass", "run_cycle"]

_FAILED = ("Retry", "Rejected")


class Fate(Enum):
    """What a cycle does with a workload."""

    ADMITTED = "admitted"
    #: Back in its queue, to be tried in the next cycle.
    REQUEUED = "requeued"
    #: Out of its queue until something changes in the cluster.
    PARKED = "parked"
    EVICTED = "evicted"
    #: A second pass that found nothing: the workload keeps what it holds.
    RETRIED = "retried"


@dataclass(frozen=True, slots=True)
class Turn:
    """What one workload got in a cycle.

    Attributes
    ----------
    message : str
        Why it was not admitted; empty if it was.
    admission : WorkloadAdmission, optional
        Admission of an admitted workload.
    victims : tuple of str
        Keys of the workloads that are evicted for it.
    tried : Tried
        Flavors tried so far, for the next cycle.
    alike : bool
        Whether workloads of the same shape that wait in the same queue are parked with it, untried.
    for_nodes : bool
        Whether room on nodes is all that it lacks.
    """

    workload: QueuedWorkload
    fate: Fate
    message: str = ""
    admission: WorkloadAdmission | None = None
    victims: tuple[str, ...] = ()
    tried: Tried = ()
    alike: bool = False
    for_nodes: bool = False


@dataclass(slots=True)
class _Entry:
    workload: QueuedWorkload
    queue: CycleQueue
    nomination: Nomination
    victims: list[Holding]
    #: What the workload leaves behind in the cluster for the rest of the cycle.
    taken: Taken = field(default_factory=Taken)


def needs_second_pass(workload: QueuedWorkload) -> bool:
    """Whether a workload that holds quota is looked at again: a node failed, or its topology was delayed until now."""
    admission = workload.admission
    if admission is None:
        return False
    if workload.admitted:
        return bool(workload.unhealthy_nodes) and has_unhealthy_domain(workload)
    delayed = any(each.delayed == "Pending" for each in admission.pod_sets)
    return delayed and bool(workload.checks) and all(state == READY for state in workload.checks.values())


def run_cycle(
    cluster: CycleCluster,
    heads: Sequence[QueuedWorkload],
    tried: Mapping[str, Tried] | None = None,
    hopeless: Hopeless | None = None,
) -> list[Turn]:
    """Decide on the heads of all queues; admitted workloads are entered into the cluster, victims stay in it.

    The result is in the order in which the cycle decides; first those that cannot be nominated.

    `heads`: at most one pending workload of each queue, and all that need a second pass. `tried`: flavors tried in
    earlier cycles, by the workload's key. `hopeless`: of earlier cycles on the same cluster; None: nothing is
    remembered.
    """
    turns: list[Turn] = []
    entries: list[_Entry] = []
    hopeless = Hopeless() if hopeless is None else hopeless
    for workload in heads:
        check()
        queue = cluster.queues.get(workload.cluster_queue)
        refused = _refusal(workload, queue)
        if refused or queue is None:
            turns.append(Turn(workload, Fate.PARKED, refused))
            continue
        found = hopeless.nominate(cluster, queue, workload, (tried or {}).get(workload.key, ()))
        entries.append(_Entry(workload, queue, *found))
    cycle = _Cycle(cluster, hopeless)
    for entry in _in_fair_order(entries) if cluster.fair else sorted(entries, key=_order):
        check()
        turns.append(cycle.turn(entry))
    cycle.end(turns)
    return turns


def _refusal(workload: QueuedWorkload, queue: CycleQueue | None) -> str:
    if any(state in _FAILED for state in workload.checks.values()):
        return "The workload has failed admission checks"
    if queue is None:
        return f"ClusterQueue {workload.cluster_queue} not found"
    return f"ClusterQueue {workload.cluster_queue} is inactive" if queue.inactive else ""


def _order(entry: _Entry) -> tuple[bool, int, int, float, bytes]:
    """Second passes first, then those that borrow least, by priority, by time, by name."""
    workload = entry.workload
    return (
        workload.admission is None,
        entry.nomination.borrowing,
        -workload.priority,
        queue_time(workload),
        workload.key.encode(),
    )


def _in_fair_order(entries: Sequence[_Entry]) -> Iterator[_Entry]:
    """Second passes as they come, then the heads of the queues by what their queues would share."""
    yield from (entry for entry in entries if entry.workload.admission is not None)
    yield from in_fair_order(
        [entry for entry in entries if entry.workload.admission is None],
        lambda entry: entry.queue.quota,
        lambda entry: entry.nomination.quota,
        lambda entry: (-entry.workload.priority, queue_time(entry.workload)),
    )


class _Cycle:
    """The turns of one cycle, on a cluster that remembers what each left for those after it."""

    # `turn` decides on one workload: `_check_again` and `_nominate_again` follow what the turns before took;
    # `_leave`, `_not_now`, `_skipped` say where it waits, `_reserve` what it keeps. `end` undoes what is left.

    def __init__(self, cluster: CycleCluster, hopeless: Hopeless) -> None:
        self._cluster = cluster
        self._hopeless = hopeless
        # Kinds of those that left something, which decide what they left; None: one of no kind did.
        self._after: tuple[Hashable, ...] | None = ()
        self._victims: dict[str, Holding] = {}
        self._left: list[tuple[CycleQueue, Taken]] = []

    def turn(self, entry: _Entry) -> Turn:
        fits = self._check_again(entry)
        workload, nomination, mode = entry.workload, entry.nomination, entry.nomination.mode
        if mode is not Mode.FIT and workload.admission is not None:
            return self._second_pass_failed(entry)
        if mode is Mode.NO_FIT:
            return self._not_now(entry)
        if mode is Mode.PREEMPT and not entry.victims:
            self._reserve(entry)
            return self._not_now(entry)
        if any(each.workload.key in self._victims for each in entry.victims):
            text = "Workload has overlapping preemption targets with another workload"
            return self._skipped(entry, text)
        if not fits:
            return self._skipped(entry, "Workload no longer fits after processing another workload")
        self._victims |= {each.workload.key: each for each in entry.victims}
        self._leave(entry, entry.taken)
        if mode is Mode.PREEMPT:
            text = f"{nomination.message}. Pending the preemption of {len(entry.victims)} workload(s)"
            victims = tuple(sorted(each.workload.key for each in entry.victims))
            return Turn(workload, Fate.REQUEUED, text, victims=victims)
        return Turn(workload, Fate.ADMITTED, admission=nomination.admission(entry.queue.spec.name))

    def _check_again(self, entry: _Entry) -> bool:
        """Whether a nomination still fits after the turns before; if only its domains do not, it is made anew."""
        cluster, queue, workload = self._cluster, entry.queue, entry.workload
        if entry.nomination.in_vain and not self._victims:
            # Quota was short, and nobody has given any back.
            return False
        entry.taken = entry.nomination.taken(queue, workload)
        quota, nodes = self._fits(entry)
        if quota and not nodes and cluster.gates.TASRecomputeAssignmentWithinSchedulingCycle:
            self._nominate_again(entry)
            entry.taken = entry.nomination.taken(queue, workload)
            quota, nodes = self._fits(entry)
        return quota and nodes

    def _nominate_again(self, entry: _Entry) -> None:
        """Look for other domains on the same flavors, for which there is quota."""
        nomination, workload = entry.nomination, entry.workload
        if nomination.mode is Mode.FIT and not entry.victims and workload.admission is None and nomination.whole:
            # All that may differ are the domains.
            for choice in nomination.choices:
                choice.assignment = None
            step = TopologyStep(self._cluster, entry.queue, workload)
            answers = step.place(step.requests(nomination))
            if step.failure(answers) is None:
                step.enter(nomination, answers)
                return
        pinned = {
            each.pod_set.name: {resource: chosen.flavor for resource, chosen in each.flavors.items()}
            for each in nomination.choices
        }
        found = self._hopeless.nominate(self._cluster, entry.queue, workload, (), pinned, self._after)
        entry.nomination, entry.victims = found

    def _fits(self, entry: _Entry) -> tuple[bool, bool]:
        if not (self._victims or entry.victims):
            return self._cluster.fits(entry.queue, entry.taken)
        gone = self._victims | {each.workload.key: each for each in entry.victims}
        with self._cluster.without(gone.values()):
            return self._cluster.fits(entry.queue, entry.taken)

    def _leave(self, entry: _Entry, taken: Taken) -> None:
        self._cluster.take(entry.queue, taken)
        self._left.append((entry.queue, taken))
        kind = self._hopeless.kind_of(entry.queue, entry.workload)
        self._after = None if kind is None or self._after is None else (*self._after, kind)

    def _second_pass_failed(self, entry: _Entry) -> Turn:
        workload = entry.workload
        if has_unhealthy_domain(workload) and self._cluster.gates.TASFailedNodeReplacementFailFast:
            nodes = ",".join(workload.unhealthy_nodes)
            text = f"Workload was evicted as there was no replacement for unhealthy node(s): {nodes}"
            return Turn(workload, Fate.EVICTED, text)
        return Turn(workload, Fate.RETRIED, entry.nomination.message)

    def _not_now(self, entry: _Entry) -> Turn:
        """Parked, or back at once if flavors are left to try."""
        tried = entry.nomination.tried
        left = any(index != -1 for each in tried for index in each.values())
        fate = Fate.REQUEUED if left or entry.queue.spec.strict else Fate.PARKED
        return Turn(
            entry.workload,
            fate,
            entry.nomination.message,
            tried=tried,
            alike=fate is Fate.PARKED,
            for_nodes=not entry.nomination.short,
        )

    def _skipped(self, entry: _Entry, text: str) -> Turn:
        return Turn(entry.workload, Fate.REQUEUED, text, tried=entry.nomination.tried)

    def _reserve(self, entry: _Entry) -> None:
        """Keep what a workload without victims waits for from others, unless it can take it back at any time."""
        queue = entry.queue
        if queue.quota.parent is not None and queue.spec.reclaim_in_cohort == "Any":
            return
        quota = {}
        for key, amount in entry.nomination.quota.items():
            own, used = queue.quota.quota(key), queue.quota.used(key)
            if not entry.nomination.borrowing:
                quota[key] = max(0, min(amount, own.nominal - used))
            elif own.borrowing_limit is None:
                quota[key] = amount
            else:
                quota[key] = min(amount, own.nominal + own.borrowing_limit - used)
        self._leave(entry, replace(entry.nomination.taken(queue, entry.workload), quota=quota))

    def end(self, turns: Sequence[Turn]) -> None:
        """Undo what turns left, and enter what was admitted as the next cycle sees it."""
        for queue, taken in reversed(self._left):
            self._cluster.give_back(queue, taken)
        for turn in turns:
            if turn.admission is not None:
                before = self._cluster.queues[turn.workload.cluster_queue].holdings.get(turn.workload.key)
                if before is not None:
                    self._cluster.release(before)
                now, before_s = self._cluster.now_s, turn.workload.reserved_at
                reserved = before_s if now is None else now
                holding = self._cluster.holding(replace(turn.workload, admission=turn.admission, reserved_at=reserved))
                assert holding is not None
                self._cluster.hold(holding)
