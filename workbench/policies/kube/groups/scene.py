"""`KubeScene`: the cluster as the cycle of a group sees it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Literal

import numpy as np
import numpy.typing as npt

from workbench.cancel import check
from workbench.model.resources import ASSUMED
from workbench.policies.kube.alike import schedule_alike
from workbench.policies.kube.cluster import KubeCluster
from workbench.policies.kube.groups.alike_trials import AlikePods, nodes_of_all, outcomes_of, shapes_of, unplaced
from workbench.policies.kube.groups.cycle import PlacementBound, PodOutcome, Trial
from workbench.policies.kube.groups.group_pods import GroupPod, by_shape, pod_order, runs_of
from workbench.policies.kube.groups.hierarchy import Hierarchy, KubePodGroup
from workbench.policies.kube.groups.levels import Levels
from workbench.policies.kube.groups.placement_scores import ALWAYS, FULL, fit_score, normalised_counts, total_of
from workbench.policies.kube.groups.placements import GroupPlacement, GroupPlacements, generate_placements, share_of
from workbench.policies.kube.groups.quorum import feasible
from workbench.policies.kube.node_rules import named_nodes
from workbench.policies.kube.one_pod import NODE_FILTERS, filter_pod, passes, schedule_pod
from workbench.policies.kube.resources import pods_that_fit
from workbench.policies.kube.settings import KubeSettings
from workbench.policies.kube.shape import PodShape
from workbench.policies.kube.status import SUCCESS, Status

__all__ = ["KubeScene", "Order"]

Order = Literal["name", "random", "bound"]

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]


class KubeScene:
    """The cluster, the groups and their pods, during one cycle.

    Parameters
    ----------
    cluster : KubeCluster
        Changed while the cycle runs, afterwards as before.
    pods : iterable of GroupPod
        Pods of the groups, waiting and with a node; those with a node count in `cluster` already.
    share : int, optional
        Percentage of placements that are tried; 0: upstream's adaptive share; None: all of them.
    order : {"name", "random", "bound"}
        The placements of which a share is tried: the first by name, some drawn at random, or those with the highest
        upper bounds of their scores. ``bound`` tries no more once none of the others can win.
    levels : Levels, optional
        Values of topology keys; None: those of the nodes' labels.
    counted : mapping of str to int, optional
        Pods of each PodGroup that count as scheduled and are not among `pods`; None: there are none.
    """

    # What `GroupCycle` asks of the cluster, in the order in which a cycle asks:
    #   placements, bounds   where a group may go, and how good each can become
    #   place, alike         pods one after another on nodes, or all placements of equal pods at once
    #   assume, forget       pods that stay for the rest of the cycle, and the way back
    #   feasible, score      whether a group has its minimum; how placements compare

    def __init__(
        self,
        cluster: KubeCluster,
        groups: Hierarchy,
        pods: Iterable[GroupPod],
        settings: KubeSettings,
        share: int | None = None,
        levels: Levels | None = None,
        counted: Mapping[str, int] | None = None,
        order: Order = "name",
    ) -> None:
        self.cluster = cluster
        self.groups = groups
        self.settings = settings
        self.share = share
        self.order = order
        self._counted = {} if counted is None else counted
        self.levels = Levels(cluster.nodes) if levels is None else levels
        self._waiting: dict[str, list[GroupPod]] = {}
        self._placed: dict[str, list[GroupPod]] = {}
        for pod in pods:
            if pod.group:
                (self._waiting if pod.node < 0 else self._placed).setdefault(pod.group, []).append(pod)
        self._waiting = {key: pod_order(members) for key, members in self._waiting.items()}

    def pods(self, group: KubePodGroup) -> Sequence[GroupPod]:
        """Pods of a PodGroup to try, in order."""
        return self._waiting.get(group.key, [])

    def scheduled(self, group: KubePodGroup) -> int:
        """Pods of a PodGroup that have a node already."""
        return len(self._placed.get(group.key, ())) + self._counted.get(group.key, 0)

    def children(self, group: KubePodGroup) -> Sequence[KubePodGroup]:
        """Children of a composite, in order of creation."""
        return self.groups.children(group)

    def runs(self, group: KubePodGroup) -> Sequence[Sequence[GroupPod]]:
        """Pods of a PodGroup in order, cut into runs of equal shape; a pod with a nominated node is one by itself.

        So is one that names nodes if searches are limited: each that fails moves the place of the next search.
        """
        runs = runs_of(self.pods(group))
        if self.settings.percentage is None or all(named_nodes(run[0].shape) is None for run in runs):
            return runs
        return [part for run in runs for part in ([[pod] for pod in run] if named_nodes(run[0].shape) else [run])]

    def place(self, run: Sequence[GroupPod], nodes: Ints) -> list[PodOutcome[int]]:
        """Give pods of one shape nodes, one after another, until one finds none; they are assumed there.

        A node that is nominated for the first pod is taken if it passes the filters.

        `nodes`: ndarray of shape (k,), int32; in the order in which they are looked at.
        """
        first = run[0]
        if first.serving is not None:
            nodes = nodes[first.serving[nodes]]
        nominated = first.nominated
        if nominated in nodes and passes(self.cluster, first.shape, nominated, self.settings).ok:
            self.cluster.assume(first.shape, nominated)
            return [PodOutcome(SUCCESS, nominated)]
        found, failure = schedule_alike(self.cluster, first.shape, len(run), nodes, self.settings)
        placed = [PodOutcome(SUCCESS, node) for node in found]
        return placed if failure is None else [*placed, unplaced(failure)]

    def alike(
        self, group: KubePodGroup, placements: Sequence[GroupPlacement[Ints]]
    ) -> list[Trial[GroupPod, int, Ints]] | None:
        """Try all placements of a PodGroup at once; a trial per placement, in their order, and nothing is assumed.

        None: it cannot be done at once, because the group is composite, has fewer than two pods or pods of several
        shapes, its first pod is nominated, or a rule relates its pods to others.
        """
        runs = [] if group.composite else self.runs(group)
        if len(runs) != 1 or len(runs[0]) < 2 or runs[0][0].nominated >= 0:
            return None
        check()
        nodes = nodes_of_all(self.cluster, runs[0], placements, self.settings)
        if nodes is None:
            return None
        outcomes = outcomes_of(group, self.scheduled(group), runs[0], nodes)
        trials = [Trial(placement, outcome) for placement, outcome in zip(placements, outcomes, strict=True)]
        for trial in trials if self.settings.percentage is not None else ():
            # As the search for each pod would leave it that was tried.
            if trial.outcome.pods and len(inside := self._inside(trial.placement, runs[0][0])):
                self.cluster.start %= len(inside)
        return trials

    def complete(self, trial: Trial[GroupPod, int, Ints]) -> None:
        """Say why pods of a trial of `alike` found no node."""
        pods = trial.outcome.pods
        if not isinstance(pods, AlikePods) or not pods.n_failed:
            return
        first, start = pods.pods[0], self.cluster.start
        self.cluster.assume(first.shape, *pods.nodes.tolist())
        choice = schedule_pod(self.cluster, first.shape, self._inside(trial.placement, first), self.settings)
        self.cluster.forget(first.shape, *pods.nodes.tolist())
        self.cluster.start = start
        pods.failure = unplaced(choice)

    @staticmethod
    def _inside(placement: GroupPlacement[Ints], pod: GroupPod) -> Ints:
        """Nodes of a placement that may take a pod whatever the filters say, in their order."""
        return placement.nodes if pod.serving is None else placement.nodes[pod.serving[placement.nodes]]

    def assume(self, pods: Iterable[tuple[GroupPod, int]]) -> None:
        """Count pods as running on nodes."""
        for shape, nodes in by_shape(pods).items():
            self.cluster.assume(shape, *nodes)

    def forget(self, pods: Iterable[tuple[GroupPod, int]]) -> None:
        """Take back what `assume` did."""
        for shape, nodes in by_shape(pods).items():
            self.cluster.forget(shape, *nodes)

    def feasible(self, group: KubePodGroup, placed: int, remaining: int) -> Status:
        """Say whether a group can still reach its minimum, and whether it has (`quorum.feasible`).

        `group`, `placed`, `remaining`: the group; its members that have a node; those that are still to be tried.
        """
        return feasible(group, placed, remaining)

    def placements(self, group: KubePodGroup, nodes: Ints) -> GroupPlacements[Ints]:
        """Find the placements of a group within nodes, those of a share of them if only a share is tried.

        `nodes`: ndarray of shape (k,), int32.
        """
        codes, values = self.levels.values(group.topology_key)
        scheduled = [(pod.full_name, int(codes[pod.node])) for pod in self._members(group, self._placed)]
        found = generate_placements(group, nodes, codes, values, scheduled)
        if self.share is None:
            return found
        tried = share_of([len(each.nodes) for each in found.found], self.share)
        chosen = list(range(len(found.found)))
        if self.order == "random":
            # Other ones whenever pods came or went in between, so that a gang that is tried again finds others.
            state = f"{group.key} {self.cluster.requested.sum()}"
            chosen.sort(key=lambda i: blake2b(f"{state} {found.found[i].name}".encode()).digest())
        elif self.order == "bound" and (bounds := self.bounds(group, found.found)) is not None:
            most = max((bound.pods for bound in bounds), default=0)
            chosen.sort(key=lambda i: (-total_of(*bounds[i], most), i))
        return GroupPlacements(tuple(found.found[i] for i in sorted(chosen[:tried])), found.status)

    def bounds(self, group: KubePodGroup, placements: Sequence[GroupPlacement[Ints]]) -> list[PlacementBound] | None:
        """Upper bounds of what each placement of a PodGroup can reach; None: they are not asked for or not known.

        Of each shape a placement takes no more pods than its nodes have room for, each shape by itself. Where there are
        several placements no pod of the group has a node yet: it would pin one of them.
        """
        if self.order != "bound" or group.composite or len(placements) < 2:
            return None
        places = [each.nodes for each in placements]
        nodes = np.concatenate(places)
        place = np.repeat(np.arange(len(places)), [len(each) for each in places])
        held: list[dict[PodShape, int]] = [{} for _ in places]
        for run in self.runs(group):
            first = run[0]
            passed = filter_pod(self.cluster, first.shape, nodes, self.settings, NODE_FILTERS).passed
            if first.serving is not None:
                passed = passed & first.serving[nodes]
            room = np.where(passed, pods_that_fit(self.cluster, first.shape, self.settings, nodes, len(run)), 0)
            for i, pods in enumerate(np.bincount(place, room, minlength=len(places)).astype(np.int64).tolist()):
                held[i][first.shape] = held[i].get(first.shape, 0) + min(pods, len(run))
        fits = self._most_fit(places, held)
        return [PlacementBound(sum(shapes.values()), fit) for shapes, fit in zip(held, fits, strict=True)]

    def reached(self, trial: Trial[GroupPod, int, Ints]) -> PlacementBound:
        """What a trial of a PodGroup reached that succeeded."""
        shapes = shapes_of(trial.outcome)
        (fit,) = self.fits([trial.placement.nodes], [shapes])
        return PlacementBound(sum(shapes.values()), fit)

    def _most_fit(self, places: Sequence[Ints], held: Sequence[Mapping[PodShape, int]]) -> list[int]:
        """Upper bound of the score by how full each placement becomes, with at most some pods of each shape."""
        extended = [name for name, _ in self.settings.resources if name not in ALWAYS]
        shapes = held[0].keys()
        if any(shape.requests.get(name) for name in extended for shape in shapes):
            if len(shapes) > 1:
                # Which resources count depends on the shapes that are placed.
                return [FULL] * len(places)
            return list(map(max, self.fits(places, held), self.fits(places, [{}] * len(places))))
        return self.fits(places, held)

    def score(self, group: KubePodGroup, trials: Sequence[Trial[GroupPod, int, Ints]]) -> Status:
        """Score placements in which the group succeeded: by its pods in them, and by how full they become."""
        before = len(self._members(group, self._placed))
        placed = [shapes_of(trial.outcome) for trial in trials]
        counts = normalised_counts([before + sum(shapes.values()) for shapes in placed])
        if isinstance(counts, Status):
            return counts
        fits = self.fits([trial.placement.nodes for trial in trials], placed)
        for trial, fit, count in zip(trials, fits, counts, strict=True):
            trial.parts = {"PodGroupPodsCount": float(count), "NodeResourcesFit": float(fit)}
            trial.total = count + fit
        return SUCCESS

    def fits(self, places: Sequence[Ints], shapes: Sequence[Mapping[PodShape, int]]) -> list[int]:
        """Score how full the nodes of each placement become with pods on them, 0 to 100 (`fit_score`).

        `places`: sequence of ndarray, int32; nodes of each placement. `shapes`: how many pods of each shape come to
        each; they are not on the nodes yet.
        """
        cluster, nodes = self.cluster, np.concatenate(places)
        ends = np.cumsum([0, *(len(each) for each in places)])

        def sums(amounts: Longs) -> list[int]:
            upto = np.append(0, np.cumsum(amounts.take(nodes)))
            found: list[int] = np.diff(upto[ends]).tolist()
            return found

        offered: dict[str, list[int]] = {}
        taken: dict[str, list[int]] = {}
        for name, _ in self.settings.resources:
            column = cluster.nodes.column(name)
            if column is not None:
                held = cluster.requested[:, column]
                if name in ASSUMED:
                    held = held + cluster.assumed[:, ASSUMED.index(name)]
                offered[name], taken[name] = sums(cluster.nodes.allocatable[:, column]), sums(held)
        asked = {
            shape: [(name, shape.requests.get(name, 0) + shape.assumed.get(name, 0)) for name in offered]
            for shape in {shape for coming in shapes for shape in coming}
        }
        found = []
        for i, coming in enumerate(shapes):
            requested = dict.fromkeys(offered, 0)
            for shape, pods in coming.items():
                for name, amount in asked[shape]:
                    requested[name] += pods * amount
            here = {name: amounts[i] for name, amounts in offered.items()}
            held_here = {name: amounts[i] for name, amounts in taken.items()}
            found.append(fit_score(here, held_here, requested, self.settings.resources))
        return found

    def begin(self, group: KubePodGroup, placement: GroupPlacement[Ints]) -> None:
        """Take notice that a placement is going to be tried: long work can be cancelled here."""
        check()

    def _members(self, group: KubePodGroup, pods: Mapping[str, list[GroupPod]]) -> list[GroupPod]:
        return [pod for leaf in self.groups.leaves(group) for pod in pods.get(leaf.key, ())]
