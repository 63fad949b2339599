"""Leaf switches and their nodes: free nodes, nodes for a job's pods, and sums over running pods.

Checked interface of the ``switches`` kernel.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from workbench._core import switches as kernel
from workbench.errors import InputError
from workbench.kernels.checks import are_arrays, as_array, check_length

__all__ = [
    "CLASSIFIED",
    "CROSSING",
    "FOUNDATION",
    "HOLDS",
    "SUMS",
    "UNHEALTHY",
    "VOTES_UNHEALTHY",
    "add_jobs",
    "first_free",
    "free_under_switches",
    "join_votes",
]

#: Flags added to the state that a pod's annotation gives for its switch (`add_jobs`).
VOTES_UNHEALTHY, HOLDS = 4, 8
#: Rows of the sums over running pods and jobs (`add_jobs`); before them idle, shared and exclusive, by their codes.
UNHEALTHY, FOUNDATION, CROSSING, CLASSIFIED = 3, 4, 5, 6
SUMS = 7


def free_under_switches(
    holders: NDArray[np.int32],
    idle: NDArray[np.int64],
    request: NDArray[np.int64],
    feasible: NDArray[np.uint8],
    gpu_free: NDArray[np.uint64],
    n_gpus: int,
    node_switch: NDArray[np.int32],
    n_switches: int,
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Find the nodes that no pod has to itself and that hold one more pod, and count them under each leaf switch.

    Raises InputError: wrong dtype or shape, or a node without holders names a switch that does not exist.

    Parameters
    ----------
    holders : ndarray of shape (n,), int32
        Number of pods on each node that have the node to themselves; 0: the node may be free.
    idle : ndarray of shape (n, r), int64
        Idle amounts in base units; negative is less than any request.
    request : ndarray of shape (r,), int64
        Amounts that the pod requests; a resource with request 0 is ignored.
    feasible : ndarray of shape (n,), uint8
        0 where the pod may not run.
    gpu_free : ndarray of shape (n, w), uint64
        Free GPUs as little-endian words.
    n_gpus : int
        Number of GPUs that must be free, in addition to the amounts in `idle`; 0: GPUs are not checked.
    node_switch : ndarray of shape (n,), int32
        Switch of each node; negative: no switch.
    n_switches : int
        Number of switches.

    Returns
    -------
    free : ndarray of shape (n,), bool
        Whether no pod has the node to itself and one more pod fits there.
    counts : ndarray of shape (n_switches,), int64
        Number of such nodes under each switch.
    """
    if not are_arrays(b"q2i1q1B1Q2i1", idle, holders, request, feasible, gpu_free, node_switch):
        idle = as_array("idle", idle, np.int64, 2)
        holders = as_array("holders", holders, np.int32, 1)
        request = as_array("request", request, np.int64, 1)
        feasible = as_array("feasible", feasible, np.uint8, 1)
        gpu_free = as_array("gpu_free", gpu_free, np.uint64, 2)
        node_switch = as_array("node_switch", node_switch, np.int32, 1)
    n = idle.shape[0]
    for name, array in (("holders", holders), ("feasible", feasible), ("gpu_free", gpu_free)):
        check_length(name, array, n)
    check_length("node_switch", node_switch, n)
    check_length("request", request, idle.shape[1])
    free = np.empty(n, dtype=np.bool_)
    counts = np.empty(n_switches, dtype=np.int64)
    done = kernel.free_under_switches(
        holders, idle, request, feasible, gpu_free, n_gpus, node_switch, free.view(np.uint8), counts
    )
    if done < n:
        raise InputError("no such switch", source="node_switch", where=f"node {done}", got=str(int(node_switch[done])))
    return free, counts


def join_votes(votes: NDArray[np.int64]) -> tuple[NDArray[np.int8], NDArray[np.bool_]]:
    """Combine pods' votes into a state per switch: shared if any pod votes so, else exclusive if any does, else idle.

    A switch is unhealthy if any pod votes so.

    `votes` (ndarray of shape (4, s), int64): number of votes for idle, shared, exclusive and unhealthy, per switch.
    Raises InputError: wrong dtype or shape.

    Returns
    -------
    state : ndarray of shape (s,), int8
        0 idle, 1 shared, 2 exclusive.
    unhealthy : ndarray of shape (s,), bool
        Only shared switches can be unhealthy.
    """
    votes = as_array("votes", votes, np.int64, 2)
    check_length("votes", votes, 4)
    state, unhealthy = np.empty(votes.shape[1], dtype=np.int8), np.empty(votes.shape[1], dtype=np.bool_)
    kernel.join_votes(votes, state, unhealthy.view(np.uint8))
    return state, unhealthy


