"""Policies that place pods with shares of GPUs: five of the FGD study, fragmentation gradient descent, and `headroom`.

Source: the study of fragmentation gradient descent (USENIX ATC'23), docs/reference/gpu-sharing.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.kernels.gpu_sharing import GpuSharing, Weights
from workbench.model.arrays import Ints
from workbench.model.explanation import Recorder
from workbench.model.gang import Gang, Role
from workbench.model.gpu_shares import WHOLE_GPU
from workbench.model.ledger import Ledger
from workbench.model.notice import Notice
from workbench.model.placement import UNPLACED, Placement, Refusal
from workbench.model.snapshot import ClusterSnapshot
from workbench.model.typical_shapes import TypicalShapes
from workbench.policies.composed import Composed
from workbench.policies.contract import SchedulerTraits
from workbench.policies.demand import node_causes
from workbench.policies.gpu.base import GpuAssignment, GpuQuestions
from workbench.policies.gpu.lowest_index import GpuLowestIndex
from workbench.policies.gpu_sharing.state import (
    GpuModels,
    kinds_of,
    other_columns,
    shape_of,
    sharing_nodes,
    typical_arrays,
)
from workbench.policies.hyper_job.place import place_hyper_job
from workbench.policies.node_policy import NodePolicy
from workbench.policies.parameters import NoParameters, parameter
from workbench.policies.reasons import gang_incomplete
from workbench.policies.request import Assignment, Declined, Request
from workbench.policies.stream import Stream, Taken

__all__ = [
    "TYPICAL_SHARE",
    "DrawParameters",
    "FgdParameters",
    "GpuSharingPolicy",
    "HeadroomParameters",
    "TieParameters",
]


_STUDY = "FGD study (USENIX ATC'23)"

#: Share of the usual pods by whose shapes the study measures fragmentation.
TYPICAL_SHARE = 0.95


@dataclass(frozen=True)
class DrawParameters:
    """Parameters of `fgd-random`."""

    seed: int = parameter(0, "seed of the generator; mixed with the gang's name", low=0)


@dataclass(frozen=True)
class TieParameters:
    """Parameters of the policies that judge a node by its own state alone."""

    tie_seed: int = parameter(
        -1,
        "order of nodes that score alike: -1 by name, else a random order of this seed, the same for every pod",
        low=-1,
    )
    ties: str = parameter(
        "fixed",
        "the same order of nodes for every pod, or for each pod a draw among the nodes that score best",
        choices=("fixed", "fresh"),
        source=_STUDY,
    )
    draw_seed: int = parameter(0, "seed of the draws of fresh ties; mixed with the gang's name", low=0)


@dataclass(frozen=True)
class FgdParameters(TieParameters):
    """Parameters of `fgd`."""

    typical: Mapping[str, int] = parameter(
        {}, "usual pods, CPU milli:GPU milli:GPUs[:MODEL|MODEL]=count; none: those that run and the gang's own"
    )
    typical_share: float = parameter(
        TYPICAL_SHARE,
        "share of the usual pods that are looked at, the most frequent first",
        low=0.01,
        high=1,
        source=_STUDY,
    )
    model_label: str = parameter("nvidia.com/gpu.product", "label of nodes that names the model of their GPUs")

    def __post_init__(self) -> None:
        # A shape that is none is refused here, before anything is placed.
        TypicalShapes.from_table(self.typical)


@dataclass(frozen=True)
class HeadroomParameters(FgdParameters):
    """Parameters of `headroom`; the defaults were chosen on fifteen variants of one trace (docs/fgd.md)."""

    typical_share: float = parameter(0.99, "share of the usual pods that are looked at", low=0.01, high=1)
    exponent: float = parameter(-0.85, "a usual pod counts by this power of the GPUs it asks for", low=-4, high=4)
    scale: float = parameter(750.0, "growth of fragmentation, in GPU thousandths, that is large", low=1, high=1e6)
    steps: float = parameter(0.8, "steps of the score per percent; fewer let more nodes be equal", low=0.01, high=100)
    idle: float = parameter(
        15.0, "percents that eight idle GPUs take from a node's score for a pod without GPUs", low=0, high=100
    )
    reserve: float = parameter(
        0.15, "while less than this share of GPU thousandths is idle, pods wait rather than strand GPUs", low=0, high=1
    )
    limit: float = parameter(150.0, "growth of fragmentation, in GPU thousandths, that strands GPUs", low=0, high=64000)


class _SharingGpus(GpuQuestions):
    """GPUs that the node policy chose together with the nodes."""

    def __init__(self, whole: Composed, ledger: Ledger, kinds: Ints | None) -> None:
        super().__init__(whole.gpu, ledger)
        self.kinds = kinds
        self.words: npt.NDArray[np.uint64] | None = None

    def assign_gpus(self, gang: Gang, node: Ints) -> GpuAssignment:
        return GpuAssignment(self.words)


class _SharingNodes(NodePolicy):
    """Chooses a node and the GPUs for one pod after the other, by a rule of the kernel."""

    # `state` hands the ledger to the kernel; `assign` walks over the roles in `_order` and places each `_shape` of pod.
    # `_record` tells the recorder of nodes, `_reason` why one more pod fits nowhere.

    traits = SchedulerTraits(constraints=False, shares_gpus=True, words="kubernetes")

    def __init__(self, name: str, rule: str, parameters: TieParameters | DrawParameters) -> None:
        self.name = name
        self.rule = rule
        self._parameters = parameters

    def state(
        self, ledger: Ledger, usual: TypicalShapes, kinds: Ints | None = None, order: Ints | None = None
    ) -> GpuSharing:
        """The nodes of a ledger as a `GpuSharing` of this policy's rule.

        `usual`: measure fragmentation; they are also what the policy judges by, unless its parameters name usual pods.
        `kinds`: ndarray of shape (n, w + 1), int32; as `kinds_of` returns; None: to be counted. `order`: ndarray of
        shape (n,), int32; the nodes in the order in which equals win; None: by the parameter ``tie_seed``.
        """
        given = self._parameters
        fgd = given if isinstance(given, FgdParameters) else FgdParameters()
        models = GpuModels.of(ledger.snapshot, fgd.model_label)
        judging = TypicalShapes.from_table(fgd.typical) if fgd.typical else usual
        exponent, weights = None, Weights()
        if isinstance(fgd, HeadroomParameters):
            exponent = fgd.exponent
            weights = Weights(fgd.scale, fgd.steps, fgd.idle, fgd.reserve, fgd.limit)
        same = judging is usual and exponent is None and fgd.typical_share == TYPICAL_SHARE
        return GpuSharing(
            sharing_nodes(
                ledger,
                models,
                kinds_of(ledger) if kinds is None else kinds,
                self._order(ledger) if order is None else order,
            ),
            typical_arrays(judging, fgd.typical_share, models, exponent),
            self.rule,
            measured=None if same else typical_arrays(usual, TYPICAL_SHARE, models),
            weights=weights,
            fresh_ties=isinstance(given, TieParameters) and given.ties == "fresh",
        )

    def _order(self, ledger: Ledger) -> Ints:
        by_name = np.argsort(ledger.topology.node_rank).astype(np.int32)
        seed = self._parameters.tie_seed if isinstance(self._parameters, TieParameters) else -1
        return by_name if seed < 0 else np.random.default_rng(seed).permutation(by_name)

    def assign(self, request: Request) -> Assignment | Declined:
        """Place the pods role by role, each where the rule scores best."""
        gang, demand, gpus = request.gang, request.demand, request.gpus
        assert isinstance(gpus, _SharingGpus)
        given = self._parameters
        label = given.model_label if isinstance(given, FgdParameters) else ""
        state = self.state(request.ledger, _usual(request.snapshot, gang, label), gpus.kinds)
        seed = given.seed if isinstance(given, DrawParameters) else given.draw_seed
        generator = np.random.default_rng([seed, *gang.key.encode()])
        columns = other_columns(request.snapshot.resources)
        progress, missing = request.progress(), request.progress().missing
        node = np.full(gang.n_pods, UNPLACED, dtype=np.int32)
        words = np.zeros((gang.n_pods, request.ledger.gpu_free.shape[1]), dtype=np.uint64)
        reasons: dict[int, tuple[Notice, ...]] = {}
        for role in demand.order:
            count, first = progress.left[role], int(gang.role_start[role])
            number = self._shape(state, request, role)
            if role == demand.order[0]:
                self._record(state, number, request)
            others = np.repeat(demand.rows[role][None, columns], count, axis=0)
            filled = state.fill(np.full(count, number, dtype=np.int32), others, generator.random((count, 2)))
            placed = np.flatnonzero(filled.node >= 0)
            node[first : first + len(placed)] = filled.node[placed]
            words[first : first + len(placed), 0] = filled.gpus[placed]
            progress.place(role, len(placed))
            if len(placed) < count:
                reasons[role] = (self._reason(request, role, node),)
                progress.give_up(role)
                if not progress.go_on(list(reasons)):
                    break
        if not progress.ready:
            held = gang_incomplete(missing - progress.missing, missing)
            return Declined((*next(iter(reasons.values())), held))
        gpus.words = words if words.any() else None
        return Assignment(node, reasons)

    def _shape(self, state: GpuSharing, request: Request, role: int) -> int:
        shape = shape_of(request.gang.roles[role], "")
        accepts = request.demand.restriction(role)
        return state.shape(shape.cpu_milli, shape.gpu_milli, shape.gpus, accepts)

    def _record(self, state: GpuSharing, number: int, request: Request) -> None:
        recorder = request.recorder
        if recorder is None or recorder.ties_only:
            return
        topology = request.ledger.topology
        scores = state.scores(number)
        for node in np.argsort(topology.node_rank):
            name, score = topology.node_names[int(node)], float(scores[node])
            if np.isnan(score):
                recorder.node(name, False, "no room for the CPU or the GPUs of the pod")
            else:
                recorder.node(name, True, "fits the pod", score, **{self.rule: score})

    def _reason(self, request: Request, role: int, node: Ints) -> Notice:
        """Why one more pod of a role fits nowhere, in the words of the Kubernetes scheduler."""
        demand, gang = request.demand, request.gang
        idle = demand.idle.copy()
        placed = np.flatnonzero(node >= 0)
        np.subtract.at(idle, node[placed], demand.rows[gang.role_of_pod[placed]])
        n = request.snapshot.n_nodes
        everywhere = np.arange(n, dtype=np.int32)
        causes = node_causes(demand, role, idle, everywhere)
        told = sum(cause.n_nodes for cause in causes)
        texts = [f"{cause.n_nodes} {cause.text}" for cause in causes]
        if told < n:
            asked = gang.roles[role].gpu_milli
            what = f"a GPU with {asked} thousandths free" if asked else "room without stranding GPUs"
            texts.append(f"{n - told} node(s) without {what}")
        code = max(causes, key=lambda cause: cause.n_nodes).code if told * 2 > n else "insufficient"
        listed = ", ".join(sorted(texts)) or "the cluster has no nodes"
        return Notice(code, f"0/{n} nodes are available: {listed}.", numbers={"count": n, "nodes": n})


class GpuSharingPolicy(Composed):
    """Places pods one by one, with whole GPUs or a share of one, by a rule of `workbench.kernels.gpu_sharing`.

    A gang is placed if at least `min_available` pods find a node, each on what the pods before it left. The topology is
    not read.

    `parameters`: those of the rule. `rule`: one of ``workbench.kernels.gpu_sharing.RULES``. ``fgd-clustering`` reads
    which pods are on a node from the snapshot's running pods and the ledger's log. Pods that were placed before a
    `Ledger.commit` are known by their shares only; a stream knows them all.
    """

    def __init__(self, name: str, rule: str, parameters: TieParameters | DrawParameters) -> None:
        # The GPU policy is never asked: _SharingGpus answers in its place.
        super().__init__(name, _SharingNodes(name, rule, parameters), GpuLowestIndex(NoParameters()), place_hyper_job)

    @property
    def parameters(self) -> Mapping[str, Any]:
        return self.node.parameters

    def _gpu_questions(self, gang: Gang, ledger: Ledger) -> _SharingGpus:
        return _SharingGpus(self, ledger, None)

    def stream(self, snapshot: ClusterSnapshot) -> Stream:
        return _SharingStream(self, snapshot)

    def place_beside(
        self, gang: Gang, ledger: Ledger, kinds: Ints, recorder: Recorder | None = None
    ) -> Placement | Refusal:
        """Place one gang as `place` does, given which pods are on the nodes.

        `gang`, `ledger`, `recorder`: as for `place`. `kinds`: ndarray of shape (n, w + 1), int32; pods on each node by
        kind (`kinds_of`).
        """
        return self._place_with(_SharingGpus(self, ledger, kinds), gang, ledger, recorder)

    def state(self, snapshot: ClusterSnapshot, usual: TypicalShapes, order: Ints | None = None) -> GpuSharing:
        """The nodes of a snapshot as a `GpuSharing`, to be filled with many pods at once by this policy's rule.

        `usual`: measure fragmentation; the policy judges by them, too, unless its parameters name usual pods. `order`:
        ndarray of shape (n,), int32; the nodes in the order in which equals win; None: by the parameter ``tie_seed``.
        """
        assert isinstance(self.node, _SharingNodes)
        return self.node.state(snapshot.ledger(), usual, order=order)

    def other_columns(self, snapshot: ClusterSnapshot) -> list[int]:
        """Columns of the snapshot's resources that `GpuSharing.fill` takes as other resources, in their order."""
        return other_columns(snapshot.resources)


