"""NodeUnschedulable, TaintToleration and NodeAffinity: filters and scores by what nodes are.

Source: kube-scheduler 1.37.2, pkg/scheduler/framework/plugins.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from workbench.model.labels import NODE_NAME_FIELD, NodeFilter, Taint
from workbench.policies.kube.cluster import KubeNodes
from workbench.policies.kube.settings import KubeSettings
from workbench.policies.kube.shape import PodShape
from workbench.policies.kube.status import Code, NodeStatuses, Status

__all__ = [
    "affinity_scores",
    "filter_affinity",
    "filter_closed",
    "filter_named",
    "filter_taints",
    "filter_unschedulable",
    "matches_affinity",
    "matches_taints",
    "named_nodes",
    "normalized",
    "taint_scores",
]

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_CORDONED = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")


def named_nodes(shape: PodShape) -> frozenset[str] | None:
    """Names of the only nodes that are looked at for a pod (PreFilter of NodeAffinity); None: all are.

    That is if each term of its required node affinity names nodes.
    """
    found: frozenset[str] | None = None
    for term in shape.filter.any_of:
        names = [frozenset(each.values) for each in term if each.key == NODE_NAME_FIELD and each.operator == "In"]
        if not names:
            return None
        found = (found or frozenset()) | frozenset.intersection(*names)
    return found


def filter_named(nodes: KubeNodes, shape: PodShape, statuses: NodeStatuses) -> None:
    """Fail the nodes that are not looked at, because the pod names others (`named_nodes`).

    `statuses`: the nodes to ask about; receives the failures.
    """
    named = named_nodes(shape)
    if named is not None:
        told = Status(Code.UNRESOLVABLE, ("node(s) didn't satisfy plugin(s) [NodeAffinity]",))
        others = [nodes.names[node] not in named for node in statuses.nodes.tolist()]
        statuses.fail(np.array(others, dtype=np.bool_), told)


def filter_closed(nodes: KubeNodes, statuses: NodeStatuses) -> None:
    """Fail nodes that no pod may use."""
    if nodes.closed.any():
        statuses.fail(nodes.closed[statuses.nodes], Status(Code.UNRESOLVABLE, ("node(s) were not ready",)))


def filter_unschedulable(nodes: KubeNodes, shape: PodShape, statuses: NodeStatuses) -> None:
    """Fail cordoned nodes, unless the pod tolerates the taint of such nodes.

    `shape`, `statuses`: as in `filter_named`.
    """
    if nodes.unschedulable.any() and not any(each.covers(_CORDONED) for each in shape.filter.tolerations):
        told = Status(Code.UNRESOLVABLE, ("node(s) were unschedulable",))
        statuses.fail(nodes.unschedulable[statuses.nodes], told)


def filter_taints(nodes: KubeNodes, shape: PodShape, statuses: NodeStatuses) -> None:
    """Fail nodes with a taint NoSchedule or NoExecute that the pod does not tolerate.

    `shape`, `statuses`: as in `filter_named`.
    """
    told = Status(Code.UNRESOLVABLE, ("node(s) had untolerated taint(s)",))
    statuses.fail(~matches_taints(nodes, shape)[statuses.nodes], told)


def filter_affinity(nodes: KubeNodes, shape: PodShape, settings: KubeSettings, statuses: NodeStatuses) -> None:
    """Fail nodes that the pod's node selector, its required node affinity or the configured one do not accept.

    `shape`, `statuses`: as in `filter_named`.
    """
    accepted = matches_affinity(nodes, shape)
    if settings.added_affinity:
        accepted = accepted & nodes.selected(NodeFilter(any_of=settings.added_affinity))
    told = Status(Code.UNRESOLVABLE, ("node(s) didn't match Pod's node affinity/selector",))
    statuses.fail(~accepted[statuses.nodes], told)


def matches_taints(nodes: KubeNodes, shape: PodShape) -> Mask:
    """Nodes whose taints NoSchedule and NoExecute the pod tolerates: bool of shape (n,)."""
    return nodes.tolerated(shape.filter.tolerations)


def matches_affinity(nodes: KubeNodes, shape: PodShape) -> Mask:
    """Nodes that the pod's node selector and required node affinity accept, whatever their taints: bool (n,)."""
    return nodes.selected(NodeFilter(shape.filter.required, shape.filter.any_of))


def taint_scores(nodes: KubeNodes, shape: PodShape, at: Ints) -> Longs:
    """Normalised score of TaintToleration on some nodes, int64 (m,): best where the fewest soft taints are untolerated.

    A taint is soft if its effect is PreferNoSchedule.

    `at`: ndarray of shape (m,), int32; indices of the nodes.
    """
    avoided = nodes.avoided(shape.filter.tolerations)
    counts = np.zeros(len(at), dtype=np.int64) if avoided is None else avoided[at]
    return normalized(counts, reverse=True)


def affinity_scores(nodes: KubeNodes, shape: PodShape, settings: KubeSettings, at: Ints) -> Longs | None:
    """Normalised score of NodeAffinity on some nodes, int64 (m,): by the weights of the preferred terms they match.

    None: the plugin is skipped, because there is no preferred term.

    `shape`, `at`: as in `taint_scores`.
    """
    preferences = (*settings.added_preferences, *shape.rules.preferred_nodes)
    if not preferences:
        return None
    total = np.zeros(len(at), dtype=np.int64)
    for preference in preferences:
        if preference.requirements:
            total += preference.weight * nodes.selected(NodeFilter(preference.requirements))[at]
    return normalized(total)


def normalized(scores: Longs, *, reverse: bool = False) -> Longs:
    """Scores scaled so that the largest becomes 100, rounded down; reversed, 100 minus that.

    Without a positive score all stay 0; reversed, all become 100.
    """
    largest = int(scores.max(initial=0))
    if largest == 0:
        return np.full(len(scores), 100, dtype=np.int64) if reverse else scores
    scaled = scores * 100 // largest
    return 100 - scaled if reverse else scaled
