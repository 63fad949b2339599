"""The contract of policies: their input, their answer, and the division into a node part and a GPU part.

A `Policy` answers for whole gangs. Most are made of two parts: a `NodePolicy`, which gives every pod a node, and a
GPU policy (`workbench.policies.gpu`), which then picks the GPUs on each node. Nothing is kept between calls; what must
survive a session is read from the snapshot and returned in the answer. Clocks, files and the cluster are elsewhere.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from workbench.cancel import check
from workbench.kernels.domains import NO_RECORD
from workbench.model.counted import counted
from workbench.model.explanation import NO_RECORDERS, Explanation, Recorder, Recorders
from workbench.model.extras import KoordinatorWish
from workbench.model.gang import Gang
from workbench.model.ledger import Ledger
from workbench.model.notice import Notice
from workbench.model.placement import Decision, NearestMiss, Placement, Refusal, Unplaced, Why
from workbench.model.snapshot import ClusterSnapshot
from workbench.model.switch_book import JobPods
from workbench.policies.demand import Demand, node_reasons
from workbench.policies.gpu.base import GpuPolicy, GpuQuestions
from workbench.policies.hyper_job.place import place_hyper_job
from workbench.policies.parameters import Parametrised
from workbench.policies.progress import Progress
from workbench.policies.reasons import (
    cannot_start,
    fractional_gpus,
    gang_text,
    gpus_unserved,
    not_offered,
    told_once,
    topology_not_ready,
)
from workbench.policies.retry import AT_CHANGES, RetryRule
from workbench.policies.stream import Stream
from workbench.policies.taking import take_pods

__all__ = [
    "Assignment",
    "Composed",
    "Declined",
    "NodePolicy",
    "Policy",
    "Request",
    "place_best_effort",
    "session_order",
]

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]


def session_order(gangs: Sequence[Gang]) -> list[int]:
    """Indices of gangs in the order in which one scheduling session takes them.

    Higher priority first, then queue, namespace and name in byte order.
    """
    return sorted(
        range(len(gangs)),
        key=lambda i: (
            -gangs[i].priority,
            gangs[i].queue.encode(),
            gangs[i].namespace.encode(),
            gangs[i].name.encode(),
        ),
    )


class Policy(Parametrised, ABC):
    """Base class of all policies: places gangs (groups of pods that start together) on the nodes of a cluster.

    Policies are deterministic: the same arguments give the same answer, byte for byte.

    Attributes
    ----------
    name : str
        The name that users type, aliases resolved: ``volcano-1.13+gpu-bottleneck``.
    annotates_group : bool
        Whether the scheduler writes the HyperNode of a gang on its PodGroup (volcano.sh/job-allocated-hypernode).
    publishes_switches : bool
        Whether the scheduler writes the states of the leaf switches after a session (ConfigMap tor-share-cm).
    counts_all_nodes : bool
        Whether status.nodeCount of a HyperNode counts all nodes under it; otherwise its direct members, as in Volcano.
    retry : RetryRule
        When the scheduler that the policy follows tries a refused job again.
    """

    name: str
    annotates_group: bool = False
    publishes_switches: bool = False
    counts_all_nodes: bool = False
    retry: RetryRule = AT_CHANGES

    @property
    @abstractmethod
    def parameters(self) -> Mapping[str, Any]:
        """Every parameter with its value; those of the GPU part begin with ``gpu.``."""

    @abstractmethod
    def place(self, gang: Gang, ledger: Ledger, recorder: Recorder | None = None) -> Placement | Refusal:
        """Place one gang on the free resources of a ledger.

        Parameters
        ----------
        gang : Gang
        ledger : Ledger
            State of the nodes; holds the placement afterwards, and is unchanged if the answer is a refusal.
        recorder : Recorder, optional
            Receives every candidate that was considered; it must not change the answer.
        """

    def schedule(
        self, gangs: Sequence[Gang], snapshot: ClusterSnapshot, recorders: Recorders = NO_RECORDERS
    ) -> list[Decision]:
        """Decide on all gangs of one session, in `session_order`, on one ledger.

        Parameters
        ----------
        gangs : sequence of Gang
        snapshot : ClusterSnapshot
        recorders : mapping of int to Recorder
            Recorder of a gang, by its position in `gangs`, which receives every candidate; it must not change the
            answers.

        Returns
        -------
        list of Decision
            Decisions in the order of `gangs`; `Decision.turn` gives the order in which they were made.
        """
        ledger = snapshot.ledger()
        decisions: dict[int, Decision] = {}
        for turn, i in enumerate(session_order(gangs)):
            check()
            decisions[i] = Decision(gangs[i], self.place(gangs[i], ledger, recorders.get(i)), turn=turn)
        return [decisions[i] for i in range(len(gangs))]

    def admit(self, gangs: Sequence[Gang], snapshot: ClusterSnapshot) -> list[Notice | None]:
        """Say which gangs are admitted: only for these the controllers create pods, which then wait for nodes.

        Parameters
        ----------
        gangs : sequence of Gang
            Also gangs without pods, whose PodGroup alone exists, and gangs that run or were admitted before: they
            count for the limits.
        snapshot : ClusterSnapshot

        Returns
        -------
        list of Notice or None
            In the order of the gangs: None if the gang is admitted, else the reason. A scheduler without admission
            admits every gang.
        """
        return [None] * len(gangs)

    def stream(self, snapshot: ClusterSnapshot) -> Stream:
        """Return a `Stream`, which places gangs one by one on a copy of a snapshot and can take placements back.

        Each gang is placed as `place` would place it.
        """
        return Stream(self, snapshot)

    def explain(self, gang: Gang, snapshot: ClusterSnapshot) -> Explanation:
        """Place one gang by itself on a snapshot and return the decision with every candidate that was considered.

        To explain the decision on a gang in a session with other gangs, pass a recorder for it to `schedule`.
        """
        recorder = Recorder()
        (decision,) = self.schedule([gang], snapshot, {0: recorder})
        return recorder.explanation(decision)

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        return f"{type(self).__name__}({self.name}{': ' if values else ''}{values})"


@dataclass(frozen=True, eq=False)
class Request:
    """The question to a node policy: which nodes do the pods of one gang get, given a ledger of free resources?

    Attributes
    ----------
    gang : Gang
        The gang to place.
    ledger : Ledger
        Free resources of the nodes; not to be changed.
    demand : Demand
        Requests of the gang's roles, and the nodes that accept them, as arrays over the ledger's columns and nodes.
    gpus : GpuQuestions
        Asks the GPU policy about nodes.
    recorder : Recorder, optional
        Receives every candidate that is considered; None: no explanation is wanted.
    opened : Ledger, optional
        State of the nodes when the session began, not to be changed; None: `ledger` still has that state, or the policy
        does not use it.
    """

    gang: Gang
    ledger: Ledger
    demand: Demand
    gpus: GpuQuestions
    recorder: Recorder | None
    opened: Ledger | None = None

    @property
    def snapshot(self) -> ClusterSnapshot:
        return self.ledger.snapshot

    def progress(self) -> Progress:
        """Counts of the pods that the gang still needs; a new object at each call, which the caller may change."""
        return self.start.copy()

    @cached_property
    def start(self) -> Progress:
        """Counts of the pods that the gang needs before anything is placed; one read-only object for all callers."""
        return Progress.of(self.gang, self.snapshot)


@dataclass(eq=False)
class Assignment:
    """A node policy's answer if it can place a gang: a node for each pod.

    Attributes
    ----------
    node : ndarray of shape (n_pods,), int32
        Index of each pod's node; `UNPLACED` (-1): none. A node policy leaves best-effort pods (pods that request no
        resource) at -1; `place_best_effort` then gives them nodes.
    reasons : mapping of int to tuple of Notice
        Reasons why the unplaced pods of each role have no node.
    record, has_record, records, score, warnings, rank, annotations, annotation_group, job_class
        As in `Placement`.
    running : JobPods, optional
        All pods of the job with the placed ones on their nodes, from which the ledger computes the states of its leaf
        switches; None: the job does not influence these states.
    """

    node: Ints
    reasons: Mapping[int, tuple[Notice, ...]] = field(default_factory=dict)
    record: int = NO_RECORD
    has_record: bool = False
    records: Mapping[str, str] = field(default_factory=dict)
    score: float = 0.0
    warnings: tuple[Notice, ...] = ()
    rank: Ints | None = None
    annotations: tuple[Mapping[str, str], ...] = ()
    annotation_group: Ints | None = None
    job_class: str = ""
    running: JobPods | None = None


@dataclass(eq=False)
class Declined:
    """A node policy's answer if it cannot place a gang: the reasons, as in `Refusal`.

    Attributes
    ----------
    reasons, nearest_misses, warnings
        As in `Refusal`.
    later : callable, optional
        Function that computes the reasons and nearest misses when the refusal is first read; `reasons` and
        `nearest_misses` are then empty. The function must hold no reference to a ledger or a search.
    """

    reasons: tuple[Notice, ...]
    nearest_misses: tuple[NearestMiss, ...] = ()
    warnings: tuple[Notice, ...] = ()
    later: Callable[[], Why] | None = None


class NodePolicy(Parametrised, ABC):
    """Base class of node policies, which choose a node for each pod of a gang; GPUs are then chosen by a GPU policy.

    Attributes
    ----------
    name : str
        The name that users type.
    reads_topology : bool
        Whether the policy needs the topology; if so, a gang is refused before `assign` is called when the topology is
        not ready (docs/decisions.md, decision 14).
    sub_groups : bool
        Whether the policy gives each sub-group nodes of its own choice; otherwise a gang is placed as if it had no
        sub-groups, with a warning.
    gang_groups : bool
        Whether the policy decides the gangs of a gang group together (`workbench.policies.koordinator.gang_groups`);
        otherwise each is placed by itself, with a warning.
    shares_gpus : bool
        Whether pods may ask for thousandths of a GPU; otherwise such a gang is refused before `assign` is called.
    warnings : tuple of Notice
        Warnings that are part of every answer, for example about settings that are not modelled.
    monotone : bool
        Promises that more capacity never turns a placement of identical pods into a refusal. (No policy here promises
        that for several roles or sub-groups, because one can take the nodes that another needs.)
    annotates_group : bool
        Whether the scheduler writes the HyperNode of a gang on its PodGroup (volcano.sh/job-allocated-hypernode).
    publishes_switches : bool
        Whether the scheduler writes the states of the leaf switches after a session (ConfigMap tor-share-cm).
    counts_all_nodes : bool
        Whether status.nodeCount of a HyperNode counts all nodes under it; otherwise its direct members, as in Volcano.
    retry : RetryRule
        When the scheduler that the policy follows tries a refused job again.
    """

    name: str
    reads_topology: bool = False
    annotates_group: bool = False
    publishes_switches: bool = False
    counts_all_nodes: bool = False
    retry: RetryRule = AT_CHANGES
    sub_groups: bool = False
    gang_groups: bool = False
    shares_gpus: bool = False
    monotone: bool = False
    warnings: tuple[Notice, ...] = ()

    @property
    @abstractmethod
    def parameters(self) -> Mapping[str, Any]:
        """Parameters of this node policy, by name, with their present values."""

    def request(self, gang: Gang, ledger: Ledger, gpus: GpuQuestions, recorder: Recorder | None) -> Request:
        """Make the `Request` about a gang that `assign` will answer.

        A policy overrides this if its configuration changes how the gang is read.

        Parameters
        ----------
        gang : Gang
        ledger : Ledger
            State of the nodes; not to be changed.
        gpus : GpuQuestions
            Asks the GPU policy about nodes.
        recorder : Recorder or None
            Receives every candidate that is considered.
        """
        return Request(gang, ledger, Demand(gang, ledger, gpus), gpus, recorder)

    def schedule(
        self, whole: Composed, gangs: Sequence[Gang], snapshot: ClusterSnapshot, recorders: Recorders
    ) -> list[Decision]:
        """Decide on all gangs of one session.

        The default places one gang after another in `session_order`; a policy whose scheduler has queues or turns
        overrides this.

        Parameters
        ----------
        whole : Composed
            The policy that this is the node part of.
        gangs : sequence of Gang
            The gangs of the session.
        snapshot : ClusterSnapshot
        recorders : mapping of int to Recorder
            By position in `gangs`, as in `Policy.schedule`.

        Returns
        -------
        list of Decision
            In the order of `gangs`.
        """
        return Policy.schedule(whole, gangs, snapshot, recorders)

    def admit(self, whole: Composed, gangs: Sequence[Gang], snapshot: ClusterSnapshot) -> list[Notice | None]:
        """Say which gangs are admitted; the default admits every gang.

        Parameters
        ----------
        whole : Composed
            The policy that this is the node part of.
        gangs, snapshot
            As in `Policy.admit`, with its answer.
        """
        return [None] * len(gangs)

    def stream(self, whole: Composed, snapshot: ClusterSnapshot) -> Stream:
        """Make a `Stream`, which places gangs one by one as the policy's `place` would and can take placements back.

        `whole` is the policy that this is the node part of.
        """
        return Policy.stream(whole, snapshot)

    @abstractmethod
    def assign(self, request: Request) -> Assignment | Declined:
        """Choose nodes for the gang's pods: for at least `min_available` of them, or for none (`Declined`).

        The request's ledger stays unchanged.
        """

    def best_effort_nodes(self, request: Request, role: int, pods: Longs) -> Ints:
        """Choose nodes for best-effort pods (pods that request no resource): the first nodes by name that accept them.

        Parameters
        ----------
        request : Request
            The question on a ledger that holds all pods placed before; the ledger is not changed.
        role : int
            Index of the role in the gang.
        pods : ndarray of shape (m,), int64
            Positions in the gang of pods of that role; either all of them have a topology constraint or none has.

        Returns
        -------
        ndarray of shape (k,), int32
            Nodes of the first k pods; k < m if the nodes have no room (pod slots) for all.
        """
        by_name = np.argsort(request.ledger.topology.node_rank)
        room = request.demand.capacity(role, request.demand.idle, len(pods))[by_name]
        nodes = np.repeat(by_name, np.diff(np.minimum(np.cumsum(room), len(pods)), prepend=0))
        return nodes.astype(np.int32)


class Composed(Policy):
    """A policy made of a node policy and a GPU policy.

    Parameters
    ----------
    name : str
        The name that users type, such as ``volcano-1.13+gpu-bottleneck``.
    node : NodePolicy
        Chooses the node of each pod.
    gpu : GpuPolicy
        Chooses the GPUs on each node.
    """

    def __init__(self, name: str, node: NodePolicy, gpu: GpuPolicy) -> None:
        self.name = name
        self.node = node
        self.gpu = gpu
        self.annotates_group = node.annotates_group
        self.publishes_switches = node.publishes_switches
        self.counts_all_nodes = node.counts_all_nodes
        self.retry = node.retry
        self._parameters = {**node.parameters, **{f"gpu.{name}": value for name, value in gpu.parameters.items()}}

    @property
    def parameters(self) -> Mapping[str, Any]:
        return dict(self._parameters)

    def with_parameters(self, **values: object) -> Self:
        """Make a policy like this one with other values of some parameters, those of the GPU part as ``gpu.NAME``.

        Parameters
        ----------
        **values
            Values by the names of `parameters`; the other parameters keep theirs.

        Raises
        ------
        UnknownNameError, InputError
            As `NodePolicy.with_parameters` of the node policy and of the GPU policy raise them.
        """
        if type(self) is not Composed:
            # A derived class may keep more than its two parts.
            return super().with_parameters(**values)
        of_gpu = {name.removeprefix("gpu."): value for name, value in values.items() if name.startswith("gpu.")}
        of_node = {name: value for name, value in values.items() if not name.startswith("gpu.")}
        return type(self)(self.name, self.node.with_parameters(**of_node), self.gpu.with_parameters(**of_gpu))

    def place(self, gang: Gang, ledger: Ledger, recorder: Recorder | None = None) -> Placement | Refusal:
        """Place one gang: nodes by the node policy, then GPUs by the GPU policy.

        Parameters
        ----------
        gang : Gang
        ledger : Ledger
            Holds the placement afterwards; unchanged if the answer is a refusal.
        recorder : Recorder, optional
            Receives every candidate that is considered; must not change the answer.
        """
        return self._place_with(self._gpu_questions(gang, ledger), gang, ledger, recorder)

    def _gpu_questions(self, gang: Gang, ledger: Ledger) -> GpuQuestions:
        """Make the questions that `place` asks the GPU policy about one gang."""
        return GpuQuestions(self.gpu, ledger)

    def _place_with(
        self, gpus: GpuQuestions, gang: Gang, ledger: Ledger, recorder: Recorder | None
    ) -> Placement | Refusal:
        """Place one gang as `place` does, with answers of the GPU policy that several gangs can share.

        Parameters
        ----------
        gpus : GpuQuestions
            Asks the GPU policy about nodes, and remembers the answers.
        gang : Gang
        ledger : Ledger
            Holds the placement afterwards; unchanged if the answer is a refusal.
        recorder : Recorder or None
            Receives every candidate that is considered; must not change the answer.
        """
        check()
        if gang.jobs:
            return place_hyper_job(self, gang, ledger, recorder)
        request = self.node.request(gang, ledger, gpus, recorder)
        progress = request.start
        answer: Assignment | Declined
        never = cannot_start(request.gang, progress, sub_groups=self.node.sub_groups)
        if gang.shares_gpus and not self.node.shares_gpus:
            answer = Declined((fractional_gpus(self.name, gang),))
        elif never:
            answer = Declined(never)
        elif self.node.reads_topology and not ledger.topology.ready:
            answer = Declined((topology_not_ready(ledger.topology),))
        elif request.demand.order:
            answer = self.node.assign(request)
        else:
            answer = Assignment(np.full(gang.n_pods, -1, dtype=np.int32))
        if isinstance(answer, Assignment) and request.demand.best_effort:
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

    def refusal(self, gang: Gang, request: Request, answer: Declined) -> Refusal:
        """Make the `Refusal` that a user gets when the node policy cannot place a gang.

        Resources that no node offers are the first reason; no HyperNode is then near to holding the gang.

        Parameters
        ----------
        gang : Gang
            The gang as the user gave it.
        request : Request
            The gang as the node policy sees it.
        answer : Declined
        """
        warnings = (*gang.notes, *self.node.warnings, *answer.warnings, *self._notices(gang))
        first, later = not_offered(request), answer.later
        if later is not None:
            return Refusal.deferred(gang, self.name, self.parameters, _after(first, later), warnings)
        reasons = told_once((*first, *answer.reasons))
        misses = () if first else answer.nearest_misses
        return Refusal(gang, self.name, self.parameters, reasons, misses, warnings)

    def placement(
        self,
        gang: Gang,
        snapshot: ClusterSnapshot,
        answer: Assignment,
        gpu_words: npt.NDArray[np.uint64] | None,
        warnings: tuple[Notice, ...],
        visible_words: npt.NDArray[np.uint64] | None = None,
    ) -> Placement:
        """Combine the answers of the node policy and the GPU policy into the placement that the user gets.

        Parameters
        ----------
        gang : Gang
        snapshot : ClusterSnapshot
        answer : Assignment
            Nodes of the pods.
        gpu_words : ndarray of shape (n_pods, w), uint64, or None
            Bits of each pod's GPUs; None: no pod has any.
        warnings : tuple of Notice
            Warnings of the GPU policy.
        visible_words : ndarray of shape (n_pods, w), uint64, optional
            Bits of the GPUs that each pod sees; None: those it has.
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
            warnings=(*gang.notes, *self.node.warnings, *answer.warnings, *self._notices(gang), *warnings),
        )

    def _notices(self, gang: Gang) -> tuple[Notice, ...]:
        found = []
        if not self.node.sub_groups and (gang.sub_groups or gang.sub_grouped):
            text = f"{self.node.name} knows no sub-groups: the pods are placed as one group"
            found.append(Notice("sub-groups-merged", text))
        if not self.node.gang_groups and gang.extra(KoordinatorWish).gang_groups:
            text = f"{self.node.name} knows no gang groups: the gang is placed by itself"
            found.append(Notice("gang-groups-not-read", text))
        return tuple(found)

    def schedule(
        self, gangs: Sequence[Gang], snapshot: ClusterSnapshot, recorders: Recorders = NO_RECORDERS
    ) -> list[Decision]:
        """Decide on all gangs of one scheduling session; the node policy may have queues and an order of its own.

        Parameters
        ----------
        gangs : sequence of Gang
        snapshot : ClusterSnapshot
        recorders : mapping of int to Recorder
            By position in `gangs`, as in `Policy.schedule`.

        Returns
        -------
        list of Decision
            In the order of `gangs`.
        """
        return self.node.schedule(self, gangs, snapshot, recorders)

    def admit(self, gangs: Sequence[Gang], snapshot: ClusterSnapshot) -> list[Notice | None]:
        return self.node.admit(self, gangs, snapshot)

    def stream(self, snapshot: ClusterSnapshot) -> Stream:
        return self.node.stream(self, snapshot)


