"""`volcano-1.15`: Volcano 1.15, with sub-groups, soft jobs as hard ones at the virtual top, and packing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

import numpy as np

from workbench.errors import InternalError
from workbench.kernels.domains import TopologyScores
from workbench.kernels.two_level import TwoLevel
from workbench.model.arrays import Floats, Longs
from workbench.model.explanation import Recorder
from workbench.model.gang import Gang
from workbench.model.ledger import Ledger
from workbench.model.placement import Why
from workbench.model.release import Release
from workbench.model.snapshot import ClusterSnapshot
from workbench.model.topology import Topology
from workbench.policies.gpu.base import GpuQuestions
from workbench.policies.request import Assignment, Declined, Request
from workbench.policies.stream import Stream
from workbench.policies.volcano.filling import Filling, NodeExplainer
from workbench.policies.volcano.parts.plugins import hypernode_weight, sub_job_order
from workbench.policies.volcano.parts.scored_nodes import scored_columns
from workbench.policies.volcano.session.policy import VolcanoPolicy
from workbench.policies.volcano.session.rounds import Rounds
from workbench.policies.volcano.session.session import VolcanoScheduler
from workbench.policies.volcano.v1_15.compiled_search import assignment_by_search, compiled_search
from workbench.policies.volcano.v1_15.hypernode_scores import (
    HyperNodeParameters,
    fading_of,
    topology_scores_1_15,
    weights_of_resources,
)
from workbench.policies.volcano.v1_15.rounds import FlatRounds115, RoundExplainer, SearchRounds
from workbench.policies.volcano.v1_15.search_misses import declined_by_search
from workbench.policies.volcano.v1_15.search_query import SearchQuery, enter
from workbench.policies.volcano.v1_15.stream import Prepared, SearchStream

__all__ = ["SearchExplainers", "TellFirstPod", "Volcano115", "Volcano115Scheduler"]


#: Records how the nodes of a HyperNode score for the first pod of a sub-job, given the query, the sub-job's number, the
#: HyperNode, and the one in which the sub-job is allocated.
TellFirstPod = Callable[[SearchQuery, int, int, int], None]


class SearchExplainers(NodeExplainer, Protocol):
    """Makes the explainers of searches; handed to the policy by whoever makes it, as it takes part in no decision."""

    def search(
        self, recorder: Recorder, asked: SearchQuery, tell_first_pod: TellFirstPod, first: bool, scale: float
    ) -> RoundExplainer:
        """Make the explainer of one job's search.

        `tell_first_pod`: as `TellFirstPod`. `first`: whether the next round is the job's first, of which alone every
        HyperNode is recorded. `scale`: weight of a HyperNode's score.
        """


class Volcano115(VolcanoPolicy):
    """Volcano 1.15: jobs with a tier limit or sub-groups are placed in HyperNodes, all others on any node.

    A gang is placed in rounds: the first places its minimum, each later round one more pod. One call of `place` takes
    all rounds of a gang; in a session the rounds of different jobs alternate.

    Source: docs/reference/volcano-topology.md, sections 3.1 to 7.3, NEW. Ties: the smallest name (docs/decisions.md,
    decision 5). The HyperNode in which a gang is allocated is recovered from its running pods; the annotation of 1.13
    is not read.
    """

    name = "volcano-1.15"
    traits = replace(VolcanoPolicy.traits, sub_groups=True)
    waits_for_closer = True

    release = Release.V1_15
    _parameters: HyperNodeParameters

    def __init__(self, parameters: HyperNodeParameters, explainer: SearchExplainers | None = None) -> None:
        super().__init__(parameters, explainer)
        self._explainers = explainer
        self._packing: dict[tuple[str, ...], Floats] = {}
        given = parameters.config
        self._hypernode_weight = float(parameters.weight if given is None else hypernode_weight(given, self.release))
        self._sub_job_order = sub_job_order(self.config)

    def rounds(self, request: Request) -> Rounds:
        asked = self.enter(request)
        return SearchRounds(asked, self) if asked.searched else FlatRounds115(asked, self)

    def enter(self, request: Request) -> SearchQuery:
        """Let a gang enter: read its limits, sub-jobs and HyperNodes so far, once for everything that follows."""
        return enter(request, gradients=self.gradients)

    def assign(self, request: Request) -> Assignment | Declined:
        if request.ledger.releasing is not None:
            return super().assign(request)
        return self._assign(request, later=request.recorder is None)

    def assign_idle(self, request: Request) -> Assignment | Declined:
        return self._assign(request, later=False)

    def _assign(self, request: Request, *, later: bool) -> Assignment | Declined:
        """Choose nodes among the resources idle now; with `later`, reasons of a refusal are computed when read."""
        asked = self.enter(request)
        if asked.searched:
            return asked.unready() or self._place(asked, later=later)
        rounds = FlatRounds115(asked, self)
        rounds.take(request, None, every=True)
        return rounds.answer(request, None)

    def place_at_once(self, asked: SearchQuery) -> Assignment | Declined:
        """Place all pods of a job for which HyperNodes are searched, in as many rounds as it takes."""
        return self._place(asked, later=False)

    def _place(self, asked: SearchQuery, *, later: bool) -> Assignment | Declined:
        search, explainer = self.search(asked), self.explainer_of(asked, first=True)
        if explainer is None:
            score = search.turns()
        else:
            score = 0.0
            while search.pods_left and explainer.take_round(search):
                score += search.score
        if search.ready:
            return assignment_by_search(asked, search, score)
        again = asked.request.ledger.replay_recipe() if later else None
        if again is None:
            return declined_by_search(asked, search)
        # The code of the first reason that `declined_by_search` gives, whatever it finds.
        later_why = self._why_later(asked.request, again)
        return Declined((), warnings=asked.limits.warnings, later=later_why, code="no-domain")

    def _why_later(self, request: Request, again: Callable[[], Ledger]) -> Callable[[], Why]:
        """Make a function that repeats a failed search and returns its reasons, called when a refusal is read.

        ``again`` makes the ledger as it was for the search. The search itself is not kept, because it holds megabytes,
        and the ledger moves on.
        """
        gang, gpu_policy = request.gang, request.gpus.policy

        def why() -> Why:
            ledger = again()
            answer = self.assign_idle(self.request(gang, ledger, GpuQuestions(gpu_policy, ledger), None))
            return _reasons_of(answer, gang)

        return why

    def _best_effort_filling(self, request: Request, pods: Longs) -> Filling:
        gang, pod = request.gang, int(pods[0])
        constraint = next((group.constraint for group in gang.sub_groups if pod in group.pods), gang.constraint)
        return self.cluster_fill(request, topology=constraint is not None)

    def cluster_fill(self, request: Request, *, topology: bool) -> Filling:
        """Make the `Filling` that places pods on any node of the cluster by this policy's scores.

        ``topology`` is true for pods with a topology constraint: they prefer nodes close to the HyperNode in which
        their job is allocated so far. Other pods prefer full HyperNodes, if that score is on.
        """
        p, tree = self._parameters, request.snapshot.topology
        if topology:
            return Filling(self.context(request), scores=self._closeness_in(tree))
        return Filling(self.context(request), fading=fading_of(p, tree, scored_columns(request)))

    def _closeness_in(self, topology: Topology) -> TopologyScores:
        """Scores of nodes by their closeness to the job's HyperNode."""
        weight = self._parameters.weight
        return topology.closeness_scores.get((True, weight)) or topology_scores_1_15(topology, weight)

    def explainer_of(self, asked: SearchQuery, *, first: bool) -> RoundExplainer | None:
        """Make the explainer of a job's search; None if the request has no recorder, or the policy no explainer.

        `first`: whether the search has taken no round yet.
        """
        recorder = asked.request.recorder
        if recorder is None or self._explainers is None:
            return None
        return self._explainers.search(recorder, asked, self.tell_first_pod, first, self._hypernode_weight)

    def tell_first_pod(self, asked: SearchQuery, sub: int, domain: int, record: int) -> None:
        """Record for the explanation how the nodes of a HyperNode score for the first pod of a sub-job.

        `sub`: number of the sub-job. `domain`: the HyperNode; -1 for the virtual top. `record`: HyperNode in which the
        sub-job is allocated so far, or `NO_RECORD`.
        """
        recorder, job = asked.request.recorder, asked.subs[sub]
        if self._explainers is None or recorder is None or recorder.ties_only or not job.pods:
            return
        filling, role = self.cluster_fill(asked.request, topology=job.topology), next(iter(job.pods))
        if not job.topology:
            self._explainers.nodes(filling, role, domain)
            return
        on_leaf = asked.topology.count_on_leaves(job.running_nodes)
        self._explainers.nodes(filling, role, domain, record=record, tasks_on_leaf=on_leaf, total_tasks=job.total)

    def search(self, asked: SearchQuery) -> TwoLevel:
        """Make the two-level search of a job (HyperNodes for job and sub-jobs), before its first round."""
        p, topology, context = self._parameters, asked.topology, self.context(asked.request)
        fades = np.count_nonzero(asked.subs.topology) < len(asked.subs.names)
        seen = context.scored
        if seen.columns not in self._packing:
            self._packing[seen.columns] = weights_of_resources(p, seen.columns)
        return compiled_search(
            asked,
            context,
            seen,
            scores=self._closeness_in(topology),
            packing=self._packing[seen.columns],
            scale=self._hypernode_weight,
            order=self._sub_job_order,
            fading=fading_of(p, topology, seen.columns) if fades else None,
        )

    def repeatable(self, request: Request) -> Prepared | None:
        """Prepare the search of a gang without running pods if a stream may repeat it; return None otherwise.

        A search may be repeated if the result depends only on the resources of nodes.
        """
        if not request.snapshot.topology.ready or request.ledger.releasing is not None or self.scores_at_open:
            return None
        asked = self.enter(request)
        if not asked.searched or not all(part.independent_of_pods(request) for part in self._node_scores):
            return None
        return Prepared(self.search(asked), asked.subs, asked.limits.warnings, asked.recorded, self._refuse)

    def _refuse(self, request: Request) -> Declined:
        """Refuse a gang for which a search of the present nodes has found nothing; reasons are computed when read."""
        asked = self.enter(request)

        def why() -> Why:
            return _reasons_of(self._place(asked, later=False), request.gang)

        return Declined((), warnings=asked.limits.warnings, later=why, reads_ledger=True, code="no-domain")


def _reasons_of(answer: Assignment | Declined, gang: Gang) -> Why:
    """Reasons and nearest misses of a search that is repeated for a gang that was refused."""
    if not isinstance(answer, Declined):
        raise InternalError(f"volcano-1.15: {gang.key} was refused and fits when it is asked about once more")
    return answer.reasons, answer.nearest_misses


class Volcano115Scheduler(VolcanoScheduler):
    """`VolcanoScheduler` of Volcano 1.15, whose stream repeats searches of equal gangs."""

    def stream(self, snapshot: ClusterSnapshot) -> Stream:
        assert isinstance(self.node, Volcano115)
        return SearchStream(self, self.node.repeatable, snapshot)
