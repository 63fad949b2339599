"""`schedule_pod`: filter and score one pod on a list of nodes, and choose a node for it.

Filters and scores of the default profile run in upstream's order; a node stops at its first failing filter.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from workbench.policies.kube.choose import choose, nodes_to_find, nominated_node
from workbench.policies.kube.cluster import KubeCluster
from workbench.policies.kube.node_rules import (
    affinity_scores,
    filter_affinity,
    filter_closed,
    filter_named,
    filter_taints,
    filter_unschedulable,
    named_nodes,
    taint_scores,
)
from workbench.policies.kube.pod_affinity import filter_pod_affinity, pod_affinity_scores
from workbench.policies.kube.resources import balanced_scores, filter_fit, fit_scores
from workbench.policies.kube.settings import KubeSettings
from workbench.policies.kube.shape import PodShape
from workbench.policies.kube.spread import filter_spread, spread_scores
from workbench.policies.kube.status import NodeStatuses, Status

__all__ = [
    "FILTERS",
    "NODE_FILTERS",
    "SCORES",
    "PodChoice",
    "filter_pod",
    "looks_at_all",
    "passes",
    "schedule_pod",
    "score_pod",
]

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]

Filter = Callable[[KubeCluster, PodShape, KubeSettings, NodeStatuses], None]
Score = Callable[[KubeCluster, PodShape, KubeSettings, Ints], "Longs | None"]

#: Filter plugins by upstream's name, in the order of the default profile; before them what NodeAffinity asks earlier.
FILTERS: Mapping[str, Filter] = {
    "PreFilter": lambda cluster, shape, _, statuses: filter_named(cluster.nodes, shape, statuses),
    # No plugin: the node controller taints such nodes, which a snapshot of files may lack.
    "NotReady": lambda cluster, shape, _, statuses: filter_closed(cluster.nodes, statuses),
    "NodeUnschedulable": lambda cluster, shape, _, statuses: filter_unschedulable(cluster.nodes, shape, statuses),
    "TaintToleration": lambda cluster, shape, _, statuses: filter_taints(cluster.nodes, shape, statuses),
    "NodeAffinity": lambda cluster, shape, settings, statuses: filter_affinity(
        cluster.nodes, shape, settings, statuses
    ),
    "NodeResourcesFit": filter_fit,
    "PodTopologySpread": lambda cluster, shape, _, statuses: filter_spread(cluster, shape, statuses),
    "InterPodAffinity": lambda cluster, shape, _, statuses: filter_pod_affinity(cluster, shape, statuses),
}

#: Filters whose answer no pod changes.
NODE_FILTERS = ("PreFilter", "NotReady", "NodeUnschedulable", "TaintToleration", "NodeAffinity")

#: Score plugins by upstream's name, with the weight in the default profile.
SCORES: Mapping[str, tuple[int, Score]] = {
    "TaintToleration": (3, lambda cluster, shape, _, at: taint_scores(cluster.nodes, shape, at)),
    "NodeAffinity": (2, lambda cluster, shape, settings, at: affinity_scores(cluster.nodes, shape, settings, at)),
    "NodeResourcesFit": (1, fit_scores),
    "PodTopologySpread": (2, spread_scores),
    "InterPodAffinity": (2, pod_affinity_scores),
    "NodeResourcesBalancedAllocation": (1, balanced_scores),
}


@dataclass(frozen=True, eq=False)
class PodChoice:
    """The answer about one pod.

    Attributes
    ----------
    node : int
        Index of the chosen node; -1: none is feasible.
    statuses : NodeStatuses
        The filters' answer for each node that was looked at, in the order of the search.
    feasible : ndarray of shape (m,), int32
        Nodes that passed all filters, in the order in which they were found.
    total : ndarray of shape (m,), int64, optional
        Weighted sum of their scores; None: there were fewer than two, which are not scored.
    parts : mapping of str to ndarray of shape (m,), int64
        Weighted score of each plugin that took part.
    tied : tuple of int
        Nodes with the highest score, by name; the chosen one is among them.
    """

    node: int
    statuses: NodeStatuses
    feasible: Ints
    total: Longs | None = None
    parts: Mapping[str, Longs] = field(default_factory=dict)
    tied: tuple[int, ...] = ()

    @property
    def text(self) -> str:
        """Why no node takes the pod, in upstream's words."""
        return self.statuses.text()


