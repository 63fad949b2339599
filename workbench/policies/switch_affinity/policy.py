"""The policies `switch-affinity` (2.0), `switch-affinity-1.0` and `switch-affinity-single-layer`.

Joins the rules of this room to the contract: reads the job and the switches, asks the rule, turns its shares into
nodes, ranks and annotations.
"""

from __future__ import annotations

import copy
from abc import abstractmethod
from dataclasses import dataclass, replace

import numpy as np

from workbench.errors import InternalError
from workbench.kernels.switches import HOLDS, VOTES_UNHEALTHY, free_under_switches
from workbench.model.arrays import Ints, Mask
from workbench.model.counted import counted
from workbench.model.extras import AscendWish
from workbench.model.notice import Notice
from workbench.model.switch_book import JobPods, SwitchBook
from workbench.model.switches import IDLE, MOST_NODES_PER_SWITCH, SHARED, SwitchTable
from workbench.policies.baselines import GangFirstFit
from workbench.policies.contract import SchedulerTraits
from workbench.policies.node_policy import NodePolicy
from workbench.policies.parameters import NoParameters, parameter
from workbench.policies.request import Assignment, Declined, Request
from workbench.policies.retry import VOLCANO
from workbench.policies.switch_affinity.explaining import framework_warnings, lacking_nodes, nearest_misses, tell
from workbench.policies.switch_affinity.job import SwitchJob
from workbench.policies.switch_affinity.job_kind import DEFAULT_MAX_SHARED, LABELS, invalid_label
from workbench.policies.switch_affinity.new_job import place_new_job, place_single_layer
from workbench.policies.switch_affinity.pods_of_plan import annotations_of, marks_of, nodes_by_rank
from workbench.policies.switch_affinity.rescheduling import reschedule
from workbench.policies.switch_affinity.table import NoPlan, Plan, Switches
from workbench.policies.switch_affinity.version_1_0 import OpenSwitches, place_1_0, replace_1_0

__all__ = ["SingleLayer", "SwitchAffinity", "SwitchAffinity10", "SwitchParameters", "TableParameters"]

_PLUGIN = "ascend volcano plugin"


@dataclass(frozen=True)
class TableParameters:
    """Parameters of every switch-affinity policy."""

    default_label: str = parameter("null", "tor-affinity of jobs that carry no such label", choices=LABELS)
    nodes_per_switch: int = parameter(
        0, "nodes under one switch (M); 0: as the switch table says", low=0, high=MOST_NODES_PER_SWITCH
    )


@dataclass(frozen=True)
class SwitchParameters(TableParameters):
    """Parameters of switch affinity 2.0."""

    max_shared_switches: int = parameter(
        DEFAULT_MAX_SHARED,
        "most shared switches that one job may use",
        low=1,
        high=2,
        source=f"{_PLUGIN}, shared-tor-num",
    )


#: State, health and, of a shared switch only, address that the annotations of a pod say.
_Mark = tuple[int, bool, str]


@dataclass(frozen=True, eq=False)
class _NodesOfJob:
    """Nodes for the pending pods of a job, and the annotations of the pods.

    `node`: ndarray of shape (p,), int32; node of each pending pod. `group`: ndarray of shape (p,), int32; index in
    `marks` of each pod's mark; -1: none, because the pod is under no switch. `marks`: tuple of (state, unhealthy,
    address); state and health of the switch, and address if the switch is shared, that become annotations.
    """

    node: Ints
    group: Ints
    marks: tuple[_Mark, ...] = ()


