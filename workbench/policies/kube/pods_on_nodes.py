"""`PodsOnNodes`: how many pods of each kind every node holds, counted as the rules of other pods select them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from workbench.model.pod_rules import NO_RULES, PodSelector
from workbench.model.value import Working
from workbench.policies.kube.shape import PodKind

__all__ = ["Count", "PodsOnNodes"]

Longs = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Count:
    """Pods that are counted together: those that all of some selectors select.

    Attributes
    ----------
    selectors : tuple of PodSelector
    terminating : bool
        Whether terminating pods are counted, too.
    """

    selectors: tuple[PodSelector, ...]
    terminating: bool = True


class PodsOnNodes(Working):
    """Numbers of pods of each kind on the nodes of a cluster, kept up to date while pods come and go.

    Parameters
    ----------
    n_nodes : int
    namespaces : mapping of str to mapping of str to str
        Labels of each namespace; a missing one has none.
    """

    def __init__(self, n_nodes: int, namespaces: Mapping[str, Mapping[str, str]]) -> None:
        self._n = n_nodes
        self._namespaces = namespaces
        self._kinds: dict[PodKind, dict[int, int]] = {}
        # Dense arrays of the kinds whose pods have rules about other pods.
        self._with_rules: dict[PodKind, Longs] = {}
        self._counts: dict[Count, Longs] = {}
        self._counted: dict[PodKind, list[Longs]] = {}

    def _derive(self) -> None:
        # A copy counts anew: the lists refer to the arrays of the original.
        self._kinds = {kind: dict(nodes) for kind, nodes in self._kinds.items()}
        self._with_rules = {kind: array.copy() for kind, array in self._with_rules.items()}
        self._counts, self._counted = {}, {}

    def add(self, kind: PodKind, node: int, pods: int = 1) -> None:
        """Count pods of a kind on a node; a negative number takes pods away."""
        nodes = self._kinds.get(kind)
        if nodes is None:
            nodes = self._kinds[kind] = {}
            if kind.rules != NO_RULES:
                self._with_rules[kind] = np.zeros(self._n, dtype=np.int64)
            self._counted[kind] = [array for count, array in self._counts.items() if self._counts_kind(count, kind)]
        nodes[node] = nodes.get(node, 0) + pods
        if kind in self._with_rules:
            self._with_rules[kind][node] += pods
        for array in self._counted.get(kind, ()):
            array[node] += pods

    def of(self, count: Count) -> Longs:
        """Number of pods on each node that are counted: int64 of shape (n,); not to be changed, changes with `add`."""
        found = self._counts.get(count)
        if found is None:
            found = self._counts[count] = np.zeros(self._n, dtype=np.int64)
            for kind, nodes in self._kinds.items():
                if self._counts_kind(count, kind):
                    self._counted.setdefault(kind, []).append(found)
                    for node, pods in nodes.items():
                        found[node] += pods
        return found

    def with_rules(self) -> Iterator[tuple[PodKind, Longs]]:
        """Each kind with rules about other pods, and how many pods of it every node holds: int64 of shape (n,)."""
        return ((kind, array) for kind, array in self._with_rules.items() if array.any())

    def selects(self, selector: PodSelector, kind: PodKind) -> bool:
        """Whether a selector selects the pods of a kind."""
        return selector.selects(dict(kind.labels), kind.namespace, self._namespaces.get(kind.namespace, {}))

    def _counts_kind(self, count: Count, kind: PodKind) -> bool:
        if kind.terminating and not count.terminating:
            return False
        return all(self.selects(selector, kind) for selector in count.selectors)
