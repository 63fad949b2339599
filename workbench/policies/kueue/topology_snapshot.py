"""`TopologySnapshot`: free resources of the leaves of a topology tree, and the placement of pod sets on them.

Source: Kueue 0.19, pkg/cache/scheduler/tas_flavor_snapshot.go.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from workbench.model.value import Working
from workbench.policies.kueue.assignments import (
    bound_of_replacement,
    cut,
    merge,
    remaining_request,
    stale_value,
    without_node,
)
from workbench.policies.kueue.leaf_conditions import LeafConditions
from workbench.policies.kueue.leaves import Leaves, leaf_id
from workbench.policies.kueue.query import Gates, PlacementQuery, read_query, requested_level
from workbench.policies.kueue.search import Observer, PlacementSearch
from workbench.policies.kueue.values import Assignment, DomainUsage, Flavor, Outcome, PodSet, Replacement

__all__ = ["PODS", "TopologySnapshot", "usage_of"]

Longs = npt.NDArray[np.int64]

#: The resource of which every pod takes one.
PODS = "pods"


class TopologySnapshot(Working, ABC):
    """Free resources of the leaves of a topology tree; changed by `add` and `remove`.

    `observer`: is told of every search.

    `flavor`: `flavor.topology` is the name of the topology in messages. `columns`: column of each resource in
    `capacity`; ``pods`` is one of them. `capacity`: ndarray of shape (leaves, resources), int64; what workloads could
    take if they held nothing.
    """

    # `place` takes the pod sets of a workload in order, on a copy of what they take:
    #   1. a pod set that grows or lost a node keeps its other places (`_grows`, `_resize`, `_replace_all`)
    #   2. otherwise `search` looks for domains, for a leader and its workers together (`_place_group`)

    def __init__(
        self, leaves: Leaves, flavor: Flavor, gates: Gates, columns: Mapping[str, int], capacity: Longs
    ) -> None:
        self.leaves = leaves
        self.flavor = flavor
        self.gates = gates
        self._columns = dict(columns)
        self._capacity = capacity
        self._used = np.zeros_like(capacity)
        self.observer: Observer | None = None

    @property
    @abstractmethod
    def conditions(self) -> LeafConditions | None:
        """Labels and taints of the leaves; None if they are no single nodes."""

    def has_level(self, pod_set: PodSet) -> bool:
        """Whether the pod set requests a topology whose level and slice levels the flavor has."""
        request = pod_set.topology
        named = None if request is None else requested_level(self.leaves.levels, request)
        if request is None or named is None:
            return False
        return all(level in self.leaves.levels for level in (named, *(layer.level for layer in request.slices)))

    def free(self, leaf: int) -> dict[str, int]:
        """Free resources of a leaf of the tree, by name."""
        row = (self._capacity[leaf] - self._used[leaf]).tolist()
        return {name: row[column] for name, column in self._columns.items()}

    def add(self, usage: DomainUsage) -> None:
        """Take resources of pods; a domain without a node is ignored."""
        self._hold(self._used, usage, 1)

    def remove(self, usage: DomainUsage) -> None:
        """Give back what `add` took."""
        self._hold(self._used, usage, -1)

    def clear(self) -> None:
        """Give back all that `add` took."""
        self._used[:] = 0

    def fits(self, usages: Sequence[DomainUsage]) -> bool:
        """Whether each of `usages` by itself fits into the free capacity, the number of pods on a node not counted.

        As upstream, which does not add up what several pod sets take in one domain, and finds no room for pods that
        request nothing.
        """
        for usage in usages:
            leaf = self.leaves.leaf_of.get(leaf_id(usage.values))
            if leaf is None or not usage.requests:
                return False
            for name, amount in usage.requests.items():
                column = self._columns.get(name)
                free = 0 if column is None else int(self._capacity[leaf, column] - self._used[leaf, column])
                if amount * usage.count > max(free, 0):
                    return False
        return True

    def place(
        self,
        pod_sets: Sequence[PodSet],
        *,
        simulate_empty: bool = False,
        assumed: Sequence[DomainUsage] = (),
        replacement: Replacement | None = None,
    ) -> dict[str, Outcome]:
        """Find an assignment for each pod set of one workload, in their order; the snapshot is not changed.

        Returns dict of str to Outcome: by name of the pod set. The first failure ends the search: its group has the
        reason, the pod sets after it are absent.

        `pod_sets`: those that go to this flavor, in the order of the workload. `simulate_empty`: place as if no
        workload held anything here. `assumed`: what pod sets of the same workload were given on other flavors with the
        same nodes. `replacement`: the workload's nodes that failed, and what its pod sets hold.
        """
        taken = [*assumed]
        found: dict[str, Outcome] = {}
        for members in _groups(pod_sets):
            if replacement is not None and replacement.unhealthy_nodes:
                answers, usage = self._replace_all(members, replacement, taken, simulate_empty)
            else:
                answers, usage = self._place_group(members, taken, simulate_empty)
            found.update(answers)
            if any(outcome.reason for outcome in answers.values()):
                break
            taken += usage
        return found

    def search(
        self,
        workers: PodSet,
        leader: PodSet | None = None,
        taken: Iterable[DomainUsage] = (),
        simulate_empty: bool = False,
    ) -> PlacementSearch:
        """The search for the domains of a pod set, with its leader, beside what other pod sets have taken.

        `simulate_empty`: as in `place`.
        """
        for each in (workers, *([leader] if leader else [])):
            self._learn(each.requests)
        free = self._capacity.copy() if simulate_empty else self._capacity - self._used
        for usage in taken:
            self._hold(free, usage, -1)
        found = PlacementSearch(
            self.leaves, self.conditions, self.flavor, self.gates, self._columns, free, workers, leader
        )
        found.observer = self.observer
        return found

    def _place_group(
        self, members: Sequence[PodSet], taken: Sequence[DomainUsage], simulate_empty: bool
    ) -> tuple[dict[str, Outcome], list[DomainUsage]]:
        """Answers for a pod set, or for a leader and its workers, and what they take."""
        workers, leader = _workers_and_leader(members)
        if self._grows(workers):
            return self._resize(workers, leader, taken, simulate_empty)
        answers = self.search(workers, leader, taken, simulate_empty).answers()
        return answers, _taken(answers, members)

    def _grows(self, workers: PodSet) -> bool:
        """Whether the pods take the place of a smaller or larger workload slice, whose domains all still exist."""
        gates = self.gates
        elastic = gates.ElasticJobsViaWorkloadSlices and gates.ElasticJobsViaWorkloadSlicesWithTAS
        previous = workers.previous
        return elastic and previous is not None and stale_value(self.leaves, previous) is None

    def _resize(
        self, workers: PodSet, leader: PodSet | None, taken: Sequence[DomainUsage], simulate_empty: bool
    ) -> tuple[dict[str, Outcome], list[DomainUsage]]:
        """Keep the pods of a workload slice where they are, and place only those that are more."""
        previous = workers.previous
        assert previous is not None
        kept: dict[str, Outcome] = {}
        if leader is not None and leader.previous is not None:
            kept[leader.name] = Outcome(leader.previous)
        more = workers.count - previous.count
        members = [workers, *([leader] if leader else [])]
        if more <= 0:
            kept[workers.name] = Outcome(cut(previous, workers.count) if more < 0 else previous)
            return kept, _taken(kept, members)
        held = _taken({**kept, workers.name: Outcome(previous)}, members)
        alone = leader is None or leader.name in kept
        search = self.search(replace(workers, count=more), None if alone else leader, [*taken, *held], simulate_empty)
        answers = search.answers()
        grown = answers[workers.name]
        if grown.assignment is not None:
            answers[workers.name] = Outcome(merge(self.leaves, previous, grown.assignment))
            answers.update(kept)
        return answers, _taken(answers, members)

    def _replace_all(
        self, members: Sequence[PodSet], replacement: Replacement, taken: Sequence[DomainUsage], simulate_empty: bool
    ) -> tuple[dict[str, Outcome], list[DomainUsage]]:
        """Second placement of pod sets that lost a node, each by itself."""
        answers: dict[str, Outcome] = {}
        usage: list[DomainUsage] = []
        for pods in members:
            held = replacement.assignments.get(pods.name)
            if held is None:
                continue
            answers[pods.name], more = self._replace(pods, held, replacement, [*taken, *usage], simulate_empty)
            if answers[pods.name].reason:
                break
            usage += more
        return answers, usage

    def _replace(
        self,
        pods: PodSet,
        held: Assignment,
        replacement: Replacement,
        taken: Sequence[DomainUsage],
        simulate_empty: bool,
    ) -> tuple[Outcome, list[DomainUsage]]:
        """Place the pods of a failed node again, and what they take."""
        if replacement.owned_by_pod and self.gates.SkipReassignmentForPodOwnedWorkloads:
            return Outcome(held), []
        node = replacement.unhealthy_nodes[0]
        rest, lost = without_node(held, node)
        stale = stale_value(self.leaves, rest)
        if stale is not None:
            text = (
                "Cannot replace the node, because the existing topologyAssignment is invalid, as it contains the stale"
            )
            return Outcome(None, f"{text} domain {stale}"), []
        query = read_query(self.leaves.levels, pods, 0, self.gates)
        bound = bound_of_replacement(self.leaves, query, rest, lost) if isinstance(query, PlacementQuery) else ()
        again = replace(pods, count=lost)
        if isinstance(query, PlacementQuery) and query.layers and bound and lost % query.slice_size:
            again = remaining_request(again, lost)
        search = self.search(again, None, taken, simulate_empty)
        search.bound = bound
        answer = search.answers()[pods.name]
        if answer.assignment is None:
            return answer, []
        if not answer.assignment.domains:
            return Outcome(None, f"cannot find replacement assignment for unhealthy node: {node}"), []
        return Outcome(merge(self.leaves, rest, answer.assignment)), usage_of(pods, answer.assignment)

    def _hold(self, table: Longs, usage: DomainUsage, sign: int) -> None:
        leaf = self.leaves.leaf_of.get(leaf_id(usage.values))
        if leaf is not None:
            self._change(table, leaf, usage.requests, sign * usage.count, sign * usage.count)

    def _learn(self, requests: Mapping[str, int]) -> None:
        """Give each requested resource that no node has a column of zeros."""
        for name in sorted(requests.keys() - self._columns.keys()):
            self._columns[name] = len(self._columns)
            self._capacity, self._used = (np.pad(table, ((0, 0), (0, 1))) for table in (self._capacity, self._used))

    def _change(self, table: Longs, leaf: int, amounts: Mapping[str, int], times: int, pods: int) -> None:
        # Single items of a memoryview are read and written in a third of the time of an array's.
        cells = table.data
        for name, amount in amounts.items():
            column = self._columns.get(name)
            # No node has a resource that is not known, so nothing more can be taken of it.
            if column is not None:
                cells[leaf, column] += times * amount
        cells[leaf, self._columns[PODS]] += pods


def usage_of(pod_set: PodSet, assignment: Assignment) -> list[DomainUsage]:
    """What the pods of an assignment hold, domain by domain."""
    return [DomainUsage(values, pod_set.requests, count) for values, count in assignment.domains]


def _groups(pod_sets: Sequence[PodSet]) -> list[list[PodSet]]:
    """Pod sets by group, in the order of each group's first member; a pod set without a group is one by itself."""
    groups: dict[object, list[PodSet]] = {}
    for number, pods in enumerate(pod_sets):
        groups.setdefault(pods.group if pods.group is not None else number, []).append(pods)
    return list(groups.values())


def _workers_and_leader(members: Sequence[PodSet]) -> tuple[PodSet, PodSet | None]:
    """The leader is the second of two pod sets, or the first if it has fewer pods."""
    if len(members) < 2:
        return members[0], None
    first, second = members[:2]
    return (second, first) if second.count > first.count else (first, second)


def _taken(answers: Mapping[str, Outcome], members: Sequence[PodSet]) -> list[DomainUsage]:
    usage: list[DomainUsage] = []
    for pods in members:
        outcome = answers.get(pods.name)
        if outcome is not None and outcome.assignment is not None:
            usage += usage_of(pods, outcome.assignment)
    return usage
