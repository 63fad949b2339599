"""`FlavorSearch`: the flavors that the pod sets of a workload get by quota, before their topology is looked at.

Source: Kueue 0.19, pkg/scheduler/flavorassigner/flavorassigner.go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from workbench.model.kueue import Flavor, PodSet
from workbench.model.kueue_queues import FlavorQuotas, QueuedWorkload
from workbench.model.labels import Requirement
from workbench.model.resources import PODS
from workbench.policies.kueue.cycle.cluster import CycleCluster, CycleQueue, requested
from workbench.policies.kueue.cycle.nomination import FlavorChoice, Mode, Nomination, PodSetChoice, Tried
from workbench.policies.kueue.messages import quantity, resource_order, taint_text
from workbench.policies.kueue.quota import FlavorResource

__all__ = ["FlavorSearch", "Rank", "asks_explicitly", "asks_topology"]

#: Ways in which a flavor may be had, from the worst to the best: with no candidate to preempt, by a preemption in the
#: own queue, by taking back what others borrowed, at once.
NO_FIT, NO_CANDIDATES, PREEMPT, RECLAIM, FIT = range(5)

#: Answers, for an amount of a flavor's resource, the way in which it may be had and the borrowing height then.
Oracle = Callable[[FlavorResource, int], tuple[int, int]]


class Rank(NamedTuple):
    """How good a flavor is: the way in which it is had, and from how far its quota is borrowed."""

    way: int
    borrow: int

    def better_than(self, other: Rank, *, by_borrowing: bool) -> bool:
        """Whether a flavor of this rank is preferred: less preemption before less borrowing.

        `by_borrowing`: less borrowing before less preemption, but a preemption that is possible before one that is not.
        """
        if NO_FIT in (self.way, other.way):
            return self.way != NO_FIT
        hopeless = self.way == NO_CANDIDATES
        if not by_borrowing or hopeless is not (other.way == NO_CANDIDATES):
            return (self.way, -self.borrow) > (other.way, -other.borrow)
        return (-self.borrow, self.way) > (-other.borrow, other.way)


_WORST, _BEST = Rank(NO_FIT, 1 << 60), Rank(FIT, 0)


def asks_explicitly(pod_set: PodSet) -> bool:
    """Whether a pod set itself asks to be placed by topology."""
    asked = pod_set.topology
    if asked is None:
        return False
    named = asked.required is not None or asked.preferred is not None or asked.unconstrained is not None
    return named or bool(asked.slices)


def asks_topology(pod_set: PodSet, queue: CycleQueue) -> bool:
    """Whether a pod set is placed by topology: it asks, or all flavors of its queue have one."""
    return asks_explicitly(pod_set) or queue.only_topologies


class FlavorSearch:
    """The search for flavors of one workload.

    `oracle`: of a flavor's resource and an amount that is not free: whether preemption helps, and the borrowing height
    then. `tried`: flavors that were tried in earlier cycles; empty: none. `pinned`: flavors to which the search is
    bound, by pod set and resource; None: to none.
    """

    # `choose` goes through the groups of pod sets; for each (`_group`) and each resource that has no flavor yet,
    # `_find` goes through the flavors of the resource group, from the one after that of an earlier cycle: one that
    # suits the pods (`_unsuitable`) is ranked by its quota (`_with_quota`, `rank`), and the first that is good enough
    # ends the search.

    def __init__(
        self,
        cluster: CycleCluster,
        queue: CycleQueue,
        workload: QueuedWorkload,
        oracle: Oracle,
        tried: Tried = (),
        pinned: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        self._cluster = cluster
        self._queue = queue
        self._workload = workload
        self._oracle = oracle
        self._tried = tried
        self._pinned = pinned

    def choose(self, counts: Sequence[int] | None = None) -> Nomination:
        """Flavors for all pod sets, or up to the first group that gets none.

        `counts`: number of pods of each pod set; None: all of them.
        """
        nomination = Nomination()
        groups: dict[object, list[tuple[int, PodSetChoice]]] = {}
        for i, pod_set in enumerate(self._workload.pod_sets):
            count = None if counts is None else counts[i]
            groups.setdefault(pod_set.group or i, []).append((i, self._start(pod_set, count)))
        for members in groups.values():
            if not self._group(nomination, members):
                break
        return nomination

    def _start(self, pod_set: PodSet, count: int | None) -> PodSetChoice:
        """A pod set with what it requests, and with what it was admitted with."""
        number = pod_set.count if count is None else count
        admission = self._workload.admission
        held = next((each for each in admission.pod_sets if each.name == pod_set.name), None) if admission else None
        if held is None:
            choice = PodSetChoice(pod_set, number, {name: each * number for name, each in pod_set.requests.items()})
        else:
            number = min(held.count, pod_set.count) if pod_set.count else held.count
            choice = PodSetChoice(pod_set, number, requested(held, pod_set))
            choice.flavors = {name: FlavorChoice(flavor, Mode.FIT) for name, flavor in held.flavors.items()}
            choice.assignment, choice.delayed = held.assignment, held.delayed
        if self._queue.group_of(PODS):
            choice.requests[PODS] = number
        return choice

    def _group(self, nomination: Nomination, members: Sequence[tuple[int, PodSetChoice]]) -> bool:
        """Choose for pod sets that go together; whether all of them got flavors."""
        total: dict[str, int] = {}
        for _, choice in members:
            for name, amount in choice.requests.items():
                total[name] = total.get(name, 0) + amount
        flavors = {name: chosen for _, choice in members for name, chosen in choice.flavors.items()}
        reasons: list[str] = []
        for resource in sorted(total, key=resource_order):
            if resource in flavors or (not total[resource] and not self._queue.group_of(resource)):
                continue
            found, said = self._find(members, total, resource, nomination.quota)
            nomination.short |= not found or any(chosen.mode is not Mode.FIT for chosen in found.values())
            if not found:
                flavors, reasons = {}, said
                break
            flavors |= found
            reasons += said
        complete = True
        for _, choice in members:
            choice.flavors = self._own(choice, flavors)
            choice.reasons = list(reasons)
            nomination.append(choice)
            complete = complete and not (choice.requests and not choice.flavors)
        return complete

    def _own(self, choice: PodSetChoice, flavors: Mapping[str, FlavorChoice]) -> dict[str, FlavorChoice]:
        """The flavors of a group that concern one of its pod sets; a pod set that requests nothing gets the nodes'."""
        if choice.requests:
            names = [name for name in flavors if name in choice.requests]
        elif choice.pod_set.group is not None:
            names = [name for name in flavors if flavors[name].flavor in self._queue.topologies]
        else:
            names = []
        return {name: flavors[name] for name in names}

    def _first(self, pod_set: int, resource: str) -> int:
        """Index of the flavor at which the search begins, after those of earlier cycles."""
        return self._tried[pod_set].get(resource, -1) + 1 if pod_set < len(self._tried) else 0

    def _find(
        self,
        members: Sequence[tuple[int, PodSetChoice]],
        total: Mapping[str, int],
        resource: str,
        before: Mapping[FlavorResource, int],
    ) -> tuple[dict[str, FlavorChoice], list[str]]:
        """The best flavor of the resource group that covers a resource, for all its resources, and the reasons."""
        group = self._queue.group_of(resource)
        if not group:
            return {}, [f"resource {resource} unavailable in ClusterQueue"]
        covered = frozenset([name for each in group for name in each.quotas])
        wanted = [name for name in sorted(total, key=resource_order) if name in covered]
        best: dict[str, FlavorChoice] = {}
        best_rank, last, reasons = _WORST, -1, []
        for last in range(self._first(members[0][0], resource), len(group)):
            name = group[last].flavor
            if self._pinned is not None and all(
                self._pinned.get(choice.pod_set.name, {}).get(resource) != name for _, choice in members
            ):
                reasons.append(
                    f"skipping flavor {name} as it is not found in the nomination mapping for resource {resource}"
                )
                continue
            if (wrong := self._known_unsuitable(members, name, covered)) is not None:
                reasons.append(wrong)
                continue
            choices, rank, said = self._with_quota(group[last], wanted, total, before)
            reasons += said
            if not self._try_next(rank):
                best, best_rank = choices, rank
                break
            if rank.better_than(best_rank, by_borrowing=self._queue.spec.preempts_before_borrowing):
                best, best_rank = choices, rank
        for choice in best.values():
            choice.tried = -1 if last == len(group) - 1 else last
        return best, [] if best_rank.way == FIT else reasons

    def _try_next(self, rank: Rank) -> bool:
        """Whether a flavor is not good enough to end the search."""
        spec = self._queue.spec
        if rank.way in (NO_FIT, NO_CANDIDATES) or (rank.way in (PREEMPT, RECLAIM) and spec.try_next_if_preempting):
            return True
        return rank.borrow > 0 and spec.try_next_if_borrowing

    def _with_quota(
        self,
        flavor: FlavorQuotas,
        wanted: Sequence[str],
        total: Mapping[str, int],
        before: Mapping[FlavorResource, int],
    ) -> tuple[dict[str, FlavorChoice], Rank, list[str]]:
        """What a flavor's quota says to all resources: the choices, the worst rank and the reasons."""
        choices: dict[str, FlavorChoice] = {}
        worst, reasons = _BEST, []
        for resource in wanted:
            key = (flavor.flavor, resource)
            rank, said = self.rank(key, before.get(key, 0), total[resource])
            reasons += said
            if worst.better_than(rank, by_borrowing=self._queue.spec.preempts_before_borrowing):
                worst = rank
            if worst.way == NO_FIT:
                continue
            mode = Mode.FIT if rank.way == FIT else Mode.PREEMPT
            in_vain = rank.way == NO_CANDIDATES
            choices[resource] = FlavorChoice(flavor.flavor, mode, rank.borrow, in_vain=in_vain)
        return choices, worst, reasons

    def rank(self, key: FlavorResource, before: int, request: int) -> tuple[Rank, list[str]]:
        """How an amount may be had, on top of what earlier pod sets of the workload took, and why not at once.

        `key`: tuple of (str, str); flavor and resource. `before`, `request`: base units.
        """
        flavor, resource = key
        node, value = self._queue.quota, before + request
        most, free = node.largest(key), self._queue.free(key)
        if value > most:
            text = (
                f"insufficient quota for {resource} in flavor {flavor}, previously considered podsets requests "
                f"({quantity(resource, before)}) + current podset request ({quantity(resource, request)}) > maximum "
                f"capacity ({quantity(resource, most)})"
            )
            return Rank(NO_FIT, 0), [text]
        height, inside = node.borrowing_height(key, value)
        if value <= free:
            return Rank(FIT, height), []
        more = quantity(resource, value - free)
        text = f"insufficient unused quota for {resource} in flavor {flavor}, {more} more needed"
        if value <= node.quota(key).nominal or inside or self._preempts_while_borrowing():
            return Rank(*self._oracle(key, value)), [text]
        return Rank(NO_FIT, height), [text]

    def _preempts_while_borrowing(self) -> bool:
        spec = self._queue.spec
        return spec.borrows_while_preempting or (bool(self._cluster.fair) and spec.reclaim_in_cohort != "Never")

    def _known_unsuitable(
        self, members: Sequence[tuple[int, PodSetChoice]], name: str, covered: frozenset[str]
    ) -> str | None:
        """As `_unsuitable`, which neither quota nor usage changes."""
        key = name, covered, tuple([choice.pod_set.shape for _, choice in members])
        known = self._queue.unsuitable
        if key not in known:
            known[key] = self._unsuitable(members, name, covered)
        return known[key]

    def _unsuitable(
        self, members: Sequence[tuple[int, PodSetChoice]], name: str, covered: frozenset[str]
    ) -> str | None:
        """Why a flavor is not for pod sets, whatever its quota; None if it is."""
        flavor = self._cluster.flavors.get(name)
        if flavor is None:
            return f"flavor {name} not found"
        for _, choice in members:
            wrong = self._wrong_topology(choice.pod_set, flavor, covered) or _unaccepted(choice.pod_set, flavor)
            if wrong:
                return wrong
        return None

    def _wrong_topology(self, pod_set: PodSet, flavor: Flavor, covered: frozenset[str]) -> str:
        if not asks_topology(pod_set, self._queue):
            return f'Flavor "{flavor.name}" supports only TopologyAwareScheduling' if flavor.topology else ""
        if not asks_explicitly(pod_set):
            return ""
        if not flavor.topology:
            overlap = covered & pod_set.requests.keys()
            return f'Flavor "{flavor.name}" does not support TopologyAwareScheduling' if overlap else ""
        snapshot = self._cluster.snapshots.get(flavor.name)
        if snapshot is None:
            return f'Flavor "{flavor.name}" information missing in TAS cache'
        has = snapshot.has_level(pod_set)
        return "" if has else f'Flavor "{flavor.name}" does not contain the requested level'


def _unaccepted(pod_set: PodSet, flavor: Flavor) -> str:
    """What of a flavor's taints and labels a pod set does not accept; empty: nothing."""
    tolerations = (*pod_set.tolerations, *flavor.tolerations)
    for taint in flavor.taints:
        if taint.effect in ("NoSchedule", "NoExecute") and not any(each.covers(taint) for each in tolerations):
            return f"untolerated taint {taint_text(taint)} in flavor {flavor.name}"
    labels = flavor.node_labels
    selected = all(labels[key] == value for key, value in pod_set.node_selector.items() if key in labels)
    terms = [_about(term, labels) for term in pod_set.required_affinity]
    # A term that says nothing about the flavor's labels accepts it.
    accepted = not terms or not all(terms) or any(all(each.holds(labels) for each in term) for term in terms)
    return "" if selected and accepted else f"flavor {flavor.name} doesn't match node affinity"


def _about(term: Sequence[Requirement], labels: Mapping[str, str]) -> list[Requirement]:
    return [each for each in term if each.key in labels]
