"""`FlavorSnapshot`: the nodes of one flavor, as a topology tree with its usage.

Source: Kueue 0.19, pkg/cache/scheduler/tas_nodes_cache.go and tas_flavor_snapshot.go.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property

import numpy as np

from workbench.model.labels import HOSTNAME_LABEL, NodeLabels, NodeTaints
from workbench.policies.kueue.leaf_conditions import LeafConditions
from workbench.policies.kueue.leaves import Leaves, leaf_id
from workbench.policies.kueue.level_tree import Path
from workbench.policies.kueue.query import Gates
from workbench.policies.kueue.topology_snapshot import PODS, TopologySnapshot, usage_of
from workbench.policies.kueue.values import DomainUsage, Flavor, KueueNode, Outcome, PodSet, Replacement

__all__ = ["FlavorSnapshot", "is_node_of_flavor", "usage_of"]


def is_node_of_flavor(node: KueueNode, node_labels: Mapping[str, str], levels: Sequence[str]) -> bool:
    """Whether pods of a flavor may go to a node: it is ready, not cordoned, and has all labels.

    `node_labels`: labels of the flavor, which the node must have with these values. `levels`: labels of the topology,
    which the node must have with any value.
    """
    if not node.ready or node.unschedulable:
        return False
    labels = node.labels
    return node_labels.items() <= labels.items() and all(key in labels for key in levels)


class FlavorSnapshot(TopologySnapshot):
    """Free capacity of the nodes of one flavor, in the tree of its topology; changed by `add` and `remove`.

    Nodes with equal values at all levels are one leaf, and so are nodes with one hostname; a leaf has the path, labels
    and taints of its first node.

    `nodes`: nodes of each leaf.

    Parameters
    ----------
    levels : sequence of str
        Node label keys, widest first.
    flavor : Flavor
        `flavor.topology` is the name of the topology in messages.
    nodes : sequence of KueueNode
        All nodes of the cluster; those that are no nodes of the flavor are left out.
    gates : Gates, optional
        None: the defaults.
    held : sequence of (str, mapping of str to int)
        For each running pod that Kueue does not place by topology: its node and its requests.
    """

    def __init__(
        self,
        levels: Sequence[str],
        flavor: Flavor,
        nodes: Sequence[KueueNode],
        gates: Gates | None = None,
        held: Sequence[tuple[str, Mapping[str, int]]] = (),
    ) -> None:
        by_id: dict[str, list[KueueNode]] = {}
        path_of: dict[str, Path] = {}
        by_host = levels[-1] == HOSTNAME_LABEL
        for node in nodes:
            if is_node_of_flavor(node, flavor.node_labels, levels):
                path = tuple([node.labels[key] for key in levels])
                key = leaf_id(path[-1:] if by_host else path)
                path_of.setdefault(key, path)
                by_id.setdefault(key, []).append(node)
        leaves = Leaves.of(levels, path_of)
        self.nodes = tuple([tuple(by_id[key]) for key in leaves.leaf_of])
        every = [node for members in self.nodes for node in members]
        names = sorted({PODS}.union(*(node.allocatable for node in every)))
        columns = {name: column for column, name in enumerate(names)}
        amounts = [[node.allocatable.get(name, 0) for name in names] for node in every]
        leaf = np.repeat(np.arange(leaves.count), [len(members) for members in self.nodes])
        capacity = np.zeros((leaves.count, len(columns)), dtype=np.int64)
        np.add.at(capacity, leaf, np.array(amounts, dtype=np.int64).reshape(len(every), len(columns)))
        super().__init__(leaves, flavor, gates or Gates(), columns, capacity)
        leaf_of_node = dict(zip([node.name for node in every], leaf.tolist(), strict=True)) if held else {}
        for name, requests in held:
            if name in leaf_of_node:
                self._change(capacity, leaf_of_node[name], requests, -1, -1)
        # Answers that hold until usage changes for good, and those as if nothing were held; by what was asked.
        self._answers: dict[Hashable, dict[str, Outcome]] = {}
        self._answers_if_empty: dict[Hashable, dict[str, Outcome]] = {}
        # Pods that are added or missing since then, by what they take; 0: none are.
        self._passing: dict[Hashable, int] = {}

    def add(self, usage: DomainUsage) -> None:
        """As `TopologySnapshot.add`."""
        super().add(usage)
        self._pass(usage, usage.count)

    def remove(self, usage: DomainUsage) -> None:
        """As `TopologySnapshot.remove`."""
        super().remove(usage)
        self._pass(usage, -usage.count)

    def _pass(self, usage: DomainUsage, count: int) -> None:
        key = usage.values, tuple(usage.requests.items())
        left = self._passing.pop(key, 0) + count
        if left:
            self._passing[key] = left

    def clear(self) -> None:
        """As `TopologySnapshot.clear`."""
        super().clear()
        self.settle()

    def settle(self) -> None:
        """Note that what was added and removed stays so: answers are remembered from now on while all is as it is."""
        self._passing.clear()
        self._answers.clear()

    def place(
        self,
        pod_sets: Sequence[PodSet],
        *,
        simulate_empty: bool = False,
        assumed: Sequence[DomainUsage] = (),
        replacement: Replacement | None = None,
    ) -> dict[str, Outcome]:
        """As `TopologySnapshot.place`; many workloads ask for the same, on nodes that have not changed.

        `pod_sets`, `simulate_empty`, `assumed`, `replacement`: as of `TopologySnapshot.place`.
        """
        if assumed or replacement is not None or (self._passing and not simulate_empty):
            return super().place(pod_sets, simulate_empty=simulate_empty, assumed=assumed, replacement=replacement)
        known, asked = (
            self._answers_if_empty if simulate_empty else self._answers,
            tuple([pods.shape for pods in pod_sets]),
        )
        if asked not in known:
            known[asked] = super().place(pod_sets, simulate_empty=simulate_empty)
        return dict(known[asked])

    @property
    def conditions(self) -> LeafConditions | None:
        """Labels and taints of each leaf's first node; None if leaves are no single nodes."""
        return self._conditions if self.leaves.by_host else None

    @cached_property
    def _conditions(self) -> LeafConditions:
        first = [members[0] for members in self.nodes]
        labels = NodeLabels.from_rows([node.name for node in first], [node.labels for node in first])
        return LeafConditions(labels, NodeTaints.from_rows([node.taints for node in first]))
