"""InterPodAffinity: the filter by required terms, and the score by preferred ones.

Source: kube-scheduler 1.37.2, pkg/scheduler/framework/plugins/interpodaffinity, filtering.go and scoring.go.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from workbench.model.pod_counts import Count
from workbench.model.pod_rules import PodAffinityTerm
from workbench.policies.kube.cluster import KubeCluster
from workbench.policies.kube.settings import KubeSettings
from workbench.policies.kube.shape import PodShape
from workbench.policies.kube.status import Code, NodeStatuses, Status

__all__ = ["filter_pod_affinity", "pod_affinity_scores"]

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_AFFINITY = Status(Code.UNRESOLVABLE, ("node(s) didn't match pod affinity rules",))
_ANTI_AFFINITY = Status(Code.UNSCHEDULABLE, ("node(s) didn't match pod anti-affinity rules",))
_EXISTING = Status(Code.UNSCHEDULABLE, ("node(s) didn't satisfy existing pods anti-affinity rules",))


def filter_pod_affinity(cluster: KubeCluster, shape: PodShape, statuses: NodeStatuses) -> None:
    """Fail nodes that break the pod's required affinity or anti-affinity, or the anti-affinity of pods there.

    `statuses`: the nodes to ask about; receives the failures.
    """
    nodes, at = cluster.nodes, statuses.nodes
    rules = shape.resolved
    if rules.affinity:
        statuses.fail(~_near(cluster, shape, rules.affinity)[at], _AFFINITY)
    if rules.anti_affinity:
        apart = np.zeros(nodes.n, dtype=np.bool_)
        for term in rules.anti_affinity:
            apart |= nodes.sum_in_domain(term.topology_key, cluster.pods.of(Count((term.selector,)))) > 0
        statuses.fail(apart[at], _ANTI_AFFINITY)
    refused = np.zeros(nodes.n, dtype=np.bool_)
    for kind, pods in cluster.pods.with_rules():
        for term in kind.rules.anti_affinity:
            if cluster.pods.selects(term.selector, shape.kind):
                refused |= nodes.sum_in_domain(term.topology_key, pods) > 0
    statuses.fail(refused[at], _EXISTING)


def _near(cluster: KubeCluster, shape: PodShape, terms: tuple[PodAffinityTerm, ...]) -> Mask:
    """Nodes with the keys of all terms where each term's domain holds a pod that all terms select: bool (n,).

    If there is no such pod anywhere and the terms select the pod itself, every node with the keys will do.
    """
    nodes = cluster.nodes
    pods = cluster.pods.of(Count(tuple(dict.fromkeys(term.selector for term in terms))))
    labelled, near = np.ones(nodes.n, dtype=np.bool_), np.ones(nodes.n, dtype=np.bool_)
    nowhere = True
    for term in terms:
        there = nodes.codes(term.topology_key)[0] >= 0
        labelled &= there
        nowhere = nowhere and not pods[there].any()
        near &= nodes.sum_in_domain(term.topology_key, pods) > 0
    if nowhere and all(cluster.pods.selects(term.selector, shape.kind) for term in terms):
        return labelled
    return labelled & near


def pod_affinity_scores(cluster: KubeCluster, shape: PodShape, settings: KubeSettings, at: Ints) -> Longs | None:
    """Normalised score of InterPodAffinity on the feasible nodes `at`, int64 (m,).

    Preferred terms of the pod, and required and preferred terms of pods in the cluster that select it, add their
    weights to every node of the domain. None: the plugin is skipped, because no term meets a pod.

    `at`: ndarray of shape (m,), int32; indices of the nodes.
    """
    nodes, rules = cluster.nodes, shape.resolved
    prefers = bool(rules.preferred_affinity or rules.preferred_anti_affinity)
    if settings.ignore_preferred_of_others and not prefers:
        return None
    raw: Longs | None = None
    terms = [(term, cluster.pods.of(Count((term.selector,))), term.weight) for term in rules.preferred_affinity]
    terms += [(term, cluster.pods.of(Count((term.selector,))), -term.weight) for term in rules.preferred_anti_affinity]
    for kind, pods in cluster.pods.with_rules():
        theirs = [(term, settings.hard_affinity_weight) for term in kind.rules.affinity]
        theirs += [(term, term.weight) for term in kind.rules.preferred_affinity]
        theirs += [(term, -term.weight) for term in kind.rules.preferred_anti_affinity]
        terms += [(t, pods, weight) for t, weight in theirs if weight and cluster.pods.selects(t.selector, shape.kind)]
    for term, pods, weight in terms:
        there = nodes.codes(term.topology_key)[0] >= 0
        if pods[there].any():
            added = nodes.sum_in_domain(term.topology_key, pods) * weight
            raw = added if raw is None else raw + added
    return None if raw is None else _stretched(raw[at])


def _stretched(raw: Longs) -> Longs:
    """Scores stretched so that the smallest becomes 0 and the largest 100; all equal: 0."""
    if len(raw) == 0 or raw.max() == raw.min():
        return np.zeros(len(raw), dtype=np.int64)
    lowest = raw.min()
    share = (raw - lowest).astype(np.float64) / np.float64(raw.max() - lowest)
    stretched: Longs = (100.0 * share).astype(np.int64)
    return stretched
