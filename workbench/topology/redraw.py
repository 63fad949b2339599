"""From a drawing of a snapshot back to a snapshot that keeps what a drawing does not show."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from workbench.model.resources import request_vector
from workbench.model.snapshot import ClusterSnapshot, gpu_words
from workbench.model.topology import Topology

__all__ = ["carry_over"]


def carry_over(fresh: ClusterSnapshot, before: ClusterSnapshot) -> ClusterSnapshot:
    """A snapshot made of a drawing, with the queues, running pods, GPUs and matrices that the nodes had before.

    Parameters
    ----------
    fresh : ClusterSnapshot
        Of the drawing: idle, without matrices.
    before : ClusterSnapshot
        What was drawn. A running pod whose node is no longer drawn leaves with it. A node whose number of GPUs was
        changed has them all, numbered from 0, and no matrix.
    """
    was = {name: i for i, name in enumerate(before.topology.node_names)}
    now = {name: i for i, name in enumerate(fresh.topology.node_names)}
    total, free, matrix = [], [], []
    same = []
    for i, name in enumerate(fresh.topology.node_names):
        old = was.get(name)
        same.append(
            old is not None
            and np.bitwise_count(before.gpu_total[old]).sum() == np.bitwise_count(fresh.gpu_total[i]).sum()
        )
        source, at = (before, old) if same[-1] and old is not None else (fresh, i)
        total.append(_mask(source, "gpu_total", at))
        free.append(_mask(source, "gpu_free", at))
        matrix.append(int(source.node_matrix[at]) if source is before else -1)
    running = tuple(
        replace(pod, node=now[name]) if pod.node >= 0 else pod
        for pod in before.running
        if pod.node < 0 or (name := before.topology.node_names[pod.node]) in now
    )
    used = np.zeros_like(fresh.used)
    for pod in running:
        if pod.node >= 0:
            used[pod.node] += request_vector(fresh.resources, pod.requests)[0]
    words = gpu_words([*total, *free])
    n = fresh.n_nodes
    # Whatever else a snapshot holds stays: only what the drawing shows, and what is numbered by node, is new.
    redrawn = replace(
        before,
        topology=fresh.topology,
        resources=fresh.resources,
        allocatable=fresh.allocatable,
        labels=fresh.labels,
        taints=fresh.taints,
        unschedulable=fresh.unschedulable,
        addresses=fresh.addresses,
        used=used,
        gpu_total=words[:n].copy(),
        gpu_free=words[n:].copy(),
        node_matrix=np.array(matrix, dtype=np.int32),
        running=running,
    )
    if before.switches is None or _same_tree(fresh.topology, before.topology):
        return redrawn
    gap = "the drawing differs from the switch file: its HyperNodes of tier 1 are the switches"
    return replace(redrawn, switches=None, gaps=(*before.gaps, gap))


def _same_tree(one: Topology, other: Topology) -> bool:
    return (
        one.node_names == other.node_names
        and one.domain_names == other.domain_names
        and np.array_equal(one.member_start, other.member_start)
        and np.array_equal(one.member_nodes, other.member_nodes)
    )


def _mask(snapshot: ClusterSnapshot, array: str, node: int) -> int:
    return int.from_bytes(getattr(snapshot, array)[node].astype("<u8").tobytes(), "little")