class _SharingStream(Stream):
    """A stream that keeps count of the pods of each kind on every node."""

    def __init__(self, policy: GpuSharingPolicy, snapshot: ClusterSnapshot) -> None:
        super().__init__(policy, snapshot)
        self._kinds = kinds_of(self._ledger)

    def _by_policy(self, gang: Gang) -> tuple[Placement | Refusal, list[Taken]]:
        policy = self._policy
        assert isinstance(policy, GpuSharingPolicy)
        result = policy.place_beside(gang, self.ledger, self._kinds)
        return result, self._log()

    def _hold(self, placement: Placement, taken: list[Taken]) -> None:
        self._count(placement, 1)
        super()._hold(placement, taken)

    def give_back(self, placement: Placement) -> None:
        super().give_back(placement)
        self._count(placement, -1)

    def _count(self, placement: Placement, sign: int) -> None:
        words = placement.gpu_words
        if words is None:
            return
        whole = placement.gpu_milli == WHOLE_GPU
        kind = np.where(whole, np.bitwise_count(words).sum(axis=1), 0).astype(np.int64)
        held = (placement.node >= 0) & words.any(axis=1)
        np.add.at(self._kinds, (placement.node[held], kind[held]), sign)


def _usual(snapshot: ClusterSnapshot, gang: Gang, label: str) -> TypicalShapes:
    """Shapes of the running pods and of a gang's; what GPU models running pods accept is not known."""
    running = (Role(pod.role, 1, pod.requests, gpu_milli=pod.gpu_milli) for pod in snapshot.running)
    roles = (role for role in gang.roles for _ in range(role.count))
    return TypicalShapes.of(shape_of(role, label) for role in chain(running, roles))
