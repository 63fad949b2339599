"""How a gang reads as a Kueue workload: its pod sets, in the order in which they are placed, and what gets lost.

A hard constraint up to tier N becomes *required* at each level from the closest to tier N, in turn, because Kueue looks
at the named level alone; a soft one *preferred* at the closest level; equal sub-groups become slices; a role of one pod
beside another role becomes a leader with its workers. What annotations of Kueue request is taken as it is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workbench.model.gang import Gang, SubGroup, TopologyConstraint
from workbench.model.kueue_request import KueueRequest
from workbench.model.notice import Notice
from workbench.model.topology import Topology
from workbench.policies.kueue.cluster_levels import ClusterLevels
from workbench.policies.kueue.values import SliceLayer, TopologyRequest

__all__ = ["GangReading", "PodRun", "PodSetGroup", "read_gang"]

#: Name of the pod-set group of a leader and its workers.
GROUP = "gang"


@dataclass(frozen=True)
class PodRun:
    """Pods of a gang that are one pod set.

    `role`: role of all of them. `pods`: positions in the gang, in the order of their ranks.
    """

    name: str
    role: int
    pods: tuple[int, ...]


@dataclass(frozen=True)
class PodSetGroup:
    """Pod sets that are placed together: one, or a leader and its workers.

    `attempts`: requests that are tried in turn until one succeeds. `slice_size`: pods of each slice; 1: no slices.
    """

    runs: tuple[PodRun, ...]
    attempts: tuple[TopologyRequest, ...]
    slice_size: int = 1


@dataclass(frozen=True)
class GangReading:
    """A gang as a workload of Kueue.

    `groups`: in the order in which they are placed. `warnings`: what Kueue cannot express. `impossible`: why no level
    of the cluster can be asked for.
    """

    groups: tuple[PodSetGroup, ...]
    warnings: tuple[Notice, ...] = ()
    impossible: Notice | None = None

    @property
    def restricts(self) -> bool:
        """Whether the topology restricts some pod set, be it by preference."""
        return any(
            request.required is not None or request.preferred is not None or bool(request.slices)
            for group in self.groups
            for request in group.attempts
        )


@dataclass(frozen=True)
class _Reach:
    """Tiers that a constraint allows.

    `tiers`: to be required, closest first; empty: none is. `preferred`: the closest tier first, then wider ones,
    finally the whole cluster.
    """

    tiers: tuple[int, ...] = ()
    preferred: bool = False

    @property
    def restricts(self) -> bool:
        return bool(self.tiers) or self.preferred


class _TierTooSmall(Exception):
    """No HyperNode has a tier that a hard constraint allows."""


def read_gang(
    gang: Gang, roles: Sequence[int], topology: Topology, levels: ClusterLevels, *, ladder: bool
) -> GangReading:
    """Read a gang as pod sets with topology requests.

    `roles`: the roles to place, in the order of the gang. `ladder`: require the closest tier first, then wider ones up
    to the highest allowed; False: the highest allowed alone.
    """
    reader = _Reader(gang, topology, levels, ladder)
    try:
        groups = reader.groups([role for role in roles if gang.roles[role].count])
    except _TierTooSmall as error:
        return GangReading((), tuple(reader.warnings), Notice("tier-too-small", str(error)))
    return GangReading(groups, tuple(reader.warnings))


class _Reader:
    # Overview:
    #   1. the gang's constraint, and those of its sub-groups, as tiers that they allow (`_reach`)
    #   2. pod sets: as annotations write them (`_as_written`), or as slices, or one for each sub-group (`_sub_grouped`)
    #   3. for each the requests that are tried, the closest tier first (`_attempts`, `_sliced`)
    # What Kueue cannot express is a warning (`_lost`).
    def __init__(self, gang: Gang, topology: Topology, levels: ClusterLevels, ladder: bool) -> None:
        self.gang = gang
        self.topology = topology
        self.levels = levels
        self.ladder = ladder
        self.warnings: list[Notice] = []

    def groups(self, roles: list[int]) -> tuple[PodSetGroup, ...]:
        """The pod sets of the gang."""
        asked = self.gang.extra(KueueRequest)
        if any(each.topology is not None for each in asked.roles):
            return self._as_written(roles, asked)
        own = self._reach(self.gang.constraint, "the gang")
        reaches = [self._reach(group.constraint, f"sub-group {group.name}") for group in self.gang.sub_groups]
        if any(reach.restricts for reach in reaches):
            return self._sub_grouped(roles, own, reaches)
        if self._few_needed():
            self._lost("Kueue needs all pods of a pod set: that fewer sub-groups would do has no effect")
        runs = [self._run(role) for role in roles]
        sizes = sorted(len(run.pods) for run in runs)
        if len(runs) == 2 and sizes[0] == 1 and own.restricts:
            return (PodSetGroup(tuple(runs), self._attempts(own, GROUP)),)
        if len(runs) > 1 and own.restricts:
            self._lost(
                f"Kueue groups no more than a leader and its workers: the {len(runs)} pod sets are placed in turn, and "
                "the topology constraint holds for each by itself"
            )
        return tuple(PodSetGroup((run,), self._attempts(own)) for run in runs)

    def _as_written(self, roles: list[int], asked: KueueRequest) -> tuple[PodSetGroup, ...]:
        """Pod sets as the annotations of their pods request them; members of one group are placed together."""
        if self.gang.constraint is not None or any(group.constraint for group in self.gang.sub_groups):
            text = "the pods have annotations of Kueue, which count alone: networkTopology restricts nothing"
            self.warnings.append(Notice("constraint-without-effect", text))
        groups: dict[str | int, list[int]] = {}
        for role in roles:
            request = asked.of(self.gang.roles[role].name).topology
            groups.setdefault((request and request.group) or role, []).append(role)
        found = []
        for members in groups.values():
            # The level is the workers': of the member with more pods, the first of two alike.
            most = max(members, key=lambda role: self.gang.roles[role].count)
            request = asked.of(self.gang.roles[most].name).topology or TopologyRequest()
            size = request.slices[0].size if request.slices else 1
            found.append(PodSetGroup(tuple(self._run(role) for role in members), (request,), max(size, 1)))
        return tuple(found)

    def _sub_grouped(self, roles: list[int], own: _Reach, reaches: list[_Reach]) -> tuple[PodSetGroup, ...]:
        """Pod sets of a gang whose sub-groups have constraints: slices if they are alike, else a pod set for each."""
        why = self._no_slices(reaches)
        if not why:
            pods = tuple(pod for group in self.gang.sub_groups for pod in group.pods)
            sliced = PodRun(self.gang.roles[self._role(pods[0])].name, self._role(pods[0]), pods)
            size = len(self.gang.sub_groups[0].pods)
            rest = [PodSetGroup((self._run(role),), self._attempts(own)) for role in roles if role != sliced.role]
            if rest and own.restricts:
                self._lost("pod sets with slices have no leader: the other roles are placed by themselves")
            return (PodSetGroup((sliced,), self._sliced(own, reaches[0], size), size), *rest)
        self._lost(
            f"the sub-groups are no slices of Kueue, because {why}: each is a pod set of its own, placed in turn"
        )
        if own.restricts:
            self._lost("the topology constraint of the gang holds for each pod set by itself")
        found, inside = [], set[int]()
        for group, reach in zip(self.gang.sub_groups, reaches, strict=True):
            inside.update(group.pods)
            for role in roles:
                pods = tuple(pod for pod in group.pods if self._role(pod) == role)
                if pods:
                    name = f"{group.name}-{self.gang.roles[role].name}" if len(roles) > 1 else group.name
                    run = PodRun(name, role, pods)
                    found.append(PodSetGroup((run,), self._attempts(reach if reach.restricts else own)))
        for role in roles:
            pods = tuple(pod for pod in self._run(role).pods if pod not in inside)
            if pods:
                found.append(PodSetGroup((PodRun(self.gang.roles[role].name, role, pods),), self._attempts(own)))
        return tuple(found)

    def _no_slices(self, reaches: list[_Reach]) -> str:
        """Why the sub-groups cannot be slices of one pod set; empty: they can."""
        groups = self.gang.sub_groups
        if any(reach.preferred for reach in reaches):
            return "slices are always required, and a sub-group is soft"
        if len(set(reaches)) > 1:
            return "their constraints differ"
        if len({len(group.pods) for group in groups}) > 1:
            return "their sizes differ"
        if any(group.exclusive_domain for group in groups):
            return "a domain cannot be held by one of them alone"
        if any(not _whole(group) for group in groups) or self._few_needed():
            return "not all of their pods are needed"
        pods = [pod for group in groups for pod in group.pods]
        owners = {self._role(pod) for pod in pods}
        if len(owners) != 1 or len(pods) != self.gang.roles[owners.pop()].count:
            return "they do not consist of all pods of one role"
        return ""

    def _few_needed(self) -> bool:
        """Whether some policy of sub-groups needs fewer of them than there are."""
        number: dict[str, int] = {}
        for group in self.gang.sub_groups:
            number[group.policy] = number.get(group.policy, 0) + 1
        return any(0 < self.gang.min_subgroups.get(policy, count) < count for policy, count in number.items())

    def _attempts(self, reach: _Reach, group: str | None = None) -> tuple[TopologyRequest, ...]:
        if reach.preferred and self.levels.tiers:
            return (TopologyRequest(preferred=self.levels.level_of(self.levels.tiers[-1]), group=group),)
        if not reach.tiers:
            return (TopologyRequest(unconstrained=True),)
        return tuple(TopologyRequest(required=self.levels.level_of(tier), group=group) for tier in reach.tiers)

    def _sliced(self, own: _Reach, slices: _Reach, size: int) -> tuple[TopologyRequest, ...]:
        """Requests for slices, the closest tiers first; a slice tier is never above the gang's."""
        found = []
        for outer in own.tiers or (self.topology.top_tier,):
            for tier in slices.tiers:
                level = self.levels.level_of(tier)
                layer = (SliceLayer(level, size),)
                if own.preferred:
                    found.append(TopologyRequest(preferred=level, slices=layer))
                elif not own.tiers:
                    found.append(TopologyRequest(slices=layer))
                elif tier <= outer:
                    found.append(TopologyRequest(required=self.levels.level_of(outer), slices=layer))
        if not found:
            raise _TierTooSmall("the sub-groups may only be in a higher tier than the gang")
        return tuple(found)

    def _reach(self, constraint: TopologyConstraint | None, who: str) -> _Reach:
        """Tiers that a constraint allows; warns of one without effect."""
        if constraint is None:
            return _Reach()
        if constraint.mode == "soft":
            return _Reach(preferred=True)
        highest = self._highest(constraint)
        if constraint.mode != "hard" or highest is None:
            named = constraint.highest_tier_name
            what = f"the unknown tier name {named}" if named else "no tier"
            text = (
                f"the topology constraint of {who} has {what if constraint.mode else 'no mode'}: it restricts nothing"
            )
            self.warnings.append(Notice("constraint-without-effect", text))
            return _Reach()
        if highest >= self.topology.top_tier:
            return _Reach(preferred=True)
        tiers = tuple(tier for tier in self.topology.tiers if tier <= highest)
        if not tiers:
            raise _TierTooSmall(f"no HyperNode has a tier of {highest} or less")
        return _Reach(tiers if self.ladder else tiers[-1:])

    def _highest(self, constraint: TopologyConstraint) -> int | None:
        if constraint.highest_tier is not None or not constraint.highest_tier_name:
            return constraint.highest_tier
        named = zip(self.topology.tier_names, self.topology.tier.tolist(), strict=True)
        return next((tier for name, tier in named if name == constraint.highest_tier_name), None)

    def _run(self, role: int) -> PodRun:
        first, count = int(self.gang.role_start[role]), self.gang.roles[role].count
        return PodRun(self.gang.roles[role].name, role, tuple(range(first, first + count)))

    def _role(self, pod: int) -> int:
        return int(self.gang.role_of_pod[pod])

    def _lost(self, text: str) -> None:
        self.warnings.append(Notice("not-expressed", text))


def _whole(group: SubGroup) -> bool:
    """Whether all pods of a sub-group are pending and needed."""
    others = (*group.running, *group.succeeded, *group.failed, *group.gated)
    return group.min_available == len(group.pods) and not others
