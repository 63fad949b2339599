"""Node labels and taints, the keys that Kubernetes uses, and the conditions that pods and HyperNodes put on them.

Labels are stored by column (one integer code per node and label key), so that a condition is evaluated for all nodes of
a cluster at once. The operators are those of Kubernetes label selectors and node affinity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from workbench.model.arrays import Mask
from workbench.model.value import Value

__all__ = [
    "CORDON_TAINT",
    "HOSTNAME_LABEL",
    "NOT_READY_TAINTS",
    "PRESSURE_TAINTS",
    "SOURCE_LABEL",
    "NodeFilter",
    "NodeLabels",
    "NodeTaints",
    "Requirement",
    "Taint",
    "Toleration",
]

#: Label with the node's own name, which differs from node to node.
HOSTNAME_LABEL = "kubernetes.io/hostname"
#: Label of a HyperNode that discovery made; its value is the source.
SOURCE_LABEL = "volcano.sh/network-topology-source"
#: Taint of a cordoned node.
CORDON_TAINT = "node.kubernetes.io/unschedulable"
#: Taint of a node by the condition that means trouble if it holds.
PRESSURE_TAINTS: Mapping[str, str] = {
    "MemoryPressure": "node.kubernetes.io/memory-pressure",
    "DiskPressure": "node.kubernetes.io/disk-pressure",
    "PIDPressure": "node.kubernetes.io/pid-pressure",
    "NetworkUnavailable": "node.kubernetes.io/network-unavailable",
}
#: Taints of nodes that are not ready or under pressure.
NOT_READY_TAINTS = frozenset(
    {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable", *PRESSURE_TAINTS.values()}
)
Operator = Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]
#: matchFields of a node selector term; kept beside the labels under a key that no label can have.
NODE_NAME_FIELD = "metadata.name/"


@dataclass(frozen=True)
class Requirement:
    """One condition on a label: key, operator and values, as in a Kubernetes label selector.

    A missing key satisfies NotIn and DoesNotExist only. Gt and Lt compare integers; a value that is no integer never
    satisfies them (Kubernetes apimachinery, labels.Requirement.Matches).
    """

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def holds(self, labels: Mapping[str, str]) -> bool:
        """Whether `labels`, those of one object, satisfy the condition."""
        return self._accepts(labels.get(self.key))

    def _accepts(self, value: str | None) -> bool:
        if self.operator == "Exists":
            return value is not None
        if self.operator == "DoesNotExist":
            return value is None
        if self.operator == "NotIn":
            return value is None or value not in self.values
        if value is None:
            return False
        if self.operator == "In":
            return value in self.values
        try:
            number, bound = int(value), int(self.values[0])
        except (ValueError, IndexError):
            return False
        return number > bound if self.operator == "Gt" else number < bound


@dataclass(frozen=True)
class Taint:
    """A taint of a node. A taint with the effect ``PreferNoSchedule`` lowers the node's score but never excludes it."""

    key: str
    value: str
    effect: str


@dataclass(frozen=True)
class Toleration:
    """A toleration of a pod, matched against node taints by key, operator, value and effect.

    An empty key with ``Exists`` tolerates every taint; an empty effect stands for every effect.
    """

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""

    def covers(self, taint: Taint) -> bool:
        if self.effect and self.effect != taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        if self.operator == "Exists":
            return True
        return bool(self.key) and self.value == taint.value


@dataclass(frozen=True)
class NodeFilter:
    """Which nodes a pod accepts by its nodeSelector, required node affinity and tolerations.

    `required`: conditions that must all hold (nodeSelector). `any_of`: required node affinity terms: all conditions of
    at least one inner tuple must hold; empty: no condition.
    """

    required: tuple[Requirement, ...] = ()
    any_of: tuple[tuple[Requirement, ...], ...] = ()
    tolerations: tuple[Toleration, ...] = ()