def first_free(
    chosen: NDArray[np.int64],
    wanted: NDArray[np.int64],
    vote: NDArray[np.int8],
    free: NDArray[np.bool_],
    start: NDArray[np.int64],
    nodes: NDArray[np.int32],
    by_position: NDArray[np.int64],
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
    """Choose nodes for a job's pods under given leaf switches: of each switch the free nodes with the lowest positions.

    Raises InputError: wrong dtype or shape, a number out of range, a switch with fewer free nodes than wanted.

    Parameters
    ----------
    chosen : ndarray of shape (c,), int64
        Switches, in the order of the answer.
    wanted : ndarray of shape (c,), int64
        Number of nodes to choose under each switch.
    vote : ndarray of shape (c,), int8
        State that the pods placed under each switch vote for, as in `add_jobs`.
    free : ndarray of shape (n,), bool
        Whether each node is free.
    start : ndarray of shape (s + 1,), int64
        Switch i owns ``nodes[start[i]:start[i + 1]]``, in configuration order.
    nodes : ndarray of shape (m,), int32
        Nodes under the switches, switch by switch.
    by_position : ndarray of shape (m,), int64
        Indices into ``nodes``: those of switch i, at ``start[i]`` to ``start[i + 1]``, sorted by the nodes' positions.

    Returns
    -------
    node : ndarray of shape (sum of wanted,), int32
        The chosen nodes, switch by switch.
    group : ndarray of shape (sum of wanted,), int32
        Group of pods with equal annotations, numbered in the order of the answer: the pods of one shared switch (their
        annotations name its address), and the pods of all other switches with the same state.
    head : ndarray of shape (groups,), int64
        First of the chosen switches of each group.
    """
    if not are_arrays(b"q1q1b1?1q1i1q1", chosen, wanted, vote, free, start, nodes, by_position):
        chosen = as_array("chosen", chosen, np.int64, 1)
        wanted = as_array("wanted", wanted, np.int64, 1)
        vote = as_array("vote", vote, np.int8, 1)
        free = as_array("free", free, np.bool_, 1)
        start = as_array("start", start, np.int64, 1)
        nodes = as_array("nodes", nodes, np.int32, 1)
        by_position = as_array("by_position", by_position, np.int64, 1)
    check_length("wanted", wanted, chosen.shape[0])
    check_length("vote", vote, chosen.shape[0])
    check_length("by_position", by_position, nodes.shape[0])
    done, node, group, head = kernel.first_free(chosen, wanted, vote, free.view(np.uint8), start, nodes, by_position)
    if done < len(chosen):
        raise InputError("no such switch, or fewer free nodes than wanted", source="chosen", where=f"entry {done}")
    return node, group, head


def add_jobs(
    sign: int,
    start: NDArray[np.int64],
    counts: NDArray[np.bool_],
    node: NDArray[np.int32],
    vote: NDArray[np.int8],
    node_switch: NDArray[np.int32],
    holders: NDArray[np.int32],
    sums: NDArray[np.int64],
) -> None:
    """Add running jobs to the sums per leaf switch from which switch states are computed, or subtract them.

    Raises InputError: wrong dtype or shape, no CSR offsets, a number out of range; nothing is changed then.

    Parameters
    ----------
    sign : {1, -1}
    start : ndarray of shape (j + 1,), int64
        Job i has the pods ``start[i]`` to ``start[i + 1]``, the end excluded.
    counts : ndarray of shape (j, 4), bool
        Sums that each job takes part in: the votes of its pods; `FOUNDATION`, `CROSSING`, `CLASSIFIED`.
    node : ndarray of shape (p,), int32
        Node of each pod; -1: a node that is not in the snapshot.
    vote : ndarray of shape (p,), int8
        State of its switch that each pod votes for, 0 to 2; plus `VOTES_UNHEALTHY` if the pod calls the switch
        unhealthy, plus `HOLDS` if the pod has its node to itself.
    node_switch : ndarray of shape (n,), int32
        Switch of each node; -1: none.
    holders : ndarray of shape (n,), int32
        Number of pods that have each node to themselves; changed in place.
    sums : ndarray of shape (7, s), int64
        Sums per switch, changed in place: votes for idle, shared, exclusive, `UNHEALTHY`; `FOUNDATION` and `CROSSING`
        jobs with pods both under the switch and elsewhere; `CLASSIFIED` jobs with a pod under it.
    """
    if not are_arrays(b"q1?2i1b1i1i1q2", start, counts, node, vote, node_switch, holders, sums):
        start = as_array("start", start, np.int64, 1)
        counts = as_array("counts", counts, np.bool_, 2)
        node = as_array("node", node, np.int32, 1)
        vote = as_array("vote", vote, np.int8, 1)
        node_switch = as_array("node_switch", node_switch, np.int32, 1)
        if as_array("holders", holders, np.int32, 1) is not holders or as_array("sums", sums, np.int64, 2) is not sums:
            raise InputError("not C-contiguous, and are to be changed", source="holders, sums")
    if start.shape[0] == 0:
        raise InputError("empty", source="start", expected="j + 1 entries")
    check_length("counts", counts, start.shape[0] - 1)
    check_length("vote", vote, node.shape[0])
    check_length("holders", holders, node_switch.shape[0])
    check_length("sums", sums, SUMS)
    if counts.shape[1] != 4:
        raise InputError("wrong number of columns", source="counts", got=str(counts.shape[1]), expected="4")
    done = kernel.add_jobs(sign, start, counts.view(np.uint8), node, vote, node_switch, holders, sums)
    if done < 0:
        raise InputError("offsets do not cover the pods", source="start", expected=f"0 to {len(node)}, ascending")
    if done < len(node):
        raise InputError("node, switch or state out of range", source="node", where=f"pod {done}")
