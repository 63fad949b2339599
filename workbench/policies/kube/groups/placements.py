"""Placements: the sets of nodes in which a group is tried, one per value of its topology key."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from workbench.policies.kube.groups.hierarchy import KubePodGroup
from workbench.policies.kube.status import SUCCESS, Code, Status

__all__ = ["GroupPlacement", "GroupPlacements", "generate_placements", "share_of"]

#: Nodes in order.
S = TypeVar("S")

Ints = npt.NDArray[np.int32]


@dataclass(frozen=True)
class GroupPlacement(Generic[S]):
    """A set of nodes in which a group is tried.

    `name`: the value of the topology key; empty without one. `nodes`: sequence or ndarray; nodes in the order of the
    enclosing placement.
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
    nodes: Ints,
    codes: Ints,
    values: Sequence[str],
    scheduled: Iterable[tuple[str, int]] = (),
) -> GroupPlacements[Ints]:
    """Divide nodes by the values of a group's topology key (plugin TopologyPlacementGenerator).

    Without a key the nodes are the one placement. Nodes without the label belong to none. Pods of the group that have a
    node pin the value: only its nodes are left, maybe none.

    Returns GroupPlacements: in byte order of the values; upstream's order is random. An error if the scheduled pods pin
    no single value.

    Parameters
    ----------
    nodes : ndarray of shape (k,), int32
        Nodes of the enclosing placement; of the cluster at the root of a tree.
    codes : ndarray of shape (n,), int32
        Value of the topology key of every node as a position in `values`; -1: the node lacks the label.
    scheduled : iterable of (str, int)
        Pods of the group that have a node: namespace/name, and the code of the node, which need not be among `nodes`.
    """
    if not group.topology_key:
        return GroupPlacements((GroupPlacement("", nodes),))
    pinned: set[int] = set()
    for pod, code in scheduled:
        if code < 0:
            return GroupPlacements(status=_unclear(f"no topology domain found for pod {pod}"))
        pinned.add(code)
    if len(pinned) > 1:
        told = ", ".join(sorted((values[code] for code in pinned), key=str.encode))
        return GroupPlacements(status=_unclear(f"more than 1 domain found for pod group: {told}"))
    mine = codes[nodes]
    labelled = np.isin(mine, list(pinned)) if pinned else mine >= 0
    inside, mine = nodes[labelled], mine[labelled]
    order = np.argsort(mine, kind="stable")
    found, start = np.unique(mine[order], return_index=True)
    members = dict(zip(found.tolist(), np.split(inside[order], start[1:]), strict=True)) if len(found) else {}
    by_value = sorted(members, key=lambda code: values[code].encode())
    return GroupPlacements(tuple(GroupPlacement(values[code], members[code]) for code in by_value))


def share_of(sizes: Sequence[int], percentage: int) -> int:
    """Count the placements that are evaluated if only a share of them is: upstream's proposal, which no release has.

    `sizes`: nodes in each placement. `percentage`: share in percent, 0 to 100; 0: the larger of 5 and 100 - n * 9 / 500
    for n nodes in all placements.
    """
    share = percentage or max(5, 100 - sum(sizes) * 9 // 500)
    return max(1, len(sizes) * share // 100) if sizes else 0


def _unclear(why: str) -> Status:
    return Status(Code.ERROR, (f"cannot determine domain for already scheduled pods: {why}",))
