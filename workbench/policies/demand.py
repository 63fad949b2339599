"""`Demand`: the requests of a gang as arrays in the columns of one snapshot, as node policies hand them to kernels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.kernels.domains import pods_per_node
from workbench.model.arrays import Ints, Longs
from workbench.model.gang import Gang
from workbench.model.gpu_shares import capped_by_gpus
from workbench.model.labels import NodeFilter, Toleration
from workbench.model.ledger import Ledger
from workbench.model.notice import Notice
from workbench.model.value import kept
from workbench.policies.gpu.base import GpuQuestions

__all__ = ["Cause", "Demand", "node_causes", "node_reasons", "node_text"]

Bytes = npt.NDArray[np.uint8]

_ONLY_ROLE = np.zeros(1, dtype=np.int32)
_ONLY_ROLE.flags.writeable = False


@dataclass(eq=False)
class Demand:
    """What the pods of one gang request, as arrays over a ledger's resources, and the nodes that accept the pods.

    Made for one call of `place`.

    Attributes
    ----------
    rows : ndarray of shape (roles, r), int64
        Request of one pod of each role, its pod slot included; read-only.
    missing : tuple of tuple of str
        Per role the requested resources that no node has.
    order : tuple of int
        Roles with a request, as they are tried (`Gang.tried_roles`); without `apart` every role, in the gang's order
        behind these.
    best_effort : tuple of int
        Roles without any request that are placed after the others and apart from them.
    apart : bool
        Whether pods without a request are placed so (`SchedulerTraits.best_effort_last`).
    roles : tuple of int
        Every role: those of `order`, then those of `best_effort`.
    """

    # `idle` and `feasible` say what nodes offer and accept; `capacity`, `capacity_of` divide the one by the requests.
    # `taken` is the other direction: what a placed pod of each role takes from the ledger.

    gang: Gang
    ledger: Ledger
    gpus: GpuQuestions
    apart: bool = True

    def __post_init__(self) -> None:
        self.rows, self.missing = self.gang.rows_for(self.ledger.snapshot.resources)
        self.order, self.best_effort = self.gang.tried_roles, self.gang.best_effort_roles
        self.roles = self.order + self.best_effort
        if not self.apart:
            self.order, self.best_effort = self.roles, ()
        self._masks: dict[int | tuple[NodeFilter, int, bool], tuple[Bytes, Bytes | None]] = {}

    @property
    def taken(self) -> Longs:
        """Amounts that placing one pod of each role takes from a ledger, int64 (roles, columns).

        The columns are the snapshot's resources. Two more follow, with the cpu and memory that Kubernetes assumes for
        containers without a request, if the cluster or the gang has such containers.
        """
        if self.ledger.assumed is None and not self.gang.assumes:
            return self.rows
        return np.concatenate([self.rows, self.gang.assumed], axis=1)

    @kept
    def position_of_role(self) -> Ints:
        """Position of each role in `roles`: int32 of shape (roles,)."""
        if len(self.roles) == 1:
            return _ONLY_ROLE
        place = [0] * len(self.roles)
        for i, role in enumerate(self.roles):
            place[role] = i
        return np.array(place, dtype=np.int32)

    @kept
    def idle(self) -> Longs:
        """Idle resources of the nodes, int64 (n, r); a GPU column is at most the number of free GPUs.

        May be the ledger's own array.
        """
        ledger, snapshot = self.ledger, self.ledger.snapshot
        if not snapshot.gpu_columns or not any(role.n_gpus for role in self.gang.roles):
            return ledger.idle
        if ledger.idle is snapshot.idle and ledger.gpu_free is snapshot.gpu_free:
            return snapshot.idle_by_gpus
        return capped_by_gpus(ledger.idle, ledger.gpu_free, snapshot.gpu_columns)

    def feasible(self, role: int) -> Bytes:
        """1 for each node that accepts a pod of the role by selector, taints and GPUs, else 0: uint8 (n,).

        Idle resources are not looked at.
        """
        return self._mask(role)[0]

    def restriction(self, role: int) -> Bytes | None:
        """The array of `feasible`, uint8 (n,), for a kernel; None if every node accepts a pod of the role."""
        return self._mask(role)[1]

    def _mask(self, role: int, added: tuple[Toleration, ...] = ()) -> tuple[Bytes, Bytes | None]:
        roles, lacks = self.gang.roles, bool(self.missing[role])
        condition, n_gpus = roles[role].filter, roles[role].n_gpus
        if added:
            condition = replace(condition, tolerations=(*condition.tolerations, *added))
        # Roles that agree in what a mask depends on share one array; hashing a filter takes longer than a small mask.
        key = role if len(roles) == 1 and not added else (condition, n_gpus, lacks)
        found = self._masks.get(key)
        if found is None:
            mask = self._accepting(condition)
            chosen = self.gpus.feasible(n_gpus)
            if chosen is not None:
                mask = mask & chosen
            if lacks:
                mask = np.zeros_like(mask)
            flags = mask.view(np.uint8)
            found = self._masks[key] = flags, None if np.count_nonzero(mask) == len(mask) else flags
        return found

    def _accepting(self, condition: NodeFilter) -> npt.NDArray[np.bool_]:
        """Nodes that satisfy a filter of the gang's roles (selectors, tolerations): bool (n,)."""
        return self.ledger.snapshot.filters.mask(condition)

    def capacity(self, role: int, idle: Longs, cap: int) -> Longs:
        """Number of pods of a role that fit on each node of the snapshot.

        `role`: index of the role in the gang. `idle`: ndarray of shape (n, r), int64; idle amounts of the nodes. `cap`:
        larger counts are given as `cap`. Returns ndarray of shape (n,), int64.
        """
        return pods_per_node(idle, self.rows[role], feasible=self.feasible(role), cap=cap)

    def capacity_of(
        self, nodes: Ints, role: int, idle: Longs, cap: int, tolerations: tuple[Toleration, ...] = ()
    ) -> Longs:
        """Number of pods of a role that fit on each of some nodes.

        `role`, `cap`: as in `capacity`.

        Returns ndarray of shape (m,), int64.

        `nodes`: ndarray of shape (m,), int32; indices of the nodes. `idle`: ndarray of shape (n, r), int64; idle
        resources of all nodes of the snapshot. `tolerations`: those that the pods get beside their own before they are
        bound.
        """
        feasible, _ = self._mask(role, tolerations)
        return pods_per_node(idle[nodes], self.rows[role], feasible=feasible[nodes], cap=cap)


