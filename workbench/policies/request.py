"""The question to a node policy about one gang, and its two answers: `Request`, `Assignment` and `Declined`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from workbench.kernels.domains import NO_RECORD
from workbench.model.arrays import Ints
from workbench.model.explanation import Recorder
from workbench.model.gang import Gang
from workbench.model.ledger import Ledger
from workbench.model.notice import Notice
from workbench.model.placement import NearestMiss, Why
from workbench.model.snapshot import ClusterSnapshot
from workbench.model.switch_book import JobPods
from workbench.model.value import kept
from workbench.policies.demand import Demand
from workbench.policies.gpu.base import GpuQuestions
from workbench.policies.progress import Progress

__all__ = ["Assignment", "Declined", "Request"]


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
    snapshot : ClusterSnapshot
        The ledger's snapshot.
    """

    gang: Gang
    ledger: Ledger
    demand: Demand
    gpus: GpuQuestions
    recorder: Recorder | None
    opened: Ledger | None = None
    snapshot: ClusterSnapshot = field(init=False)

    def __post_init__(self) -> None:
        # Read often in each placement: no property, which is a call, nor a cached one, which takes a lock.
        self.__dict__["snapshot"] = self.ledger.snapshot

    def progress(self) -> Progress:
        """Counts of the pods that the gang still needs; a new object at each call, which the caller may change."""
        return self.start.copy()

    @kept
    def start(self) -> Progress:
        """Counts of the pods that the gang needs before anything is placed; one read-only object for all callers."""
        return Progress.of(self.gang, self.snapshot, apart=self.demand.apart)


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
        Function that computes further reasons, which follow `reasons`, and the nearest misses, when the refusal is
        first read; `nearest_misses` is then empty.
    reads_ledger : bool
        Whether `later` reads the request's ledger. It is then called before the ledger changes, if anybody still holds
        the refusal. Otherwise it must hold no reference to a ledger or a search.
    code : str
        Code of the first reason that `later` returns, if it is known before; empty otherwise.
    """

    reasons: tuple[Notice, ...]
    nearest_misses: tuple[NearestMiss, ...] = ()
    warnings: tuple[Notice, ...] = ()
    later: Callable[[], Why] | None = None
    reads_ledger: bool = False
    code: str = ""
