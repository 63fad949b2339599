"""`NodePolicy`: the part of a policy that gives every pod of a gang a node, and the placing of best-effort pods."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np

from workbench.model.arrays import Ints, Longs
from workbench.model.counted import counted
from workbench.model.explanation import Recorder
from workbench.model.gang import Gang
from workbench.model.ledger import Ledger
from workbench.model.notice import Notice
from workbench.policies.contract import SchedulerTraits
from workbench.policies.demand import Demand, node_reasons
from workbench.policies.gpu.base import GpuQuestions
from workbench.policies.parameters import Parametrised
from workbench.policies.reasons import cannot_start, fit_reason, gang_incomplete, gang_text
from workbench.policies.request import Assignment, Declined, Request

__all__ = ["NodePolicy", "place_best_effort"]


class NodePolicy(Parametrised, ABC):
    """Base class of node policies, which choose a node for each pod of a gang; GPUs are then chosen by a GPU policy.

    `name`: the name that users type. `traits`: what the scheduler that the policy follows does beside placing, and what
    it cannot place. `warnings`: warnings that are part of every answer, for example about settings that are not
    modelled.
    """

    name: str
    traits: SchedulerTraits = SchedulerTraits()
    warnings: tuple[Notice, ...] = ()

    def request(self, gang: Gang, ledger: Ledger, gpus: GpuQuestions, recorder: Recorder | None) -> Request:
        """Make the `Request` about a gang that `assign` will answer.

        A policy overrides this if its configuration changes how the gang is read.

        `ledger`: state of the nodes; not to be changed. `gpus`: asks the GPU policy about nodes. `recorder`: receives
        every candidate that is considered.
        """
        demand = Demand(gang, ledger, gpus, self.traits.best_effort_last)
        return Request(gang, ledger, demand, gpus, recorder)

    def cannot_start(self, request: Request) -> tuple[Notice, ...]:
        """Notices that the gang can never start with the pods that it has; empty if it may. Nodes are not looked at."""
        return cannot_start(request.gang, request.start, sub_groups=self.traits.sub_groups, words=self.traits.words)

    @abstractmethod
    def assign(self, request: Request) -> Assignment | Declined:
        """Choose nodes for the gang's pods: for at least `min_available` of them, or for none (`Declined`).

        The request's ledger stays unchanged.
        """

    def best_effort_nodes(self, request: Request, role: int, pods: Longs) -> Ints:
        """Choose nodes for best-effort pods (pods that request no resource): the first nodes by name that accept them.

        Returns ndarray of shape (k,), int32: nodes of the first k pods; k < m if the nodes have no room (pod slots) for
        all.

        `request`: the question on a ledger that holds all pods placed before; the ledger is not changed. `role`: index
        of the role in the gang. `pods`: ndarray of shape (m,), int64; positions in the gang of pods of that role;
        either all of them have a topology constraint or none has.
        """
        by_name = np.argsort(request.ledger.topology.node_rank)
        room = request.demand.capacity(role, request.demand.idle, len(pods))[by_name]
        nodes = np.repeat(by_name, np.diff(np.minimum(np.cumsum(room), len(pods)), prepend=0))
        return nodes.astype(np.int32)


def place_best_effort(
    policy: NodePolicy, request: Request, answer: Assignment, ledger: Ledger
) -> Assignment | Declined:
    """Give each best-effort pod a node that the policy chooses, after all other pods, as Volcano's backfill does.

    `answer`: nodes of the pods that request something; changed: the nodes of the best-effort pods are entered.
    `ledger`: a copy with the pods of `answer` placed; changed. Returns Assignment or Declined: declined if the gang
    then has fewer pods with a node than its minAvailable.
    """
    demand, gang = request.demand, request.gang
    n_pods = sum(gang.roles[i].count for i in demand.best_effort)
    text = f"{counted(n_pods, 'pod asks', 'pods ask')} for nothing: placed last, topology does not restrict them"
    answer.warnings = (*answer.warnings, Notice("best-effort-last", text, numbers={"count": n_pods}))
    reasons = dict(answer.reasons)
    for role in demand.best_effort:
        found = 0
        for pods in _alike(gang, role):
            seen = policy.request(gang, ledger, GpuQuestions(request.gpus.policy, ledger), None)
            nodes = policy.best_effort_nodes(seen, role, pods)
            answer.node[pods[: len(nodes)]] = nodes
            ledger.take(nodes, demand.taken[role])
            found += len(nodes)
        if found < gang.roles[role].count:
            everywhere = np.arange(request.snapshot.n_nodes, dtype=np.int32)
            reasons[role] = node_reasons(demand, role, ledger.idle, everywhere)
    answer.reasons = reasons
    missing = gang.min_available - gang.ready - int((answer.node >= 0).sum())
    if missing > 0:
        # Volcano counts pending best-effort pods as ready; a placement here promises min_available pods with nodes.
        role = next(i for i in demand.best_effort if i in reasons)
        if policy.traits.words == "volcano":
            why: tuple[Notice, ...] = (gang_text(request, missing, role, ledger.idle),)
        else:
            needs = max(request.start.min_available - gang.ready, 1)
            why = (
                gang_incomplete(needs - missing, needs),
                fit_reason(request, role, ledger.idle, words=policy.traits.words),
            )
        return Declined(why, warnings=answer.warnings)
    return answer


def _alike(gang: Gang, role: int) -> Iterator[Longs]:
    """Yield positions (int64) of runs of a role's pods that all have a topology constraint or all have none."""
    first, count = int(gang.role_start[role]), gang.roles[role].count
    if count == 0:
        return
    whole = np.arange(first, first + count, dtype=np.int64)
    wishes = gang.constraint is not None
    of_pod = {pod: group.constraint is not None for group in gang.sub_groups for pod in group.pods}
    flags = np.array([of_pod.get(pod, wishes) for pod in whole.tolist()], dtype=np.bool_)
    yield from np.split(whole, np.flatnonzero(flags[1:] != flags[:-1]) + 1)
