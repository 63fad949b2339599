"""Jobs that can start once terminating pods are gone: Volcano's future idle resources and pipelined pods.

Used only while pods are terminating. A job is tried twice: on the resources that are idle now, and on those that will
be idle when these pods are gone.

::

    idle now    later        answer
    placed      -            placed, each pod on what is idle now
    placed      closer       1.15 only: it waits, because its search stops at the first tier with room now or later
    pending     placed       it waits; what it would get is kept for it until the session ends
    pending     pending      pending

Beyond the minimum, a pod that would have to wait stays unplaced; its reason is what its node lacks now. Within a
HyperNode the nodes of a waiting job are those of the second try: upstream takes nodes with idle room first, pod by pod,
which can make another choice among nodes for roles of several shapes. Not modelled: that in 1.13 pods pipelined by a
trial of a HyperNode stay pipelined for the session, and nominated nodes, which only gang preemption writes.

Source: docs/reference/volcano-topology.md, section 5.1 (steps 4 to 7, result), 5.5 and 5.6.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt

from workbench.model.arrays import Ints
from workbench.model.counted import counted, name_list
from workbench.model.explanation import Recorder
from workbench.model.gang import Gang
from workbench.model.ledger import Ledger
from workbench.model.notice import Notice
from workbench.policies.gpu.base import GpuQuestions
from workbench.policies.request import Assignment, Declined, Request
from workbench.policies.volcano.parts.task_order import task_rank

__all__ = ["Waiting", "assign_beside_endings", "waiting"]


@dataclass(frozen=True, eq=False)
class Waiting:
    """The answer to a job that must wait for resources of terminating pods, and the nodes it would get then.

    `declined`: the answer that the job gets now. `node`: ndarray of shape (n_pods,), int32; node that each pod would
    get, -1 for none. `later`: ndarray of shape (n_pods,), bool; pods that do not fit before the terminating pods are
    gone.
    """

    declined: Declined
    node: Ints
    later: npt.NDArray[np.bool_]


class PlacesOnIdle(Protocol):
    """A node policy of Volcano: places by idle resources alone, and says whether a job waits for a closer place."""

    waits_for_closer: bool

    def request(self, gang: Gang, ledger: Ledger, gpus: GpuQuestions, recorder: Recorder | None) -> Request:
        """Make the `Request` about a gang on a ledger.

        `gang`, `ledger`, `gpus`, `recorder`: as in `NodePolicy.request`.
        """

    def assign_idle(self, request: Request) -> Assignment | Declined:
        """Choose nodes by the idle resources alone."""


def assign_beside_endings(policy: PlacesOnIdle, request: Request) -> Assignment | Declined:
    """Place one job while pods are terminating; decline it if it must wait for their resources."""
    now = policy.assign_idle(_on(policy, request, request.ledger.after_terminations(gone=False)))
    found = _waiting(policy, request, now)
    return now if found is None else found.declined


def waiting(policy: PlacesOnIdle, request: Request) -> Waiting | None:
    """Find out whether a job must wait for terminating pods; None if it can start now, or if waiting does not help.

    The recorder receives the candidates only if the job waits; otherwise they are recorded when the job is placed.
    """
    told = request
    if request.recorder is not None:
        told = replace(request, recorder=Recorder(ties_only=request.recorder.ties_only))
    found = _waiting(policy, told, policy.assign_idle(_on(policy, told, request.ledger.after_terminations(gone=False))))
    if found is not None and request.recorder is not None and told.recorder is not None:
        request.recorder.add(told.recorder)
    return found


def _waiting(policy: PlacesOnIdle, request: Request, now: Assignment | Declined) -> Waiting | None:
    """Do the work of `waiting`; `now`: the answer to the job if terminating pods still hold their resources."""
    untold = replace(request, recorder=None)
    ahead = _on(policy, untold, request.ledger.after_terminations(gone=True))
    later = policy.assign_idle(ahead)
    if isinstance(later, Declined):
        return None
    topology = request.snapshot.topology
    if isinstance(now, Assignment):
        if not policy.waits_for_closer or not later.has_record or later.record == now.record:
            return None
        names = topology.place_name(later.record), topology.place_name(now.record)
        instead = f": {names[0]} is tried before {names[1]}, which has room now"
    else:
        instead = ""
    late = _late(ahead, request, later.node)
    if not late.any():
        return None
    nodes = sorted({topology.node_names[node] for node in later.node[late]}, key=str.encode)
    pods = counted(int(late.sum()), "pod waits", "pods wait")
    text = f"{pods} for resources that terminating pods still hold on {name_list(nodes)}{instead}"
    others = now.reasons if isinstance(now, Declined) else ()
    misses = now.nearest_misses if isinstance(now, Declined) else ()
    reasons = (Notice("pipelined", text, numbers={"count": int(late.sum())}), *others)
    if request.recorder is not None:
        request.recorder.note(text)
    return Waiting(Declined(reasons, misses, now.warnings), later.node, late)


def _on(policy: PlacesOnIdle, request: Request, ledger: Ledger) -> Request:
    gpus = GpuQuestions(request.gpus.policy, ledger)
    return replace(policy.request(request.gang, ledger, gpus, request.recorder), opened=request.opened)


def _late(ahead: Request, request: Request, node: Ints) -> npt.NDArray[np.bool_]:
    """Which pods do not fit on the idle resources of now, bool (n_pods,), when pods are placed in their order.

    ``ahead`` is the request after the terminating pods are gone, ``request`` the present one; ``node`` has the pods'
    nodes.
    """
    idle = request.demand.idle.copy()
    late = np.zeros(len(node), dtype=np.bool_)
    for pod in np.argsort(task_rank(ahead.gang)):
        if node[pod] < 0:
            continue
        row = ahead.demand.rows[ahead.gang.role_of_pod[pod]]
        late[pod] = bool((row > idle[node[pod]])[row > 0].any())
        if not late[pod]:
            idle[node[pod]] -= row
    return late