def schedule_pod(
    cluster: KubeCluster, shape: PodShape, candidates: Ints, settings: KubeSettings, nominated: str = ""
) -> PodChoice:
    """Choose a node for one pod, which is not put there yet (`KubeCluster.assume`).

    Parameters
    ----------
    cluster : KubeCluster
        Its `KubeCluster.start` moves on if `KubeSettings.percentage` limits the search.
    candidates : ndarray of shape (k,), int32
        Nodes that may take the pod, in the order in which they are looked at; all others still count for spreading and
        affinity.
    nominated : str
        Node that preemption chose for the pod before: taken without scoring if it is a candidate and passes all
        filters; empty: none.
    """
    first = nominated_node(cluster.nodes, candidates, nominated) if nominated else None
    if first is not None:
        statuses = filter_pod(cluster, shape, np.array([first], dtype=np.int32), settings)
        if statuses.of(0).ok:
            return PodChoice(first, statuses, statuses.nodes, tied=(first,))
    statuses, feasible = _search(cluster, shape, candidates, settings)
    if len(feasible) < 2:
        node = int(feasible[0]) if len(feasible) else -1
        return PodChoice(node, statuses, feasible, tied=tuple(feasible.tolist()))
    parts = score_pod(cluster, shape, feasible, settings)
    total = sum(parts.values(), np.zeros(len(feasible), dtype=np.int64))
    node, tied = choose(feasible, total, cluster.nodes.rank, settings.ties)
    return PodChoice(node, statuses, feasible, total, parts, tied)


def _search(
    cluster: KubeCluster, shape: PodShape, candidates: Ints, settings: KubeSettings
) -> tuple[NodeStatuses, Ints]:
    """The filters' answers, and the feasible nodes in the order in which they are found.

    A limited search begins where the last one ended, and ends at the first node that passes and is not needed any more.
    """
    k = len(candidates)
    if settings.percentage is None or not k:
        statuses = filter_pod(cluster, shape, candidates, settings)
        return statuses, candidates[statuses.passed]
    named = named_nodes(shape)
    if named is not None:
        # The others are not looked at, and a search does not go on behind them.
        statuses = filter_pod(cluster, shape, candidates, settings)
        looked_at = sum(cluster.nodes.names[node] in named for node in candidates.tolist())
        found = np.flatnonzero(statuses.passed)[: nodes_to_find(looked_at, settings.percentage)]
    else:
        candidates = np.roll(candidates, -(cluster.start % k))
        statuses = filter_pod(cluster, shape, candidates, settings)
        found, wanted = np.flatnonzero(statuses.passed), nodes_to_find(k, settings.percentage)
        looked_at = int(found[wanted]) if len(found) > wanted else k
        statuses, found = statuses.head(looked_at), found[:wanted]
    cluster.start = (cluster.start + looked_at) % k
    return statuses, candidates[found]


def looks_at_all(shape: PodShape, n_candidates: int, settings: KubeSettings) -> bool:
    """Whether a search asks every candidate, however many of them pass.

    Where only a share is sought, `KubeCluster.start` is afterwards what it was modulo the number of candidates.

    Parameters
    ----------
    n_candidates : int
    """
    if settings.percentage is None:
        return True
    return nodes_to_find(n_candidates, settings.percentage) >= n_candidates and named_nodes(shape) is None


def filter_pod(
    cluster: KubeCluster,
    shape: PodShape,
    candidates: Ints,
    settings: KubeSettings,
    plugins: Collection[str] = FILTERS.keys(),
) -> NodeStatuses:
    """Ask filters about a pod on some nodes.

    `candidates`: ndarray of shape (k,), int32; indices of the nodes. `plugins`: the plugins that are asked, by
    upstream's names.
    """
    statuses = NodeStatuses(candidates)
    for statuses.plugin, filter_nodes in FILTERS.items():
        if statuses.plugin in plugins:
            filter_nodes(cluster, shape, settings, statuses)
    return statuses


def passes(cluster: KubeCluster, shape: PodShape, node: int, settings: KubeSettings) -> Status:
    """The filters' status of a pod on one node. `node`: index of the node."""
    return filter_pod(cluster, shape, np.array([node], dtype=np.int32), settings).of(0)


def score_pod(
    cluster: KubeCluster,
    shape: PodShape,
    feasible: Ints,
    settings: KubeSettings,
    plugins: Collection[str] = SCORES.keys(),
) -> dict[str, Longs]:
    """Weighted score of each plugin that takes part, on the feasible nodes: int64 of shape (m,).

    `feasible`: ndarray of shape (m,), int32. `plugins`: the plugins that are asked, by upstream's names.
    """
    parts = {}
    for name, (weight, score) in SCORES.items():
        scores = score(cluster, shape, settings, feasible) if name in plugins else None
        if scores is not None:
            parts[name] = weight * scores
    return parts
