"""`CycleCluster`: what a scheduling cycle looks at: ClusterQueues with their usage, and the nodes of each flavor."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property

from workbench.model.kueue import Flavor, PodSet
from workbench.model.kueue_queues import ClusterQueue, Cohort, FlavorQuotas, PodSetAdmission, QueuedWorkload
from workbench.model.labels import HOSTNAME_LABEL
from workbench.policies.kueue.flavor_snapshot import FlavorSnapshot, usage_of
from workbench.policies.kueue.query import Gates
from workbench.policies.kueue.quota import FlavorResource, QuotaNode, quota_nodes
from workbench.policies.kueue.values import DomainUsage, KueueNode

__all__ = ["CycleCluster", "CycleQueue", "Holding", "Taken", "requested"]


@dataclass(slots=True)
class Taken:
    """Amounts of quota, and pods on the nodes of flavors.

    `quota`: by flavor and resource, base units. `pods`: usage of domains, by flavor.
    """

    quota: dict[FlavorResource, int] = field(default_factory=dict)
    pods: dict[str, list[DomainUsage]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Holding:
    """A workload that holds quota in a queue, and what it holds."""

    workload: QueuedWorkload
    queue: str
    taken: Taken

    @cached_property
    def keys(self) -> set[FlavorResource]:
        """Flavors and resources that its pod sets were admitted with."""
        admission = self.workload.admission
        sets = admission.pod_sets if admission is not None else ()
        return {(flavor, resource) for each in sets for resource, flavor in each.flavors.items()}


class CycleQueue:
    """A ClusterQueue in a cycle.

    `flavors`: all flavors of the cluster. `known`: flavors with a topology that exists.

    Attributes
    ----------
    holdings : dict of str to Holding
        Workloads that hold quota in it, by key.
    topologies : frozenset of str
        Its flavors whose nodes have a topology.
    only_topologies : bool
        Whether all of its flavors are such: a workload need not ask then.
    delaying : frozenset of str
        Flavors for which machines are provisioned first.
    inactive : str
        Why it admits nothing; empty: it is active.
    """

    def __init__(self, spec: ClusterQueue, quota: QuotaNode, flavors: Mapping[str, Flavor], known: set[str]) -> None:
        self.spec = spec
        self.quota = quota
        self.holdings: dict[str, Holding] = {}
        mine = [each.flavor for group in spec.groups for each in group]
        self.topologies = frozenset(name for name in mine if name in known)
        self.only_topologies = bool(mine) and all(name in known for name in mine)
        provisioning = [check for check in spec.checks if check.provisioning]
        self.delaying = frozenset(name for check in provisioning for name in (check.flavors or mine))
        missing = [name for name in mine if name not in flavors]
        unknown = [name for name in mine if name in flavors and flavors[name].topology and name not in known]
        why = ["it is stopped (stopPolicy)"] if spec.stopped else []
        why += [f"there is no ResourceFlavor {name}" for name in missing]
        why += [f"there is no Topology {flavors[name].topology} of its ResourceFlavor {name}" for name in unknown]
        why += [f"there is no AdmissionCheck {check.name}" for check in spec.checks if check.missing]
        self.inactive = "; ".join(why)
        #: Why flavors are not for pod sets, by what these ask for; written by the search for flavors.
        self.unsuitable: dict[Hashable, str | None] = {}
        self._group_of: dict[str, tuple[FlavorQuotas, ...]] = {}
        for group in spec.groups:
            for resource in (resource for each in group for resource in each.quotas):
                self._group_of.setdefault(resource, group)

    def group_of(self, resource: str) -> tuple[FlavorQuotas, ...]:
        """The resource group that covers a resource; empty if none does."""
        return self._group_of.get(resource, ())

    def free(self, key: FlavorResource) -> int:
        """Quota that a workload may use now, borrowed quota included; never negative."""
        return max(0, self.quota.free(key))


class CycleCluster:
    """ClusterQueues with what workloads use of them, and the free capacity of the nodes of each flavor.

    `topologies`: levels of each Topology by name, widest first. `held`: sequence of (str, mapping of str to int); for
    each running pod that Kueue does not place by topology: its node and its requests. `fair`: strategies of fair
    sharing, as in `KueueObjects.fair_sharing`. `snapshots`: snapshots of each flavor with a topology, by name.
    `version`: counts what was entered by `hold` and `release`: as long as it stays, so do the answers of a cycle's
    beginning. `now_s`: when workloads that are admitted now get their quota; None: unknown.
    """

    # Workloads that hold quota: `hold` and `release` enter them, on every flavor that has their nodes.
    # Amounts of this cycle only: `take` and `give_back`, on their own flavor alone; `count_again` undoes them all.
    # Searches for victims try with `let_go`, `spare`, `put_back` and `without`, and ask `fits`.

    def __init__(
        self,
        queues: Iterable[ClusterQueue],
        cohorts: Iterable[Cohort],
        flavors: Iterable[Flavor],
        topologies: Mapping[str, Sequence[str]],
        nodes: Sequence[KueueNode],
        held: Sequence[tuple[str, Mapping[str, int]]] = (),
        gates: Gates | None = None,
        fair: Sequence[str] = (),
    ) -> None:
        self.gates = gates or Gates()
        self.fair = tuple(fair)
        self.version = 0
        self.now_s: float | None = None
        self.flavors = {flavor.name: flavor for flavor in flavors}
        self.snapshots: dict[str, FlavorSnapshot] = {}
        self._by_host: set[str] = set()
        for name in sorted(self.flavors):
            flavor = self.flavors[name]
            levels = topologies.get(flavor.topology or "")
            if levels is not None:
                self.snapshots[name] = FlavorSnapshot(tuple(levels), flavor, nodes, self.gates, held)
                if tuple(levels)[-1:] == (HOSTNAME_LABEL,):
                    self._by_host.add(name)
        queues = list(queues)
        quotas, known = quota_nodes(queues, cohorts), set(self.snapshots)
        self.queues = {each.name: CycleQueue(each, quotas[each.name], self.flavors, known) for each in queues}
        self._holdings: dict[str, Holding] = {}
        self._trees: dict[str, tuple[str, ...]] = {}

    def shares_nodes(self, flavor: str) -> bool:
        """Whether usage of a flavor is that of host names, which other flavors may have, too."""
        return self.gates.TASHandleOverlappingFlavors and flavor in self._by_host

    def holding(self, workload: QueuedWorkload) -> Holding | None:
        """What a workload holds by its admission; None: nothing, or its queue is unknown."""
        admission = workload.admission
        if admission is None or admission.cluster_queue not in self.queues:
            return None
        taken, sets = Taken(), {each.name: each for each in workload.pod_sets}
        for admitted in admission.pod_sets:
            pod_set = sets.get(admitted.name)
            for resource, amount in requested(admitted, pod_set).items():
                flavor = admitted.flavors.get(resource)
                if flavor is not None:
                    key = (flavor, resource)
                    taken.quota[key] = taken.quota.get(key, 0) + amount
            if admitted.assignment is not None and pod_set is not None:
                placed = sorted({flavor for flavor in admitted.flavors.values() if flavor in self.snapshots})
                for flavor in placed[:1]:
                    taken.pods.setdefault(flavor, []).extend(usage_of(pod_set, admitted.assignment))
        return Holding(workload, admission.cluster_queue, taken)

    def hold(self, holding: Holding) -> None:
        """Enter a workload that holds quota; its pods count on all flavors that have their nodes."""
        self.version += 1
        self._holdings[holding.workload.key] = holding
        self.queues[holding.queue].holdings[holding.workload.key] = holding
        self._enter(holding)

    def _enter(self, holding: Holding) -> None:
        quota = self.queues[holding.queue].quota
        for key, amount in holding.taken.quota.items():
            quota.add(key, amount)
        for snapshot, usage in self._everywhere(holding.taken):
            snapshot.add(usage)
            snapshot.settle()

    def release(self, holding: Holding) -> None:
        """Undo `hold`."""
        self.version += 1
        queue = self.queues[holding.queue]
        del queue.holdings[holding.workload.key]
        self._holdings.pop(holding.workload.key, None)
        for key, amount in holding.taken.quota.items():
            queue.quota.remove(key, amount)
        for snapshot, usage in self._everywhere(holding.taken):
            snapshot.remove(usage)
            snapshot.settle()

    def holding_of(self, key: str) -> Holding | None:
        """What a workload holds, by its key; None: nothing."""
        return self._holdings.get(key)

    def tree_of(self, queue: str) -> tuple[str, ...]:
        """Names of the queues in the tree of cohorts of a queue, itself included, in the order of their names."""
        if not self._trees:
            members: dict[str, list[str]] = {}
            roots = {name: next(iter(deque(each.quota.ancestors(), 1)), None) for name, each in self.queues.items()}
            for name, root in sorted(roots.items()):
                members.setdefault(name if root is None else f"/{root.name}", []).append(name)
            self._trees = {name: tuple(each) for each in members.values() for name in each}
        return self._trees.get(queue, (queue,))

    def count_again(self) -> None:
        """Set all usage to what the workloads hold, after a cycle was given up."""
        self.version += 1
        for queue in self.queues.values():
            for node in (queue.quota, *queue.quota.ancestors()):
                node.usage.clear()
        for snapshot in self.snapshots.values():
            snapshot.clear()
        for holding in list(self._holdings.values()):
            self._enter(holding)

    def _everywhere(self, taken: Taken) -> Iterator[tuple[FlavorSnapshot, DomainUsage]]:
        for flavor, usages in taken.pods.items():
            for name in sorted(self._by_host) if self.shares_nodes(flavor) else (flavor,):
                for usage in usages:
                    yield self.snapshots[name], usage

    def take(self, queue: CycleQueue, taken: Taken) -> None:
        """Use amounts for the rest of a cycle; pods count on their own flavor alone, as in Kueue."""
        for key, amount in taken.quota.items():
            queue.quota.add(key, amount)
        for flavor, usages in taken.pods.items():
            for usage in usages:
                self.snapshots[flavor].add(usage)

    def give_back(self, queue: CycleQueue, taken: Taken) -> None:
        """Undo `take`."""
        for key, amount in taken.quota.items():
            queue.quota.remove(key, amount)
        for flavor, usages in taken.pods.items():
            for usage in usages:
                self.snapshots[flavor].remove(usage)

    def let_go(self, holding: Holding) -> None:
        """Let a workload go: its queue gives back what it holds."""
        self.give_back(self.queues[holding.queue], holding.taken)

    def put_back(self, holding: Holding) -> None:
        """Undo `let_go`."""
        self.take(self.queues[holding.queue], holding.taken)

    def spare(self, gone: list[Holding], fits: Callable[[], bool]) -> None:
        """Put back those that were let go and need not go, the last but one first; `gone` keeps the others."""
        for i in range(len(gone) - 2, -1, -1):
            spared = gone[i]
            self.put_back(spared)
            if fits():
                gone[i] = gone[-1]
                gone.pop()
            else:
                self.let_go(spared)

    @contextmanager
    def without(self, holdings: Iterable[Holding]) -> Iterator[None]:
        """Context manager in which workloads are gone, from the quota and from their own flavors."""
        gone = list(holdings)
        for each in gone:
            self.let_go(each)
        try:
            yield
        finally:
            for each in gone:
                self.put_back(each)

    def fits(self, queue: CycleQueue, taken: Taken) -> tuple[bool, bool]:
        """Whether quota and nodes hold amounts: quota, and, if that does, the nodes."""
        for key, amount in taken.quota.items():
            if queue.free(key) < amount:
                return False, True
        return True, all(self.snapshots[flavor].fits(usages) for flavor, usages in taken.pods.items())


def requested(admitted: PodSetAdmission, pod_set: PodSet | None) -> dict[str, int]:
    """Quota that a pod set uses by its admission; for a part of it if the pod set has fewer pods by now."""
    usage = dict(admitted.usage)
    if pod_set is not None and 0 < pod_set.count < admitted.count:
        usage = {name: amount // admitted.count * pod_set.count for name, amount in usage.items()}
    return usage
