"""What dry runs are given and answer: counts of pods, trials, settled pods and totals of HyperNodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Counts", "DomainTotals", "Settled", "Trials"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Counts:
    """The pods of one gang that a fill of a domain (HyperNode) has to place, and the rule by which the fill ends.

    A pass is one fill: pods are put on the nodes of a domain one by one, in a given order of their roles.

    Parameters
    ----------
    shapes : ndarray of shape (m,), int32
        Number of the pod shape (request, allowed nodes, extra scores) of each role.
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
        the pass goes on while the pods that are left can still make the gang ready, or, if minimums count, while no
        role with the failed role's name is below its minimum.
    runs : tuple of ndarray of shape (k,), int32, and ndarray of shape (k,), int64, optional
        The order of the pods as runs: role of each run, as an index in ``shapes``, and number of that role's pods up to
        the end of the run; a run without pods left is skipped. None: role by role.
    every : bool
        Whether to take all following turns in one pass. Volcano ends the first turn with the pod that makes the gang
        ready, and every later turn after one pod; since all turns use the same nodes, one pass over the pods in their
        order gives the same answer. Only a turn in which a pod fits nowhere ends the pass early, because the next turn
        tries again the roles that were given up.
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
    every: bool = False


class Trials(NamedTuple):
    """Results of trial placements of a gang (`DryRuns.try_each`): one entry per domain (HyperNode) tried.

    Attributes
    ----------
    placed : ndarray of shape (k,), int64
        Number of pods placed until the gang was ready or no further pod could be placed.
    ready : ndarray of shape (k,), bool
        Whether the gang was ready at the end.
    missing : ndarray of shape (k,), int64
        Number of pods that the gang still needs to start; 0 if it is ready.
    sums : ndarray of shape (k,), float64
        The start value handed in, plus the score of each placed pod in the order of placement.
    first : ndarray of shape (k,), float64
        Score of the first pod; 0 if no pod was placed.
    """

    placed: NDArray[np.int64]
    ready: NDArray[np.bool_]
    missing: NDArray[np.int64]
    sums: NDArray[np.float64]
    first: NDArray[np.float64]


class Settled(NamedTuple):
    """The p pods that `DryRuns.settle` placed for good, in the order of placement, and the number of pods left.

    Attributes
    ----------
    entries : ndarray of shape (p,), int32
        Role of each pod, as an index in ``Counts.shapes``.
    nodes : ndarray of shape (p,), int32
        Node of each pod.
    scores : ndarray of shape (p,), float64
        Score of each pod's node when the pod was placed.
    pods : ndarray of shape (p,), int64
        Number of each pod among the pods of its role that were to be placed, from 0; pods given up are counted.
    placed : ndarray of shape (m,), int64
        Number of pods placed of each of the m roles.
    left : ndarray of shape (m,), int64
        Number of pods of each role still to place afterwards; 0 if they were given up.
    failed : int
        The first role, as an index in ``Counts.shapes``, of which a pod fitted nowhere in the last turn; -1: none.
    record : int
        HyperNode in which the job is allocated after the last pod.
    """

    entries: NDArray[np.int32]
    nodes: NDArray[np.int32]
    scores: NDArray[np.float64]
    pods: NDArray[np.int64]
    placed: NDArray[np.int64]
    left: NDArray[np.int64]
    failed: int
    record: int


class DomainTotals(NamedTuple):
    """Used and allocatable amounts summed over each domain (HyperNode), and the domains that hold each node.

    Attributes
    ----------
    used, allocatable : ndarray of shape (d + 1, r), int64
        Sums over the nodes of each domain, in base units; the virtual top last.
    node_start : ndarray of shape (n + 1,), int64
        Offsets into ``node_domains``, ascending from 0.
    node_domains : ndarray of shape (node_start[n],), int32
        Domains that hold node i: ``node_domains[node_start[i]:node_start[i + 1]]``.
    """

    used: NDArray[np.int64]
    allocatable: NDArray[np.int64]
    node_start: NDArray[np.int64]
    node_domains: NDArray[np.int32]
