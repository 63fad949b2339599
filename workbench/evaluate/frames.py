"""Tidy tables: `frame_of` of a value of the model, behind ``to_dataframe``; `pod_frame` of a session's pods."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.evaluate.records import VISIBLE_DEVICES, decision_record, visible_text
from workbench.model.bandwidth import BandwidthMatrix
from workbench.model.explanation import Explanation
from workbench.model.placement import Decision, Placement, Refusal
from workbench.model.scenario import Scenario
from workbench.model.snapshot import ClusterSnapshot
from workbench.model.topology import TOP, Topology
from workbench.policies.registry import PolicyList

if TYPE_CHECKING:
    import pandas

__all__ = ["frame_of", "pod_frame"]

#: Columns of `pod_frame`.
_COLUMNS = ("job", "outcome", "hypernode", "tier", "pod", "node", "gpus", "rank", *VISIBLE_DEVICES, "reason")


def frame_of(value: Any) -> pandas.DataFrame:
    """A value as a table.

    Returns
    -------
    pandas.DataFrame
        ====================  ====================================================================================
        value                 rows and columns
        ====================  ====================================================================================
        Placement, Refusal    a row per pod, of a refusal one row: job, outcome, hypernode, tier, pod, node, gpus (a
                              tuple of numbers), rank, variables of the containers, reason
        Explanation           a row per candidate: kind, name, tier, kept, why, score, owner, ``score_…`` (its parts)
        ClusterSnapshot       a row per node: node, ready, schedulable, ``tier_1`` … (its HyperNode of each tier), gpus,
                              gpus_free, running_pods, and per resource the allocatable and the used amount, base units
        Scenario              a row per job: job, kind, queue, priority, pods, min_available, gpus, mode, highest_tier
        Topology              a row per HyperNode: hypernode, tier, parent, nodes
        BandwidthMatrix       GB/s from the GPU of the row to the GPU of the column
        list of policies      a row per policy: name, kind, parameters, meaning, source
        ====================  ====================================================================================
    """
    return _FRAMES[type(value)](value)


def _pods(result: Placement | Refusal) -> pandas.DataFrame:
    frame = pod_frame([Decision(result.gang, result)])
    frame["gpus"] = [tuple(map(int, gpus.split())) if isinstance(gpus, str) else () for gpus in frame["gpus"]]
    return frame


def _candidates(explanation: Explanation) -> pandas.DataFrame:
    import pandas

    names = ("kind", "name", "tier", "kept", "why", "score", "owner")
    scores = [{f"score_{part}": value for part, value in one.parts.items()} for one in explanation.candidates]
    rows = [
        {name: getattr(one, name) for name in names} | score
        for one, score in zip(explanation.candidates, scores, strict=True)
    ]
    columns = [*names, *dict.fromkeys(part for score in scores for part in score)]
    return pandas.DataFrame(rows, columns=columns).astype({"tier": "Int64"})


def _nodes(snapshot: ClusterSnapshot) -> pandas.DataFrame:
    import pandas

    topology = snapshot.topology
    columns: dict[str, Any] = {
        "node": topology.node_names,
        "ready": ~snapshot.not_ready,
        "schedulable": ~snapshot.closed,
    }
    for tier in topology.tiers:
        columns[f"tier_{tier}"] = [
            None if domain < 0 else topology.domain_name(domain) for domain in topology.domain_of_node(tier).tolist()
        ]
    columns["gpus"] = np.bitwise_count(snapshot.gpu_total).sum(axis=1)
    columns["gpus_free"] = np.bitwise_count(snapshot.gpu_free).sum(axis=1)
    nodes = np.array([pod.node for pod in snapshot.running if pod.node >= 0], dtype=np.int64)
    columns["running_pods"] = np.bincount(nodes, minlength=topology.n_nodes)
    for i, resource in enumerate(snapshot.resources):
        columns[f"{resource}_allocatable"] = snapshot.allocatable[:, i]
        columns[f"{resource}_used"] = snapshot.used[:, i]
    return pandas.DataFrame(columns)


def _jobs(scenario: Scenario) -> pandas.DataFrame:
    import pandas

    names = ("kind", "queue", "priority", "n_pods", "min_available")
    rows = [
        {
            "job": gang.key,
            **{name.removeprefix("n_"): getattr(gang, name) for name in names},
            "gpus": sum(role.count * role.n_gpus for role in gang.roles),
            "mode": gang.constraint.mode if gang.constraint else None,
            "highest_tier": gang.constraint.highest_tier if gang.constraint else None,
        }
        for gang in scenario.gangs
    ]
    columns = ["job", *(name.removeprefix("n_") for name in names), "gpus", "mode", "highest_tier"]
    return pandas.DataFrame(rows, columns=columns).astype({"highest_tier": "Int64"})


def _hypernodes(topology: Topology) -> pandas.DataFrame:
    import pandas

    domains = range(topology.n_domains)
    return pandas.DataFrame(
        {
            "hypernode": topology.domain_names,
            "tier": topology.tier,
            "parent": [None if above == TOP else topology.domain_name(above) for above in topology.parent.tolist()],
            "nodes": [len(topology.nodes_of(domain)) for domain in domains],
        }
    )


def _matrix(matrix: BandwidthMatrix) -> pandas.DataFrame:
    import pandas

    return pandas.DataFrame(matrix.gb_s, index=list(matrix.labels), columns=list(matrix.labels))


def _policies(policies: PolicyList) -> pandas.DataFrame:
    import pandas

    names = ("name", "kind", "meaning", "source")
    rows = [
        {**{name: getattr(one, name) for name in names}, "parameters": tuple(each.name for each in one.parameters)}
        for one in policies
    ]
    return pandas.DataFrame(rows, columns=["name", "kind", "parameters", "meaning", "source"])


_FRAMES: Mapping[type, Callable[[Any], pandas.DataFrame]] = {
    BandwidthMatrix: _matrix,
    ClusterSnapshot: _nodes,
    Explanation: _candidates,
    Placement: _pods,
    PolicyList: _policies,
    Refusal: _pods,
    Scenario: _jobs,
    Topology: _hypernodes,
}


def pod_frame(decisions: Sequence[Decision]) -> pandas.DataFrame:
    """A table of a session, as ``place -o csv`` writes it: a row per pod of each placed job, and one per pending job.

    Returns: a table with the columns job, outcome, hypernode, tier, pod, node, gpus (GPU numbers, separated by spaces),
    rank, the environment variables of `VISIBLE_DEVICES` (one value per container that has GPUs, separated by
    semicolons), and reason (for pods without a node and for pending jobs). Values that a row does not have are missing.
    """
    import pandas

    rows = [row for decision in decisions for row in _rows_of_pods(decision)]
    frame = pandas.DataFrame([[row.get(name) for name in _COLUMNS] for row in rows], columns=list(_COLUMNS))
    return frame.astype({"tier": "Int64", "rank": "Int64"})


def _rows_of_pods(decision: Decision) -> list[dict[str, Any]]:
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
    rows += [{**job, "pod": pod["name"], "reason": _messages(pod["reasons"])} for pod in record["unplaced"]]
    return rows or [{**job, "reason": _messages(record["reasons"])}]


def _messages(reasons: Sequence[dict[str, Any]]) -> str:
    return "; ".join(reason["message"] for reason in reasons)
