"""Count the pods that fit on nodes and domains, and fill nodes in score order (checked interface of ``_core.domains``).

Owns the checks and the documented order of choice. It knows no gang and no policy: ``policies`` decide which domains
are tried, in which order, and what their sums of scores mean.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench._core import domains as _core
from workbench._core.ranges import is_offsets
from workbench.errors import CapacityError, InputError
from workbench.kernels.checks import as_array, check_length, check_range
from workbench.kernels.fading import MAX_WEIGHT, Fading
from workbench.kernels.tiers import VIRTUAL_TOP, Forest

__all__ = [
    "MAX_PODS_PER_NODE",
    "MAX_QUANTITY",
    "MAX_SUM",
    "NO_RECORD",
    "Fill",
    "Placed",
    "ScoreWeights",
    "TopologyScores",
    "checked_leaves",
    "domain_counts",
    "domain_counts_spans",
    "lowest_tier_with_fit",
    "pods_per_node",
]

MAX_PODS_PER_NODE = 2**31 - 1
"""What `pods_per_node` answers where nothing limits: sums over 2**32 such nodes still fit an int64."""

MAX_QUANTITY = 2**53
"""Largest amount of one resource: beyond it a float64 no longer holds every integer."""

MAX_SUM = 2**62 - 1
"""Largest sum of amounts, over nodes or pods: two of them still fit an int64."""

MAX_PODS_PER_CALL = 10_000_000

MAX_SCORE = 1e12

NO_RECORD = -2
"""The record is empty; -1 is the virtual top, which is a record from Volcano 1.14 on."""


def pods_per_node(
    idle: NDArray[np.int64],
    request: NDArray[np.int64],
    *,
    feasible: NDArray[np.uint8] | None = None,
    cap: int | None = None,
) -> NDArray[np.int64]:
    """Number of further pods of one shape that each node holds.

    Parameters
    ----------
    idle : ndarray of shape (n, r), int64
        Idle amounts in base units; negative counts as 0.
    request : ndarray of shape (r,), int64
        Amounts that one pod requests; a resource with request 0 is ignored.
    feasible : ndarray of shape (n,), uint8, optional
        0 where the pod may not run; None: it may run everywhere.
    cap : int, optional
        Upper limit of each count; None: `MAX_PODS_PER_NODE`. A pod that requests nothing fits that often.

    Returns
    -------
    ndarray of shape (n,), int64
        min over the requested resources of ``idle // request``.

    Raises
    ------
    InputError
        Wrong dtype or shape, a negative request, a cap outside 0..MAX_PODS_PER_NODE.
    """
    idle = as_array("idle", idle, np.int64, 2)
    request = _request(request, idle.shape[1])
    if feasible is not None:
        feasible = as_array("feasible", feasible, np.uint8, 1)
        check_length("feasible", feasible, idle.shape[0])
    limit = MAX_PODS_PER_NODE if cap is None else cap
    if not 0 <= limit <= MAX_PODS_PER_NODE:
        raise InputError("out of range", source="cap", got=str(cap), expected=f"0..{MAX_PODS_PER_NODE}")
    out = np.empty(idle.shape[0], dtype=np.int64)
    _core.pods_per_node(idle, request, feasible, limit, out)
    return out


def domain_counts(
    per_node: NDArray[np.int64], start: NDArray[np.int64], members: NDArray[np.int32]
) -> NDArray[np.int64]:
    """Sum of a per-node number over each domain, for any domains (nested, disjoint or overlapping).

    Parameters
    ----------
    per_node : ndarray of shape (n,), int64
    start : ndarray of shape (d + 1,), int64
        Domain i owns ``members[start[i]:start[i + 1]]``.
    members : ndarray of shape (start[d],), int32
        Node indices.

    Returns
    -------
    ndarray of shape (d,), int64
    """
    per_node = as_array("per_node", per_node, np.int64, 1)
    start = as_array("start", start, np.int64, 1)
    members = as_array("members", members, np.int32, 1)
    if start.shape[0] == 0:
        raise InputError("empty", source="start", expected="d + 1 entries")
    if int(start[0]) != 0 or int(start[-1]) != members.shape[0] or bool((start[1:] < start[:-1]).any()):
        raise InputError("no CSR offsets", source="start", expected=f"ascending from 0 to {members.shape[0]}")
    check_range("members", members, 0, per_node.shape[0] - 1)
    out = np.empty(start.shape[0] - 1, dtype=np.int64)
    _core.domain_counts(per_node, start, members, out)
    return out


def domain_counts_spans(per_node: NDArray[np.int64], spans: NDArray[np.int32]) -> NDArray[np.int64]:
    """Sum of a per-node number over each domain where every domain is an interval of nodes.

    Parameters
    ----------
    per_node : ndarray of shape (n,), int64
    spans : ndarray of shape (d, 2), int32
        First node and one past the last; equal for an empty domain.

    Returns
    -------
    ndarray of shape (d,), int64
        The same numbers as `domain_counts`; O(n + d).
    """
    per_node = as_array("per_node", per_node, np.int64, 1)
    spans = as_array("spans", spans, np.int32, 2)
    if spans.shape[1] != 2:
        raise InputError("wrong number of columns", source="spans", got=str(spans.shape[1]), expected="2")
    check_range("spans", spans, 0, per_node.shape[0])
    if bool((spans[:, 0] > spans[:, 1]).any()):
        raise InputError("a span ends before it begins", source="spans", expected="first <= end")
    out = np.empty(spans.shape[0], dtype=np.int64)
    _core.domain_counts_spans(per_node, spans, np.empty(per_node.shape[0] + 1, dtype=np.int64), out)
    return out


def lowest_tier_with_fit(
    counts: NDArray[np.int64], tier: NDArray[np.int32], need: int, *, highest_tier: int | None = None
) -> tuple[int, NDArray[np.int32]] | None:
    """The lowest tier in which some domain holds ``need`` pods.

    Parameters
    ----------
    counts : ndarray of shape (d,), int64
        Pods that each domain holds, see `domain_counts`.
    tier : ndarray of shape (d,), int32
    need : int
    highest_tier : int, optional
        Tiers above are not looked at; None: all are.

    Returns
    -------
    (tier, domains) or None
        ``domains`` (int32) are all fitting domains of that tier, ascending. None: no domain fits.
    """
    counts = as_array("counts", counts, np.int64, 1)
    tier = as_array("tier", tier, np.int32, 1)
    check_length("tier", tier, counts.shape[0])
    return _core.lowest_tier_with_fit(counts, tier, need, highest_tier is not None, highest_tier or 0)


Checked = tuple[float, NDArray[Any], float, float, NDArray[Any], float, NDArray[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreWeights:
    """Weights of the node score, one set for all shapes of a `Fill`; a part with weight 0 is not computed.

    Parameters
    ----------
    binpack, least_requested, most_requested, balanced : float
        Weight of each part.
    binpack_resources : ndarray of shape (r,), float64, optional
        Weight of each resource in binpack; needed when ``binpack`` is not 0.
    request_resources : ndarray of shape (r,), int64, optional
        Weight of each resource in least and most requested (Kubernetes: 1 for cpu and memory); needed with either.
    balanced_resources : ndarray of shape (r,), uint8, optional
        1 for resources that always take part in balancing (Kubernetes: cpu and memory), 2 for resources that take part
        only if the pod requests them (extended resources); needed when ``balanced`` is not 0.
    """

    binpack: float = 0.0
    least_requested: float = 0.0
    most_requested: float = 0.0
    balanced: float = 0.0
    binpack_resources: NDArray[np.float64] | None = None
    request_resources: NDArray[np.int64] | None = None
    balanced_resources: NDArray[np.uint8] | None = None
    _checked: dict[int, Checked] = field(default_factory=dict, init=False, repr=False, compare=False)

    def checked(self, r: int) -> Checked:
        """Return the weights for r resources in the order in which the compiled ``Fill`` takes them.

        They are checked and copied once: a search makes hundreds of fills with the same weights, and checking them each
        time took half the time of a small fill.
        """
        if r not in self._checked:
            requested = self.least_requested or self.most_requested
            self._checked[r] = (
                _weight("binpack", self.binpack),
                _resources("binpack_resources", self.binpack_resources, np.float64, r, self.binpack),
                _weight("least_requested", self.least_requested),
                _weight("most_requested", self.most_requested),
                _resources("request_resources", self.request_resources, np.int64, r, requested),
                _weight("balanced", self.balanced),
                _resources("balanced_resources", self.balanced_resources, np.uint8, r, self.balanced, most=2),
            )
        return self._checked[r]


class TopologyScores:
    """Scores of leaf domains by closeness to a record; checked once, used by any number of fills.

    Parameters
    ----------
    forest : Forest
    value : ndarray of shape (d,), float64
        Base of a leaf whose LCA with the record is this domain, see `workbench.kernels.tiers.tier_scores`.
    own : float
        Base of the leaf that is the record itself.
    top : float
        Base of a leaf that meets the record only in the virtual top.
    weight : float
        Weight of the plugin; the offset of a leaf is ``(base + share) * 100 * weight``.
    roots_meet : bool
        False (1.13): a pod placed in another tree than the record's empties the record. True (from 1.14): the record
        becomes the virtual top.
    """

    def __init__(
        self,
        forest: Forest,
        value: NDArray[np.float64],
        *,
        own: float = 1.0,
        top: float = 0.0,
        weight: float = 1.0,
        roots_meet: bool = False,
    ) -> None:
        value = as_array("value", value, np.float64, 1)
        check_length("value", value, len(forest))
        for name, numbers in (("value", value), ("own", own), ("top", top), ("weight", weight)):
            _finite(name, numbers)
        self.forest = forest
        self.value = value.copy()
        self.value.flags.writeable = False
        self.own = own
        self.top = top
        self.weight = weight
        self.roots_meet = roots_meet

    def arguments(
        self,
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64], float, float, float, bool]:
        """The first arguments of every kernel's ``set_topology``, in order."""
        forest = self.forest
        return forest.parent, forest.depth, self.value, self.top, self.own, self.weight, self.roots_meet