@dataclass(frozen=True, eq=False)
class NodeLabels(Value):
    """Labels of all nodes of a cluster, one array of value codes per label key.

    `columns`: mapping of str to (ndarray of shape (n,), int32; tuple of str); per label key: for each node the position
    of its value in the tuple, -1 where the node lacks the key.
    """

    columns: Mapping[str, tuple[npt.NDArray[np.int32], tuple[str, ...]]]
    n_nodes: int

    @classmethod
    def from_rows(cls, names: Sequence[str], rows: Sequence[Mapping[str, str]]) -> NodeLabels:
        """Build the label columns from one mapping of labels per node.

        The names of the nodes in `names` can be matched too, as the field metadata.name.
        """
        n = len(rows)
        codes: dict[str, list[int]] = {}
        seen: dict[str, dict[str, int]] = {}
        for i, row in enumerate(rows):
            for key, value in row.items():
                if key not in codes:
                    codes[key] = [-1] * n
                    seen[key] = {}
                values = seen[key]
                codes[key][i] = values.setdefault(value, len(values))
        columns = {key: (np.array(column, dtype=np.int32), tuple(seen[key])) for key, column in codes.items()}
        columns[NODE_NAME_FIELD] = (np.arange(n, dtype=np.int32), tuple(names))
        for column, _ in columns.values():
            column.flags.writeable = False
        return cls(columns, n)

    def with_rows(self, changed: Iterable[int], row: Callable[[int], Mapping[str, str]]) -> NodeLabels:
        """A copy in which the labels of some nodes are replaced, equal to what `from_rows` builds from all new labels.

        `changed`: indices of the nodes whose labels changed. `row`: returns the new labels of a node, given its index.
        """
        columns = dict(self.columns)
        names = columns.pop(NODE_NAME_FIELD)
        rows = {i: row(i) for i in changed}
        for key in {*columns, *(key for labels in rows.values() for key in labels)}:
            codes, values = columns.get(key, (np.full(self.n_nodes, -1, dtype=np.int32), ()))
            now = {i: labels.get(key) for i, labels in rows.items()}
            if all(value == (values[codes[i]] if codes[i] >= 0 else None) for i, value in now.items()):
                continue
            known = {value: code for code, value in enumerate(values)}
            codes = codes.copy()
            for i, value in now.items():
                codes[i] = -1 if value is None else known.setdefault(value, len(known))
            codes, order = _by_first_node(codes, len(known))
            every = tuple(known)
            columns[key] = codes, tuple([every[code] for code in order])
        # A key comes where the first node has it that has it at all.
        first = {key: int((codes >= 0).argmax()) for key, (codes, values) in columns.items() if values}
        place = {node: {key: i for i, key in enumerate(row(node))} for node in set(first.values())}
        ordered = sorted(first, key=lambda key: (first[key], place[first[key]][key]))
        return NodeLabels({**{key: columns[key] for key in ordered}, NODE_NAME_FIELD: names}, self.n_nodes)

    def only(self, nodes: npt.NDArray[np.int32]) -> NodeLabels:
        """The labels of some nodes, in the given order."""
        columns = {}
        for key, (codes, values) in self.columns.items():
            mine = codes[nodes]
            mine.flags.writeable = False
            columns[key] = mine, values
        return NodeLabels(columns, len(nodes))

    def mask(self, requirement: Requirement) -> Mask:
        """Which nodes satisfy `requirement`: bool of shape (n,)."""
        if requirement.key not in self.columns:
            return np.full(self.n_nodes, requirement._accepts(None))
        codes, values = self.columns[requirement.key]
        # One verdict per distinct value; the last entry answers code -1, the absent key.
        verdicts = np.array([requirement._accepts(v) for v in values] + [requirement._accepts(None)], dtype=np.bool_)
        return verdicts[codes]

    def row(self, node: int) -> dict[str, str]:
        """The labels of one node, in byte order of the keys."""
        return {
            key: values[codes[node]]
            for key, (codes, values) in sorted(self.columns.items())
            if key != NODE_NAME_FIELD and codes[node] >= 0
        }

    def rows(self) -> list[dict[str, str]]:
        """Labels of every node as one dict per node, keys in byte order."""
        rows: list[dict[str, str]] = [{} for _ in range(self.n_nodes)]
        for key, (codes, values) in sorted(self.columns.items()):
            if key != NODE_NAME_FIELD:
                for node in np.flatnonzero(codes >= 0):
                    rows[node][key] = values[codes[node]]
        return rows


