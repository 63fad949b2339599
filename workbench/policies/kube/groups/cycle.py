"""The cycle of one root group: its members are tried, placement by placement, and nothing or enough of them is kept.

The rules of `GroupCycle` are those of kube-scheduler 1.37: groups of a tree from the root down, each within one of its
placements; pods and children in a fixed order, nothing backtracked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, Protocol, TypeVar

from workbench.policies.kube.groups.hierarchy import KubePodGroup
from workbench.policies.kube.groups.placement_scores import best_totals, total_of
from workbench.policies.kube.groups.placements import GroupPlacement, GroupPlacements
from workbench.policies.kube.status import Code, Status, text_of

__all__ = [
    "NOTHING_PLACED",
    "GroupCycle",
    "GroupOutcome",
    "PlacementBound",
    "PodOutcome",
    "Scene",
    "Trial",
    "bounded_trials",
]

P = TypeVar("P")
N = TypeVar("N")
#: Nodes in order.
S = TypeVar("S")

NOTHING_PLACED = "pod group is unschedulable"

#: Answers about a minimum with which a group goes on.
_GOES_ON = (Code.SUCCESS, Code.WAIT)


@dataclass(frozen=True)
class PodOutcome(Generic[N]):
    """What became of one pod: its node, or why it has none.

    `node`, if None: it has none. `failure`: the scene's whole answer about a pod without a node; None: there is no more
    to say.
    """

    status: Status
    node: N | None = None
    failure: object = None


@dataclass
class Trial(Generic[P, N, S]):
    """One placement of a group as it was tried.

    `total`: sum of the placement's scores; None: it was not scored, because it failed or no other succeeded. `parts`:
    the scores by upstream's name of the plugin.
    """

    placement: GroupPlacement[S]
    outcome: GroupOutcome[P, N, S]
    total: int | None = None
    parts: dict[str, float] = field(default_factory=dict)


@dataclass
class GroupOutcome(Generic[P, N, S]):
    """What became of a group.

    Attributes
    ----------
    pods : mapping
        Outcome of each pod that was tried; of a PodGroup only.
    children : list of GroupOutcome
        Children that were tried; of a composite only.
    trials : list of Trial
        Placements that were tried, in order; empty where groups have none.
    placement : GroupPlacement, optional
        The placement that was chosen.
    tied : tuple of str
        All placements with the largest total, of those that were tried.
    untried : int
        Placements that were not tried, because they cannot be kept.
    """

    group: KubePodGroup
    status: Status
    pods: Mapping[P, PodOutcome[N]] = field(default_factory=dict)
    children: list[GroupOutcome[P, N, S]] = field(default_factory=list)
    trials: list[Trial[P, N, S]] = field(default_factory=list)
    placement: GroupPlacement[S] | None = None
    tied: tuple[str, ...] = ()
    untried: int = 0

    @property
    def succeeded(self) -> bool:
        return self.status.code is Code.SUCCESS

    def placed(self) -> Iterator[tuple[P, N]]:
        """Pods that have a node, of PodGroups that succeeded under groups that succeeded."""
        if self.succeeded:
            for pod, outcome in self.pods.items():
                if outcome.node is not None:
                    yield pod, outcome.node
            for child in self.children:
                yield from child.placed()

    def walk(self) -> Iterator[GroupOutcome[P, N, S]]:
        """This outcome and those of all groups under it, parents first."""
        yield self
        for child in self.children:
            yield from child.walk()


class Scene(Protocol[P, N, S]):
    """The cluster as a cycle sees it: nothing that a cycle assumes outlives it."""

    def pods(self, group: KubePodGroup) -> Sequence[P]:
        """Pods of a PodGroup to try, in order."""

    def scheduled(self, group: KubePodGroup) -> int:
        """Pods of a PodGroup that have a node already, before the cycle."""

    def children(self, group: KubePodGroup) -> Sequence[KubePodGroup]:
        """Children of a composite, in order."""

    def runs(self, group: KubePodGroup) -> Sequence[Sequence[P]]:
        """Pods of a PodGroup in order, cut into runs of pods that are alike."""

    def place(self, run: Sequence[P], nodes: S) -> list[PodOutcome[N]]:
        """Give pods that are alike nodes, one after another, until one finds none, whose outcome is the last.

        The pods are assumed on their nodes.
        """

    def alike(self, group: KubePodGroup, placements: Sequence[GroupPlacement[S]]) -> list[Trial[P, N, S]] | None:
        """Try all placements of a PodGroup at once, if its pods allow it; nothing is assumed. None: they do not."""

    def complete(self, trial: Trial[P, N, S]) -> None:
        """Fill in what `alike` left out of the outcome of a trial; the scene is as the trial found it."""

    def assume(self, pods: Iterable[tuple[P, N]]) -> None:
        """Count pods as running on nodes."""

    def forget(self, pods: Iterable[tuple[P, N]]) -> None:
        """Take back what `assume` did."""

    def feasible(self, group: KubePodGroup, placed: int, remaining: int) -> Status:
        """Say whether a group can still reach its minimum, and whether it has.

        `group`, `placed`, `remaining`: the group; its members that have a node; those that are still to be tried.
        """

    def placements(self, group: KubePodGroup, nodes: S) -> GroupPlacements[S]:
        """Find the placements of a group within nodes."""

    def bounds(self, group: KubePodGroup, placements: Sequence[GroupPlacement[S]]) -> list[PlacementBound] | None:
        """Upper bounds of what each placement of a group can reach; None: all are to be tried."""

    def reached(self, trial: Trial[P, N, S]) -> PlacementBound:
        """What a trial reached that succeeded."""

    def score(self, group: KubePodGroup, trials: Sequence[Trial[P, N, S]]) -> Status:
        """Score placements in which the group succeeded (`Trial.total`); answers an error if that is impossible."""

    def begin(self, group: KubePodGroup, placement: GroupPlacement[S]) -> None:
        """Take notice that a placement is going to be tried."""


class GroupCycle(Generic[P, N, S]):
    """One cycle of a root group.

    `by_placement`: whether groups are tried placement by placement (feature gate TopologyAwareWorkloadScheduling);
    otherwise on all nodes at once.
    """

    def __init__(self, scene: Scene[P, N, S], by_placement: bool = True) -> None:
        self.scene = scene
        self.by_placement = by_placement

    def run(self, root: KubePodGroup, nodes: S) -> GroupOutcome[P, N, S]:
        """Try a root group on the nodes of a cluster; the scene is afterwards as before.

        Success without a newly placed pod is no success.

        `nodes`: in the order in which the scheduler lists them.
        """
        outcome = self._try(root, nodes, keep=False)
        if outcome.succeeded and next(outcome.placed(), None) is None:
            outcome.status = Status(Code.UNSCHEDULABLE, (NOTHING_PLACED,))
        return outcome

    def _try(self, group: KubePodGroup, nodes: S, *, keep: bool) -> GroupOutcome[P, N, S]:
        """Try a group, and with `keep` leave its pods assumed if it succeeds."""
        if self.by_placement:
            outcome = self._best_placement(group, nodes)
            if keep:
                self.scene.assume(outcome.placed())
            return outcome
        outcome = self._members(group, nodes)
        if not keep:
            self._take_back(outcome)
        return outcome

    def _best_placement(self, group: KubePodGroup, nodes: S) -> GroupOutcome[P, N, S]:
        """Try every placement of a group; nothing stays assumed."""
        placements = self.scene.placements(group, nodes)
        if placements.status.code is not Code.SUCCESS:
            return GroupOutcome(group, placements.status)
        if not placements.found:
            return GroupOutcome(group, Status(Code.UNSCHEDULABLE, ("no feasible placements found",)))
        bounds = self.scene.bounds(group, placements.found)
        if bounds is None:
            trials = self._trials(group, placements.found)
        else:
            needed = group.minimum - self.scene.scheduled(group)
            trials = bounded_trials(bounds, needed, lambda i: self._attempt(group, placements.found[i]))
        untried = len(placements.found) - len(trials)
        if trials[-1].outcome.status.code is Code.ERROR:
            if group.composite:
                # What became of its children is lost: they end as their parent does.
                return GroupOutcome(group, trials[-1].outcome.status, trials=trials)
            return self._of_trial(trials[-1], trials, trials[-1].outcome.status)
        good = [trial for trial in trials if trial.outcome.succeeded]
        if not good:
            first = text_of(trials[0].outcome.status)
            text = f"0/{len(placements.found)} placements are available, first placement status: {first}"
            return self._of_trial(trials[0], trials, Status(Code.UNSCHEDULABLE, (NOTHING_PLACED, text)))
        tied = good
        if len(good) > 1 or (bounds is not None and untried):
            wrong = self.scene.score(group, good)
            if not wrong.ok:
                return GroupOutcome(group, wrong, trials=trials)
            tied = [good[position] for position in best_totals([trial.total or 0 for trial in good])]
        best = self._of_trial(tied[0], trials, tied[0].outcome.status)
        best.tied, best.untried = tuple(trial.placement.name for trial in tied), untried
        return best

    def _trials(self, group: KubePodGroup, placements: Sequence[GroupPlacement[S]]) -> list[Trial[P, N, S]]:
        """Try a group in placements, up to the first that ends in an error; nothing stays assumed."""
        trials = self.scene.alike(group, placements) or []
        for placement in placements[len(trials) :]:
            self.scene.begin(group, placement)
            outcome = self._members(group, placement.nodes)
            self._take_back(outcome)
            trials.append(Trial(placement, outcome))
            if outcome.status.code is Code.ERROR:
                break
        return trials

    def _attempt(
        self, group: KubePodGroup, placement: GroupPlacement[S]
    ) -> tuple[Trial[P, N, S], PlacementBound | None]:
        """Try a group in one placement, and say what it reaches there; None if it fails."""
        (trial,) = self._trials(group, [placement])
        return trial, self.scene.reached(trial) if trial.outcome.succeeded else None

    def _of_trial(self, trial: Trial[P, N, S], trials: list[Trial[P, N, S]], status: Status) -> GroupOutcome[P, N, S]:
        """Outcome of a group that is that of one of its trials; under a failed group all groups fail."""
        outcome = trial.outcome
        self.scene.complete(trial)
        if status.code is Code.SUCCESS:
            return GroupOutcome(outcome.group, status, outcome.pods, outcome.children, trials, trial.placement)
        for child in outcome.children:
            for each in child.walk():
                each.status = status if each.succeeded else each.status
        return GroupOutcome(outcome.group, status, outcome.pods, outcome.children, trials)

    def _members(self, group: KubePodGroup, nodes: S) -> GroupOutcome[P, N, S]:
        """Try the members of a group on nodes, and leave those that have a place assumed if the group succeeds."""
        outcome: GroupOutcome[P, N, S] = GroupOutcome(group, Status())
        if group.composite:
            self._children(outcome, nodes)
        else:
            self._pods(outcome, nodes)
        if outcome.status.code is Code.WAIT:
            outcome.status = Status(Code.UNSCHEDULABLE, outcome.status.reasons)
        return outcome

    def _pods(self, outcome: GroupOutcome[P, N, S], nodes: S) -> None:
        """Try the pods of a PodGroup one after another, until its minimum is out of reach."""
        scene, group = self.scene, outcome.group
        pods: dict[P, PodOutcome[N]] = {}
        placed, left = scene.scheduled(group), len(scene.pods(group))
        outcome.pods = pods
        outcome.status = scene.feasible(group, placed, left)
        for run in scene.runs(group):
            if outcome.status.code not in _GOES_ON:
                break
            found = scene.place(run, nodes)
            good = [each for each in found if each.node is not None]
            pods.update(zip(run, good, strict=False))
            placed, left = placed + len(good), left - len(good)
            if good:
                outcome.status = scene.feasible(group, placed, left)
            for pod in run[len(good) :]:
                # Pods of a run are alike: where one finds no node, none of those after it does.
                if outcome.status.code not in _GOES_ON:
                    break
                pods[pod] = found[-1]
                left -= 1
                error = found[-1].status.code is Code.ERROR
                outcome.status = found[-1].status if error else scene.feasible(group, placed, left)
        if not outcome.succeeded:
            scene.forget((pod, each.node) for pod, each in pods.items() if each.node is not None)

    def _children(self, outcome: GroupOutcome[P, N, S], nodes: S) -> None:
        """Try the children of a composite one after another, until its minimum is out of reach."""
        scene, group = self.scene, outcome.group
        children = scene.children(group)
        outcome.status = scene.feasible(group, 0, len(children))
        good = 0
        for tried, child in enumerate(children, 1):
            if outcome.status.code not in _GOES_ON:
                break
            found = self._try(child, nodes, keep=True)
            outcome.children.append(found)
            if found.status.code is Code.ERROR:
                text = f"composite pod group evaluation failed due to child error: {text_of(found.status)}"
                outcome.status = Status(Code.ERROR, (text,))
                break
            good += found.succeeded
            outcome.status = scene.feasible(group, good, len(children) - tried)
        if outcome.succeeded:
            return
        for found in outcome.children:
            self._take_back(found)

    def _take_back(self, outcome: GroupOutcome[P, N, S]) -> None:
        self.scene.forget(outcome.placed())


T = TypeVar("T")


class PlacementBound(NamedTuple):
    """The most that a placement can reach, whatever becomes of the pods that are tried in it.

    `pods`: pods of the group that find a node. `fit`: score of how full the placement becomes, 0 to 100.
    """

    pods: int
    fit: int


def bounded_trials(
    bounds: Sequence[PlacementBound], minimum: int, attempt: Callable[[int], tuple[T, PlacementBound | None]]
) -> list[T]:
    """Try placements by falling bound until none of the others can be kept.

    `bounds`: bounds of each placement, in the order in which ties are broken. `minimum`: pods that must find a node.
    `attempt`: tries the placement at a position; returns the trial and what it reached, None if it failed. Returns the
    trials in the order of the placements. If all of them failed, the first placement's is among them.
    """
    most = max((each.pods for each in bounds), default=0)
    left = [position for position, bound in enumerate(bounds) if bound.pods >= minimum]
    left.sort(key=lambda position: (-total_of(*bounds[position], most), position))
    trials: dict[int, T] = {}
    reached: dict[int, PlacementBound] = {}
    while left:
        position = left.pop(0)
        trials[position], found = attempt(position)
        if found is not None:
            reached[position] = found
        if not reached:
            continue
        most = max(found.pods for found in reached.values())
        total, first = max((total_of(*found, most), -position) for position, found in reached.items())
        if all(
            bounds[other].pods <= most and (total_of(*bounds[other], most), -other) < (total, first) for other in left
        ):
            break
    if not reached and bounds and 0 not in trials:
        trials[0], _ = attempt(0)
    return [trials[position] for position in sorted(trials)]
