"""Fill the nodes of a domain (HyperNode) pod by pod, as a trial or for good (checked interface of ``_core.dry_runs``).

A job's record is the domain in which it is allocated so far; nodes are scored by closeness to it. Owns the checks and
the documented order of choice. ``policies`` decide which domains are tried, and with which record.
"""

from __future__ import annotations

from operator import is_

import numpy as np
from numpy.typing import NDArray

from workbench._core import dry_runs as _core
from workbench._core.ranges import is_offsets
from workbench.errors import CapacityError, InputError
from workbench.kernels.checks import as_array, check_length, check_number, check_range, checked
from workbench.kernels.domain_nodes import DomainNodes
from workbench.kernels.domains import (
    MAX_PODS_PER_CALL,
    MAX_QUANTITY,
    MAX_SCORE,
    MAX_SUM,
    NO_RECORD,
    ScoreWeights,
    TopologyScores,
)
from workbench.kernels.dry_run_values import Counts, DomainTotals, Settled, Trials
from workbench.kernels.fading import Fading
from workbench.kernels.node_states import NodeStates
from workbench.kernels.tiers import VIRTUAL_TOP

__all__ = ["DryRuns"]

_RULES = {"by-minimums": 0, "stop": 1, "go-on": 2}


class DryRuns:
    """Places a gang's pods on the nodes of a domain (HyperNode) by node score, as a trial or for good.

    "Record" stands for the domain in which the gang's job is allocated so far; a "pass" is one fill of a domain.

    Raises InputError: wrong dtype or shape, an index or amount out of range.

    Parameters
    ----------
    idle, used, allocatable : ndarray of shape (n, r), int64
        Amounts in base units, at most 2**53. Idle may be negative; no pod that requests the resource fits then. Idle
        and used are copied; allocatable is not, and must not change.
    domains : DomainNodes
        Nodes of each domain, by its number; domain -1 is every node. If leaf domains overlap, a pod counts as a task of
        each leaf that holds its node.
    scores : TopologyScores, optional
        Needed for trials with a record.
    fading : Fading, optional
        Score by which pods prefer full domains, used only without ``scores``; None: domains have no such score.
    totals : DomainTotals, optional
        Needed with ``fading``; ``used`` is copied and follows the pods that stay.
    states : NodeStates, optional
        Groups of nodes with equal amounts, computed from these very arrays, which are then not checked again; None: the
        groups are computed here.

    Notes
    -----
    **Choice**, total order: highest total score, then highest node part, then smallest name rank. The answer is that of
    scoring every node again for every pod. Only ``idle`` counts, not what terminating pods will free. If only one node
    fits, it is taken without scoring, as in Volcano: its score is 0.

    **Node part**, summed in this order, each part times its weight:

    - binpack: over the requested resources, ``sum(w * (used + request) / allocatable) / sum(w) * 100``; a resource that
      is not allocatable or would overflow contributes 0 to the upper sum; 0 when the weights sum to 0;
    - least requested: integer mean, weighted, of ``(allocatable - used - request) * 100 // allocatable``, 0 for a
      resource that would overflow; a resource that the node does not have is left out together with its weight;
    - most requested: like least requested, with ``(used + request) * 100 // allocatable``;
    - balanced: ``int((1 - std) * 100)``, where std is the standard deviation of the fractions
      ``min(1, (used + request) / allocatable)`` of the balanced resources that the node has (0 for fewer than two); 0
      for a pod that requests none of these resources;
    - the shape's own ``extra`` number of the node.

    **Total** = node part + the offset of the node's leaf where there are ``scores``, else the gain of ``fading``, else
    0.

    **Offset** of a leaf: ``(base + share) * 100 * weight``, or 0 while the record is empty. The base is ``own`` for the
    record itself, otherwise ``value`` at the LCA of leaf and record (``top`` if they have none); a node without leaf
    has base 0. If two or more of the nodes that fit the pod share the greatest base, the share of each is the tasks in
    its leaf / all tasks (0 without leaf); otherwise the share is 0.

    **A pass** places the pods in their order, run by run (a run is consecutive pods of one role). Of each run it places
    the pods that the gang still needs to be ready, at least one; all that are left while another role is below its
    minimum. The pass ends with the pod that makes the gang ready, or after a failure as `Counts.after_failure` says
    (docs/reference/volcano-topology.md, section 5.1, steps 2, 5, 9).

    Cost of a trial: O(nodes) comparisons, one score for each node whose kept score for the shape is out of date, and
    per pod one path of a tournament tree.

    Sources: Volcano plugins binpack, nodeorder (Kubernetes NodeResourcesFit, NodeResourcesBalancedAllocation) and
    network-topology-aware; allocate action, placing tasks on a node list.

    An object must not be used by several threads at once.
    """

    # Overview:
    #   add_shape    once for each shape of pods: request, nodes, scores
    #   ask          what the next passes place, and near which HyperNode
    #   try_each     passes in several domains; each is taken back
    #   settle       one pass for good

    def __init__(
        self,
        idle: NDArray[np.int64],
        used: NDArray[np.int64],
        allocatable: NDArray[np.int64],
        domains: DomainNodes,
        *,
        weights: ScoreWeights,
        scores: TopologyScores | None = None,
        fading: Fading | None = None,
        totals: DomainTotals | None = None,
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
        elif not all(map(is_, states.arrays, (idle, used, allocatable))):
            raise InputError("of other arrays", source="states", expected="those of idle, used and allocatable")
        check_length("idle", idle, domains.n)
        self._n, self._d = n, domains.d
        self._c_runs = _core.DryRuns(
            idle,
            used,
            allocatable,
            domains.name_rank,
            domains.leaf,
            domains.start,
            domains.members,
            *weights.checked(r),
        )
        if domains.leaves is not None:
            self._c_runs.set_leaves(*domains.leaves)
        if states is not None:
            self._c_runs.know_states(states.state_of, states.first)
        self._scored = scores is not None
        self._asked = False
        if scores is not None:
            check_length("scores", scores.value, self._d)
            self._c_runs.set_topology(*scores.arguments())
        if fading is not None:
            self._set_fading(fading, totals)

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        n: int = self._n
        return n

    def _set_fading(self, fading: Fading, totals: DomainTotals | None) -> None:
        if totals is None:
            raise InputError("missing", source="totals", expected="the sums of each domain, as there is fading")
        d, r = self._d, self._c_runs.r
        used = as_array("domain_used", totals.used, np.int64, 2)
        allocatable = as_array("domain_allocatable", totals.allocatable, np.int64, 2)
        for name, rows in (("domain_used", used), ("domain_allocatable", allocatable)):
            if rows.shape != (d + 1, r):
                raise InputError("wrong shape", source=name, got=str(rows.shape), expected=f"({d + 1}, {r})")
            check_range(name, rows, 0, MAX_SUM)
        holders = as_array("node_domains", totals.node_domains, np.int32, 1)
        check_range("node_domains", holders, 0, d - 1)
        start = as_array("node_start", totals.node_start, np.int64, 1)
        check_length("node_start", start, self._n + 1)
        if not is_offsets(start, holders.shape[0]):
            raise InputError("no CSR offsets", source="node_start", expected=f"ascending from 0 to {holders.shape[0]}")
        self._c_runs.set_fading(*fading.arguments(self._n, d, r), used, allocatable, start, holders)

    def add_shape(
        self,
        request: NDArray[np.int64],
        *,
        feasible: NDArray[np.uint8] | None = None,
        extra: NDArray[np.float64] | None = None,
    ) -> int:
        """Register a pod shape (pods with equal request, allowed nodes and extra scores) and return its number.

        `request` (ndarray of shape (r,), int64): amounts that one pod requests. `feasible` (ndarray of shape (n,),
        uint8): 0 where the pod may not run. `extra` (ndarray of shape (n,), float64): added to the node part of the
        score; finite.
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
            check_range("extra", extra, -MAX_SCORE, MAX_SCORE)
        return self._c_runs.add_shape(request, feasible, extra)

    def ask(
        self,
        counts: Counts,
        *,
        record: int = NO_RECORD,
        update_record: bool = False,
        tasks_on_leaf: NDArray[np.int64] | None = None,
        total_tasks: int = 1,
    ) -> None:
        """Set the pods that later trials place, and the HyperNode (the record) near which pods score higher.

        Parameters
        ----------
        counts : Counts
            The pods to place, and the rule by which a fill ends.
        record : int
            Domain in which the job is allocated, by whose closeness the first pod is scored; -1: the virtual top;
            `NO_RECORD`: none.
        update_record : bool
            Whether the record widens to its LCA with the leaf of each chosen node (an empty record becomes the leaf; a
            node without leaf changes nothing). Every pass begins with ``record``.
        tasks_on_leaf : ndarray of shape (d,), int64, optional
            Pods of the gang that each leaf holds already; None: none.
        total_tasks : int
            Number of all tasks (pods) of the gang.
        """
        shapes = checked("shapes", counts.shapes, np.int32, None, 0, self._c_runs.n_shapes - 1)
        m = len(shapes)
        left = checked("left", counts.left, np.int64, m, 0, MAX_QUANTITY)
        pods = sum(left.tolist())
        if pods > MAX_PODS_PER_CALL:
            raise CapacityError(f"left: {pods} pods in one call, at most {MAX_PODS_PER_CALL}")
        if counts.after_failure not in _RULES:
            known = ", ".join(_RULES)
            raise InputError("no such rule", source="after_failure", got=counts.after_failure, expected=known)
        if not self._scored and record != NO_RECORD:
            raise InputError("no topology scores", source="record", got=str(record), expected="scores at construction")
        self._c_runs.ask(
            shapes,
            None if counts.names is None else checked("names", counts.names, np.int32, m),
            left,
            _amounts("present", counts.present, m),
            _amounts("minimums", counts.minimums, m),
            _RULES[counts.after_failure],
            check_number("min_available", counts.min_available, 0, MAX_QUANTITY),
            check_number("counted", counts.counted, 0, MAX_QUANTITY),
            counts.every,
            self._scored,
            check_number("record", record, NO_RECORD, self._d - 1),
            update_record,
            _amounts("tasks_on_leaf", tasks_on_leaf, self._d),
            check_number("total_tasks", total_tasks, 1, MAX_QUANTITY),
            *_runs(counts, m),
        )
        self._asked = True

    def try_each(self, domains: NDArray[np.int32], sums: NDArray[np.float64] | None = None) -> Trials:
        """Place the pods set by `ask` in each of some domains (HyperNodes) as a trial; no trial changes a node.

        `domains` (ndarray of shape (k,), int32): the domains to try; -1: every node. `sums` (ndarray of shape (k,),
        float64): start value of each domain's sum of scores; None: 0.
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
        """Place the pods set by `ask` in one HyperNode (-1: on any node) for good, and return them.

        Later trials see the nodes with these pods on them.
        """
        self._must_be_asked()
        return Settled(*self._c_runs.settle(check_number("domain", domain, VIRTUAL_TOP, self._d - 1)))

    def node_scores(self, domain: int, shape: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Scores of a HyperNode's nodes for the first pod of a shape: the node part alone, and the total with topology.

        No pod is placed.

        `domain`: the HyperNode; -1: every node. `shape`: number of the pod shape, as `add_shape` returned it. Returns:
        two ndarrays of shape (n,), float64: scores by node of the cluster; -inf for a node outside the HyperNode or
        without room for the pod.
        """
        self._must_be_asked()
        check_number("shape", shape, 0, self._c_runs.n_shapes - 1)
        return self._c_runs.node_scores(check_number("domain", domain, VIRTUAL_TOP, self._d - 1), shape)

    def _must_be_asked(self) -> None:
        if not self._asked:
            raise InputError("nothing to place", source="counts", expected="ask() first")


def _amounts(name: str, numbers: NDArray[np.int64] | None, length: int) -> NDArray[np.int64] | None:
    return None if numbers is None else checked(name, numbers, np.int64, length, 0, MAX_QUANTITY)


def _runs(counts: Counts, m: int) -> tuple[NDArray[np.int32] | None, NDArray[np.int64] | None]:
    if counts.runs is None:
        return None, None
    roles = checked("runs", counts.runs[0], np.int32, None, 0, m - 1)
    return roles, checked("runs", counts.runs[1], np.int64, len(roles), -MAX_QUANTITY, MAX_QUANTITY)