class Cause(NamedTuple):
    """One reason why nodes do not take a pod: the code of a `Notice`, Kubernetes' text, and the number of nodes."""

    code: str
    text: str
    n_nodes: int


def node_causes(demand: Demand, role: int, idle: Longs, nodes: Ints) -> list[Cause]:
    """Reasons why nodes do not take one more pod of a role; each node is counted for one reason.

    A node is counted for the first condition that excludes it: not ready, cordoned, taints, labels, resources that no
    node has, resources in the order of the snapshot's columns, GPUs.

    `role`, `idle`: as in `Demand.capacity_of`.

    `nodes`: ndarray of shape (m,), int32; indices of the nodes to explain. Returns list of Cause: in the order of the
    conditions, each with at least one node. Nodes that would take the pod are not counted, so that the list is empty if
    all would.
    """
    snapshot = demand.ledger.snapshot
    condition = demand.gang.roles[role].filter
    rest = np.ones(len(nodes), dtype=np.bool_)
    causes = []

    def count(code: str, text: str, excluded: npt.NDArray[np.bool_]) -> None:
        hit = rest & excluded
        if hit.any():
            causes.append(Cause(code, text, int(hit.sum())))
        rest[hit] = False

    count("not-ready", "node(s) were not ready", snapshot.not_ready[nodes])
    count("unschedulable", "node(s) were unschedulable", snapshot.unschedulable[nodes])
    count("taint", "node(s) had untolerated taints", ~snapshot.taints.mask(condition.tolerations)[nodes])
    accepted = snapshot.filters.mask(condition)[nodes]
    count("node-affinity", "node(s) didn't match Pod's node affinity/selector", ~accepted)
    for name in demand.missing[role]:
        count("insufficient", f"Insufficient {name}", np.ones(len(nodes), dtype=np.bool_))
    for column, name in enumerate(snapshot.resources):
        amount = demand.rows[role, column]
        if amount > 0:
            text = "Too many pods" if name == "pods" else f"Insufficient {name}"
            count("insufficient", text, idle[nodes, column] < amount)
    chosen = demand.gpus.feasible(demand.gang.roles[role].n_gpus)
    if chosen is not None:
        count("gpu", "node(s) without a suitable set of GPUs", ~chosen[nodes])
    return causes


def node_reasons(demand: Demand, role: int, idle: Longs, nodes: Ints) -> tuple[Notice, ...]:
    """Reasons why nodes do not take one more pod of a role, as notices such as ``8 Insufficient cpu``.

    `role`, `idle`: as in `Demand.capacity_of`.

    `nodes`: ndarray of shape (m,), int32; indices of the nodes to explain; each is counted in one notice, as
    `node_causes` counts.
    """
    return tuple(
        Notice(cause.code, f"{cause.n_nodes} {cause.text}", numbers={"count": cause.n_nodes})
        for cause in node_causes(demand, role, idle, nodes)
    )


def node_text(demand: Demand, role: int, idle: Longs, node: int) -> str:
    """Reason why one more pod of a role does not fit on a node, such as ``Insufficient cpu``; empty if it fits.

    `role`, `idle`: as in `Demand.capacity_of`.

    `node`: index of the node.
    """
    causes = node_causes(demand, role, idle, np.array([node], dtype=np.int32))
    return "; ".join(cause.text for cause in causes)
