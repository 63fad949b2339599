"""`carry_over`: turn the edited drawing of a snapshot back into a snapshot with the data that a drawing
does not show.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from workbench.model.arrays import Words
from workbench.model.notice import Notice
from workbench.model.resources import request_vector
from workbench.model.running_pod import RunningPod
from workbench.model.snapshot import NO_MATRIX, ClusterSnapshot
from workbench.model.topology import Topology

__all__ = ["carry_over"]


def carry_over(fresh: ClusterSnapshot, before: ClusterSnapshot) -> ClusterSnapshot:
    """Complete a snapshot made from a drawing with the queues, running pods, GPUs and matrices from before.

    `fresh`: snapshot made of the drawing: idle, without matrices. `before`: snapshot that was drawn. Running pods on a
    node that is no longer drawn are dropped. A node whose number of GPUs was changed has all of them healthy, numbered
    from 0, without a matrix and without GPU shares of its running pods.
    """
    was = {name: i for i, name in enumerate(before.topology.node_names)}
    now = {name: i for i, name in enumerate(fresh.topology.node_names)}
    old = np.array([was.get(name, -1) for name in fresh.topology.node_names], dtype=np.intp)
    n_before, n_fresh = (np.bitwise_count(s.gpu_total).sum(axis=1) for s in (before, fresh))
    same = old >= 0
    same[same] = n_before[old[same]] == n_fresh[same]
    kept = old[same]
    node_matrix = np.full(fresh.n_nodes, NO_MATRIX, dtype=np.int32)
    node_matrix[same] = before.node_matrix[kept]
    total = _rows(fresh.gpu_total, same, before.gpu_total[kept])
    free = _rows(fresh.gpu_free, same, before.gpu_free[kept])
    # As many words as the widest remaining mask needs.
    width = 1 + int(np.flatnonzero(total.any(axis=0)).max(initial=0))
    running = tuple(
        _moved(pod, now[name], same) if pod.node >= 0 else pod
        for pod in before.running
        if pod.node < 0 or (name := before.topology.node_names[pod.node]) in now
    )
    shares = None
    if before.gpu_shares is not None:
        shares = np.zeros((fresh.n_nodes, 64 * width), dtype=np.int16)
        columns = min(shares.shape[1], before.gpu_shares.shape[1])
        shares[same, :columns] = before.gpu_shares[kept, :columns]
    used = np.zeros_like(fresh.used)
    for pod in running:
        if pod.node >= 0:
            used[pod.node] += request_vector(fresh.resources, pod.requests)[0]
    # Other fields of the snapshot stay: only fields that the drawing shows, or that are indexed by node, are new.
    redrawn = replace(
        before,
        topology=fresh.topology,
        resources=fresh.resources,
        allocatable=fresh.allocatable,
        labels=fresh.labels,
        taints=fresh.taints,
        unschedulable=fresh.unschedulable,
        not_ready=fresh.not_ready,
        addresses=fresh.addresses,
        used=used,
        gpu_total=total[:, :width].copy(),
        gpu_free=free[:, :width].copy(),
        gpu_shares=shares,
        node_uids=_texts(before.node_uids, old),
        node_resource_versions=_texts(before.node_resource_versions, old),
        node_matrix=node_matrix,
        running=running,
    )
    if before.switches is None or _same_tree(fresh.topology, before.topology):
        return redrawn
    text = "the drawing differs from the switch file: its HyperNodes of tier 1 are the switches"
    return replace(redrawn, switches=None, gaps=(*before.gaps, Notice("switch-table-dropped", text)))


def _moved(pod: RunningPod, node: int, same: npt.NDArray[np.bool_]) -> RunningPod:
    """The running pod with its node's new index, and without its GPU share if the node's GPUs changed."""
    if pod.gpu_milli and not same[node]:
        return replace(pod, node=node, gpu_mask=0, gpu_milli=0)
    return replace(pod, node=node)


def _texts(texts: tuple[str, ...] | None, old: npt.NDArray[np.intp]) -> tuple[str, ...] | None:
    """Texts of the drawn nodes, given the index `old` that each node had before; empty for new nodes (index -1)."""
    return None if texts is None else tuple(texts[i] if i >= 0 else "" for i in old.tolist())


def _same_tree(one: Topology, other: Topology) -> bool:
    return (
        one.node_names == other.node_names
        and one.domain_names == other.domain_names
        and np.array_equal(one.member_start, other.member_start)
        and np.array_equal(one.member_nodes, other.member_nodes)
    )


def _rows(words: Words, chosen: npt.NDArray[np.bool_], instead: Words) -> Words:
    """GPU masks with the rows where `chosen` is True from `instead`; as wide as the wider of both."""
    made = np.zeros((len(words), max(words.shape[1], instead.shape[1])), dtype=np.uint64)
    made[~chosen, : words.shape[1]] = words[~chosen]
    made[chosen, : instead.shape[1]] = instead
    return made
