"""Filling the nodes of a HyperNode for a sub-job of the newest Volcano, and explaining their scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from workbench.kernels.domains import Fill, TopologyScores
from workbench.kernels.fading import Fading
from workbench.model.topology import Topology
from workbench.policies.volcano.allocate import Pass, Workplace, passes
from workbench.policies.volcano.explaining import record_nodes
from workbench.policies.volcano.job_parts import JobProgress
from workbench.policies.volcano.splitting import SubJob

__all__ = ["Board"]

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]


class Board:
    """The nodes of a request with the scores of the newest Volcano, and fills of them.

    Parameters
    ----------
    workplace : Workplace
        Without leaves.
    scores : TopologyScores
        Scores of pods whose sub-job has a topology.
    fading : Fading, optional
        Scores of pods without a topology; None: they gain nothing.
    """

    def __init__(self, workplace: Workplace, scores: TopologyScores, fading: Fading | None) -> None:
        self.request = workplace.request
        self.topology = workplace.request.snapshot.topology
        self._workplace = workplace
        self._nodes = workplace.scored
        self._scores = scores
        self._fading = fading

    @cached_property
    def _domain_used(self) -> Longs:
        return self._nodes.pad(self.topology.domain_sums(self._workplace.used))

    def filler(self, domain: int, sub: SubJob, record: int, on_nodes: Ints) -> tuple[Fill, dict[int, int], Ints]:
        """A fill of the nodes of a HyperNode that places a sub-job's pods.

        Parameters
        ----------
        domain : int
        sub : SubJob
        record : int
            The sub-job's record so far; it scores the pods, and widens with every pod.
        on_nodes : ndarray of int32
            Nodes of its pods that are placed or running.

        Returns
        -------
        filler : Fill
        shapes : dict of int to int
            Per role of the sub-job the number of its shape.
        nodes : ndarray of int32
            Nodes by the filler's positions.
        """
        nodes = self.topology.nodes_of(domain)
        fill, shapes = self.fill(nodes, tuple(sub.pods), topology=sub.topology)
        if sub.topology:
            self._score(fill, sub, record, on_groups(self.topology, fill.groups, on_nodes), widens=True)
        return fill, shapes, nodes

    def turns(
        self, sub: SubJob, record: int, after: int, on_nodes: Ints, progress: JobProgress, *, every: bool
    ) -> Iterator[tuple[Fill, Pass]]:
        """Take the next turn, or all further turns, of a job that may use every node.

        Parameters
        ----------
        sub : SubJob
            The only sub-job of the job.
        record : int
            Record with which the first turn begins; the record widens with every pod, but only until the turn is over.
        after : int
            Record with which every later turn begins.
        on_nodes : ndarray of int32
        progress : JobProgress
        every : bool

        Yields
        ------
        fill : Fill
            As the pass left it.
        done : Pass
        """
        fill, shapes, nodes = self.filler(-1, sub, record, on_nodes)
        if sub.topology:
            if not progress.ready:
                done = Pass.run(fill, shapes, nodes, progress, stop_when_ready=True)
                yield fill, done
                progress, record = done.progress, after
                if not (every and progress.ready and done.placed and sum(progress.left)):
                    return
            # From here on a turn is one pod: what its node makes of the record nobody sees.
            self._score(fill, sub, record, fill.tasks_in_group, widens=False)
        for done in passes(fill, shapes, nodes, progress, every=every):
            yield fill, done

    def _score(self, fill: Fill, sub: SubJob, record: int, on_groups: Longs, *, widens: bool) -> None:
        """Score the next pods of a sub-job with a topology by a record."""
        fill.set_topology(
            self._scores,
            record=record,
            tasks_in_group=on_groups,
            total_tasks=sub.total,
            update_record=widens,
            leaves=self.topology.leaves_of_node,
        )

    def fill(self, nodes: Ints, roles: Sequence[int], *, topology: bool) -> tuple[Fill, dict[int, int]]:
        """Make a fill of some nodes for pods of some roles, without a record, and the number of each role's shape.

        Parameters
        ----------
        nodes : ndarray of shape (c,), int32
        roles : sequence of int
            Indices of the roles in the gang.
        topology : bool
            Whether the pods have a topology; pods without one are drawn to full HyperNodes.
        """
        demand, seen = self.request.demand, self._nodes
        fading = None if topology else self._fading
        leaf = self.topology.leaf_of_node if topology else None
        fill = Fill(
            nodes,
            seen.idle,
            seen.used,
            seen.allocatable,
            self.topology.node_rank,
            leaf=leaf if fading is None else fading.rings.of_node,
            weights=self._workplace.weights,
        )
        if fading is not None:
            allocatable = seen.pad(self.request.snapshot.domain_allocatable)
            fill.set_fading(fading, self._domain_used, allocatable, *self.topology.node_domains)
        shapes = {
            role: fill.add_shape(seen.rows[role], feasible=demand.restriction(role), extra=self._workplace.extra(role))
            for role in roles
        }
        return fill, shapes

    def record_nodes(self, domain: int, sub: SubJob, record: int) -> None:
        """Record how the nodes of a HyperNode score for the first pod of a sub-job.

        Parameters
        ----------
        domain : int
            The HyperNode; -1 for the virtual top.
        sub : SubJob
        record : int
            Record of the sub-job.
        """
        if self.request.recorder is not None:
            leaf = self.topology.leaf_of_node if sub.topology else None
            workplace = replace(self._workplace, leaf=leaf)
            fill, shapes, _ = self.filler(domain, sub, record, sub.running_nodes)
            without_tasks, _, _ = self.filler(domain, sub, record, sub.running_nodes[:0])
            record_nodes(workplace, fill, shapes, without_tasks if sub.topology else None)


def on_groups(topology: Topology, groups: Ints, on_nodes: Ints) -> Longs:
    """Number of pods on the leaf of each group of a fill.

    Parameters
    ----------
    topology : Topology
    groups : ndarray of shape (g,), int32
        Leaf of each group; -1, no leaf, holds no pods.
    on_nodes : ndarray of shape (p,), int32
        Node of each pod.

    Returns
    -------
    ndarray of shape (g,), int64
    """
    if len(on_nodes) == 0:
        return np.zeros(len(groups), dtype=np.int64)
    return np.append(topology.count_on_leaves(on_nodes), 0)[groups]
