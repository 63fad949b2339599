"""Rounds of one job, in which Volcano places its pods, first the minimum, then one pod more in each.

A session lets the rounds of several jobs alternate; `place` takes all rounds of one job at once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Protocol

import numpy as np
import numpy.typing as npt

from workbench.model.arrays import Ints, Longs, distinct
from workbench.model.notice import Notice
from workbench.policies.demand import node_reasons
from workbench.policies.nearest import cluster_short, nearest_misses
from workbench.policies.progress import Progress
from workbench.policies.reasons import fit_reason, gang_text, gang_untried
from workbench.policies.request import Assignment, Declined, Request
from workbench.policies.volcano.filling import Filling, FillPass, NodeExplainer
from workbench.policies.volcano.parts.job_parts import JobProgress
from workbench.policies.volcano.parts.scored_nodes import FillContext
from workbench.policies.volcano.parts.texts import pods_text
from workbench.policies.volcano.session.queues import QueueHeadroom

__all__ = [
    "FlatRounds",
    "NodeFiller",
    "Rounds",
    "causes_by_role",
    "declined_flat",
    "idle_after",
    "tell_whole_cluster",
    "within_queue",
]


class NodeFiller(Protocol):
    """What the rounds of a job ask of their policy.

    `explainer`: records scores of nodes; None: explanations lack them.
    """

    explainer: NodeExplainer | None

    def context(self, request: Request) -> FillContext:
        """Make the `FillContext` of a request: node amounts and the policy's score weights."""


class Rounds(ABC):
    """The rounds of one job in a session: the first places the job's minimum, each later round one more pod.

    Attributes
    ----------
    node : ndarray of shape (n_pods,), int32
        Node of each pod placed so far; -1: the pod has none.
    progress : JobProgress
        Counts of the job's pods, including those placed so far.
    declined : Declined, optional
        Set by a round that leaves the gang incomplete: the job gets nothing in this session.
    over : bool
        Whether no further pod of the job can be placed.
    blocks_queue : bool
        Whether the job's queue gets no further round in this session.
    """

    def __init__(self, request: Request) -> None:
        self.node: Ints = np.full(request.gang.n_pods, -1, dtype=np.int32)
        self.progress = JobProgress.start(request.gang, request.snapshot)
        self.declined: Declined | None = None
        self.over = not sum(self.progress.left)
        self.blocks_queue = False
        self.score = 0.0

    @abstractmethod
    def take(self, request: Request, room: QueueHeadroom | None, *, every: bool) -> None:
        """Place pods of the job: its next round (the minimum first, then one pod more), or every remaining round.

        `request`: the request on a ledger that holds the pods of earlier rounds. `room`: headroom of the job's queue;
        None: no limit. `every`: whether to take all rounds, because no other job waits for one.
        """

    @abstractmethod
    def answer(self, request: Request, idle: Longs | None) -> Assignment | Declined:
        """Make the answer to the job after its last round: the nodes of its pods, or why it is declined.

        `idle`: ndarray of shape (n, r), int64; idle resources with the job's pods placed; None: computed from the
        request, whose ledger lacks them.
        """

    def cap(self, request: Request, room: QueueHeadroom | None) -> None:
        """Skip the pods for which the job's queue has no headroom, in the order in which pods are tried.

        Volcano checks the queue for each pod when its turn comes; here every pod is assumed to find a node, so that
        later roles may get less than in Volcano if pods of an earlier role find none.
        """
        if room is None:
            return
        taken = within_queue(self.progress, room)
        for role, given in enumerate(taken.given):
            self.progress.left[role] = given - self.progress.given[role]

    def enter(self, done: FillPass) -> None:
        """Add the pods that one fill of nodes placed to the pods of the job."""
        done.enter(self.node)
        self.progress = done.progress
        self.score += float(done.scores.sum())
        self.over = not done.n_placed or not sum(self.progress.left)

    def forget(self, positions: npt.NDArray[np.intp]) -> None:
        """Remove pods that the last round placed (positions in the gang), and end the rounds of the job."""
        self.node[positions] = -1
        self.over = True


def within_queue(start: JobProgress, room: QueueHeadroom) -> JobProgress:
    """Counts of a job's pods after those are placed that fit the queue's headroom, as if each found a node.

    `start`: counts before the pods are placed. `room`: the queue's headroom; not changed.
    """
    room, taken = room.copy(), start.copy()
    for role, count in taken.runs():
        fits = room.pods(role, count)
        room.take(role, fits)
        taken.place(role, fits)
        if fits < count:
            taken.left[role] = 0
    return taken


def idle_after(request: Request, node: Ints, idle: Longs | None) -> Longs:
    """Idle resources of the nodes after a job's pods are placed.

    `request`: the request on a ledger without the job's pods. `node`: ndarray of shape (n_pods,), int32; node of each
    pod, -1 for none. `idle`: ndarray of shape (n, r), int64; the result, if it is already known; None: computed.
    Returns ndarray of shape (n, r), int64.
    """
    if idle is not None:
        return idle
    placed = np.flatnonzero(node >= 0)
    left = request.demand.idle.copy()
    np.subtract.at(left, node[placed], request.demand.rows[request.gang.role_of_pod[placed]])
    return left


