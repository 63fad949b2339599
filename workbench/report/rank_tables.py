"""Terminal tables of ranks that follow the placement."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.text import Text

from workbench.evaluate.rank_order import RankOrder
from workbench.model.counted import counted
from workbench.report.tables import new_table, text_row

__all__ = ["rank_tables"]

#: Pods listed per job; -o json has all.
_ROWS = 40


def rank_tables(orders: Iterable[RankOrder]) -> list[Any]:
    """Terminal tables of new ranks: each job's ring crossings before and after, and the pods whose rank changes."""
    found = list(orders)
    parts: list[Any] = []
    if found:
        keys = list(found[0].before)
        heads = [key if key == "node" else f"tier {key}" for key in keys]
        rings = new_table("job", "ranks", *heads, title="ring crossings", right=range(2, 2 + len(keys)))
        for order in found:
            text_row(rings, order.job, "as placed", *(order.before[key] for key in keys))
            if order.changed:
                text_row(rings, "", "by HyperNode", *(order.after[key] for key in keys))
        parts.append(rings)
    for order in found:
        if not order.changed:
            continue
        table = new_table("pod", "node", "rank", "new rank", title=order.job, right=(2, 3))
        rows = [
            (pod, node, was, rank)
            for rank, (pod, node, was) in enumerate(zip(order.pods, order.nodes, order.ranks_before, strict=True))
            if was != rank
        ]
        for row in rows[:_ROWS]:
            text_row(table, *row)
        parts.append(table)
        if len(rows) > _ROWS:
            parts.append(Text(f"… and {counted(len(rows) - _ROWS, 'more pod')} (-o json has all)"))
    return parts
