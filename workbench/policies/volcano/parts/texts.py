"""Texts about HyperNodes, nodes and pods that refusals and explanations of the Volcano policies share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from workbench.model.arrays import Ints, Longs
from workbench.model.resources import amount_text
from workbench.policies.demand import Demand

__all__ = ["NODES_IN_TURN", "above_text", "lacking", "pods_text", "room_for_text", "room_text"]


#: Why a HyperNode with room for all pods is refused: the policy fills its nodes in another way.
NODES_IN_TURN = ", but not on the nodes that they get one after another"


def lacking(resources: Sequence[str], asked: Longs, idle: Longs) -> str:
    """Text that lists each resource of which less is idle than asked: ``nvidia.com/gpu: 24 asked, 16 idle``.

    Empty if enough of every resource is idle.

    `resources`: names of the resources. `asked`, `idle`: ndarray of shape (r,), int64; amounts in the order of
    `resources`.
    """
    return ", ".join(
        f"{name}: {amount_text(name, int(wants))} asked, {amount_text(name, int(has))} idle"
        for name, wants, has in zip(resources, asked, idle, strict=True)
        if wants > has
    )


def above_text(tier: int, highest: int) -> str:
    """The reason that a HyperNode is not tried because its tier is above the highest one allowed."""
    return f"tier {tier} above the highest allowed {highest}"


def pods_text(count: int) -> str:
    """A number of pods in words: ``1 pod``, ``2 pods``."""
    return "1 pod" if count == 1 else f"{count} pods"


def room_for_text(held: int, needs: int) -> str:
    """Text with the number of pods, of the ``needs`` that a job needs, that a HyperNode could hold if it were tried."""
    return f"room for {held} of {pods_text(needs)}"


def room_text(demand: Demand, nodes: Ints, idle: Longs, left: Sequence[int], needs: int) -> str:
    """Text that says why some nodes do not hold the needed pods.

    `nodes`: ndarray of int32; indices of the nodes. `idle`: ndarray of shape (n, r), int64; idle resources of all nodes
    of the cluster. `left`: pods of each role that are still to be placed. `needs`: pods that are needed; they are taken
    role by role in the order in which pods are tried.
    """
    asked = np.zeros(idle.shape[1], dtype=np.int64)
    accepted = np.zeros(len(nodes), dtype=np.bool_)
    for role in demand.order:
        count = min(left[role], needs)
        needs -= count
        if count:
            asked += demand.rows[role] * count
            accepted |= demand.feasible(role)[nodes].view(np.bool_)
    texts = []
    if not accepted.all():
        verb = "does" if len(nodes) == 1 else "do"
        texts.append(f"{int((~accepted).sum())} of {len(nodes)} nodes {verb} not accept them")
    if len(nodes) and not accepted.any():
        return texts[0]
    short = lacking(demand.ledger.snapshot.resources, asked, idle[nodes[accepted]].sum(axis=0))
    if short:
        texts.append(short)
    elif not texts:
        texts.append("enough is idle in sum, but not on single nodes")
    return "; ".join(texts)
