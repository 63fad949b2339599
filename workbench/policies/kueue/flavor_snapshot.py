"""`FlavorSnapshot`: the nodes of one flavor as a topology tree with its usage, and the placement of pod sets on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from workbench.model.value import Working
from workbench.policies.kueue.gates import Gates
from workbench.policies.kueue.values import Assignment, Flavor, Node, Outcome, PodSet, Replacement, Usage

__all__ = ["FlavorSnapshot", "usage_of"]


class FlavorSnapshot(Working):
    """Free capacity of the nodes of one flavor, in the tree of its topology; changed by `add` and `remove`.

    Parameters
    ----------
    levels : sequence of str
        Node label keys, widest first.
    flavor : Flavor
        `flavor.topology` is the name of the topology in messages.
    nodes : sequence of Node
        All nodes of the cluster; those that are no nodes of the flavor are left out.
    gates : Gates
    held : sequence of (str, mapping of str to int)
        For each running pod that Kueue does not place by topology: its node and its requests.
    """

    def __init__(
        self,
        levels: Sequence[str],
        flavor: Flavor,
        nodes: Sequence[Node],
        gates: Gates | None = None,
        held: Sequence[tuple[str, Mapping[str, int]]] = (),
    ) -> None:
        raise NotImplementedError

    def has_level(self, pod_set: PodSet) -> bool:
        """Whether the flavor has every level that the pod set requests, slice levels included."""
        raise NotImplementedError

    def add(self, usage: Usage) -> None:
        """Take resources of pods; a domain without a node is ignored."""
        raise NotImplementedError

    def remove(self, usage: Usage) -> None:
        """Give back what `add` took."""
        raise NotImplementedError

    def fits(self, usages: Sequence[Usage]) -> bool:
        """Whether the free capacity holds all of `usages` together, the number of pods on a node not counted."""
        raise NotImplementedError

    def place(
        self,
        pod_sets: Sequence[PodSet],
        *,
        simulate_empty: bool = False,
        assumed: Sequence[Usage] = (),
        replacement: Replacement | None = None,
    ) -> dict[str, Outcome]:
        """Find an assignment for each pod set of one workload, in their order; the snapshot is not changed.

        Parameters
        ----------
        pod_sets : sequence of PodSet
            Those that go to this flavor, in the order of the workload.
        simulate_empty : bool
            Place as if no workload held anything here.
        assumed : sequence of Usage
            What pod sets of the same workload were given on other flavors with the same nodes.
        replacement : Replacement, optional
            The workload's nodes that failed, and what its pod sets hold.

        Returns
        -------
        dict of str to Outcome
            By name of the pod set. The first failure ends the search: its group has the reason, the pod sets after it
            are absent.
        """
        raise NotImplementedError


def usage_of(pod_set: PodSet, assignment: Assignment) -> list[Usage]:
    """What the pods of an assignment hold, domain by domain."""
    return [Usage(values, pod_set.requests, count) for values, count in assignment.domains]