def causes_by_role(request: Request, node: Ints, idle: Longs | None) -> dict[int, tuple[Notice, ...]]:
    """Reasons, by role, why no node takes one more pod, for each role with a pod that has no node.

    `request`, `node`: as in `idle_after`.

    `idle`: ndarray of shape (n, r), int64; idle resources with the pods placed; None: computed here.
    """
    if np.count_nonzero(node < 0) == 0:
        return {}
    demand, role_of = request.demand, request.gang.role_of_pod
    without = set(distinct(role_of[node < 0]).tolist())
    short = [role for role in demand.order if role in without]
    if not short:
        return {}
    left = idle_after(request, node, idle)
    everywhere = np.arange(request.snapshot.n_nodes, dtype=np.int32)
    return {role: node_reasons(demand, role, left, everywhere) for role in short}


def declined_flat(request: Request, done: FillPass, start: Progress, warnings: tuple[Notice, ...] = ()) -> Declined:
    """Make the refusal of a job that may use any node: why nodes do not fit, and the nearest miss of each tier.

    `request`: the request before the pods of ``done`` were placed. `done`: result of placing the job's pods on all
    nodes (a fill). `start`: counts of the job's pods before the fill. `warnings`: warnings to add to the refusal.
    """
    if done.failed is None:
        # No node is to blame where the queue took too few pods.
        return Declined((gang_untried(request, start.missing),), nearest_misses(request), warnings)
    idle = done.idle_after(request)
    reasons = (
        cluster_short(request, done.progress),
        fit_reason(request, done.failed, idle),
        gang_text(request, start.missing, done.failed, idle),
    )
    return Declined(reasons, nearest_misses(request), warnings)


def tell_whole_cluster(request: Request, done: FillPass, start: Progress) -> None:
    """Record for the explanation how many pods found a node when a job was first tried on all nodes.

    `done`, `start`: as in `declined_flat`.

    `request`: request whose recorder, if any, receives the result.
    """
    if request.recorder is None or request.recorder.ties_only:
        return
    topology = request.snapshot.topology
    tried, pending = sum(start.left), sum(request.start.left)
    pods = f"the {pods_text(tried)} that its queue takes, of {pending}," if tried < pending else pods_text(tried)
    outcome = "" if done.progress.ready else ": too few for the job to start"
    request.recorder.note(f"turn 1, on all nodes: {done.n_placed} of {pods} find a node{outcome}")
    if topology.n_domains and not done.progress.ready:
        misses = [miss for miss in nearest_misses(request) if miss.tier != topology.top_tier]
        parts = [f"{miss.place} holds {miss.holds} of {miss.needs}" for miss in misses]
        request.recorder.note(f"closest of each tier: {', '.join(parts)}")


class FlatRounds(Rounds):
    """Rounds of placing pods of a job that may use any node; a topology only influences scores."""

    def __init__(self, request: Request, policy: NodeFiller) -> None:
        super().__init__(request)
        self._policy = policy
        # Later rounds ask the same nodes for one pod more.
        self._told = False

    def filling(self, context: FillContext) -> Filling:
        """Make the `Filling` of all nodes that places the job's next pods."""
        return Filling(context)

    def tell(self, filling: Filling, explainer: NodeExplainer) -> None:
        """Record for the explanation how each node scores for the job's first pod, or why the pod does not fit there.

        `filling` places the job's pods on all nodes, and has placed none yet.
        """
        explainer.nodes(filling, filling.context.request.demand.order[0])

    def passes(self, filling: Filling, *, every: bool) -> Iterator[FillPass]:
        """Place the pods of the next round: the job's minimum first, then one more pod in each round.

        With `every`, place all remaining pods, in as few fills of the nodes as possible. Yields the result of each
        fill.
        """
        filling.ask(self.progress, every=every)
        yield filling.settle(-1, self.progress)

    def take(self, request: Request, room: QueueHeadroom | None, *, every: bool) -> None:
        """Place pods on any node: the job's next round (the minimum first, then one pod more), or all that remain."""
        self.cap(request, room)
        filling = self.filling(self._policy.context(request))
        if request.recorder is not None and not self._told:
            self._told = True
            if self._policy.explainer is not None:
                self.tell(filling, self._policy.explainer)
        first = request.recorder is not None and not (self.node >= 0).any()
        for done in self.passes(filling, every=every):
            if first:
                tell_whole_cluster(request, done, self.progress)
            if not done.progress.ready:
                self.declined = self.why_not(request, done)
                self.over = True
                return
            self.enter(done)
            first = False

    def why_not(self, request: Request, done: FillPass) -> Declined:
        """Make the refusal of a gang of which too few pods found a node in the first fill."""
        return declined_flat(request, done, self.progress)

    def answer(self, request: Request, idle: Longs | None) -> Assignment | Declined:
        if self.declined is not None:
            return self.declined
        return Assignment(self.node, causes_by_role(request, self.node, idle), score=self.score)
