"""What one placement costs and keeps: counts over tiers, rings, GPU bottlenecks, stranded GPUs.

Everything is counted over arrays; 5,000 pods take milliseconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.cancel import check
from workbench.evaluate.closeness import SAME_NODE, Closeness
from workbench.evaluate.switch_sharing import SwitchSharing, measure_switches, switches_matter
from workbench.kernels.bottleneck import indices_of
from workbench.model.placement import Decision, Placement, words_to_mask
from workbench.model.snapshot import ClusterSnapshot
from workbench.model.value import Value

__all__ = ["NODE", "PlacementMetrics", "RunMetrics", "gpus_free_after", "measure", "measure_run"]

Words = npt.NDArray[np.uint64]

#: Key of "on the same node" beside the tiers; no HyperNode tier can be called so.
NODE = "node"


@dataclass(frozen=True, eq=False)
class PlacementMetrics(Value):
    """One placed gang in numbers.

    Attributes
    ----------
    n_pods : int
        Placed pods.
    n_nodes : int
        Nodes that hold at least one of them.
    domains_used : mapping of int to int
        Tier to number of its HyperNodes that hold at least one pod, closest tier first.
    lca : str
        The closest HyperNode that holds every pod; the node's name where there is only one.
    lca_tier : int
        Its tier; 0 for a single node.
    pod_pairs : mapping of str to int
        ``node`` and each tier (the virtual top included) to the unordered pairs of pods whose nodes meet there.
    ring_crossings : mapping of str to int
        The same for a ring in rank order, the last rank connected to the first: p pods have p links (2 pods: both
        directions), 1 pod has none.
    nodes : tuple of str
        The nodes, in the snapshot's order.
    gpus : tuple of tuple of int
        The gang's GPUs on each of them; empty where no GPUs were chosen.
    bottleneck_gb_s : ndarray of shape (n_nodes,), float64
        Smallest bandwidth over all ordered pairs of the gang's GPUs on a node; NaN where the gang has fewer than two
        there or the matrix is unknown.
    gpus_stranded : int, optional
        GPUs still free at the end on nodes where the gang holds at least one GPU: fragments that no whole-node job can
        use. None where no GPUs were chosen.
    """

    n_pods: int
    n_nodes: int
    domains_used: Mapping[int, int]
    lca: str
    lca_tier: int
    pod_pairs: Mapping[str, int]
    ring_crossings: Mapping[str, int]
    nodes: tuple[str, ...]
    gpus: tuple[tuple[int, ...], ...]
    bottleneck_gb_s: npt.NDArray[np.float64]
    gpus_stranded: int | None

    @property
    def n_leaves(self) -> int:
        """HyperNodes of the lowest tier that hold a pod."""
        return next(iter(self.domains_used.values()), 0)

    @property
    def n_gpus(self) -> int:
        return sum(len(gpus) for gpus in self.gpus)

    @cached_property
    def worst_bottleneck_gb_s(self) -> float | None:
        """The slowest node's bottleneck; None where no node has one."""
        known = self.bottleneck_gb_s[~np.isnan(self.bottleneck_gb_s)]
        return float(known.min()) if len(known) else None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; NaN becomes None."""
        return {
            "pods": self.n_pods,
            "nodes": self.n_nodes,
            "leaves": self.n_leaves,
            "domains_used": {str(tier): count for tier, count in self.domains_used.items()},
            "lca": self.lca,
            "lca_tier": self.lca_tier,
            "pod_pairs": dict(self.pod_pairs),
            "ring_crossings": dict(self.ring_crossings),
            "bottleneck_gb_s": self.worst_bottleneck_gb_s,
            "node_gpus": [
                {"node": node, "gpus": list(gpus), "bottleneck_gb_s": None if np.isnan(value) else float(value)}
                for node, gpus, value in zip(self.nodes, self.gpus, self.bottleneck_gb_s)
                if gpus
            ],
            "gpus_stranded": self.gpus_stranded,
        }


@dataclass(frozen=True, eq=False)
class RunMetrics(Value):
    """One session in numbers.

    Attributes
    ----------
    placed, pending : tuple of str
        Gangs by ``namespace/name``, in the order of the gangs.
    jobs : mapping of str to PlacementMetrics
        Of the placed gangs.
    n_pods_placed, n_pods : int
        Over all gangs.
    gpus_stranded : int
        GPUs still free at the end on nodes where a placed gang holds at least one; each GPU once.
    switches : SwitchSharing, optional
        How the jobs share the leaf switches; None where nobody asks about switches.
    """

    placed: tuple[str, ...]
    pending: tuple[str, ...]
    jobs: Mapping[str, PlacementMetrics]
    n_pods_placed: int
    n_pods: int
    gpus_stranded: int
    switches: SwitchSharing | None = None

    @property
    def worst_bottleneck_gb_s(self) -> float | None:
        """The slowest node of all jobs; None where none is known."""
        return min((v for v in (j.worst_bottleneck_gb_s for j in self.jobs.values()) if v is not None), default=None)

    def pod_pairs(self) -> dict[str, int]:
        """Pod pairs per tier, summed over the jobs."""
        return _summed([job.pod_pairs for job in self.jobs.values()])

    def ring_crossings(self) -> dict[str, int]:
        """Ring links per tier, summed over the jobs."""
        return _summed([job.ring_crossings for job in self.jobs.values()])

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; ``switches``, there and in each job, only where they were measured."""
        sharing = self.switches
        on_switches = {} if sharing is None else sharing.jobs
        return {
            "placed": len(self.placed),
            "pending": len(self.pending),
            "pods_placed": self.n_pods_placed,
            "pods": self.n_pods,
            "pod_pairs": self.pod_pairs(),
            "ring_crossings": self.ring_crossings(),
            "bottleneck_gb_s": self.worst_bottleneck_gb_s,
            "gpus_stranded": self.gpus_stranded,
            **({} if sharing is None else {"switches": sharing.to_dict()}),
            "jobs": {
                key: {**job.to_dict(), **({"switches": on_switches[key].to_dict()} if key in on_switches else {})}
                for key, job in self.jobs.items()
            },
        }


