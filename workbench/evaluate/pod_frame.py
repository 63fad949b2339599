"""`pod_frame`: the pods of a scheduling session as a table, which ``place -o csv`` writes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from workbench.evaluate.records import VISIBLE_DEVICES, decision_record
from workbench.model.placement import Decision

if TYPE_CHECKING:
    import pandas

__all__ = ["pod_frame"]

_COLUMNS = ("job", "outcome", "hypernode", "tier", "pod", "node", "gpus", "rank", *VISIBLE_DEVICES, "reason")


def pod_frame(decisions: Sequence[Decision]) -> pandas.DataFrame:
    """A table with one row per pod of each placed job, and one row per pending job.

    Returns: columns: job, outcome, hypernode, tier, pod, node, gpus (GPU numbers, separated by spaces), rank, the
    environment variables of `VISIBLE_DEVICES` (one value per container that has GPUs, separated by semicolons), and
    reason (for pods without a node and for pending jobs). Values that a row does not have are missing.
    """
    import pandas

    rows = [row for decision in decisions for row in _rows(decision)]
    frame = pandas.DataFrame([[row.get(name) for name in _COLUMNS] for row in rows], columns=list(_COLUMNS))
    return frame.astype({"tier": "Int64", "rank": "Int64"})


def _rows(decision: Decision) -> list[dict[str, Any]]:
    record = decision_record(decision)
    job = {"job": decision.gang.key, **{name: record[name] for name in ("outcome", "hypernode", "tier")}}
    rows = [
        {
            **job,
            "pod": pod["name"],
            "node": pod["node"],
            "gpus": " ".join(map(str, pod["gpus"])),
            "rank": pod["rank"],
            **{name: visible_text(pod["environment"], name) for name in VISIBLE_DEVICES},
        }
        for pod in record["pods"]
    ]
    rows += [{**job, "pod": pod["name"], "reason": _reasons(pod["reasons"])} for pod in record["unplaced"]]
    return rows or [{**job, "reason": _reasons(record["reasons"])}]


def visible_text(environment: Sequence[dict[str, str]], name: str) -> str:
    """Values of an environment variable in a pod's containers, joined by ``; ``.

    `environment` has the variables of each container; containers without the variable are left out.
    """
    return "; ".join(one[name] for one in environment if name in one)


def _reasons(reasons: Sequence[dict[str, Any]]) -> str:
    return "; ".join(reason["message"] for reason in reasons)
