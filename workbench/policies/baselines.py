"""Simple policies to compare others with: `gang` (first fit), `binpack`, `spread` and `random`.

All place at least `min_available` pods of a gang or none; none reads the topology.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.kernels.domains import ScoreWeights
from workbench.kernels.dry_run_values import Counts
from workbench.kernels.dry_runs import DryRuns
from workbench.model.arrays import Floats, Ints, Longs
from workbench.model.placement import UNPLACED
from workbench.model.resources import PODS
from workbench.policies.contract import SchedulerTraits
from workbench.policies.demand import Demand, node_reasons, node_text
from workbench.policies.nearest import cluster_short
from workbench.policies.node_policy import NodePolicy
from workbench.policies.parameters import gpu_weight, parameter
from workbench.policies.reasons import fit_reason, gang_text
from workbench.policies.request import Assignment, Declined, Request

__all__ = ["BinPack", "GangFirstFit", "Random", "RandomParameters", "ScoreParameters", "Spread"]


@dataclass(frozen=True)
class ScoreParameters:
    """Parameters of the baselines that score nodes (`binpack` and `spread`)."""

    gpu_weight: float = gpu_weight()


class _Rest:
    """Idle resources of the nodes while the pods of one gang are placed role by role."""

    def __init__(self, demand: Demand) -> None:
        self._demand = demand
        self._idle = demand.idle
        self._placed: list[tuple[int, Ints]] = []

    def take(self, role: int, nodes: Ints) -> None:
        """Subtract the requests of pods of a role from the idle resources; ``nodes`` has the node of each pod."""
        self._placed.append((role, nodes))

    @property
    def idle(self) -> Longs:
        """Idle resources with the pods placed so far, int64 of shape (n, r): not to be changed."""
        if self._placed and self._idle is self._demand.idle:
            self._idle = self._idle.copy()
        for role, nodes in self._placed:
            np.subtract.at(self._idle, nodes, self._demand.rows[role])
        self._placed = []
        return self._idle

    def room(self, role: int, count: int) -> Longs:
        """Number of pods of a role that fit on each node, at most ``count``: int64 of shape (n,)."""
        return self._demand.capacity(role, self.idle, count)


class _Slots(NodePolicy):
    """Base class of the baselines: goes through the roles of a gang and places all pods of a role in one call."""

    traits = SchedulerTraits(constraints=False, reads_names=False)

    def pick(self, role: int, rest: _Rest, count: int, request: Request, state: Any) -> Ints:
        """Choose nodes for the pods of one role.

        `role`: index of the role in the gang. `rest`: idle resources that the roles before left. `count`: pods to
        place. `state`: what `start` returned for this gang. Returns ndarray of shape (m,), int32: node of each pod; m <
        count if there is not enough room.
        """
        raise NotImplementedError

    def start(self, request: Request) -> Any:
        """Make the object (such as a random generator) that the calls of `pick` for the roles of one gang share."""
        return None

    def scores(self, role: int, request: Request, state: Any) -> dict[str, Floats]:
        """Parts of each node's score for the first pod of a role, by name; empty: nodes have no score."""
        return {}

    def score(self, state: Any) -> float:
        """Sum of the scores with which the gang's pods were placed; ``state`` is what `start` returned for the gang."""
        return 0.0

    def assign(self, request: Request) -> Assignment | Declined:
        gang, demand = request.gang, request.demand
        progress, missing = request.progress(), request.progress().missing
        rest = _Rest(demand)
        node = np.full(gang.n_pods, UNPLACED, dtype=np.int32)
        failed: list[int] = []
        state = self.start(request)
        if request.recorder is not None and not request.recorder.ties_only:
            _record(request, demand.order[0], self.scores(demand.order[0], request, state))
        for role in demand.order:
            count = progress.left[role]
            nodes = self.pick(role, rest, count, request, state)
            first = int(gang.role_start[role])
            node[first : first + len(nodes)] = nodes
            rest.take(role, nodes)
            progress.place(role, len(nodes))
            if len(nodes) < count:
                failed.append(role)
                progress.give_up(role)
                if not progress.go_on(failed):
                    break
        everywhere = np.arange(request.snapshot.n_nodes, dtype=np.int32)
        if not progress.ready:
            held = cluster_short(request, progress)
            return Declined(
                (held, fit_reason(request, failed[0], rest.idle), gang_text(request, missing, failed[0], rest.idle))
            )
        reasons = {role: node_reasons(demand, role, rest.idle, everywhere) for role in failed}
        return Assignment(node, reasons, score=self.score(state))


class GangFirstFit(_Slots):
    """Baseline with gang semantics only: each pod goes to the first node by name that has room."""

    name = "gang"

    def pick(self, role: int, rest: _Rest, count: int, request: Request, state: Any) -> Ints:
        """Fill the nodes one after another, in the order of their names."""
        by_name = np.argsort(request.ledger.topology.node_rank)
        filled = np.minimum(np.cumsum(rest.room(role, count)[by_name]), count)
        return np.repeat(by_name, np.diff(filled, prepend=0)).astype(np.int32)


