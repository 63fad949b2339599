"""`LeafConditions`: which leaves the taints, node selector and node affinity of pods leave, if leaves are nodes.

Source: Kueue 0.19, pkg/cache/scheduler/scheduling_simulator_default.go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from workbench.model.labels import NodeLabels, NodeTaints, Taint, Toleration
from workbench.model.value import Value
from workbench.policies.kueue.values import PodSet

__all__ = ["LeafConditions"]

Longs = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_REPELLING = ("NoSchedule", "NoExecute")


@dataclass(frozen=True, eq=False)
class LeafConditions(Value):
    """Labels and taints of the node of each leaf."""

    labels: NodeLabels
    taints: NodeTaints

    def feasible(self, pods: PodSet, tolerations: tuple[Toleration, ...]) -> tuple[Mask, Counter[str]]:
        """Leaves that the pods' tolerations, node selector and required node affinity accept.

        `tolerations`: those of the pods and of the flavor.

        Returns
        -------
        mask : ndarray of shape (n,), bool
        excluded : Counter
            Excluded leaves by the first condition that failed, as Kueue's messages name it.
        """
        left = np.ones(self.labels.n_nodes, dtype=np.bool_)
        excluded: Counter[str] = Counter()
        repels = [_untolerated(taints, tolerations) for taints in self.taints.sets]
        for code, taint in enumerate(repels):
            if taint is not None:
                here = self.taints.codes == code
                excluded[_taint_text(taint)] += int(here.sum())
                left &= ~here
        for name, accepted in (("nodeSelector", self._selected(pods)), ("affinity", self._affine(pods))):
            if accepted is not None:
                excluded[name] += int((left & ~accepted).sum())
                left &= accepted
        return left, excluded

    def _selected(self, pods: PodSet) -> Mask | None:
        if not pods.node_selector:
            return None
        wanted = np.ones(self.labels.n_nodes, dtype=np.bool_)
        for key, value in pods.node_selector.items():
            codes, values = self.labels.columns.get(key, (np.full(self.labels.n_nodes, -1, dtype=np.int32), ()))
            wanted &= codes == (values.index(value) if value in values else -2)
        return wanted

    def _affine(self, pods: PodSet) -> Mask | None:
        if not pods.required_affinity:
            return None
        accepted = np.zeros(self.labels.n_nodes, dtype=np.bool_)
        for term in pods.required_affinity:
            if term:  # an empty term selects nothing
                accepted |= np.logical_and.reduce([self.labels.mask(requirement) for requirement in term])
        return accepted

    def affinity_scores(self, pods: PodSet) -> Longs:
        """Sum of the weights of the preferred node affinity terms that hold on each leaf: int64 (n,)."""
        scores = np.zeros(self.labels.n_nodes, dtype=np.int64)
        for term in pods.preferred_affinity:
            if term.match:
                holds = np.logical_and.reduce([self.labels.mask(requirement) for requirement in term.match])
                scores += term.weight * holds
        return scores


def _untolerated(taints: Sequence[Taint], tolerations: Sequence[Toleration]) -> Taint | None:
    """First taint that keeps pods away and that no toleration covers; None: there is none."""
    for taint in taints:
        if taint.effect in _REPELLING and not any(each.covers(taint) for each in tolerations):
            return taint
    return None


def _taint_text(taint: Taint) -> str:
    value = f"={taint.value}" if taint.value else ""
    return f'taint "{taint.key}{value}:{taint.effect}"'