@dataclass(frozen=True, eq=False)
class NodeTaints(Value):
    """Taints of all nodes: the distinct sets of taints, and for each node the index of its set (int32 of
    shape (n,)).
    """

    sets: tuple[tuple[Taint, ...], ...]
    codes: npt.NDArray[np.int32]

    @classmethod
    def from_rows(cls, rows: Sequence[Sequence[Taint]]) -> NodeTaints:
        distinct: dict[tuple[Taint, ...], int] = {}
        codes = np.fromiter(
            (distinct.setdefault(tuple(r), len(distinct)) for r in rows), dtype=np.int32, count=len(rows)
        )
        codes.flags.writeable = False
        return cls(tuple(distinct), codes)

    def with_rows(self, changed: Mapping[int, Sequence[Taint]]) -> NodeTaints:
        """A copy in which the taints of some nodes are replaced; `changed` maps the node's index to its new taints.

        The result equals what `from_rows` builds from the new taints of all nodes.
        """
        known = {taints: code for code, taints in enumerate(self.sets)}
        codes = self.codes.copy()
        for i, taints in changed.items():
            codes[i] = known.setdefault(tuple(taints), len(known))
        codes, order = _by_first_node(codes, len(known))
        every = tuple(known)
        return NodeTaints(tuple([every[code] for code in order]), codes)

    def only(self, nodes: npt.NDArray[np.int32]) -> NodeTaints:
        """The taints of some nodes, in the given order."""
        codes = self.codes[nodes]
        codes.flags.writeable = False
        return NodeTaints(self.sets, codes)

    def mask(self, tolerations: Sequence[Toleration]) -> Mask:
        """Nodes whose NoSchedule and NoExecute taints are all tolerated by `tolerations`: bool of shape (n,)."""
        verdicts = np.array(
            [
                all(t.effect == "PreferNoSchedule" or any(x.covers(t) for x in tolerations) for t in taints)
                for taints in self.sets
            ],
            dtype=np.bool_,
        )
        return verdicts[self.codes] if len(self.codes) else np.zeros(0, dtype=np.bool_)

    def avoided(self, tolerations: Sequence[Toleration]) -> npt.NDArray[np.int64] | None:
        """Number of ``PreferNoSchedule`` taints of each node that `tolerations` do not tolerate: int64 of shape (n,).

        None if no node has such a taint.
        """
        counts = [
            sum(t.effect == "PreferNoSchedule" and not any(x.covers(t) for x in tolerations) for t in taints)
            for taints in self.sets
        ]
        return np.array(counts, dtype=np.int64)[self.codes] if any(counts) else None


def _by_first_node(codes: npt.NDArray[np.int32], n_values: int) -> tuple[npt.NDArray[np.int32], list[int]]:
    """Renumber codes in the order of the first node that has each; the code -1 stays -1.

    Returns the new code of each node, and the old code of each new one. `n_values` is the number of old codes.
    """
    present = codes[codes >= 0]
    found, first = np.unique(present, return_index=True)
    order = found[np.argsort(first)]
    number = np.full(n_values + 1, -1, dtype=np.int32)
    number[order] = np.arange(len(order), dtype=np.int32)
    renumbered = number[codes]
    renumbered.flags.writeable = False
    return renumbered, order.tolist()


@dataclass(eq=False)
class FilterCache:
    """The nodes that each distinct `NodeFilter` accepts, on one set of nodes.

    Every filter is evaluated once and cached.
    """

    labels: NodeLabels
    taints: NodeTaints
    closed: Mask
    _masks: dict[NodeFilter, Mask] = field(default_factory=dict)
    _avoided: dict[tuple[Toleration, ...], npt.NDArray[np.int64] | None] = field(default_factory=dict)

    def mask(self, condition: NodeFilter) -> Mask:
        """Nodes that a pod with the filter `condition` may use: read-only bool of shape (n,).

        False for nodes that are closed to all pods (cordoned or not ready).
        """
        found = self._masks.get(condition)
        if found is None:
            found = ~self.closed & self.taints.mask(condition.tolerations)
            for requirement in condition.required:
                found &= self.labels.mask(requirement)
            if condition.any_of:
                terms = [
                    np.logical_and.reduce([self.labels.mask(r) for r in term])
                    for term in condition.any_of
                    if term  # an empty term selects nothing (Kubernetes node affinity)
                ]
                found = found & np.logical_or.reduce(terms) if terms else np.zeros_like(found)
            found.flags.writeable = False
            self._masks[condition] = found
        return found

    def avoided(self, tolerations: tuple[Toleration, ...]) -> npt.NDArray[np.int64] | None:
        """Number of untolerated ``PreferNoSchedule`` taints of each node: read-only int64 of shape (n,), cached.

        None if no node has such a taint, as in `NodeTaints.avoided`.
        """
        if tolerations not in self._avoided:
            found = self.taints.avoided(tolerations)
            if found is not None:
                found.flags.writeable = False
            self._avoided[tolerations] = found
        return self._avoided[tolerations]
