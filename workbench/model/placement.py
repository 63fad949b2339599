"""Answers of a policy for one gang: a `Placement` or a `Refusal`, inside a `Decision`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, repeat
from operator import itemgetter
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, cast

import numpy as np
import numpy.typing as npt

from workbench.kernels.domains import NO_RECORD
from workbench.kernels.gpu_sets import indices_of, words_to_mask
from workbench.model.arrays import distinct
from workbench.model.counted import counted
from workbench.model.display import Displayed, Tabular
from workbench.model.gang import Gang
from workbench.model.gpu_annotation import GPU_ANNOTATION, DeviceIds, container_environment, gpu_annotation
from workbench.model.gpu_shares import WHOLE_GPU
from workbench.model.notice import Notice, texts_of
from workbench.model.switches import RANK_ANNOTATION
from workbench.model.topology import Topology, place_name
from workbench.model.value import Value

__all__ = [
    "NO_RECORD",
    "UNPLACED",
    "Decision",
    "NearestMiss",
    "PlacedPod",
    "Placement",
    "Refusal",
    "Unplaced",
    "Why",
    "best_of",
    "words_to_mask",
]


#: In arrays that give each pod of a gang a node: the pod has none.
UNPLACED = -1


@dataclass(frozen=True)
class NearestMiss:
    """The HyperNode of one tier that came closest to holding a gang: how many pods it can hold, and how many are
    needed.
    """

    tier: int
    domain: str
    holds: int
    needs: int

    @property
    def place(self) -> str:
        """The HyperNode with its tier, as sentences have it."""
        return f"{place_name(self.domain)} (tier {self.tier})"


def best_of(misses: Collection[NearestMiss]) -> NearestMiss:
    """The miss whose HyperNode has room for most of the pods; ties: the closest tier.

    There must be at least one miss.
    """
    return max(misses, key=lambda miss: (miss.holds, -miss.tier))


T = TypeVar("T")

#: Reasons, and the nearest miss of each tier.
Why = tuple[tuple[Notice, ...], tuple[NearestMiss, ...]]


@dataclass(frozen=True)
class Unplaced:
    """A pod that found no node although its gang starts (`Placement.unplaced`)."""

    position: int
    reasons: tuple[Notice, ...]


#: Pods from which on the garbage collector waits until they are made.
_MANY = 256


class _SharedFields(NamedTuple):
    """Fields that consecutive pods share if their role, GPUs and annotations are equal; ranks may differ."""

    gpus: tuple[int, ...]
    container_gpus: tuple[tuple[int, ...], ...]
    annotations: Mapping[str, str]
    gpu_milli: int


class _PlacedPod(NamedTuple):
    """Fields of `PlacedPod`, as a named tuple because thousands are made at once."""

    name: str
    node: str
    rank: int
    gpus: tuple[int, ...]
    shared: _SharedFields


class PlacedPod(_PlacedPod):
    """One pod of a placement with its node, rank and GPUs; created on demand.

    `rank`: rank of the pod in the job. `gpus`: numbers of the pod's GPUs on its node, ascending.
    """

    __slots__ = ()

    @property
    def container_gpus(self) -> tuple[tuple[int, ...], ...]:
        """Numbers of each container's GPUs on the pod's node, in the order of the containers."""
        return self.shared.container_gpus

    @property
    def gpu_milli(self) -> int:
        """Thousandths that the pod holds of each of its GPUs; 1000 for a whole GPU."""
        return self.shared.gpu_milli

    @property
    def annotations(self) -> dict[str, str]:
        """Annotations that the scheduler writes on the pod; computed when read."""
        written = dict(self.shared.annotations)
        if RANK_ANNOTATION in written:
            written[RANK_ANNOTATION] = str(self.rank)
        return written

    def _asdict(self) -> dict[str, Any]:
        names = ("name", "node", "gpus", "container_gpus", "rank", "annotations")
        return {name: getattr(self, name) for name in names}

    def __repr__(self) -> str:
        return f"PlacedPod({', '.join(f'{name}={value!r}' for name, value in self._asdict().items())})"

    def environment(self, container: int, device_ids: DeviceIds = "position") -> dict[str, str]:
        """Environment variables that tell one container of the pod its GPUs; empty if the container has none.

        `container` is the container's position in the pod, from 0; `device_ids` as in `container_environment`.
        """
        annotation = self.annotations.get(GPU_ANNOTATION)
        return {} if annotation is None else container_environment(annotation, container, device_ids)


@dataclass(frozen=True, eq=False, repr=False)
class Placement(Value, Displayed, Tabular):
    """The node, GPUs and rank of each pod of one gang, stored as arrays; pod objects are made on demand.

    Attributes
    ----------
    topology : Topology
        The topology to whose nodes and HyperNodes the indices refer.
    node : ndarray of shape (n_pods,), int32
        Node of each pod, `UNPLACED` (-1) for the pods in `unplaced`.
    gpu_words : ndarray of shape (n_pods, w), uint64, optional
        GPUs of each pod as bits in little-endian words; None if no GPU policy ran or no pod requests a GPU.
    visible_words : ndarray of shape (n_pods, w), uint64, optional
        GPUs that each pod may see, its own included; None: all GPUs of the gang on the pod's node.
    record : int
        Index of the HyperNode in which the job is allocated, `workbench.model.topology.TOP` (-1) for the virtual top;
        `NO_RECORD` (-2) if `has_record` is False.
    has_record : bool
        Whether the scheduler records a HyperNode for the job; it does not for jobs without a topology constraint.
    records : mapping of str to str
        HyperNodes that the scheduler records for its next session: that of the gang by ``namespace/name``, those of its
        sub-groups by ``namespace/name/sub-group``.
    unplaced : tuple of Unplaced
        Pods beyond min_available; in a Volcano session without the action backfill also pods without a request, which
        count for min_available and stay pending.
    rank : ndarray of shape (n_pods,), int32, optional
        Rank of each pod; None: the order of the pods.
    score : float
        Score that the policy maximised; comparable only within one policy.
    annotations : tuple of mapping of str to str
        Distinct sets of annotations that the scheduler writes on pods; `annotation_group` assigns them to pods.
    annotation_group : ndarray of shape (n_pods,), int32, optional
        Index in `annotations` of each pod's annotations, -1 for none; None: no pod has any.
    job_class : str
        Value of the label tor-affinity that the job was placed under; empty: the job's own label.
    exclusive : mapping of str to str
        HyperNode that each placed Job of a HyperJob holds alone, by ``namespace/hyperjob/job``.
    gpu_total, gpu_free : ndarray of shape (n_nodes, w), uint64, optional
        All GPUs of every node and those that no running pod held, when the session began; pictures show them. None:
        unknown.

    Examples
    --------
    >>> import workbench as wb
    >>> tree = wb.generate_scenario("three-level-tree")
    >>> placement = tree.place(wb.gang("mine", pods=2, gpus=8, tier=1))
    >>> placement.hypernode, placement.to_dataframe()["node"].tolist()
    ('s0', ['node0', 'node1'])
    """

    gang: Gang
    topology: Topology
    policy: str
    parameters: Mapping[str, Any]
    node: npt.NDArray[np.int32]
    gpu_words: npt.NDArray[np.uint64] | None = None
    record: int = NO_RECORD
    has_record: bool = False
    records: Mapping[str, str] = field(default_factory=dict)
    unplaced: tuple[Unplaced, ...] = ()
    rank: npt.NDArray[np.int32] | None = None
    score: float = 0.0
    warnings: tuple[Notice, ...] = ()
    annotations: tuple[Mapping[str, str], ...] = ()
    annotation_group: npt.NDArray[np.int32] | None = None
    job_class: str = ""
    visible_words: npt.NDArray[np.uint64] | None = None
    gpu_total: npt.NDArray[np.uint64] | None = None
    gpu_free: npt.NDArray[np.uint64] | None = None
    exclusive: Mapping[str, str] = field(default_factory=dict)

    @property
    def n_placed(self) -> int:
        return int(np.count_nonzero(self.node >= 0))

    @property
    def hypernode(self) -> str:
        """Name of the HyperNode in which the job is allocated.

        Empty if the scheduler records none for it (`has_record`).
        """
        return self.topology.domain_name(self.record) if self.has_record else ""

    @property
    def tier(self) -> int | None:
        """Tier of the HyperNode in which the job is allocated.

        None if the scheduler records none for it (`has_record`).
        """
        return self.topology.domain_tier(self.record) if self.has_record else None

    def __repr__(self) -> str:
        nodes = len(distinct(self.node[self.node >= 0]))
        inside = f" inside {self.hypernode} (tier {self.tier})" if self.has_record else ""
        return (
            f"Placement({self.gang.key} by {self.policy}: {counted(self.n_placed, 'pod')} on "
            f"{counted(nodes, 'node')}{inside})"
        )

    def gpu_mask(self, position: int) -> int:
        """GPUs of the pod at `position`, as a bit mask (bit i: GPU i of its node)."""
        return 0 if self.gpu_words is None else words_to_mask(self.gpu_words[position])

    @property
    def gpu_milli(self) -> npt.NDArray[np.int16]:
        """Thousandths that each pod holds of each of its GPUs (`gpu_words`): int16 (n_pods,), 1000 for whole GPUs."""
        return self.gang.gpu_milli_of_pod

    def annotations_of(self, position: int) -> dict[str, str]:
        """Annotations that the scheduler writes on the pod at `position`, without those about GPUs.

        The pod's rank is among them if the policy sets ranks.
        """
        group = -1 if self.annotation_group is None else int(self.annotation_group[position])
        written = dict(self.annotations[group]) if group >= 0 else {}
        if self.rank is not None:
            written[RANK_ANNOTATION] = str(int(self.rank[position]))
        return written

    def pods(self) -> Iterator[PlacedPod]:
        """Every pod that has a node, in the order of the gang's pods. `to_dataframe` makes a table of them."""
        return iter(self._made((self.node >= 0).nonzero()[0]))

    def pod(self, position: int) -> PlacedPod:
        """The placed pod at `position`; the pod must have a node."""
        return self._made(np.array([position]))[0]

    def _visible(self, masks: list[int]) -> list[int]:
        """GPUs each pod may see: those of the gang on its node, unless the policy chose `visible_words`."""
        if self.visible_words is not None:
            return _masks_of(self.visible_words)
        nodes = self.node.tolist()
        if len(set(nodes)) == len(nodes):
            return masks
        together: dict[int, int] = {}
        for node, mask in zip(nodes, masks, strict=True):
            together[node] = together.get(node, 0) | mask
        return [together[node] for node in nodes]

    def _made(self, positions: npt.NDArray[np.intp]) -> list[PlacedPod]:
        nodes = _picked(self.topology.node_names, self.node[positions].tolist())
        ranks = (self._own_ranks if self.rank is None else self.rank)[positions].tolist()
        shared = list(self._shared_fields(positions))
        rows = zip(self.gang.pod_names(positions), nodes, ranks, map(itemgetter(0), shared), shared, strict=True)
        # What `_make` does, without a call in Python for each of thousands.
        return list(map(tuple.__new__, repeat(PlacedPod), rows))

    @property
    def _own_ranks(self) -> npt.NDArray[np.int64]:
        """Rank of each pod without a policy's: its position in the gang, of a HyperJob that in its own Job."""
        ranks = np.arange(len(self.node))
        if self.gang.jobs:
            for group in self.gang.sub_groups:
                ranks[list(group.pods)] = np.arange(len(group.pods))
        return ranks

    def _shared_fields(self, positions: npt.NDArray[np.intp]) -> Iterator[_SharedFields]:
        """For each position, the fields that the pod there shares with its neighbours (`_SharedFields`), in order."""
        n = len(self.node)
        masks = [0] * n if self.gpu_words is None else _masks_of(self.gpu_words)
        groups = [-1] * n if self.annotation_group is None else self.annotation_group.tolist()
        visible, roles = self._visible(masks), self.gang.role_of_pod.tolist()
        # Of many pods on nodes of their own most look like the one before, as a rule.
        first = self._changes(positions) if visible is masks and len(positions) >= _MANY else positions
        if 2 * len(first) > len(positions):
            first = positions
        if len(first) == n:
            looks = list(zip(roles, masks, visible, groups, strict=True))
        else:
            looks = [(roles[i], masks[i], visible[i], groups[i]) for i in first.tolist()]
        known = {look: self._shared_by(*look) for look in set(looks)}
        shared = map(known.__getitem__, looks)
        if len(first) == len(positions):
            return shared
        times = np.diff(positions.searchsorted(first), append=len(positions))
        return chain.from_iterable(map(repeat, shared, times.tolist()))

    def _changes(self, positions: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
        """The first of `positions`, and each whose pod differs from the one before in role, GPUs or annotations."""
        differs = np.zeros(len(positions), dtype=np.bool_)
        differs[:1] = True
        for of_pod in (self.gang.role_of_pod, self.annotation_group):
            if of_pod is not None:
                mine = of_pod[positions]
                differs[1:] |= mine[1:] != mine[:-1]
        if self.gpu_words is not None:
            words = self.gpu_words[positions]
            differs[1:] |= (words[1:] != words[:-1]).any(axis=1)
        return positions[differs]

    def _shared_by(self, role: int, mask: int, visible: int, group: int) -> _SharedFields:
        written = dict(self.annotations[group]) if group >= 0 else {}
        if self.rank is not None:
            written[RANK_ANNOTATION] = ""
        gpus = indices_of(mask)
        dealt = _deal(gpus, self.gang.roles[role].container_gpus) if gpus else ()
        milli = self.gang.roles[role].gpu_milli
        # The proposal's record knows whole GPUs only.
        if gpus and not milli:
            written[GPU_ANNOTATION] = gpu_annotation(dealt, indices_of(visible))
        return _SharedFields(gpus, dealt, written, milli or WHOLE_GPU)


def _picked(names: Sequence[str], at: list[int]) -> Sequence[str]:
    """The names at the positions `at`, fetched with one call of `itemgetter` if there are several."""
    return itemgetter(*at)(names) if len(at) > 1 else [names[i] for i in at]


def _masks_of(words: npt.NDArray[np.uint64]) -> list[int]:
    """Each row of 64-bit words (uint64 of shape (n, w), least significant word first) as one Python int."""
    masks: list[int] = words[:, 0].tolist() if words.shape[1] == 1 else [words_to_mask(row) for row in words]
    return masks


def _deal(gpus: tuple[int, ...], container_gpus: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    if sum(container_gpus) != len(gpus):
        return (gpus,) if gpus else ()
    dealt, at = [], 0
    for count in container_gpus:
        dealt.append(gpus[at : at + count])
        at += count
    return tuple(dealt)


class _Once:
    """A function called when its answer is first needed, then dropped; threads that ask together may each call it."""

    __slots__ = ("__weakref__", "_answer", "_ask")

    def __init__(self, ask: Callable[[], Why]) -> None:
        self._ask: Callable[[], Why] | None = ask
        self._answer: Why | None = None

    def __call__(self) -> Why:
        # Read first: another thread may drop the function as soon as it has the answer.
        ask = self._ask
        answer = self._answer
        if answer is None:
            assert ask is not None
            answer = self._answer = ask()
            self._ask = None
        return answer


class _Changing(Protocol):
    """What changes, such as a ledger, and calls functions before it does."""

    def call_before_change(self, reader: Callable[[], object]) -> None: ...


class _Told(Generic[T]):
    """A field of a refusal that is an ordinary one unless the refusal is deferred: then the function answers it."""

    def __init__(self, place: int) -> None:
        self._place = place

    def __get__(self, refusal: Refusal | None, owner: type | None = None) -> T:
        if refusal is None:
            # So the dataclass finds no default.
            raise AttributeError("a field of each refusal")
        why: _Once = refusal.__dict__["_why"]
        return cast(T, why()[self._place])


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Refusal(Value, Displayed, Tabular):
    """The answer of a policy that does not place a gang, with the reasons; returned, never raised.

    It is false in a condition: ``if workbench.place(…):`` asks whether the gang was placed.

    `policy`: name of the policy that refuses. `parameters`: parameters of the policy. `reasons`: why the gang is not
    placed, the most important reason first. `nearest_misses`: one per tier that was tried, closest tier first.
    `warnings`: notices that do not decide the refusal.

    Examples
    --------
    >>> import workbench as wb
    >>> tree = wb.generate_scenario("three-level-tree")
    >>> refusal = tree.place(wb.gang("wide", pods=3, gpus=8, tier=1))
    >>> bool(refusal), refusal.nearest.place
    (False, 's0 (tier 1)')
    """

    gang: Gang
    policy: str
    parameters: Mapping[str, Any]
    warnings: tuple[Notice, ...]
    reasons: _Told[tuple[Notice, ...]] = _Told(0)
    nearest_misses: _Told[tuple[NearestMiss, ...]] = _Told(1)

    def __init__(
        self,
        gang: Gang,
        policy: str,
        parameters: Mapping[str, Any],
        reasons: tuple[Notice, ...],
        nearest_misses: tuple[NearestMiss, ...] = (),
        warnings: tuple[Notice, ...] = (),
    ) -> None:
        self.__dict__.update(
            gang=gang,
            policy=policy,
            parameters=parameters,
            reasons=reasons,
            nearest_misses=nearest_misses,
            warnings=warnings,
        )

    @classmethod
    def deferred(
        cls,
        gang: Gang,
        policy: str,
        parameters: Mapping[str, Any],
        why: Callable[[], Why],
        warnings: tuple[Notice, ...],
        first: Notice | None = None,
        code: str = "",
    ) -> Refusal:
        """A refusal whose reasons and nearest misses are computed when one of them is first read.

        Computing the nearest misses takes longer than finding that no HyperNode suffices, and most refusals of a
        session are never read: "volcano-1.15 refuse" in benchmarks/bench_volcano.py has both times. Threads that read
        at the same time may each call `why`.

        Parameters
        ----------
        gang, policy, parameters, warnings
            As of the class.
        why : callable
            Takes no argument; returns the reasons and the nearest misses.
        first : Notice, optional
            The first of the reasons, which `first_reason` answers without calling `why`; None: it is not known yet.
        code : str
            Code of the first of the reasons, which `first_code` answers without calling `why`; empty: not known yet.
        """
        made = cls.__new__(cls)
        made.__dict__.update(gang=gang, policy=policy, parameters=parameters, warnings=warnings, _why=_Once(why))
        if first is not None:
            made.__dict__["_first"] = first
        if code:
            made.__dict__["_code"] = code
        return made

    @property
    def first_reason(self) -> Notice | None:
        """The first of the reasons, at little cost where it is known; None: there is none."""
        first: Notice | None = self.__dict__.get("_first")
        if first is None and self.reasons:
            return self.reasons[0]
        return first

    @property
    def first_code(self) -> str:
        """The code of the first of the reasons, at little cost where it is known; empty: there is no reason."""
        known: str = self.__dict__.get("_code", "")
        if not known and (first := self.first_reason) is not None:
            return first.code
        return known

    def settle_before_change(self, ledger: _Changing) -> None:
        """Have what is deferred computed before a ledger changes that it is computed from.

        Nothing is computed if nobody holds the refusal any more by then.
        """
        ledger.call_before_change(self.__dict__["_why"])

    @property
    def nearest(self) -> NearestMiss | None:
        """The HyperNode with room for most of the pods needed, of all that the gang may use; ties: the smallest tier.

        None if the policy names none, or if that one has room for all of them, so that room is not what is missing.
        """
        best = best_of(self.nearest_misses) if self.nearest_misses else None
        return best if best is not None and best.holds < best.needs else None

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return f"Refusal({self.gang.key} by {self.policy}: {'; '.join(texts_of(self.reasons))})"


@dataclass(frozen=True, eq=False)
class Decision(Value):
    """A policy's answer for one gang in a scheduling session: a placement or a refusal.

    `extra`: further results of the policy, such as the GPU plan of `koordinator-gpu`. `turn`: number of this decision
    in its session, counted from 0 in the order in which decisions were taken.

    Examples
    --------
    >>> import workbench as wb
    >>> (decision,) = wb.schedule([wb.gang("mine", pods=2, gpus=8)], wb.generate_scenario("three-level-tree"))
    >>> decision.placed, decision.turn
    (True, 0)
    """

    gang: Gang
    result: Placement | Refusal
    extra: Mapping[str, Any] = field(default_factory=dict)
    turn: int = 0

    @property
    def placed(self) -> bool:
        """Whether at least min_available pods have a node.

        In a Volcano session without the action backfill, pods without a request count among these and stay pending; a
        warning of the placement says so. Source: docs/volcano.md.
        """
        return isinstance(self.result, Placement)
