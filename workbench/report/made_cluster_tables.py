"""The terminal table of the clusters that `workbench kind` made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.report.tables import new_table, text_row

__all__ = ["made_cluster_tables"]


def made_cluster_tables(rows: Sequence[Mapping[str, str]]) -> list[Any]:
    """A table of clusters, each given by name, engine, context, kubeconfig and state; a line where there are none."""
    if not rows:
        return ["no cluster: 'workbench kind up' makes one"]
    table = new_table("name", "engine", "context", "state", "kubeconfig")
    for row in rows:
        text_row(table, row["name"], row["engine"], row["context"], row["state"], row["kubeconfig"])
    return [table]