def measure(placement: Placement, snapshot: ClusterSnapshot, gpu_free: Words | None = None) -> PlacementMetrics:
    """Measure one placement.

    Parameters
    ----------
    placement : Placement
    snapshot : ClusterSnapshot
        The moment before the decision; gives the bandwidth matrices.
    gpu_free : ndarray of shape (n, w), uint64, optional
        GPUs free at the end, for `gpus_stranded`; by default the snapshot's without this gang's.

    Returns
    -------
    PlacementMetrics
    """
    check()
    placed = np.flatnonzero(placement.node >= 0)
    nodes, node_of_pod = np.unique(placement.node[placed], return_inverse=True)
    closeness = Closeness(placement.topology, nodes)
    same_node, per_level = closeness.pair_counts(np.bincount(node_of_pod, minlength=len(nodes)))
    keys = [str(tier) for tier in closeness.tiers]
    common = closeness.common_domain()
    words = _gpus_by_node(placement, placed, node_of_pod, len(nodes))
    free = gpus_free_after(snapshot, [placement]) if gpu_free is None else gpu_free
    return PlacementMetrics(
        n_pods=len(placed),
        n_nodes=len(nodes),
        domains_used=closeness.domains_used(),
        lca=placement.topology.node_names[nodes[0]] if len(nodes) == 1 else placement.topology.domain_name(common),
        lca_tier=0 if len(nodes) == 1 else placement.topology.domain_tier(common),
        pod_pairs={NODE: same_node, **dict(zip(keys, per_level.tolist()))},
        ring_crossings=_ring(placement, placed, node_of_pod, closeness, keys),
        nodes=tuple(placement.topology.node_names[i] for i in nodes),
        **_gpu_metrics(words, nodes, snapshot, free),
    )


