"""Places pods on any node of the cluster with the scores of Volcano 1.15, and scores nodes for explanations."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from workbench.kernels.domains import TopologyScores
from workbench.kernels.fading import Fading
from workbench.policies.volcano.explain.nodes import record_nodes
from workbench.policies.volcano.fill_context import FillContext
from workbench.policies.volcano.filling import Filling, FillPass
from workbench.policies.volcano.job_parts import JobProgress
from workbench.policies.volcano.v1_15.splitting import SubJob

__all__ = ["ClusterFill"]

Ints = npt.NDArray[np.int32]


class ClusterFill:
    """Places a job's pods on all nodes of the cluster, for jobs that no HyperNode restricts and for explanations.

    Parameters
    ----------
    context : FillContext
    scores : TopologyScores
        Scores for pods whose sub-job has a topology constraint.
    fading : Fading, optional
        Score by which other pods prefer full HyperNodes; None: it is off.
    """

    def __init__(self, context: FillContext, scores: TopologyScores, fading: Fading | None) -> None:
        self._context = context
        self._topology = context.request.snapshot.topology
        self._scores = scores
        self._fading = fading

    def filling(self, *, topology: bool) -> Filling:
        """Make the `Filling` that places pods on any node of the cluster.

        ``topology`` is true for pods with a topology constraint: they prefer nodes close to the HyperNode in
        which their job is allocated so far. Other pods prefer full HyperNodes, if that score is on.
        """
        if topology:
            return Filling(self._context, scores=self._scores)
        return Filling(self._context, fading=self._fading)

    def passes(
        self, sub: SubJob, record: int, after: int, on_nodes: Ints, progress: JobProgress, *, every: bool
    ) -> Iterator[FillPass]:
        """Place pods of a job that may use every node: its minimum in the first turn, one pod more in each later turn.

        Parameters
        ----------
        sub : SubJob
            The job's only sub-job.
        record : int
            HyperNode in which the sub-job is allocated at the beginning of the first turn (its record); every placed
            pod widens it until the turn is over.
        after : int
            The record at the beginning of every later turn.
        on_nodes : ndarray of int32
            Nodes of the sub-job's pods that are placed or running.
        progress : JobProgress
            Counts before the turn.
        every : bool
            Take all following turns; False: only the next one.

        Yields
        ------
        FillPass
        """
        filling = self.filling(topology=sub.topology)
        if not sub.topology:
            filling.ask(progress, every=every)
            yield filling.settle(-1, progress)
            return
        on_leaf = self._topology.count_on_leaves(on_nodes)
        if not progress.ready:
            filling.ask(progress, record=record, update_record=True, tasks_on_leaf=on_leaf, total_tasks=sub.total)
            done = filling.settle(-1, progress)
            yield done
            progress, record = done.progress, after
            if not (every and progress.ready and done.n_placed and sum(progress.left)):
                return
            on_leaf = on_leaf + self._topology.count_on_leaves(done.nodes)
        # From here on a turn is one pod: what its node makes of the record nobody sees.
        filling.ask(progress, record=record, tasks_on_leaf=on_leaf, total_tasks=sub.total, every=every)
        yield filling.settle(-1, progress)

    def record_nodes(self, domain: int, sub: SubJob, record: int) -> None:
        """Record for the explanation how the nodes of a HyperNode score for the first pod of a sub-job.

        Parameters
        ----------
        domain : int
            The HyperNode; -1 for the virtual top.
        sub : SubJob
        record : int
            HyperNode in which the sub-job is allocated so far, or `NO_RECORD`.
        """
        recorder = self._context.request.recorder
        if recorder is None or recorder.equals_only or not sub.pods:
            return
        filling, role = self.filling(topology=sub.topology), next(iter(sub.pods))
        if not sub.topology:
            record_nodes(filling, role, domain)
            return
        on_leaf = self._topology.count_on_leaves(sub.running_nodes)
        record_nodes(filling, role, domain, record=record, tasks_on_leaf=on_leaf, total_tasks=sub.total)
