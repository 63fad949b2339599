"""Trials of a PodGroup whose pods are alike in all its placements at once.

What a node answers after so many pods more does not depend on other nodes then, so that the choices of all placements
are one sorting of (node, number of the pod on it).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import ItemsView, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from workbench.policies.kube.alike import NodeLevels, independent
from workbench.policies.kube.cluster import KubeCluster
from workbench.policies.kube.groups.cycle import GroupOutcome, PodOutcome
from workbench.policies.kube.groups.group_pods import GroupPod
from workbench.policies.kube.groups.hierarchy import KubePodGroup
from workbench.policies.kube.groups.placements import GroupPlacement
from workbench.policies.kube.groups.quorum import feasible
from workbench.policies.kube.one_pod import PodChoice, looks_at_all, score_pod
from workbench.policies.kube.settings import KubeSettings
from workbench.policies.kube.shape import PodShape
from workbench.policies.kube.status import SUCCESS, Code, Status

__all__ = ["AlikePods", "nodes_of_all", "outcomes_of", "shapes_of", "unplaced"]

Ints = npt.NDArray[np.int32]

#: Scores that depend on which nodes are feasible.
_RELATIVE = ("TaintToleration", "NodeAffinity")

_FAILED: PodOutcome[int] = PodOutcome(Status(Code.UNSCHEDULABLE))


def unplaced(choice: PodChoice) -> PodOutcome[int]:
    """The outcome of a pod that no node takes."""
    return PodOutcome(Status(Code.UNSCHEDULABLE, (choice.text,)), failure=choice)


class AlikePods(Mapping[GroupPod, PodOutcome[int]]):
    """Outcomes of pods that are alike: the first ones have nodes, those after them failed, the last were not tried.

    `failure`: outcome of those that failed; without reasons until somebody asks a node.

    `nodes`: ndarray of shape (p,), int32; nodes of the first pods.
    """

    def __init__(self, pods: Sequence[GroupPod], nodes: Ints, n_failed: int) -> None:
        self.pods = pods
        self.nodes = nodes
        self.n_failed = n_failed
        self.failure: PodOutcome[int] = _FAILED

    @cached_property
    def _outcomes(self) -> dict[GroupPod, PodOutcome[int]]:
        nodes = self.nodes.tolist()
        of_node = {node: PodOutcome(SUCCESS, node) for node in set(nodes)}
        found = dict(zip(self.pods[: len(nodes)], [of_node[node] for node in nodes], strict=True))
        return found | dict.fromkeys(self.pods[len(nodes) : len(self)], self.failure)

    def items(self) -> ItemsView[GroupPod, PodOutcome[int]]:
        """The outcomes by pod, faster than the mixin, which asks for pod after pod."""
        return self._outcomes.items()

    def __getitem__(self, pod: GroupPod) -> PodOutcome[int]:
        return self._outcomes[pod]

    def __iter__(self) -> Iterator[GroupPod]:
        return iter(self.pods[: len(self)])

    def __len__(self) -> int:
        return len(self.nodes) + self.n_failed


def shapes_of(outcome: GroupOutcome[GroupPod, int, Ints]) -> Mapping[PodShape, int]:
    """How many pods of each shape a group has placed."""
    if isinstance(outcome.pods, AlikePods) and outcome.succeeded and len(outcome.pods.nodes):
        return {outcome.pods.pods[0].shape: len(outcome.pods.nodes)}
    return Counter(pod.shape for pod, _ in outcome.placed())


def outcomes_of(
    group: KubePodGroup, before: int, pods: Sequence[GroupPod], nodes: Sequence[Ints]
) -> Iterator[GroupOutcome[GroupPod, int, Ints]]:
    """Outcomes of a PodGroup in placements that each take some of its first pods, one after another.

    `before`: pods of the group that had a node already. `pods`: all pods to try, in order. `nodes`: sequence of
    ndarray, int32; for each placement the nodes of the pods that it takes.
    """
    first = feasible(group, before, len(pods))
    for mine in nodes:
        if not first.ok and first.code is not Code.WAIT:
            yield GroupOutcome(group, first)
            continue
        placed = before + len(mine)
        left = len(pods) - len(mine)
        # Pods are tried until the minimum is out of reach.
        failed = left if placed >= group.minimum else min(left, before + len(pods) - group.minimum + 1)
        yield GroupOutcome(group, feasible(group, placed, left - failed), AlikePods(pods, mine, failed))


def nodes_of_all(
    cluster: KubeCluster, pods: Sequence[GroupPod], placements: Sequence[GroupPlacement[Ints]], settings: KubeSettings
) -> list[Ints] | None:
    """Nodes of the first pods of a group in each placement, as pods placed one after another get them.

    In one placement the node with the highest score comes next, of equals the smallest name. That is the order of the
    lowest score that a node has had so far: whatever comes after a lowest score on the same node follows at once.

    `pods`: of one shape. `placements`: no node is in two of them. Returns list of ndarray, int32, or None: for each
    placement; at most as many nodes as there are pods. None: the pods must be tried one by one.
    """
    shape, serving = pods[0].shape, pods[0].serving
    sizes = {len(each.nodes) if serving is None else int(serving[each.nodes].sum()) for each in placements}
    every = settings.ties == "name" and all(looks_at_all(shape, size, settings) for size in sizes)
    if not every or not independent(cluster, shape, settings):
        return None
    place = np.full(cluster.nodes.n, -1, dtype=np.int64)
    for number, each in enumerate(placements):
        place[each.nodes] = number
    if serving is not None:
        place[~serving] = -1
    by_name = cluster.nodes.by_name
    levels = NodeLevels(cluster, shape, by_name[place[by_name] >= 0], settings, len(pods), by_room=True)
    nodes, most = levels.candidates, int(levels.room[0]) if len(levels.room) else 0
    if _relative(cluster, shape, nodes[: np.count_nonzero(levels.room)], settings):
        return None
    lowest = levels.at(0).copy()
    # Above any score.
    high, bits = int(lowest.max(initial=0)) + 1, cluster.nodes.n.bit_length()
    # By placement, falling score, name: sorting whole numbers takes a tenth of the time of a sorting by three keys.
    kind = np.int32 if (len(placements) * high + 1) << bits < np.iinfo(np.int32).max else np.int64
    keys = ((place[nodes] * high << bits) + cluster.nodes.rank[nodes]).astype(kind)
    entries = [np.zeros(0, dtype=kind)]
    for level in range(most):
        score = levels.at(level)
        lowest = np.minimum(lowest[: len(score)], score)
        entries.append(keys[: len(score)] - (lowest << bits).astype(kind))
    found = np.concatenate(entries)
    found.sort()
    # Behind the node of the last placement with the lowest score, which is 0.
    start = np.searchsorted(found, (((np.arange(len(placements) + 1) - 1) * high + 1) << bits).astype(kind))
    taken = by_name[found & ((1 << bits) - 1)]
    return [taken[begin : min(end, begin + len(pods))] for begin, end in pairwise(start.tolist())]


def _relative(cluster: KubeCluster, shape: PodShape, feasible_nodes: Ints, settings: KubeSettings) -> bool:
    """Whether a score that depends on which nodes are feasible tells feasible nodes apart."""
    parts = score_pod(cluster, shape, feasible_nodes, settings, _RELATIVE) if len(feasible_nodes) else {}
    return any(part.min() != part.max() for part in parts.values())
