"""`Edit`: one change to a cluster or a job, which can be tried on copies of them, with a text that describes it."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.model.counted import counted
from workbench.model.gang import Gang, TopologyConstraint
from workbench.model.name_list import name_list
from workbench.model.resources import PODS, amount_text, is_gpu_resource
from workbench.model.snapshot import ClusterSnapshot

__all__ = ["AllowTier", "Edit", "FreeResources", "LowerMinimum", "Together", "Uncordon"]


class Edit(ABC):
    """One change to a cluster or a job, which can be tried on copies of them."""

    @abstractmethod
    def apply(self, gang: Gang, snapshot: ClusterSnapshot) -> tuple[Gang, ClusterSnapshot]:
        """The job and the cluster with the change made; arguments that do not change are returned as they are."""

    @property
    @abstractmethod
    def text(self) -> str:
        """What to do, in the imperative: ``allow tier 2``."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The change as a JSON-ready dict; ``edit`` names its kind, ``text`` says what to do."""


@dataclass(frozen=True)
class AllowTier(Edit):
    """Let the job, and its sub-groups with a lower limit, use HyperNodes up to a tier.

    Attributes
    ----------
    tier : int
        The new highestTierAllowed.
    """

    tier: int

    def apply(self, gang: Gang, snapshot: ClusterSnapshot) -> tuple[Gang, ClusterSnapshot]:
        """The job with the higher limit of tiers, and the cluster unchanged."""
        groups = tuple(dataclasses.replace(g, constraint=self._widened(g.constraint)) for g in gang.sub_groups)
        return dataclasses.replace(gang, constraint=self._widened(gang.constraint), sub_groups=groups), snapshot

    def _widened(self, constraint: TopologyConstraint | None) -> TopologyConstraint | None:
        if constraint is None or constraint.mode == "soft":
            return constraint
        return dataclasses.replace(constraint, mode="hard", highest_tier=self.tier, highest_tier_name=None)

    @property
    def text(self) -> str:
        return f"allow tier {self.tier}"

    def to_dict(self) -> dict[str, Any]:
        """The change as a JSON-ready dict."""
        return {"edit": "allow-tier", "tier": self.tier, "text": self.text}


@dataclass(frozen=True)
class LowerMinimum(Edit):
    """Let the job start with fewer pods (a lower minAvailable).

    Attributes
    ----------
    min_available : int
        The new minAvailable, counting pods that run already.
    """

    min_available: int

    def apply(self, gang: Gang, snapshot: ClusterSnapshot) -> tuple[Gang, ClusterSnapshot]:
        """The job with the lower minimum, and the cluster unchanged.

        minResources, which the controller computes from the minimum, becomes smaller too if all pods have equal
        requests.
        """
        memory, resources = gang.volcano, gang.volcano.min_resources
        if resources and len(gang.roles) == 1:
            fewer = {name: amount * self.min_available // gang.min_available for name, amount in resources.items()}
            memory = dataclasses.replace(memory, min_resources=fewer)
        return dataclasses.replace(gang, min_available=self.min_available, volcano=memory), snapshot

    @property
    def text(self) -> str:
        return f"lower minAvailable to {self.min_available}"

    def to_dict(self) -> dict[str, Any]:
        """The change as a JSON-ready dict."""
        return {"edit": "lower-minimum", "min_available": self.min_available, "text": self.text}


@dataclass(frozen=True)
class Uncordon(Edit):
    """Allow new pods on nodes that are cordoned.

    Attributes
    ----------
    nodes : tuple of str
        Names of the nodes to uncordon.
    """

    nodes: tuple[str, ...]

    def apply(self, gang: Gang, snapshot: ClusterSnapshot) -> tuple[Gang, ClusterSnapshot]:
        """The job unchanged, and the cluster with the nodes uncordoned."""
        unschedulable = snapshot.unschedulable.copy()
        unschedulable[[snapshot.topology.node(name) for name in self.nodes]] = False
        return gang, dataclasses.replace(snapshot, unschedulable=unschedulable)

    @property
    def text(self) -> str:
        return f"uncordon {name_list(self.nodes)}"

    def to_dict(self) -> dict[str, Any]:
        """The change as a JSON-ready dict."""
        return {"edit": "uncordon", "nodes": list(self.nodes), "text": self.text}


@dataclass(frozen=True)
class FreeResources(Edit):
    """Move running pods away from nodes, so that these have more free resources.

    Attributes
    ----------
    amounts : mapping of str to mapping of str to int
        For each node the amount of each resource to free, in base units.
    """

    amounts: Mapping[str, Mapping[str, int]]

    def apply(self, gang: Gang, snapshot: ClusterSnapshot) -> tuple[Gang, ClusterSnapshot]:
        """The job unchanged, and the cluster with the resources free.

        Of the GPUs in use, those with the lowest numbers are freed. It is left open which pods leave: all running pods
        stay listed.
        """
        used, gpu_free = snapshot.used.copy(), snapshot.gpu_free.copy()
        for name, amounts in self.amounts.items():
            node = snapshot.topology.node(name)
            gpus = sum(amount for resource, amount in amounts.items() if is_gpu_resource(resource))
            for resource, amount in amounts.items():
                used[node, snapshot.resources.index(resource)] -= amount
            _free_lowest(gpu_free[node], snapshot.gpu_total[node], gpus)
        return gang, dataclasses.replace(snapshot, used=used, gpu_free=gpu_free, gpu_shares=None)

    @property
    def text(self) -> str:
        together: dict[str, list[str]] = {}
        for node, amounts in self.amounts.items():
            together.setdefault(", ".join(_amount(name, value) for name, value in amounts.items()), []).append(node)
        return "free " + " and ".join(
            f"{what} on {'each of ' if len(nodes) > 1 else ''}{name_list(nodes)}" for what, nodes in together.items()
        )

    def to_dict(self) -> dict[str, Any]:
        """The change as a JSON-ready dict."""
        amounts = {node: dict(amounts) for node, amounts in self.amounts.items()}
        return {"edit": "free-resources", "amounts": amounts, "text": self.text}


@dataclass(frozen=True)
class Together(Edit):
    """Several changes that help only together.

    Attributes
    ----------
    edits : tuple of Edit
        The changes, in the order in which they are made.
    """

    edits: tuple[Edit, ...]

    def apply(self, gang: Gang, snapshot: ClusterSnapshot) -> tuple[Gang, ClusterSnapshot]:
        """The job and the cluster after making all changes in order."""
        for edit in self.edits:
            gang, snapshot = edit.apply(gang, snapshot)
        return gang, snapshot

    @property
    def text(self) -> str:
        return " and ".join(edit.text for edit in self.edits)

    def to_dict(self) -> dict[str, Any]:
        """The change as a JSON-ready dict."""
        return {"edit": "together", "edits": [edit.to_dict() for edit in self.edits], "text": self.text}


def _free_lowest(free: Any, total: Any, count: int) -> None:
    """Free the `count` GPUs with the lowest numbers among those in use on a node, in place.

    `free` and `total` are one node's rows of the masks of free and of all GPUs, uint64 of shape (w,).
    """
    for word in range(len(free)):
        while count and (busy := int(total[word] & ~free[word])):
            free[word] |= np.uint64(busy & -busy)
            count -= 1


def _amount(resource: str, amount: int) -> str:
    if is_gpu_resource(resource):
        return counted(amount, "GPU")
    return counted(amount, "pod slot") if resource == PODS else f"{amount_text(resource, amount)} {resource}"