class _Affinity(NodePolicy):
    """Base of the switch-affinity policies: recognises their jobs, and writes ranks and annotations of placed pods."""

    traits = SchedulerTraits(
        publishes_switches=True, retry=VOLCANO, reads_topology=True, constraints=False, reads_names=False
    )
    # MindCluster's scheduler is a plugin of Volcano.
    #: Whether pods are annotated with the state of their switch.
    writes_states = False

    def __init__(self, parameters: TableParameters) -> None:
        self._parameters = parameters
        self._plain = GangFirstFit(NoParameters())

    @abstractmethod
    def find(self, switches: Switches, job: SwitchJob, book: SwitchBook, request: Request) -> _NodesOfJob | NoPlan:
        """Find a node for every pending pod of the job; `NoPlan`, with the reason, if the job cannot be placed.

        `book`: states of the switches in the ledger.
        """

    def assign(self, request: Request) -> Assignment | Declined:
        book = request.ledger.switches
        job = SwitchJob.of(request, self._parameters.default_label)
        invalid = invalid_label(job.label, book is not None)
        if invalid is not None:
            return Declined((invalid,))
        if job.kind == "none" or book is None:
            return self._without_affinity(request, job)
        table = book.table
        if self._parameters.nodes_per_switch:
            table = replace(table, nodes_per_switch=self._parameters.nodes_per_switch)
        switches = _look(request, table, book)
        found = self.find(switches, job, book, request)
        warnings = framework_warnings(request.gang.extra(AscendWish).framework)
        if request.recorder is not None:
            tell(request.recorder, switches, None if isinstance(found, NoPlan) else found.node)
        if isinstance(found, NoPlan):
            reasons = (
                Notice(found.code, found.message, numbers={"count": found.missing}),
                *lacking_nodes(request, switches, book),
            )
            return Declined(reasons, nearest_misses(switches, len(job.pending), found), warnings)
        return self._assignment(request, job, found, warnings)

    def _without_affinity(self, request: Request, job: SwitchJob) -> Assignment | Declined:
        answer = self._plain.assign(request)
        text = "no tor-affinity label: placed without switch affinity, on the first nodes by name that have room"
        answer.warnings = (*answer.warnings, Notice("no-switch-affinity", text))
        if isinstance(answer, Assignment):
            nodes = answer.node[answer.node >= 0]
            answer.running = _with_former(request, JobPods(job.label, nodes, np.zeros(len(nodes), dtype=np.int8)))
            answer.job_class = job.label
        return answer

    def _assignment(
        self, request: Request, job: SwitchJob, found: _NodesOfJob, warnings: tuple[Notice, ...]
    ) -> Assignment:
        n = request.gang.n_pods
        node, rank = found.node, job.rank
        # Pods that ask for nothing have no part in the job's ranks: they are numbered after it.
        if len(job.pending) < n:
            node, rank = np.full((2, n), -1, dtype=np.int32)
            node[job.pending] = found.node
            rank[job.pending] = job.rank
            rest = (rank < 0).nonzero()[0]
            rank[rest] = len(job.pending) + len(job.running) + np.arange(len(rest))
        answer = Assignment(node, warnings=warnings, rank=rank, job_class=job.label)
        if self.writes_states:
            answer.annotations = tuple(annotations_of(*mark) for mark in found.marks)
            answer.annotation_group = found.group
            if len(job.pending) < n:
                answer.annotation_group = np.full(n, -1, dtype=np.int32)
                answer.annotation_group[job.pending] = found.group
        vote = [state + VOTES_UNHEALTHY * unhealthy + HOLDS for state, unhealthy, _ in found.marks]
        # Of a pod without a mark, whose group is -1, the last one.
        pods = JobPods(job.label, found.node, np.array([*vote, HOLDS], dtype=np.int8).take(found.group))
        answer.running = _with_former(request, pods)
        return answer


def _with_former(request: Request, pods: JobPods) -> JobPods:
    """Nodes of all pods of a job: ``pods``, which are placed now, and those that run already."""
    book = request.ledger.switches
    before = book.job(request.gang.key) if book is not None else None
    return pods if before is None else before.with_pods(pods)


def _look(request: Request, table: SwitchTable, book: SwitchBook) -> Switches:
    """Nodes where every pod of the job fits and no other such job is, and the leaf switches' states."""
    demand, ledger = request.demand, request.ledger
    if not demand.order:
        raise InternalError("switch affinity: asked about a gang without a request")
    # A node suits the pods of every role when it suits one that asks for the most of everything.
    most = demand.rows[0] if len(demand.rows) == 1 else demand.rows[list(demand.order)].max(axis=0)
    feasible = demand.feasible(demand.order[0])
    for role in demand.order[1:]:
        if demand.feasible(role) is not feasible:
            feasible = feasible & demand.feasible(role)
    # GPUs are idle when no pod counts them and when they are free by number (`Demand.idle`).
    n_gpus = max((int(most[column]) for column in request.snapshot.gpu_columns), default=0)
    free, counts = free_under_switches(
        book.holders,
        ledger.idle,
        most,
        feasible,
        ledger.gpu_free,
        n_gpus,
        table.node_switch,
        table.n_switches,
    )
    steps: list[str] | None = None if request.recorder is None else []
    return Switches(table, free, book.sums, counts, steps)


class SwitchAffinity(_Affinity):
    """Switch affinity 2.0, which keeps a state (idle, shared or exclusive) for each leaf switch."""

    name = "switch-affinity"
    writes_states = True

    def __init__(self, parameters: SwitchParameters) -> None:
        super().__init__(parameters)
        self._max_shared = parameters.max_shared_switches

    def find(self, switches: Switches, job: SwitchJob, book: SwitchBook, request: Request) -> _NodesOfJob | NoPlan:
        """Find nodes by version 2.0: pods of a job that ran before a fault return to their nodes or switches.

        A job without such pods is placed as a new one.
        """
        if switches.table.level == "single_layer":
            return _find_single_layer(switches, job)
        if job.started:
            back = _going_back(switches, job)
            damage = job.damage(switches.table, back)
            before = _as_before(switches, job, book, request.gang.key).without(job.former[back])
            again = reschedule(before, damage, self._max_shared)
            if again is not None:
                return _merge(before, job, back, again, damage.crossing)
            switches = switches.without(job.former[back])
        return _new(switches, place_new_job(switches, job.kind, len(job.pending), self._max_shared))


def _as_before(switches: Switches, job: SwitchJob, book: SwitchBook, key: str) -> Switches:
    """The switches with the states that they had before a fault: the job's lost pods vote as they did.

    A restart of a whole job leaves none of its pods, and a switch must not lose the job's state by that. `book` is not
    changed; `key` is the ``namespace/name`` of the job.
    """
    if job.votes is None:
        return switches
    others = copy.copy(book)
    running = others.job(key)
    others.set_job(key, job.votes if running is None else running.with_pods(job.votes))
    return replace(switches, sums=others.sums)


