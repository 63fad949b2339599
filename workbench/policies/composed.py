"""`Composed`: a policy made of a node policy and a GPU policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from workbench.cancel import check
from workbench.model.cluster_facts import ClusterFacts
from workbench.model.explanation import Recorder
from workbench.model.extras import KoordinatorWish
from workbench.model.gang import Gang
from workbench.model.ledger import Ledger
from workbench.model.notice import Notice
from workbench.model.placement import Placement, Refusal, Unplaced, Why
from workbench.policies.contract import Policy
from workbench.policies.gpu.base import GpuPolicy, GpuQuestions
from workbench.policies.node_policy import NodePolicy, place_best_effort
from workbench.policies.reasons import fractional_gpus, gpus_unserved, not_offered, told_once, topology_not_ready
from workbench.policies.request import Assignment, Declined, Request
from workbench.policies.taking import take_pods

__all__ = ["Composed"]

PlaceJobs = Callable[["Composed", Gang, Ledger, Recorder | None], Placement | Refusal]


class Composed(Policy):
    """A policy made of a node policy and a GPU policy.

    `name`: the name that users type, such as ``volcano-1.13+gpu-bottleneck``. `node`: chooses the node of each pod.
    `gpu`: chooses the GPUs on each node. `place_jobs`: places a HyperJob, a gang with `Gang.jobs`, by this policy
    (`place_hyper_job`); None: HyperJobs are refused.
    """

    def __init__(self, name: str, node: NodePolicy, gpu: GpuPolicy, place_jobs: PlaceJobs | None = None) -> None:
        self.name = name
        self.node = node
        self.gpu = gpu
        self.traits = node.traits
        self.warnings = node.warnings
        self._place_jobs = place_jobs
        self._parameters = {**node.parameters, **{f"gpu.{name}": value for name, value in gpu.parameters.items()}}

    @property
    def parameters(self) -> Mapping[str, Any]:
        return dict(self._parameters)

    def with_parameters(self, **values: object) -> Self:
        """Make a policy like this one with other values of some parameters, those of the GPU part as ``gpu.NAME``.

        Raises UnknownNameError, InputError: as `NodePolicy.with_parameters` of the node policy and of the GPU policy
        raise them.
        """
        if type(self).__init__ is not Composed.__init__:
            # A derived class may keep more than its parts.
            return super().with_parameters(**values)
        of_gpu = {name.removeprefix("gpu."): value for name, value in values.items() if name.startswith("gpu.")}
        of_node = {name: value for name, value in values.items() if not name.startswith("gpu.")}
        return type(self)(
            self.name, self.node.with_parameters(**of_node), self.gpu.with_parameters(**of_gpu), self._place_jobs
        )

    def place(self, gang: Gang, ledger: Ledger, recorder: Recorder | None = None) -> Placement | Refusal:
        """Place one gang: nodes by the node policy, then GPUs by the GPU policy."""
        return self._place_with(self._gpu_questions(gang, ledger), gang, ledger, recorder)

    def _gpu_questions(self, gang: Gang, ledger: Ledger) -> GpuQuestions:
        """Make the questions that `place` asks the GPU policy about one gang."""
        return GpuQuestions(self.gpu, ledger)

    def _place_with(
        self,
        gpus: GpuQuestions,
        gang: Gang,
        ledger: Ledger,
        recorder: Recorder | None,
        assign: Callable[[Request], Assignment | Declined] | None = None,
    ) -> Placement | Refusal:
        """Place one gang as `place` does, with answers of the GPU policy that several gangs can share.

        `assign` chooses the nodes instead of the node policy, as a session does that has decided already; None: nobody.
        """
        check()
        if gang.jobs and assign is None:
            return self._hyper_job(gang, ledger, recorder)
        request = self.node.request(gang, ledger, gpus, recorder)
        answer: Assignment | Declined
        never = self.node.cannot_start(request)
        if gang.shares_gpus and not self.traits.shares_gpus:
            answer = Declined((fractional_gpus(self.name, gang),))
        elif never:
            answer = Declined(never)
        elif assign is None and self.traits.reads_topology and not ledger.topology.ready:
            answer = Declined((topology_not_ready(ledger.topology),))
        elif request.demand.order or not self.traits.best_effort_last:
            answer = (assign or self.node.assign)(request)
        else:
            answer = Assignment(np.full(gang.n_pods, -1, dtype=np.int32))
        if isinstance(answer, Assignment) and request.demand.best_effort and self.traits.best_effort_last:
            rest = ledger.copy()
            take_pods(gang, rest, answer.node, request.demand.taken, None)
            answer = place_best_effort(self.node, request, answer, rest)
        if isinstance(answer, Assignment):
            dealt = gpus.assign_gpus(gang, answer.node)
            if dealt.unserved >= 0:
                answer = Declined((gpus_unserved(request, self.gpu.name, dealt.unserved),), warnings=answer.warnings)
        if isinstance(answer, Declined):
            return self.refusal(gang, request, answer)
        take_pods(gang, ledger, answer.node, request.demand.taken, dealt.words)
        if answer.running is not None:
            ledger.set_job(gang.key, answer.running)
        return self.placement(gang, ledger.snapshot, answer, dealt.words, dealt.warnings, dealt.visible)

    def _hyper_job(self, gang: Gang, ledger: Ledger, recorder: Recorder | None) -> Placement | Refusal:
        if self._place_jobs is not None:
            return self._place_jobs(self, gang, ledger, recorder)
        reason = Notice("refused", f"{self.name} places no HyperJobs")
        return Refusal(gang, self.name, self.parameters, (reason,), (), (*self.notes_of(gang), *self.warnings))

    def refusal(self, gang: Gang, request: Request, answer: Declined) -> Refusal:
        """Make the `Refusal` that a user gets when the node policy cannot place a gang.

        Resources that no node offers are the first reason; no HyperNode is then near to holding the gang.

        `gang`: the gang as the user gave it. `request`: the gang as the node policy sees it.
        """
        warnings = (*self.notes_of(gang), *self.warnings, *answer.warnings, *self._notices(gang))
        first, later = not_offered(request), answer.later
        reasons = told_once((*first, *answer.reasons))
        if later is not None:
            known = reasons[0] if reasons else None
            why = _after(first, answer.reasons, later)
            code = known.code if known is not None else answer.code
            refusal = Refusal.deferred(gang, self.name, self.parameters, why, warnings, known, code)
            if answer.reads_ledger:
                refusal.settle_before_change(request.ledger)
            return refusal
        misses = () if first else answer.nearest_misses
        return Refusal(gang, self.name, self.parameters, reasons, misses, warnings)

    def placement(
        self,
        gang: Gang,
        snapshot: ClusterFacts,
        answer: Assignment,
        gpu_words: npt.NDArray[np.uint64] | None,
        warnings: tuple[Notice, ...],
        visible_words: npt.NDArray[np.uint64] | None = None,
    ) -> Placement:
        """Combine the answers of the node policy and the GPU policy into the placement that the user gets.

        `gpu_words`: ndarray of shape (n_pods, w), uint64, or None; bits of each pod's GPUs; None: no pod has any.
        `warnings`: warnings of the GPU policy. `visible_words`: ndarray of shape (n_pods, w), uint64; bits of the GPUs
        that each pod sees; None: those it has.
        """
        without = answer.node < 0
        unplaced = without.nonzero()[0].tolist() if np.count_nonzero(without) else ()
        return Placement(
            gang,
            snapshot.topology,
            self.name,
            self.parameters,
            node=answer.node,
            gpu_words=gpu_words,
            visible_words=visible_words,
            record=answer.record,
            has_record=answer.has_record,
            records=answer.records,
            unplaced=tuple([Unplaced(i, answer.reasons.get(int(gang.role_of_pod[i]), ())) for i in unplaced]),
            rank=answer.rank,
            score=answer.score,
            annotations=answer.annotations,
            annotation_group=answer.annotation_group,
            job_class=answer.job_class,
            gpu_total=snapshot.gpu_total,
            gpu_free=snapshot.gpu_free,
            warnings=(*self.notes_of(gang), *self.warnings, *answer.warnings, *self._notices(gang), *warnings),
        )

    def notes_of(self, gang: Gang) -> tuple[Notice, ...]:
        """The gang's notes, without those about fields of pods that only some policies read, if this policy does."""
        if not self.traits.reads_pods:
            return gang.notes
        return tuple(note for note in gang.notes if note.code != "pod-rules-not-read")

    def _notices(self, gang: Gang) -> tuple[Notice, ...]:
        found = []
        if not self.traits.constraints and gang.constraint is not None:
            text = "this policy reads no networkTopology: the constraint of the gang has no effect"
            found.append(Notice("not-expressed", text))
        if not self.traits.sub_groups and (gang.sub_groups or gang.sub_grouped):
            text = f"{self.node.name} knows no sub-groups: the pods are placed as one group"
            found.append(Notice("sub-groups-merged", text))
        if not self.traits.gang_groups and gang.extra(KoordinatorWish).gang_groups:
            text = f"{self.node.name} knows no gang groups: the gang is placed by itself"
            found.append(Notice("gang-groups-not-read", text))
        name, reads = self.node.name, self.traits.reads
        unread = [extra.unread(name) for kind, extra in gang.extras.items() if kind not in reads]
        told = [notice for notice in unread if notice is not None]
        return (*found, *sorted(told, key=lambda notice: notice.code)) if told else tuple(found)


def _after(first: tuple[Notice, ...], known: tuple[Notice, ...], later: Callable[[], Why]) -> Callable[[], Why]:
    """Return a function that calls `later` and puts `first` and `known` before its reasons, without repetitions."""

    def why() -> Why:
        reasons, misses = later()
        return told_once((*first, *known, *reasons)), () if first else misses

    return why