def _after(first: tuple[Notice, ...], later: Callable[[], Why]) -> Callable[[], Why]:
    """Return a function that calls ``later`` and puts the reasons ``first`` before those that ``later`` returns.

    No reason repeats another, and with a reason in ``first`` no HyperNode is near.
    """

    def why() -> Why:
        reasons, misses = later()
        return told_once((*first, *reasons)), () if first else misses

    return why


def place_best_effort(
    policy: NodePolicy, request: Request, answer: Assignment, ledger: Ledger
) -> Assignment | Declined:
    """Give each best-effort pod a node that the policy chooses, after all other pods, as Volcano's backfill does.

    Parameters
    ----------
    policy : NodePolicy
    request : Request
    answer : Assignment
        Nodes of the pods that request something; changed: the nodes of the best-effort pods are entered.
    ledger : Ledger
        A copy with the pods of `answer` placed; changed.

    Returns
    -------
    Assignment or Declined
        Declined if the gang then has fewer pods with a node than its minAvailable.
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
        return Declined((gang_text(request, missing, role, ledger.idle),), warnings=answer.warnings)
    return answer


def _alike(gang: Gang, role: int) -> Iterator[Longs]:
    """Split the pods of a role into runs of consecutive pods that all have a topology constraint or all have none.

    Yields int64 arrays of positions in the gang.
    """
    first, count = int(gang.role_start[role]), gang.roles[role].count
    if count == 0:
        return
    whole = np.arange(first, first + count, dtype=np.int64)
    wishes = gang.constraint is not None
    of_pod = {pod: group.constraint is not None for group in gang.sub_groups for pod in group.pods}
    flags = np.array([of_pod.get(pod, wishes) for pod in whole.tolist()], dtype=np.bool_)
    yield from np.split(whole, np.flatnonzero(flags[1:] != flags[:-1]) + 1)
