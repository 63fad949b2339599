"""Placements: the sets of nodes in which a group is tried, one per value of its topology key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from workbench.policies.kube.groups.hierarchy import KubePodGroup
from workbench.policies.kube.status import SUCCESS, Code, Status

__all__ = ["GroupPlacement", "GroupPlacements", "generate_placements", "share_of"]

N = TypeVar("N")
#: Nodes in order.
S = TypeVar("S")


@dataclass(frozen=True)
class GroupPlacement(Generic[S]):
    """A set of nodes in which a group is tried.

    Attributes
    ----------
    name : str
        The value of the topology key; empty without one.
    nodes : sequence or ndarray
        Nodes in the order of the enclosing placement.
    """

    name: str
    nodes: S


@dataclass(frozen=True)
class GroupPlacements(Generic[S]):
    """Placements of a group in the order in which they are tried, or the status of the failure to find any."""

    found: tuple[GroupPlacement[S], ...] = ()
    status: Status = SUCCESS


def generate_placements(
    group: KubePodGroup,
    nodes: Sequence[N],
    value_of: Callable[[N], str | None],
    scheduled: Iterable[tuple[str, str | None]] = (),
) -> GroupPlacements[Sequence[N]]:
    """Divide nodes by the values of a group's topology key (plugin TopologyPlacementGenerator).

    Without a key the nodes are the one placement. Nodes without the label belong to none. Pods of the group that have a
    node pin the value: only its nodes are left, maybe none.

    Parameters
    ----------
    group : KubePodGroup
    nodes : sequence
        Nodes of the enclosing placement; of the cluster at the root of a tree.
    value_of : callable
        A node's value of the topology key; None: the node lacks the label.
    scheduled : iterable of (str, str or None)
        Pods of the group that have a node: namespace/name, and the value of the node, which need not be among `nodes`.

    Returns
    -------
    Placements
        In byte order of the values; upstream's order is random. An error if the scheduled pods pin no single value.
    """
    if not group.topology_key:
        return GroupPlacements((GroupPlacement("", nodes),))
    pinned: set[str] = set()
    for pod, value in scheduled:
        if value is None:
            return GroupPlacements(status=_unclear(f"no topology domain found for pod {pod}"))
        pinned.add(value)
    if len(pinned) > 1:
        values = ", ".join(sorted(pinned, key=str.encode))
        return GroupPlacements(status=_unclear(f"more than 1 domain found for pod group: {values}"))
    members: dict[str, list[N]] = {}
    for node in nodes:
        value = value_of(node)
        if value is not None and (not pinned or value in pinned):
            members.setdefault(value, []).append(node)
    return GroupPlacements(tuple(GroupPlacement(value, members[value]) for value in sorted(members, key=str.encode)))


def share_of(sizes: Sequence[int], percentage: int) -> int:
    """Count the placements that are evaluated if only a share of them is: upstream's proposal, which no release has.

    Parameters
    ----------
    sizes : sequence of int
        Nodes in each placement.
    percentage : int
        Share in percent, 0 to 100; 0: the larger of 5 and 100 - n * 9 / 500 for n nodes in all placements.
    """
    share = percentage or max(5, 100 - sum(sizes) * 9 // 500)
    return max(1, len(sizes) * share // 100) if sizes else 0


def _unclear(why: str) -> Status:
    return Status(Code.ERROR, (f"cannot determine domain for already scheduled pods: {why}",))