def measure_run(decisions: Sequence[Decision], snapshot: ClusterSnapshot) -> RunMetrics:
    """Measure a session; stranded GPUs and shared switches are counted after all of its placements."""
    placements = [d.result for d in decisions if isinstance(d.result, Placement)]
    free = gpus_free_after(snapshot, placements)
    touched = np.zeros(snapshot.n_nodes, dtype=np.bool_)
    for placement in placements:
        if placement.gpu_words is not None:
            touched[placement.node[(placement.gpu_words != 0).any(axis=1) & (placement.node >= 0)]] = True
    return RunMetrics(
        placed=tuple(p.gang.key for p in placements),
        pending=tuple(d.gang.key for d in decisions if not d.placed),
        jobs={p.gang.key: measure(p, snapshot, free) for p in placements},
        n_pods_placed=sum(p.n_placed for p in placements),
        n_pods=sum(d.gang.n_pods for d in decisions),
        gpus_stranded=int(np.bitwise_count(free[touched]).sum()),
        switches=measure_switches(decisions, snapshot) if switches_matter(decisions, snapshot) else None,
    )


def gpus_free_after(snapshot: ClusterSnapshot, placements: Sequence[Placement]) -> Words:
    """Free GPUs per node once the placements run, uint64 of shape (n, w)."""
    free = snapshot.gpu_free.copy()
    for placement in placements:
        if placement.gpu_words is None:
            continue
        placed = np.flatnonzero(placement.node >= 0)
        width = min(free.shape[1], placement.gpu_words.shape[1])
        taken = np.zeros_like(free)
        np.bitwise_or.at(taken[:, :width], placement.node[placed], placement.gpu_words[placed, :width])
        free &= ~taken
    return free


def _ring(
    placement: Placement,
    placed: npt.NDArray[np.int64],
    node_of_pod: npt.NDArray[np.int64],
    closeness: Closeness,
    keys: list[str],
) -> dict[str, int]:
    ring = node_of_pod if placement.rank is None else node_of_pod[np.argsort(placement.rank[placed], kind="stable")]
    if len(ring) < 2:
        return dict.fromkeys([NODE, *keys], 0)
    levels = closeness.pair_levels(ring, np.roll(ring, -1))
    counts = np.bincount(levels - SAME_NODE, minlength=len(keys) + 1)
    return dict(zip([NODE, *keys], counts.tolist()))


def _gpus_by_node(
    placement: Placement, placed: npt.NDArray[np.int64], node_of_pod: npt.NDArray[np.int64], n_nodes: int
) -> Words | None:
    if placement.gpu_words is None:
        return None
    words = np.zeros((n_nodes, placement.gpu_words.shape[1]), dtype=np.uint64)
    np.bitwise_or.at(words, node_of_pod, placement.gpu_words[placed])
    return words


def _gpu_metrics(
    words: Words | None, nodes: npt.NDArray[np.int32], snapshot: ClusterSnapshot, free: Words
) -> dict[str, Any]:
    bottleneck = np.full(len(nodes), np.nan)
    if words is None:
        return {"gpus": ((),) * len(nodes), "bottleneck_gb_s": bottleneck, "gpus_stranded": None}
    matrix_of = snapshot.node_matrix[nodes]
    # Few distinct (matrix, set) pairs stand behind thousands of nodes: each is looked at once.
    states, state_of = np.unique(
        np.column_stack([matrix_of.astype(np.int64).view(np.uint64), words]), axis=0, return_inverse=True
    )
    state_of = state_of.reshape(-1)
    sets = [indices_of(words_to_mask(state[1:])) for state in states]
    values = np.full(len(states), np.nan)
    for i, (state, gpus) in enumerate(zip(states, sets)):
        matrix = snapshot.matrices[int(state[0])] if state[0] < len(snapshot.matrices) else None
        if matrix is not None and len(gpus) > 1 and gpus[-1] < len(matrix):
            block = matrix.gb_s[np.ix_(gpus, gpus)]
            values[i] = block[~np.eye(len(gpus), dtype=np.bool_)].min()
    holding = nodes[(words != 0).any(axis=1)]
    return {
        "gpus": tuple(sets[i] for i in state_of),
        "bottleneck_gb_s": values[state_of] if len(states) else bottleneck,
        "gpus_stranded": int(np.bitwise_count(free[holding]).sum()),
    }


def _summed(parts: Sequence[Mapping[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for part in parts:
        for key, count in part.items():
            total[key] = total.get(key, 0) + count
    return total
