"""`differences`: the jobs that several policies of a comparison place differently, and the pods that move."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.errors import named_arguments
from workbench.kernels.rows import unique_rows
from workbench.model.counted import counted
from workbench.model.deferred import DeferredModule
from workbench.model.placement import Placement

if TYPE_CHECKING:
    from workbench.evaluate import compare
    from workbench.evaluate.compare import ComparisonRow
else:
    compare = DeferredModule("workbench.evaluate.compare")

__all__ = ["JobDifference", "Move", "differences", "moves_in_brief", "pod_counts"]

#: Pods of one role by node; the empty name stands for no node.
_Counts = Counter[tuple[str, str]]


@dataclass(frozen=True)
class Move:
    """Pods of one role that another policy places on another node.

    `pods`: number of pods; pods of one role are interchangeable, so that none is named. `source`, `target`: node by the
    first policy and by the other; empty: no node.
    """

    role: str
    pods: int
    source: str
    target: str

    @property
    def text(self) -> str:
        """The move in words, such as ``2 worker: node4 → node0``."""
        return f"{self.pods} {self.role}: {self.source or 'pending'} → {self.target or 'pending'}"

    def to_dict(self) -> dict[str, Any]:
        """The move as a JSON-ready dict; ``source`` or ``target`` is None for a pod without a node."""
        return {"role": self.role, "pods": self.pods, "from": self.source or None, "to": self.target or None}


@dataclass(frozen=True)
class JobDifference:
    """A job that not all policies of a comparison place on the same nodes.

    `job`: ``namespace/name``. `outcomes` (tuple of str): the job's outcome under each policy, in a few words: ``s5, 4
    nodes``, ``pending``, ``failed``. `moves` (tuple of tuple of Move): for each policy the pods that are elsewhere than
    under the first policy; empty if there are none.
    """

    job: str
    outcomes: tuple[str, ...]
    moves: tuple[tuple[Move, ...], ...]

    def to_dict(self, policies: tuple[str, ...]) -> dict[str, Any]:
        """The difference as a JSON-ready dict; `policies` are the names of the comparison's policies."""
        return {
            "job": self.job,
            "policies": [
                {"policy": policy, "outcome": outcome, "moves": [move.to_dict() for move in moves]}
                for policy, outcome, moves in zip(policies, self.outcomes, self.moves, strict=True)
            ],
        }


@named_arguments
def differences(comparison: compare.Comparison) -> tuple[JobDifference, ...]:
    """Find the jobs whose pods are not on the same nodes under all policies, in the order of the jobs.

    Jobs that all policies put on the same nodes, role by role, are left out; which GPUs they got is not compared.

    Examples
    --------
    >>> import workbench as wb
    >>> tree = wb.generate_scenario("three-level-tree").with_gangs(wb.gang("mine", pods=2, gpus=4))
    >>> [found.job for found in wb.differences(tree.compare(["binpack", "spread"]))]
    ['default/mine']
    """
    found = []
    for gang in comparison.gangs:
        counts = [pod_counts(row, gang.key) for row in comparison.rows]
        if all(one == counts[0] for one in counts):
            continue
        moves = tuple(() if one is None or counts[0] is None else _moves(counts[0], one) for one in counts)
        outcomes = tuple(_outcome(row, gang.key) for row in comparison.rows)
        found.append(JobDifference(gang.key, outcomes, moves))
    return tuple(found)


def pod_counts(row: ComparisonRow, job: str) -> Counter[tuple[str, str]] | None:
    """Number of pods of a job by role and node; None if the policy raised an exception."""
    decision = row.decision(job)
    if decision is None:
        return None
    gang, result = decision.gang, decision.result
    if not isinstance(result, Placement):
        return Counter({(role.name, ""): role.count for role in gang.roles})
    names = result.topology.node_names
    pairs, pair_of_pod = unique_rows(np.column_stack([gang.role_of_pod, result.node]))
    counts = np.bincount(pair_of_pod)
    return Counter(
        {
            (gang.roles[role].name, names[node] if node >= 0 else ""): n
            for (role, node), n in zip(pairs.tolist(), counts.tolist(), strict=True)
        }
    )


def _moves(before: _Counts, after: _Counts) -> tuple[Move, ...]:
    """The fewest moves that turn the pod counts `before` into `after`.

    Role by role, nodes that lose pods are paired with nodes that gain some, in the order of their names.
    """
    found: Counter[tuple[str, str, str]] = Counter()
    for role in dict.fromkeys(role for role, _ in (*before, *after)):
        sources, targets = (
            sorted(node for (of, node), n in (one - other).items() if of == role for _ in range(n))
            for one, other in ((before, after), (after, before))
        )
        found.update((role, source, target) for source, target in zip(sources, targets, strict=True))
    return tuple(Move(role, n, source, target) for (role, source, target), n in found.items())


def moves_in_brief(moves: Sequence[Move]) -> tuple[Move, ...]:
    """Join the moves of a role without a source node, and those without a target: ``12 worker: 6 nodes → pending``.

    A joined move stands where the first of its parts stood; the text ``6 nodes`` takes the place of the node that
    differs between the parts.
    """
    together: dict[tuple[str, ...], list[Move]] = {}
    for move in moves:
        to, away = not move.source, not move.target
        key = (move.role, str(to)) if to or away else (move.role, move.source, move.target)
        together.setdefault(key, []).append(move)
    return tuple(parts[0] if len(parts) == 1 else _joined(parts) for parts in together.values())


def _joined(moves: Sequence[Move]) -> Move:
    """One move for several of a role that all begin, or all end, without a node."""
    first, pods, nodes = moves[0], sum(move.pods for move in moves), counted(len(moves), "node")
    return Move(first.role, pods, nodes if first.source else "", nodes if first.target else "")


def _outcome(row: ComparisonRow, job: str) -> str:
    decision = row.decision(job)
    if decision is None:
        return "failed"
    result = decision.result
    if not isinstance(result, Placement):
        return "pending"
    nodes = counted(len(np.unique(result.node[result.node >= 0])), "node")
    pods = f", {counted(len(result.unplaced), 'pod')} pending" if result.unplaced else ""
    return f"{result.hypernode}, {nodes}{pods}" if result.hypernode else f"{nodes}{pods}"
