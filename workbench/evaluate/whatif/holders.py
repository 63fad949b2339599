"""`holders`: the gangs that hold what a pending job lacks, on its nearest HyperNode and in its queue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.evaluate.whatif.cluster_edits import pod_subject
from workbench.evaluate.whatif.edit import Edit
from workbench.evaluate.whatif.queue_edits import QueueAmounts, QueueWeight, Withdraw
from workbench.evaluate.whatif.trials import EditOutcome
from workbench.model.counted import counted
from workbench.model.extras import VolcanoMemory
from workbench.model.gang import Gang
from workbench.model.placement import NearestMiss, Placement, Refusal
from workbench.model.resources import amount_text, quantity_text

__all__ = ["Holder", "holders"]


@dataclass(frozen=True)
class Holder:
    """One gang that holds part of what a pending job lacks.

    Attributes
    ----------
    of : str
        Where the job lacks room or quota: ``HyperNode rack-05``, ``cluster`` or ``queue nlp``.
    job : str
        ``namespace/name`` of the gang, or of a pod that belongs to no gang.
    state : {"running", "terminating", "placed", "reserved"}
        Pods running or terminating; placed in the same session; or admitted earlier, so that minResources are reserved.
    pods : int
        Number of the gang's pods there; 0 for a reservation.
    amounts : tuple of (str, int)
        Resources of the kinds that the pending job asks for, in base units, in the order of the snapshot's columns.
    """

    of: str
    job: str
    state: str
    pods: int
    amounts: tuple[tuple[str, int], ...]

    @property
    def text(self) -> str:
        """``rack-05: research/mixtral-sft, running, 1 pod, 8 nvidia.com/gpu``."""
        pods = [counted(self.pods, "pod")] if self.pods else []
        return f"{self.of}: {', '.join([self.job, self.state, *pods, *self.amount_texts])}"

    @property
    def amount_texts(self) -> list[str]:
        """Each amount with the name of its resource: ``8 nvidia.com/gpu``."""
        return [f"{amount_text(name, amount)} {name}" for name, amount in self.amounts]

    def to_dict(self) -> dict[str, Any]:
        """The holder as a JSON-ready dict, amounts as Kubernetes quantities."""
        amounts = {name: quantity_text(name, amount) for name, amount in self.amounts}
        return {"of": self.of, "job": self.job, "state": self.state, "pods": self.pods, "amounts": amounts}


class _HeldAmounts:
    """Sums pods and amounts per gang, for the resources that a job asks for."""

    def __init__(self, gang: Gang, resources: Sequence[str]) -> None:
        asked = {name for role in gang.roles for name, amount in role.requests.items() if amount}
        self._names = [name for name in resources if name in asked]
        self._found: dict[tuple[str, str, str], tuple[int, dict[str, int]]] = {}

    def add(self, of: str, job: str, state: str, pods: int, requests: dict[str, int]) -> None:
        count, held = self._found.get((of, job, state), (0, {}))
        for name in self._names:
            held[name] = held.get(name, 0) + requests.get(name, 0)
        self._found[of, job, state] = count + pods, held

    def listed(self) -> tuple[Holder, ...]:
        """The holders: those with most of the last resource first, then by name."""
        made = [
            Holder(of, job, state, pods, tuple((name, held[name]) for name in self._names if held[name]))
            for (of, job, state), (pods, held) in self._found.items()
            if any(held.values())
        ]
        return tuple(sorted(made, key=lambda one: (one.of, [-a for _, a in reversed(one.amounts)], one.job.encode())))


def holders(
    base: EditOutcome, refusal: Refusal, nearest: NearestMiss | None, edits: Sequence[Edit]
) -> tuple[Holder, ...]:
    """The gangs that hold what a pending job lacks.

    `base`: the session without edits. `nearest`: the HyperNode that comes closest; the gangs with pods on its nodes are
    listed. `edits`: the first fix: where it changes a queue or withdraws a job, the users of the queue are listed, too.
    """
    case, gang = base.case, refusal.gang
    snapshot, topology = case.snapshot, case.snapshot.topology
    sums = _HeldAmounts(gang, snapshot.resources)
    if nearest is not None:
        known = topology.has_domain(nearest.domain)
        where = f"HyperNode {nearest.domain}" if known else "cluster"
        inside = np.zeros(snapshot.n_nodes, dtype=np.bool_)
        inside[topology.nodes_of(topology.domain(nearest.domain)) if known else slice(None)] = True
        for pod in snapshot.running:
            if pod.node >= 0 and inside[pod.node] and pod.gang not in case.own_keys:
                name = pod.gang or pod_subject(pod).removeprefix("pod ")
                sums.add(where, name, "terminating" if pod.terminating else "running", 1, dict(pod.requests))
        _add_placed(sums, where, base, inside)
    queues = {edit.queue for edit in edits if isinstance(edit, QueueAmounts | QueueWeight)}
    if queues or any(isinstance(edit, Withdraw) for edit in edits):
        where = f"queue {gang.queue}"
        for pod in snapshot.running:
            if pod.queue == gang.queue and pod.gang not in case.own_keys:
                sums.add(where, pod.gang, "running", 1, dict(pod.requests))
        everywhere = np.ones(snapshot.n_nodes, dtype=np.bool_)
        _add_placed(sums, where, base, everywhere, gang.queue)
        if any(reason.code == "not-admitted" for reason in refusal.reasons):
            _add_admitted(sums, where, base, gang)
    return sums.listed()


def _reasons(result: Placement | Refusal) -> Sequence[Any]:
    return result.reasons if isinstance(result, Refusal) else ()


def _add_admitted(sums: _HeldAmounts, of: str, base: EditOutcome, gang: Gang) -> None:
    """Add the jobs of the same queue that enqueue admitted and that got no node: their minResources are reserved."""
    for decision in base.decisions:
        other = decision.gang
        admitted = not any(reason.code == "not-admitted" for reason in _reasons(decision.result))
        if other.key != gang.key and other.queue == gang.queue and not decision.placed and admitted:
            sums.add(of, other.key, "reserved", 0, dict(other.extra(VolcanoMemory).min_resources or {}))


def _add_placed(sums: _HeldAmounts, of: str, base: EditOutcome, inside: Any, queue: str = "") -> None:
    """Add the gangs that the session placed on some nodes, before or after the job."""
    for decision in base.decisions:
        result, gang = decision.result, decision.gang
        if not isinstance(result, Placement) or (queue and gang.queue != queue):
            continue
        there = (result.node >= 0) & inside[result.node]
        for role, count in zip(
            gang.roles, np.bincount(gang.role_of_pod[there], minlength=len(gang.roles)), strict=True
        ):
            if count:
                amounts = {name: amount * int(count) for name, amount in role.requests.items()}
                sums.add(of, gang.key, "placed", int(count), amounts)