@dataclass(frozen=True)
class RandomParameters:
    """Parameters of `random`."""

    seed: int = parameter(0, "seed of the generator; mixed with the gang's name", low=0)


class Random(_Slots):
    """Baseline that puts each pod on a free slot drawn at random, every slot for such a pod equally likely.

    The generator is made afresh for each gang from the seed and the gang's name, so that neither other gangs nor the
    order of calls change the answer.
    """

    name = "random"

    _parameters: RandomParameters

    def start(self, request: Request) -> np.random.Generator:
        return np.random.default_rng([self._parameters.seed, *request.gang.key.encode()])

    def pick(self, role: int, rest: _Rest, count: int, request: Request, state: Any) -> Ints:
        """Draw free slots for the pods of one role, without replacement.

        `state` is the random generator of the gang.
        """
        # In order of names, so that numbering the nodes differently draws the same names.
        by_name = np.argsort(request.ledger.topology.node_rank)
        slots = np.repeat(by_name, rest.room(role, count)[by_name])
        drawn: Ints = state.choice(slots, size=min(count, len(slots)), replace=False).astype(np.int32)
        return drawn


@dataclass(eq=False)
class _Filling:
    """The kernel that fills nodes with the pods of one gang by score, and the sum of the scores of the chosen nodes."""

    runs: DryRuns
    score: float = 0.0


class _Scored(_Slots):
    """Baseline that puts each pod on the node with the best score of one kind; ties: the smallest name."""

    _parameters: ScoreParameters

    def weights(self, resources: npt.NDArray[np.int64]) -> ScoreWeights:
        """Weights of this baseline's node score over the resources of a snapshot.

        ``resources`` is 1 for each resource that is scored and 0 for the pod slots.
        """
        raise NotImplementedError

    def start(self, request: Request) -> _Filling:
        snapshot = request.snapshot
        scored = np.array([name != PODS for name in snapshot.resources], dtype=np.int64)
        runs = DryRuns(
            request.demand.idle,
            request.ledger.used,
            snapshot.allocatable,
            snapshot.topology.domain_nodes,
            weights=self.weights(scored),
        )
        return _Filling(runs)

    def pick(self, role: int, rest: _Rest, count: int, request: Request, state: Any) -> Ints:
        self._ask(role, count, request, state)
        placed = state.runs.settle(-1)
        state.score += float(placed.scores.sum())
        chosen: Ints = placed.nodes
        return chosen

    def scores(self, role: int, request: Request, state: Any) -> dict[str, Floats]:
        total: Floats = state.runs.node_scores(-1, self._ask(role, 0, request, state))[1]
        gpu = self._gpu_scores(role, request)
        return {self.name: total} if gpu is None else {self.name: total - gpu, "gpu": gpu}

    def score(self, state: Any) -> float:
        found: float = state.score
        return found

    def _ask(self, role: int, count: int, request: Request, state: _Filling) -> int:
        """Tell the kernel to place `count` pods of a role next, and return the kernel's number of the role's shape."""
        demand = request.demand
        shape = state.runs.add_shape(
            demand.rows[role], feasible=demand.restriction(role), extra=self._gpu_scores(role, request)
        )
        shapes, left = np.array([shape], dtype=np.int32), np.array([count], dtype=np.int64)
        state.runs.ask(Counts(shapes=shapes, left=left, min_available=count))
        return shape

    def _gpu_scores(self, role: int, request: Request) -> Floats | None:
        """The GPU policy's weighted score of each node; None if it has no weight or the role has no GPUs."""
        weight = self._parameters.gpu_weight
        found = request.gpus.scores(request.gang.roles[role].n_gpus) if weight else None
        return None if found is None else found * weight


class BinPack(_Scored):
    """Baseline that puts each pod on the fullest node where it fits, counting every resource that the pod requests.

    Ties: the smallest name.
    """

    name = "binpack"

    def weights(self, resources: npt.NDArray[np.int64]) -> ScoreWeights:
        return ScoreWeights(binpack=1, binpack_resources=resources.astype(np.float64))


class Spread(_Scored):
    """Baseline that puts each pod on the emptiest node, counting every resource that nodes have.

    Free fractions are rounded down to whole percents (Kubernetes: least requested). Ties: the smallest name.
    """

    name = "spread"

    def weights(self, resources: npt.NDArray[np.int64]) -> ScoreWeights:
        return ScoreWeights(least_requested=1, request_resources=resources)


def _record(request: Request, role: int, scores: Mapping[str, Floats]) -> None:
    """Tell the request's recorder on which nodes the first pod of a role fits, with the nodes' scores if any."""
    recorder = request.recorder
    if recorder is None or recorder.ties_only:
        return
    demand, topology = request.demand, request.ledger.topology
    for node in np.argsort(topology.node_rank):
        why = node_text(demand, role, demand.idle, int(node))
        name = topology.node_names[int(node)]
        if why:
            recorder.node(name, False, why)
            continue
        parts = {part: float(values[node]) for part, values in scores.items()}
        total = sum(parts.values()) if parts else None
        recorder.node(name, True, f"fits a pod of {request.gang.roles[role].name}", total, **parts)
