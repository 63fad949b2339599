"""`volcano-documents`: topology scheduling by the letter of Volcano's design document and of the article on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from workbench.model.arrays import Floats, Ints
from workbench.model.explanation import Recorder
from workbench.model.gang import Gang, TopologyConstraint
from workbench.model.ledger import Ledger
from workbench.policies.departures import DOCUMENTS
from workbench.policies.gpu.base import GpuQuestions
from workbench.policies.request import Request
from workbench.policies.volcano.parts.scored_nodes import FillContext
from workbench.policies.volcano.parts.scores import topology_scores_1_13
from workbench.policies.volcano.session.rounds import Rounds
from workbench.policies.volcano.v1_13.hard_search import HardSearch
from workbench.policies.volcano.v1_13.policy import DEFAULT_HIGHEST_TIER, HardRounds, Volcano113

__all__ = ["VolcanoDocuments"]


class VolcanoDocuments(Volcano113):
    """Places jobs by the rules that the design document and the article state, where releases of Volcano leave them.

    Of the HyperNodes of the lowest tier that hold a job, the one wins that meets the job's recorded HyperNode at the
    lowest tier: ``(maxTier - tier) / (maxTier - minTier) * 100``, 0 for all without a record. HyperNodes that share the
    highest score get ``tasks inside / all tasks * 100`` more. Remaining ties: the larger sum of node scores, then the
    smallest name. A constraint without a mode is hard, a hard one without a tier allows tier 1, also for jobs that a
    cluster stores. The record is written on the PodGroup, and nodeCount counts all nodes under a HyperNode. Soft jobs
    are placed as by `volcano-1.13`, which follows the documents there.

    Source: design document "Network Topology Aware Scheduling", "Scheduler" and "API"; the article on 1.13, "Scoring".
    """

    name = DOCUMENTS
    traits = replace(Volcano113.traits, counts_all_nodes=True)

    def request(self, gang: Gang, ledger: Ledger, gpus: GpuQuestions, recorder: Recorder | None) -> Request:
        """Make the `Request` about a gang whose constraint has the documents' defaults."""
        if gang.constraint is not None:
            gang = replace(gang, constraint=_with_defaults(gang.constraint))
        return super().request(gang, ledger, gpus, recorder)

    def rounds(self, request: Request) -> Rounds:
        constraint = request.gang.constraint
        if constraint is not None and constraint.mode == "hard":
            return _DocumentRounds(request, self, self._parameters.weight)
        return super().rounds(request)


def _with_defaults(constraint: TopologyConstraint) -> TopologyConstraint:
    mode = constraint.mode or "hard"
    if mode != "hard" or constraint.highest_tier is not None or constraint.highest_tier_name:
        return replace(constraint, mode=mode)
    return replace(constraint, mode=mode, highest_tier=DEFAULT_HIGHEST_TIER)


class _DocumentRounds(HardRounds):
    """Rounds of placing pods of a job with a hard constraint, with the documents' choice of a HyperNode."""

    def search(self, context: FillContext) -> HardSearch:
        scores = topology_scores_1_13(context.request.snapshot.topology, self._weight)
        return _Search(context, scores, self._highest, self._on_leaf, self.progress.total)


class _Search(HardSearch):
    """`HardSearch` in which a HyperNode scores by its LCA with the job's record, then by the job's tasks inside."""

    def choose(self, solutions: Ints, record: int) -> int:
        tier, tasks = self._scores_of(solutions, record)
        score = tier + tasks
        return super().choose(solutions[score == score.max()], record)

    def parts(self, domain: int, solved: Ints, record: int) -> Mapping[str, float]:
        tier, tasks = self._scores_of(solved, record)
        at = int(np.flatnonzero(solved == domain)[0])
        return {"LCA tier": float(tier[at]), "tasks inside": float(tasks[at]), "node scores": float(self._sums[domain])}

    def _scores_of(self, domains: Ints, record: int) -> tuple[Floats, Floats]:
        """Scores of HyperNodes that hold the job, by tier and by tasks, float64 (n,) each."""
        topology = self.context.request.snapshot.topology
        tier = np.zeros(len(domains))
        lowest, highest = topology.tiers[0], topology.tiers[-1]
        if record >= 0 and highest > lowest:
            common = [topology.lca(int(domain), record) for domain in domains]
            met = [highest if domain < 0 else int(topology.tier[domain]) for domain in common]
            tier = (highest - np.array(met)) / (highest - lowest) * 100.0
        tasks = np.zeros(len(domains))
        best = tier == tier.max(initial=0.0)
        if record >= 0 and int(best.sum()) > 1 and self._total_tasks:
            running = self.context.request.snapshot.running_index.gangs.get(self.context.request.gang.key, ())
            nodes = np.array([pod.node for pod in running if pod.node >= 0], dtype=np.int64)
            inside = [int(np.isin(nodes, topology.nodes_of(int(domain))).sum()) for domain in domains]
            tasks = np.where(best, np.array(inside) / self._total_tasks * 100.0, 0.0)
        return tier, tasks