class Placed(NamedTuple):
    """Result of `Fill.place`, in order of placement."""

    positions: NDArray[np.int32]
    """Index into the fill's ``nodes`` of each pod placed; fewer than asked for when no node fits any more."""
    scores: NDArray[np.float64]
    """Total score of the chosen node at that moment; 0 for a sole candidate taken unscored."""
    score_sum: float
    """Sum of ``scores``, added up in order of placement."""


class Fill:
    """Places pods on a set of nodes one after another, each on the best node at that moment.

    Parameters
    ----------
    nodes : ndarray of shape (c,), int32
        The candidate nodes. **Every other array is indexed by node of the cluster**; the candidates' rows are copied,
        so that a small set is cheap to build (O(c), sorted by leaf where they are not already) and the caller's
        arrays stay as they are.
    idle, used, allocatable : ndarray of shape (n, r), int64
        Amounts in base units, at most 2**53; idle may be negative (then nothing that asks for it fits).
    name_rank : ndarray of shape (n,), int32
        Rank of the node's name; non-negative.
    leaf : ndarray of shape (n,), int32, optional
        Leaf domain of each node, -1 for none; None: no topology scores will be asked for.
    weights : ScoreWeights

    Notes
    -----
    **Choice**, total order: highest total score, then highest node part, then smallest name rank, then first in
    ``nodes``. It equals looking at every node again for every pod. Only what is idle counts, never future idle.

    **Node part**, summed in this order, each part times its weight:

    - binpack: over the requested resources, ``sum(w * (used + request) / allocatable) / sum(w) * 100``; a resource that
      is not allocatable or would overflow contributes 0 to the upper sum; 0 when the weights sum to 0;
    - least requested: integer mean, weighted, of ``(allocatable - used - request) * 100 // allocatable``, 0 for a
      resource that would overflow; a resource that the node does not have is left out, weight and all; most
      requested: the same of ``(used + request) * 100 // allocatable``;
    - balanced: ``int((1 - std) * 100)``, std of the fractions ``min(1, (used + request) / allocatable)`` of the
      balanced resources that are allocatable; two of them: half their distance; fewer: 0; a pod that asks for none of
      them scores nothing;
    - the shape's own ``extra`` number of the node.

    **Total** = node part + the leaf's offset, see `set_topology`, or the gain of `set_fading`; 0 without either.

    Sources: Volcano plugins binpack, nodeorder (Kubernetes NodeResourcesFit, NodeResourcesBalancedAllocation) and
    network-topology-aware; allocate action, placing tasks on a node list.

    Not for several threads at once: a call changes the session while the GIL is free.

    Cost: a pod costs one score and one path of a tournament tree; a shape that was not used for a while looks again at
    the nodes that changed since, at most at all.

    Raises
    ------
    InputError
        Wrong dtype or shape, an index or amount out of range, a missing weight array.
    """

    def __init__(
        self,
        nodes: NDArray[np.int32],
        idle: NDArray[np.int64],
        used: NDArray[np.int64],
        allocatable: NDArray[np.int64],
        name_rank: NDArray[np.int32],
        *,
        leaf: NDArray[np.int32] | None = None,
        weights: ScoreWeights,
    ) -> None:
        nodes = as_array("nodes", nodes, np.int32, 1)
        idle = as_array("idle", idle, np.int64, 2)
        used = as_array("used", used, np.int64, 2)
        allocatable = as_array("allocatable", allocatable, np.int64, 2)
        name_rank = as_array("name_rank", name_rank, np.int32, 1)
        n, r = idle.shape
        for name, array in (("used", used), ("allocatable", allocatable)):
            if array.shape != idle.shape:
                raise InputError("wrong shape", source=name, got=str(array.shape), expected=str(idle.shape))
        check_length("name_rank", name_rank, n)
        check_range("nodes", nodes, 0, n - 1)
        if leaf is not None:
            leaf = as_array("leaf", leaf, np.int32, 1)
            check_length("leaf", leaf, n)
        self.nodes = nodes
        self.fades = False
        """Whether pods are drawn to full domains."""
        self._n = n
        try:
            self._c_fill = _core.Fill(
                nodes,
                idle,
                used,
                allocatable,
                name_rank,
                leaf,
                *weights.checked(r),
            )
        except ValueError as error:
            if isinstance(error, InputError):
                raise
            expected = f"idle <= {MAX_QUANTITY}, used and allocatable 0..{MAX_QUANTITY}, rank >= 0, leaf >= -1"
            raise InputError(str(error), source="nodes", expected=expected) from error

    @property
    def groups(self) -> NDArray[np.int32]:
        """Leaf domain of each group of candidates, ascending, -1 (no leaf) first; int32 (g,), read-only."""
        return self._c_fill.groups

    @property
    def placed(self) -> int:
        """Number of placements so far, which is the mark to hand to `rollback`."""
        return self._c_fill.placed

    @property
    def record(self) -> int:
        """The running record: a domain, -1 the virtual top, `NO_RECORD` if empty or without topology."""
        return self._c_fill.record

    @property
    def idle(self) -> NDArray[np.int64]:
        """Present idle amounts by position in ``nodes``; int64 (c, r), a copy."""
        return self._c_fill.idle()

    @property
    def tasks_in_group(self) -> NDArray[np.int64]:
        """Tasks of the job in each of `groups`, including the pods placed by this fill; int64 (g,), a copy."""
        return self._c_fill.tasks_in_group()

    def add_shape(
        self,
        request: NDArray[np.int64],
        *,
        feasible: NDArray[np.uint8] | None = None,
        extra: NDArray[np.float64] | None = None,
    ) -> int:
        """Register a pod shape (a request and where it may run); a fill may alternate between several shapes.

        Parameters
        ----------
        request : ndarray of shape (r,), int64
            Amounts that one pod requests; 0: not requested.
        feasible : ndarray of shape (n,), uint8, optional
            0 where the pod may not run, by node of the cluster.
        extra : ndarray of shape (n,), float64, optional
            Added to the node part, by node of the cluster (preferred affinity and the like); finite.

        Returns
        -------
        int
            Number of the shape, from 0.
        """
        request = _request(request, self._c_fill.r)
        if feasible is not None:
            feasible = as_array("feasible", feasible, np.uint8, 1)
            check_length("feasible", feasible, self._n)
        if extra is not None:
            extra = as_array("extra", extra, np.float64, 1)
            check_length("extra", extra, self._n)
            _finite("extra", extra)
        return self._c_fill.add_shape(request, feasible, extra)

    def set_topology(
        self,
        scores: TopologyScores,
        *,
        record: int,
        tasks_in_group: NDArray[np.int64] | None = None,
        total_tasks: int,
        update_record: bool,
        leaves: tuple[NDArray[np.int64], NDArray[np.int32]] | None = None,
    ) -> None:
        """Add to the score of each leaf's nodes, from now on, an offset by closeness to the record.

        Parameters
        ----------
        scores : TopologyScores
        record : int
            The allocated domain: a domain, -1 the virtual top, `NO_RECORD` for none.
        tasks_in_group : ndarray of shape (g,), int64, optional
            Tasks of the job already on nodes of each of `groups` (of the whole leaf, candidates or not); None: none.
            An entry of group -1 is ignored.
        total_tasks : int
            All tasks of the job, positive.
        update_record : bool
            Whether the record widens to its LCA with the leaf of each chosen node (an empty record becomes the leaf; a
            node without leaf changes nothing). Hard jobs keep their record.
        leaves : tuple of ndarray of shape (n + 1,), int64, and ndarray of int32, optional
            Where leaves overlap, every leaf that holds node i: ``leaves[1][leaves[0][i]:leaves[0][i + 1]]``; a pod
            counts for each of them. None: no node is in two.

        Notes
        -----
        While the record is empty there is no offset. Otherwise base(leaf) is 0 without leaf, ``own`` for the record
        itself, else by LCA. If at this moment two or more of the nodes that fit the pod share the greatest base, each
        of them gets + tasks in its leaf / total tasks (a node without leaf + 0); a unique greatest gets nothing.
        Offset = ``(base + share) * 100 * weight``. Source: Volcano network-topology-aware plugin, node order of a pod
        with a topology. `rollback` cannot pass this call.
        """
        size = len(scores.forest)
        groups = self.groups
        if groups.shape[0]:
            check_range("groups", groups, -1, size - 1)
        if not (record == NO_RECORD or VIRTUAL_TOP <= record < size):
            raise InputError("no such domain", source="record", got=str(record), expected=f"-2..{size - 1}")
        if not 0 < total_tasks <= MAX_QUANTITY:
            raise InputError("out of range", source="total_tasks", got=str(total_tasks), expected="positive")
        if tasks_in_group is None:
            tasks_in_group = np.zeros(groups.shape[0], dtype=np.int64)
        tasks_in_group = as_array("tasks_in_group", tasks_in_group, np.int64, 1)
        check_length("tasks_in_group", tasks_in_group, groups.shape[0])
        check_range("tasks_in_group", tasks_in_group, 0, MAX_QUANTITY)
        if leaves is not None:
            self._c_fill.set_leaves(*checked_leaves(leaves, self._n, size))
        self._c_fill.set_topology(
            *scores.arguments(),
            update_record,
            record,
            tasks_in_group,
            total_tasks,
        )

    def set_fading(
        self,
        fading: Fading,
        used: NDArray[np.int64],
        allocatable: NDArray[np.int64],
        node_start: NDArray[np.int64],
        node_domains: NDArray[np.int32],
    ) -> None:
        """Add to every node a gain that grows with how full its domains are.

        To be called before the first `add_shape`, on a fill without `set_topology` whose ``leaf`` is
        ``fading.rings.of_node``.

        Parameters
        ----------
        fading : Fading
        used, allocatable : ndarray of shape (d + 1, r), int64
            Amounts of each domain, the virtual top last; ``used`` is copied and follows the pods placed.
        node_start : ndarray of shape (n + 1,), int64
        node_domains : ndarray of shape (m,), int32
            Domains that hold node i: ``node_domains[node_start[i]:node_start[i + 1]]``.
        """
        if self._c_fill.n_shapes:
            raise InputError("shapes are there already", source="fading", expected="a fill without shapes")
        used, allocatable = as_array("used", used, np.int64, 2), as_array("allocatable", allocatable, np.int64, 2)
        d, r = used.shape[0] - 1, self._c_fill.r
        for name, rows in (("used", used), ("allocatable", allocatable)):
            if rows.shape != (d + 1, r):
                raise InputError("wrong shape", source=name, got=str(rows.shape), expected=f"({d + 1}, {r})")
            check_range(name, rows, 0, MAX_SUM)
        start, holders = as_array("node_start", node_start, np.int64, 1), as_array("node", node_domains, np.int32, 1)
        check_length("node_start", start, self._n + 1)
        check_range("node_start", start, 0, holders.shape[0])
        check_range("node_domains", holders, 0, d - 1)
        arguments = fading.arguments(self._n, d, r)
        check_range("leaf", self.groups, 0, arguments[1].shape[0] - 1)
        self._c_fill.set_fading(*arguments, used, allocatable, start, holders)
        self.fades = True

    def place(self, shape: int, count: int, *, sole_unscored: bool = True) -> Placed:
        """Place up to ``count`` pods of a shape.

        Parameters
        ----------
        shape : int
        count : int
            At most 10,000,000 in one call.
        sole_unscored : bool
            Volcano takes the only fitting node without scoring it: its score is then 0.
        """
        self._shape(shape)
        if count < 0:
            raise InputError("negative", source="count", got=str(count), expected=">= 0")
        _bound_count("count", count)
        return Placed(*self._c_fill.place(shape, count, sole_unscored))

    def place_each(self, shapes: NDArray[np.int32], *, sole_unscored: bool = True) -> Placed:
        """Place one pod of each shape named, in that order: a gang whose roles alternate.

        Parameters
        ----------
        shapes : ndarray of shape (m,), int32
            At most 10,000,000.
        sole_unscored : bool
            As in `place`.

        Returns
        -------
        Placed
            Of length m; position -1 and score 0 for a pod that no node holds, the pods after it are still tried.
        """
        shapes = as_array("shapes", shapes, np.int32, 1)
        check_range("shapes", shapes, 0, self._c_fill.n_shapes - 1)
        _bound_count("shapes", shapes.shape[0])
        return Placed(*self._c_fill.place_each(shapes, sole_unscored))

    def rollback(self, mark: int = 0) -> None:
        """Remove every placement after the first ``mark``, and restore record and task counts; O(placements removed).

        Raises
        ------
        InputError
            If ``mark`` lies before the last `set_topology` or beyond `placed`; nothing is changed then.
        """
        low = self._c_fill.floor
        if not low <= mark <= self.placed:
            raise InputError("no such mark", source="mark", got=str(mark), expected=f"{low}..{self.placed}")
        self._c_fill.rollback(mark)

    def n_fitting(self, shape: int) -> int:
        """Number of candidates that take one more pod of the shape now."""
        return self._c_fill.n_fitting(self._shape(shape))

    def node_scores(self, shape: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Node part and total of each candidate for the next pod of the shape, by position; -inf: does not fit."""
        return self._c_fill.node_scores(self._shape(shape))

    def _shape(self, shape: int) -> int:
        if not 0 <= shape < self._c_fill.n_shapes:
            raise InputError(
                "no such shape", source="shape", got=str(shape), expected=f"0..{self._c_fill.n_shapes - 1}"
            )
        return shape


def checked_leaves(
    leaves: tuple[NDArray[np.int64], NDArray[np.int32]], n: int, d: int
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Check the leaves that hold each node, in CSR form.

    Parameters
    ----------
    leaves : tuple of (ndarray of shape (n + 1,), int64, ndarray of shape (m,), int32)
        Start offsets and domains: leaf domains of node i are ``leaves[1][leaves[0][i]:leaves[0][i + 1]]``.
    n, d : int
        Number of nodes and of domains.
    """
    start, domains = as_array("leaf_start", leaves[0], np.int64, 1), as_array("leaves", leaves[1], np.int32, 1)
    check_length("leaf_start", start, n + 1)
    if not is_offsets(start, domains.shape[0]):
        raise InputError("no CSR offsets", source="leaf_start", expected=f"ascending from 0 to {domains.shape[0]}")
    check_range("leaves", domains, 0, d - 1)
    return start, domains


def _request(request: NDArray[np.int64], r: int) -> NDArray[np.int64]:
    request = as_array("request", request, np.int64, 1)
    check_length("request", request, r)
    check_range("request", request, 0, MAX_QUANTITY)
    return request


def _bound_count(name: str, count: int) -> None:
    if count > MAX_PODS_PER_CALL:
        raise CapacityError(f"{name}: {count} pods in one call, at most {MAX_PODS_PER_CALL}")


def _finite(name: str, numbers: NDArray[np.float64] | float) -> None:
    # Sums and products of bounded numbers stay finite, so no NaN enters the order of choice.
    if isinstance(numbers, np.ndarray):
        fine = bool((np.abs(numbers) <= MAX_SCORE).all())
    else:
        fine = abs(numbers) <= MAX_SCORE
    if not fine:
        raise InputError("not finite or too large", source=name, expected=f"-{MAX_SCORE:g}..{MAX_SCORE:g}")


def _weight(name: str, weight: float) -> float:
    if not 0.0 <= weight <= MAX_WEIGHT:
        raise InputError("out of range", source=name, got=str(weight), expected=f"0..{MAX_WEIGHT}")
    return float(weight)


def _resources(name: str, array: object, dtype: type, r: int, weight: float, most: int = MAX_WEIGHT) -> NDArray[Any]:
    if array is None:
        if weight:
            raise InputError("missing", source=name, expected="one number per resource, the part's weight is not 0")
        return np.zeros(r, dtype=dtype)
    numbers = as_array(name, array, dtype, 1)
    check_length(name, numbers, r)
    _finite(name, numbers)
    check_range(name, numbers, 0, most)
    return numbers.copy()
