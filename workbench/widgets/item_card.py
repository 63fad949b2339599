"""The card that is shown of an item of the drawing: a switch or a node, with what is free and what runs there.

`GpusInUse` counts the GPUs that running pods hold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from workbench.evaluate.whatif.job_edits import taint_text
from workbench.model.counted import counted
from workbench.model.snapshot import ClusterSnapshot
from workbench.topology.draft import Draft, Item
from workbench.widgets.lost_pods import hit_jobs
from workbench.widgets.place_card import label_texts, listed

__all__ = ["GpusInUse", "item_card"]


class GpusInUse:
    """GPUs that running pods hold on the nodes of a drawing.

    `before`: the cluster from which the drawing was made; None: nothing runs.
    """

    def __init__(self, before: ClusterSnapshot | None) -> None:
        #: All GPUs and those in use, of each node that has any in use.
        self._of: dict[str, tuple[int, int]] = {}
        if before is not None:
            total = np.bitwise_count(before.gpu_total).sum(axis=1).tolist()
            used = np.bitwise_count(before.gpu_total & ~before.gpu_free).sum(axis=1).tolist()
            names = before.topology.node_names
            self._of = {name: (n, u) for name, n, u in zip(names, total, used, strict=True) if u}

    def of(self, item: Item) -> int:
        """GPUs in use on a node; 0 for a switch, and for a node whose number of GPUs was changed: all of it is free."""
        total, used = self._of.get(item.name, (0, 0))
        return used if item.kind == "node" and total == item.gpus else 0


def item_card(draft: Draft, item_id: int, in_use: GpusInUse, before: ClusterSnapshot | None) -> dict[str, Any]:
    """Title and lines of the card of an item of the drawing (a switch or a node), as a JSON-ready dict.

    `item_id`: number of the item. `in_use`: what running pods hold of the GPUs of the drawing. `before`: the cluster
    from which the drawing was made, for its running pods; None: there is none.
    """
    item = draft[item_id]
    nodes = [item] if item.kind == "node" else [one for one in draft.beneath(item_id) if one.kind == "node"]
    lines = [] if item.kind == "node" else [("HyperNode", f"tier {item.tier}"), ("nodes", f"{len(nodes):,}")]
    lines += _free(nodes, in_use)
    lines += _running({node.name for node in nodes}, item.kind == "node", before)
    above = ", ".join(f"{switch.name} (tier {switch.tier})" for switch in draft.ancestors(item_id))
    lines += [("in", above)] if above else []
    lines += [("link", f"{item.link_gbit_s:g} Gbit/s")] if item.link_gbit_s else []
    state = [word for word, holds in _states(item) if holds] + _above(draft, item_id) + _beneath(item, nodes)
    lines += [("state", ", ".join(state))] if state else []
    lines += listed("jobs", [f"{hit.key}: {hit.text}" for hit in hit_jobs(draft, before, {node.id for node in nodes})])
    if item.node is not None:
        lines += listed("taints", [taint_text(taint) for taint in item.node.taints])
    return {"title": item.name, "lines": lines + listed("labels", label_texts(item.labels))}


def _states(item: Item) -> list[tuple[str, bool]]:
    not_ready = item.node is not None and item.node.not_ready
    return [
        ("not ready", not_ready),
        ("cordoned", item.cordoned),
        ("failed", item.failed),
        ("link failed", item.link_failed),
    ]


def _above(draft: Draft, item_id: int) -> list[str]:
    """What cuts the item off: switches above it that have failed, or whose link has."""
    words = [
        (one.name, "failed" if one.failed else "link failed")
        for one in draft.ancestors(item_id)
        if one.failed or one.link_failed
    ]
    return [f"cut off: {name} {word}" for name, word in words]


def _beneath(item: Item, nodes: Sequence[Item]) -> list[str]:
    """Which states the nodes under a switch have, with their numbers."""
    if item.kind == "node":
        return []
    found = Counter(word for node in nodes for word, holds in _states(node) if holds)
    return [f"{n:,} of its nodes {word}" for word, n in found.items()]


def _free(nodes: Collection[Item], in_use: GpusInUse) -> list[tuple[str, str]]:
    total = sum(node.gpus for node in nodes)
    if not total:
        return []
    free = total - sum(map(in_use.of, nodes))
    return [("free", f"{free:,} of {counted(total, 'GPU', form=',')}")]


def _running(names: Collection[str], by_name: bool, before: ClusterSnapshot | None) -> list[tuple[str, str]]:
    """Pods that run on nodes of these names: each by its name, or how many."""
    if before is None:
        return []
    node_names = before.topology.node_names
    pods = [p for p in before.running if p.node >= 0 and node_names[p.node] in names]
    if by_name:
        return listed("running", sorted((f"{p.namespace}/{p.name}" for p in pods), key=str.encode))
    return [("running", counted(len(pods), "pod", form=","))] if pods else []
