"""Try to fill many domains, then fill one for good (checked interface of ``_core.dry_runs``).

A trial answers what ``domains.Fill`` would, pod by pod, for a gang of any number of shapes. Owns the checks; which
domains are tried and what their answers mean is decided in ``policies``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench._core import dry_runs as _core
from workbench.errors import CapacityError, InputError
from workbench.kernels.checks import as_array, check_length, check_number, check_range, checked
from workbench.kernels.domains import (
    MAX_PODS_PER_CALL,
    MAX_QUANTITY,
    MAX_SCORE,
    NO_RECORD,
    ScoreWeights,
    TopologyScores,
    checked_leaves,
)
from workbench.kernels.node_states import NodeStates
from workbench.kernels.tiers import VIRTUAL_TOP

__all__ = ["Counts", "DryRuns", "Settled", "Trials"]

_RULES = {"by-minimums": 0, "stop": 1, "go-on": 2}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Counts:
    """The pods that a pass has to place, and when the pass ends.

    Parameters
    ----------
    shapes : ndarray of shape (m,), int32
        Shape of the pods of each role.
    left : ndarray of shape (m,), int64
        Pods still to place.
    present, minimums : ndarray of shape (m,), int64, optional
        Pods of each role that count already, and each role's own minimum; None: 0. Minimums are looked at only while
        they do not exceed ``min_available`` together.
    names : ndarray of shape (m,), int32, optional
        Roles with equal numbers are given up together; None: each role on its own.
    min_available, counted : int
        The gang is ready when ``min_available`` pods count and every minimum is met; ``counted`` pods count before
        anything is placed.
    after_failure : {"by-minimums", "stop", "go-on"}
        What the pass does after a pod that fits nowhere; the role's other pods are given up in any case. "by-minimums":
        the pass goes on while the pods that are left can still make the gang ready, or, where minimums count, while no
        role of that name is below its own.
    runs : tuple of ndarray of shape (k,), int32, and ndarray of shape (k,), int64, optional
        The order of the pods: of each run its role, as a place in ``shapes``, and the number of that role's pods up to
        the run's end; a run of which nothing is left is passed over. None: role by role.
    """

    shapes: NDArray[np.int32]
    left: NDArray[np.int64]
    present: NDArray[np.int64] | None = None
    minimums: NDArray[np.int64] | None = None
    names: NDArray[np.int32] | None = None
    min_available: int
    counted: int = 0
    after_failure: str = "by-minimums"
    runs: tuple[NDArray[np.int32], NDArray[np.int64]] | None = None


class Trials(NamedTuple):
    """Results of trial placements, one row per domain."""

    placed: NDArray[np.int64]
    """Pods placed until the gang was ready or the pass ended."""
    ready: NDArray[np.bool_]
    """Whether the gang was ready when the pass ended."""
    missing: NDArray[np.int64]
    """Pods that the gang still needs to start; 0 if it is ready."""
    sums: NDArray[np.float64]
    """The sum handed in, plus the score of each placed pod in the order of placement."""
    first: NDArray[np.float64]
    """Score of the first pod; 0 where none was placed."""


class Settled(NamedTuple):
    """The pods that `DryRuns.settle` placed, in the order of placement."""

    entries: NDArray[np.int32]
    """Role of each pod as its place in ``Counts.shapes``."""
    nodes: NDArray[np.int32]
    scores: NDArray[np.float64]
    left: NDArray[np.int64]
    """Per role the pods still to place afterwards: 0 where they were given up."""


class DryRuns:
    """Trial placements on domains of nodes with given idle amounts.

    Parameters
    ----------
    idle, used, allocatable : ndarray of shape (n, r), int64
        As for `workbench.kernels.domains.Fill`; idle and used are copied, allocatable must stay as it is.
    name_rank : ndarray of shape (n,), int32
        Rank of the node's name.
    leaf : ndarray of shape (n,), int32
        Leaf domain of each node, -1 for none.
    start : ndarray of shape (d + 1,), int64
    members : ndarray of shape (start[d],), int32
        Nodes of domain j, each once, ascending: ``members[start[j]:start[j + 1]]``. Domain -1 is every node.
    weights : ScoreWeights
    scores : TopologyScores, optional
        Needed for trials with a record.
    update_record : bool
        A placed pod widens the record of its trial, see `workbench.kernels.domains.Fill.set_topology`.
    leaves : tuple of (ndarray of shape (n + 1,), int64, ndarray of shape (m,), int32), optional
        Where leaves overlap, as for `workbench.kernels.domains.Fill.set_topology`.
    states : NodeStates, optional
        The states of the nodes, computed from these very arrays, which are then not checked again.

    Notes
    -----
    **Choice** and scores are those of ``Fill`` over the domain's nodes, bit by bit: both compile the same function. A
    sole fitting node is taken unscored.

    **A pass** places the pods in their order, run by run. Of each run as many as the gang may still need, at least one:
    until the gang would be ready, or all that are left while another role is below its minimum. It ends with the pod
    that makes the gang ready, or after a failure as `Counts.after_failure` says (docs/reference/volcano-topology.md,
    section 5.1, steps 2, 5, 9).

    Cost of a trial: O(nodes) comparisons, and one score per node whose score for the shape is not known any more.

    Not for several threads at once.

    Raises
    ------
    InputError
        Wrong dtype or shape, an index or amount out of range.
    """

    def __init__(
        self,
        idle: NDArray[np.int64],
        used: NDArray[np.int64],
        allocatable: NDArray[np.int64],
        name_rank: NDArray[np.int32],
        leaf: NDArray[np.int32],
        start: NDArray[np.int64],
        members: NDArray[np.int32],
        *,
        weights: ScoreWeights,
        scores: TopologyScores | None = None,
        update_record: bool = False,
        leaves: tuple[NDArray[np.int64], NDArray[np.int32]] | None = None,
        states: NodeStates | None = None,
    ) -> None:
        idle = as_array("idle", idle, np.int64, 2)
        n, r = idle.shape
        used = as_array("used", used, np.int64, 2)
        allocatable = as_array("allocatable", allocatable, np.int64, 2)
        if states is None:
            check_range("idle", idle, -MAX_QUANTITY, MAX_QUANTITY)
            for name, array in (("used", used), ("allocatable", allocatable)):
                if array.shape != idle.shape:
                    raise InputError("wrong shape", source=name, got=str(array.shape), expected=str(idle.shape))
                check_range(name, array, 0, MAX_QUANTITY)
        elif not states.are_of(idle, used, allocatable):
            raise InputError("of other arrays", source="states", expected="those of idle, used and allocatable")
        name_rank = as_array("name_rank", name_rank, np.int32, 1)
        check_length("name_rank", name_rank, n)
        check_range("name_rank", name_rank, 0, max(n - 1, 0))
        start = as_array("start", start, np.int64, 1)
        members = as_array("members", members, np.int32, 1)
        if start.shape[0] == 0 or int(start[0]) != 0 or int(start[-1]) != members.shape[0]:
            raise InputError("no CSR offsets", source="start", expected=f"ascending from 0 to {members.shape[0]}")
        sizes = np.diff(start)
        if bool((sizes < 0).any()) or bool((sizes > n).any()):
            raise InputError("no CSR offsets", source="start", expected=f"ascending, at most {n} nodes per domain")
        check_range("members", members, 0, n - 1)
        self._n, self._d = n, start.shape[0] - 1
        leaf = as_array("leaf", leaf, np.int32, 1)
        check_length("leaf", leaf, n)
        check_range("leaf", leaf, -1, self._d - 1)
        self._c_runs = _core.DryRuns(idle, used, allocatable, name_rank, leaf, start, members, *weights.checked(r))
        if leaves is not None:
            self._c_runs.set_leaves(*checked_leaves(leaves, n, self._d))
        if states is not None:
            self._c_runs.know_states(states.state_of, states.first)
        self._scored = scores is not None
        self._asked = False
        if scores is not None:
            check_length("scores", scores.value, self._d)
            self._c_runs.set_topology(*scores.arguments(), update_record)

    def add_shape(
        self,
        request: NDArray[np.int64],
        *,
        feasible: NDArray[np.uint8] | None = None,
        extra: NDArray[np.float64] | None = None,
    ) -> int:
        """Register a pod shape and return its number.

        Parameters
        ----------
        request : ndarray of shape (r,), int64
            Amounts that one pod requests.
        feasible : ndarray of shape (n,), uint8, optional
            0 where the pod may not run.
        extra : ndarray of shape (n,), float64, optional
            Added to the node part of the score; finite.
        """
        request = as_array("request", request, np.int64, 1)
        check_length("request", request, self._c_runs.r)
        check_range("request", request, 0, MAX_QUANTITY)
        if feasible is not None:
            feasible = as_array("feasible", feasible, np.uint8, 1)
            check_length("feasible", feasible, self._n)
        if extra is not None:
            extra = as_array("extra", extra, np.float64, 1)
            check_length("extra", extra, self._n)
            if not bool((np.abs(extra) <= MAX_SCORE).all()):
                raise InputError("not finite or too large", source="extra", expected=f"-{MAX_SCORE:g}..{MAX_SCORE:g}")
        return self._c_runs.add_shape(request, feasible, extra)

    def ask(
        self,
        counts: Counts,
        *,
        record: int = NO_RECORD,
        tasks_on_leaf: NDArray[np.int64] | None = None,
        total_tasks: int = 1,
    ) -> None:
        """Set the pods and the record for the trials that follow.

        Parameters
        ----------
        counts : Counts
        record : int
            Scored against by the first pod; -1 the virtual top, `NO_RECORD` empty.
        tasks_on_leaf : ndarray of shape (d,), int64, optional
            Pods of the gang that each leaf holds already; None: none.
        total_tasks : int
            All tasks of the gang.
        """
        shapes = as_array("shapes", counts.shapes, np.int32, 1)
        check_range("shapes", shapes, 0, self._c_runs.n_shapes - 1)
        m = shapes.shape[0]
        table = np.zeros((m, 3), dtype=np.int64)
        for column, (name, given) in enumerate(
            (("left", counts.left), ("present", counts.present), ("minimums", counts.minimums))
        ):
            if given is not None:
                numbers = as_array(name, given, np.int64, 1)
                check_length(name, numbers, m)
                check_range(name, numbers, 0, MAX_QUANTITY)
                table[:, column] = numbers
        pods = int(table[:, 0].sum())
        if pods > MAX_PODS_PER_CALL:
            raise CapacityError(f"left: {pods} pods in one call, at most {MAX_PODS_PER_CALL}")
        if counts.names is None:
            names = np.arange(m, dtype=np.int32)
        else:
            names = as_array("names", counts.names, np.int32, 1)
            check_length("names", names, m)
        if counts.after_failure not in _RULES:
            known = ", ".join(_RULES)
            raise InputError("no such rule", source="after_failure", got=counts.after_failure, expected=known)
        check_number("record", record, NO_RECORD, self._d - 1)
        check_number("total_tasks", total_tasks, 1, MAX_QUANTITY)
        if not self._scored and record != NO_RECORD:
            raise InputError("no topology scores", source="record", got=str(record), expected="scores at construction")
        if tasks_on_leaf is None:
            tasks_on_leaf = np.zeros(self._d, dtype=np.int64)
        tasks_on_leaf = as_array("tasks_on_leaf", tasks_on_leaf, np.int64, 1)
        check_length("tasks_on_leaf", tasks_on_leaf, self._d)
        check_range("tasks_on_leaf", tasks_on_leaf, 0, MAX_QUANTITY)
        self._c_runs.ask(
            shapes,
            names,
            table,
            _RULES[counts.after_failure],
            check_number("min_available", counts.min_available, 0, MAX_QUANTITY),
            check_number("counted", counts.counted, 0, MAX_QUANTITY),
            counts.min_available >= int(table[:, 2].sum()),
            self._scored,
            record,
            tasks_on_leaf,
            total_tasks,
            *self._runs(counts, m),
        )
        self._asked = True

    @staticmethod
    def _runs(counts: Counts, m: int) -> tuple[NDArray[np.int32] | None, NDArray[np.int64] | None]:
        if counts.runs is None:
            return None, None
        roles = checked("runs", counts.runs[0], np.int32, None, 0, m - 1)
        return roles, checked("runs", counts.runs[1], np.int64, len(roles), -MAX_QUANTITY, MAX_QUANTITY)

    def try_each(self, domains: NDArray[np.int32], sums: NDArray[np.float64] | None = None) -> Trials:
        """Fill each of some domains as a trial; every trial sees the nodes as they are.

        Parameters
        ----------
        domains : ndarray of shape (k,), int32
            -1: every node.
        sums : ndarray of shape (k,), float64, optional
            Start value of each domain's sum of scores; None: 0.
        """
        self._must_be_asked()
        domains = as_array("domains", domains, np.int32, 1)
        check_range("domains", domains, VIRTUAL_TOP, self._d - 1)
        k = domains.shape[0]
        if sums is None:
            totals = np.zeros(k, dtype=np.float64)
        else:
            totals = as_array("sums", sums, np.float64, 1).copy()
            check_length("sums", totals, k)
        first = np.empty(k, dtype=np.float64)
        placed, missing = np.empty(k, dtype=np.int64), np.empty(k, dtype=np.int64)
        ready = np.empty(k, dtype=np.bool_)
        self._c_runs.try_each(domains, totals, first, placed, missing, ready.view(np.uint8))
        return Trials(placed, ready, missing, totals, first)

    def settle(self, domain: int) -> Settled:
        """Run the pass in one domain and keep its pods: later trials find the nodes fuller."""
        self._must_be_asked()
        return Settled(*self._c_runs.settle(check_number("domain", domain, VIRTUAL_TOP, self._d - 1)))

    def _must_be_asked(self) -> None:
        if not self._asked:
            raise InputError("nothing to place", source="counts", expected="ask() first")
