"""PodTopologySpread: the filter by hard constraints and the score by soft ones.

Source: kube-scheduler 1.37.2, pkg/scheduler/framework/plugins/podtopologyspread, filtering.go and scoring.go.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from workbench.model.labels import Requirement
from workbench.model.pod_counts import Count
from workbench.model.pod_rules import PodSelector, SpreadConstraint
from workbench.policies.kube.cluster import KubeCluster, KubeNodes
from workbench.policies.kube.node_rules import matches_affinity, matches_taints
from workbench.policies.kube.settings import SYSTEM_SPREAD, KubeSettings
from workbench.policies.kube.shape import PodShape
from workbench.policies.kube.status import Code, NodeStatuses, Status

__all__ = ["default_constraints", "filter_spread", "spread_scores"]

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_HOSTNAME = "kubernetes.io/hostname"
_SKEW = "node(s) didn't match pod topology spread constraints"
_LABEL = f"{_SKEW} (missing required label)"


def filter_spread(cluster: KubeCluster, shape: PodShape, statuses: NodeStatuses) -> None:
    """Fail nodes on which a pod would break one of its hard constraints, or that lack the label of one.

    `statuses`: the nodes to ask about; receives the failures.
    """
    nodes = cluster.nodes
    constraints = [each for each in shape.resolved.spread if each.hard]
    if not constraints:
        return
    labelled = _with_all_keys(nodes, constraints)
    at = statuses.nodes
    for constraint in constraints:
        key = constraint.topology_key
        codes, _ = nodes.codes(key)
        counted = labelled & _included(nodes, shape, constraint)
        there = nodes.sum_in_domain(key, _matching(cluster, shape, constraint), counted)
        values = len(np.unique(codes[counted]))
        low = int(there[counted].min()) if values >= max(constraint.min_domains, 1) else 0
        itself = constraint.labels is not None and all(one.holds(shape.labels) for one in constraint.labels)
        statuses.fail(codes[at] < 0, Status(Code.UNRESOLVABLE, (_LABEL,)))
        skew = there[at] + int(itself) - low
        statuses.fail(skew > constraint.max_skew, Status(Code.UNSCHEDULABLE, (_SKEW,)))


def spread_scores(cluster: KubeCluster, shape: PodShape, settings: KubeSettings, at: Ints) -> Longs | None:
    """Normalised score of PodTopologySpread on the feasible nodes `at`, int64 (m,): best where the fewest pods are.

    None: the plugin is skipped, because the pod has no soft constraint.

    `at`: ndarray of shape (m,), int32; indices of the nodes.
    """
    nodes = cluster.nodes
    own = bool(shape.resolved.spread)
    constraints = (
        [each for each in shape.resolved.spread if not each.hard] if own else default_constraints(shape, settings)
    )
    if not constraints:
        return None
    labelled = _with_all_keys(nodes, constraints) if own else np.ones(nodes.n, dtype=np.bool_)
    scored = labelled[at]
    raw = np.zeros(len(at))
    for constraint in constraints:
        pods = _matching(cluster, shape, constraint)
        mine = nodes.codes(constraint.topology_key)[0][at]
        if constraint.topology_key == _HOSTNAME:
            size, there = int(scored.sum()), pods[at]
        else:
            # Nodes without the label, which only the system's constraints accept, count as one more value.
            size = len(np.unique(mine[scored]))
            counted = labelled & _included(nodes, shape, constraint)
            there = nodes.sum_in_domain(constraint.topology_key, pods, counted)[at]
        part = there.astype(np.float64) * np.log(np.float64(size + 2)) + float(constraint.max_skew - 1)
        raw += np.where(mine >= 0, part, 0.0)
    # Half away from zero; no score is negative.
    return _spread_normalized(np.floor(raw + 0.5).astype(np.int64), scored)


def _spread_normalized(raw: Longs, scored: Mask) -> Longs:
    found = np.zeros(len(raw), dtype=np.int64)
    if scored.any():
        mine = raw[scored]
        largest, smallest = int(mine.max()), int(mine.min())
        found[scored] = 100 if largest == 0 else 100 * (largest + smallest - mine) // largest
    return found


def default_constraints(shape: PodShape, settings: KubeSettings) -> list[SpreadConstraint]:
    """The system's constraints for a pod without own ones that a Service or its owner selects; else none."""
    labels: list[Requirement] = []
    for selector in (*settings.services, shape.owner):
        if selector and all(one.holds(shape.labels) for one in selector):
            labels += [one for one in selector if one not in labels]
    return [replace(each, labels=tuple(labels)) for each in SYSTEM_SPREAD] if labels else []


def _with_all_keys(nodes: KubeNodes, constraints: list[SpreadConstraint]) -> Mask:
    found = np.ones(nodes.n, dtype=np.bool_)
    for constraint in constraints:
        found &= nodes.codes(constraint.topology_key)[0] >= 0
    return found


def _included(nodes: KubeNodes, shape: PodShape, constraint: SpreadConstraint) -> Mask:
    """Nodes that a constraint counts by its inclusion policies: bool of shape (n,)."""
    found = np.ones(nodes.n, dtype=np.bool_)
    if constraint.honor_affinity:
        found &= matches_affinity(nodes, shape)
    if constraint.honor_taints:
        found &= matches_taints(nodes, shape)
    return found


def _matching(cluster: KubeCluster, shape: PodShape, constraint: SpreadConstraint) -> Longs:
    """Pods on each node that a constraint counts, int64 (n,); an empty selector counts none."""
    if not constraint.labels:
        return np.zeros(cluster.nodes.n, dtype=np.int64)
    selector = PodSelector(constraint.labels, (shape.namespace,))
    return cluster.pods.of(Count((selector,), terminating=False))