def _going_back(switches: Switches, job: SwitchJob) -> Mask:
    """Mask of the pending pods that can return to their node from before a fault, as it is healthy and free."""
    back = job.returns & (job.former >= 0)
    back[back] = switches.free_node[job.former[back]]
    if back.any():
        switches.say(counted(int(back.sum()), "pod goes back to its node", "pods go back to their nodes"))
    return back


def _new(switches: Switches, plan: Plan | NoPlan) -> _NodesOfJob | NoPlan:
    """Nodes for every pending pod of a new job by a plan (pods per switch), or the refusal if there is no plan."""
    if isinstance(plan, NoPlan):
        return plan
    return _placed(switches, plan, False)


def _placed(switches: Switches, plan: Plan, marked: bool) -> _NodesOfJob:
    """Nodes for the pods of a plan in the order of their ranks, and the annotations of the pods there."""
    vote = marks_of(plan, marked)
    node, group, head = nodes_by_rank(switches, plan, vote)
    marks = [_mark(switches, int(vote[place]), int(plan.switch[place])) for place in head.tolist()]
    return _NodesOfJob(node, group, tuple(marks))


def _mark(switches: Switches, vote: int, switch: int) -> _Mark:
    state = vote % VOTES_UNHEALTHY
    return state, vote >= VOTES_UNHEALTHY, switches.table.addresses[switch] if state == SHARED else ""


def _merge(switches: Switches, job: SwitchJob, back: Mask, plan: Plan | NoPlan, marked: bool) -> _NodesOfJob | NoPlan:
    """Nodes after a fault: former ones for the pods in the mask `back`, the plan's for the others."""
    if isinstance(plan, NoPlan):
        return plan
    number: dict[_Mark, int] = {}
    node, group = job.former.copy(), np.full(len(job.former), -1, dtype=np.int32)
    for i in back.nonzero()[0].tolist():
        switch = int(switches.table.node_switch[node[i]])
        if switch >= 0:
            vote = int(switches.state[switch]) + VOTES_UNHEALTHY * int(switches.unhealthy[switch]) if marked else IDLE
            group[i] = number.setdefault(_mark(switches, vote, switch), len(number))
    moved = _placed(switches, plan, marked)
    numbers = np.array([number.setdefault(mark, len(number)) for mark in moved.marks], dtype=np.int32)
    node[~back], group[~back] = moved.node, numbers[moved.group]
    return _NodesOfJob(node, group, tuple(number))


def _find_single_layer(switches: Switches, job: SwitchJob) -> _NodesOfJob | NoPlan:
    """Nodes for the pending pods under one switch; after a fault, under the switch that the job had."""
    if job.started:
        back = _going_back(switches, job)
        damage = replace(job.damage(switches.table, back), kind="padding", crossing=False)
        switches = switches.without(job.former[back])
        again = reschedule(switches, damage, 0)
        if again is not None:
            return _merge(switches, job, back, again, False)
    return _new(switches, place_single_layer(switches, len(job.pending)))


class SingleLayer(_Affinity):
    """Switch affinity in a network with a single layer of switches: all pods of a job go under one switch."""

    name = "switch-affinity-single-layer"

    def find(self, switches: Switches, job: SwitchJob, book: SwitchBook, request: Request) -> _NodesOfJob | NoPlan:
        """Find nodes for the job's pending pods under one switch, as in networks with a single layer of switches.

        `book` and `request` are not used.
        """
        return _find_single_layer(switches, job)


class SwitchAffinity10(_Affinity):
    """Switch affinity 1.0: without switch states, jobs fill full switches or rows of positions (logical switches)."""

    name = "switch-affinity-1.0"
    traits = replace(SwitchAffinity.traits, publishes_switches=False)

    def find(self, switches: Switches, job: SwitchJob, book: SwitchBook, request: Request) -> _NodesOfJob | NoPlan:
        """Find nodes by version 1.0, which avoids switches under which another job has only some of its pods.

        The states in `book` do not count the own pods of the job.
        """
        if switches.table.level == "single_layer":
            return _find_single_layer(switches, job)
        others = copy.copy(book)
        others.set_job(request.gang.key, None)
        who = OpenSwitches(others.crossing > 0, others.n_classified_jobs == 0)
        back = _going_back(switches, job)
        if job.started and (len(job.running) or back.any()):
            switches = switches.without(job.former[back])
            stay = np.concatenate([job.running[job.running >= 0], job.former[back]])
            moved = replace_1_0(switches, job.kind, int((~back).sum()), stay, who)
        else:
            back = np.zeros(len(job.pending), dtype=np.bool_)
            moved = place_1_0(switches, job.kind, len(job.pending), who)
        if isinstance(moved, NoPlan):
            return moved
        node = job.former.copy()
        node[~back] = moved
        return _NodesOfJob(node, np.full(len(node), -1, dtype=np.int32))
