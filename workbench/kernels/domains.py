"""Count how many pods fit on each node and in each domain (HyperNode), and hold the weights of node scores.

Filling nodes by these scores is in ``workbench.kernels.dry_runs``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench._core import domains as _core
from workbench._core.ranges import is_offsets
from workbench.errors import InputError
from workbench.kernels.checks import as_array, check_length, check_range
from workbench.kernels.fading import MAX_WEIGHT
from workbench.kernels.tiers import Forest

__all__ = [
    "MAX_PODS_PER_NODE",
    "MAX_QUANTITY",
    "MAX_SUM",
    "NO_RECORD",
    "ScoreWeights",
    "TopologyScores",
    "checked_leaves",
    "domain_counts",
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
    """Number of pods with one given request that fit on each node in addition to the pods already there.

    Returns: ndarray of shape (n,), int64: min over the requested resources of ``idle // request``. Raises InputError:
    wrong dtype or shape, a negative request, a cap outside 0..MAX_PODS_PER_NODE.

    Parameters
    ----------
    idle : ndarray of shape (n, r), int64
        Idle amounts in base units; negative counts as 0.
    request : ndarray of shape (r,), int64
        Amounts that one pod requests; a resource with request 0 is ignored.
    feasible : ndarray of shape (n,), uint8, optional
        0 where the pod may not run; None: it may run everywhere.
    cap : int, optional
        Upper limit of each count; None: `MAX_PODS_PER_NODE`. A pod that requests nothing gets this count on every node
        where it may run.
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
    """Sum a number per node over the nodes of each domain (HyperNode); domains may be nested, disjoint or overlapping.

    `per_node` (ndarray of shape (n,), int64): the number of each node. `start` (ndarray of shape (d + 1,), int64):
    domain i owns ``members[start[i]:start[i + 1]]``. `members` (ndarray of shape (start[d],), int32): Node indices.
    Returns: ndarray of shape (d,), int64.
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


Checked = tuple[float, NDArray[Any], float, float, NDArray[Any], float, NDArray[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreWeights:
    """Weights of the parts of the node score (binpack, least or most requested, balanced).

    A part of weight 0 is skipped.

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
        """Return the weights for r resources in the order in which the compiled kernels take them.

        The weights are checked and copied once, because every placement needs them and a check takes as long as a small
        placement.
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
    """Scores of leaf domains (lowest HyperNodes) by closeness to the domain in which the job is allocated so far.

    That domain is called the job's record: Volcano's allocated HyperNode.

    Parameters
    ----------
    value : ndarray of shape (d,), float64
        Base of a leaf whose LCA with the record is this domain, see `workbench.kernels.tiers.tier_scores`.
    own : float
        Base of the leaf that is the record itself.
    top : float
        Base of a leaf whose LCA with the record is only the virtual top.
    weight : float
        Weight of the plugin; the offset of a leaf is ``(base + share) * 100 * weight``.
    roots_meet : bool
        False (1.13): the record becomes empty when a pod is placed in another tree. True (from 1.14): the record
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
        self._arguments = (forest.parent, forest.depth, self.value, top, own, weight, roots_meet)

    def arguments(
        self,
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64], float, float, float, bool]:
        """Return the scores as the leading arguments of ``set_topology``, a method of several compiled kernels."""
        return self._arguments


def checked_leaves(
    leaves: tuple[NDArray[np.int64], NDArray[np.int32]], n: int, d: int
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Check the table of the leaf domains (lowest HyperNodes) that hold each node, in CSR form, and return it.

    `leaves` (tuple of (ndarray of shape (n + 1,), int64, ndarray of shape (m,), int32)): start offsets and domains:
    leaf domains of node i are ``leaves[1][leaves[0][i]:leaves[0][i + 1]]``. `n`, `d`: number of nodes and of domains.
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
