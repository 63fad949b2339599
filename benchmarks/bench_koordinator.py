"""Benchmark of `koordinator-gpu`, which chooses nodes and GPUs of a whole GPU group at once.

Small cluster: compared with trying every set of nodes and GPUs in plain Python, which gives equal results. Large
cluster: 1,000 busy nodes, compared with first fit, which ignores bandwidth and uses more nodes.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
from measure import microseconds, row
from numpy.typing import NDArray

from tests.fabrics import snapshot
from tests.machines import koordinator_matrix_a
from workbench.kernels.gpu_sets import indices_of
from workbench.model.bandwidth import BandwidthMatrix
from workbench.model.extras import GpuGroup, KoordinatorWish, extras_of
from workbench.model.gang import Gang, Role
from workbench.model.placement import Placement
from workbench.model.snapshot import ClusterSnapshot
from workbench.policies.registry import get_policy

SMALL_NODES, SMALL_PODS = 12, 14
#: Goals in microseconds by the number of pods.
LARGE_NODES, LARGE_PODS = 1_000, {8: None, 64: 5e3, 256: 15e3}
GPUS_PER_POD = 2


def cluster(nodes: int) -> ClusterSnapshot:
    """A cluster of `nodes` nodes of the Koordinator document's machine, each with a random set of free GPUs."""
    generator = np.random.default_rng(1)
    names = [f"n{i:04}" for i in range(nodes)]
    masks = {name: int(generator.integers(0, 256)) for name in names}
    used = {name: (0, 0, 0, 8 - mask.bit_count()) for name, mask in masks.items()}
    matrix = BandwidthMatrix(koordinator_matrix_a())
    return snapshot(names, free_gpus=masks, used=used, matrices=dict.fromkeys(names, matrix))


def group(pods: int, together: bool = True) -> Gang:
    """A gang of `pods` equal pods that must all be placed; `together`: as a GPU group, else pod by pod."""
    role = Role("w", pods, {"nvidia.com/gpu": GPUS_PER_POD}, (GPUS_PER_POD,))
    wish = KoordinatorWish(GpuGroup("j", pods) if together else None)
    return Gang("d", "j", (role,), pods, extras=extras_of(wish))


def plain_python(free: list[tuple[int, ...]], weights: NDArray[np.float64], pods: int) -> tuple[int, int, float]:
    """The best placement over all sets of nodes, in plain Python: number of nodes, GPUs left over, worst node's
    bottleneck.

    `free` holds the free GPUs of each node, `weights` the bandwidth of each GPU pair.
    """

    def bottleneck(gpus: tuple[int, ...], count: int) -> float:
        pairs = (itertools.combinations(some, 2) for some in itertools.combinations(gpus, count))
        return max(min((weights[pair] for pair in some), default=np.inf) for some in pairs)

    best = [[bottleneck(gpus, GPUS_PER_POD * n) for n in range(len(gpus) // GPUS_PER_POD + 1)] for gpus in free]
    for count in range(1, pods + 1):
        found = [
            (count, sum(len(free[node]) for node in nodes) - GPUS_PER_POD * pods, -min(map(float, worst)))
            for nodes in itertools.combinations(range(len(free)), count)
            for dealt in itertools.product(*(range(1, len(best[node])) for node in nodes))
            if sum(dealt) == pods
            for worst in [[best[node][n] for node, n in zip(nodes, dealt, strict=True)]]
        ]
        if found:
            nodes, left, worst = min(found)
            return nodes, left, -worst
    raise RuntimeError("benchmark: the group fits nowhere")


def answer(policy: str, pods: int, where: ClusterSnapshot, together: bool = True) -> Placement:
    """The placement of `pods` pods by a policy, on a new ledger of the snapshot `where`; `together` as for `group`."""
    result = get_policy(policy).place(group(pods, together), where.ledger())
    if not isinstance(result, Placement):
        raise RuntimeError(f"benchmark: {result!r}")
    return result


def summary(placed: Placement, free: list[tuple[int, ...]], weights: NDArray[np.float64]) -> tuple[int, int, float]:
    """A placement in the form of `plain_python`'s result: number of nodes, GPUs left over, worst node's bottleneck."""
    union: dict[int, int] = {}
    for pod, node in enumerate(placed.node.tolist()):
        union[node] = union.get(node, 0) | placed.gpu_mask(pod)
    pairs = [itertools.combinations(indices_of(mask), 2) for mask in union.values()]
    worst = min(float(weights[pair]) for some in pairs for pair in some)
    return len(union), sum(len(free[node]) - union[node].bit_count() for node in union), worst


def rows() -> Iterator[dict[str, object]]:
    """Rows of the result table: the small cluster beside all combinations, the large one beside first fit."""
    small = cluster(SMALL_NODES)
    weights = BandwidthMatrix(koordinator_matrix_a()).pair_weights_gb_s()
    free = [indices_of(int(mask)) for mask in small.gpu_free[:, 0]]
    if summary(answer("koordinator-gpu", SMALL_PODS, small), free, weights) != plain_python(free, weights, SMALL_PODS):
        raise RuntimeError("benchmark: plain Python finds another answer")
    plain = microseconds(lambda: plain_python(free, weights, SMALL_PODS), 3)
    ours = microseconds(lambda: answer("koordinator-gpu", SMALL_PODS, small), 20)
    size = f"{SMALL_PODS} pods of {GPUS_PER_POD} GPUs on {SMALL_NODES} busy nodes"
    yield row("koordinator-gpu", size, ours, "every set, plain Python", float(plain.min()), None, "same answer")
    large = cluster(LARGE_NODES)
    for pods, goal in LARGE_PODS.items():
        first_fit = microseconds(lambda n=pods: answer("gang", n, large), 5)
        ours = microseconds(lambda n=pods: answer("koordinator-gpu", n, large), 5)
        nodes = [len(np.unique(answer(name, pods, large).node)) for name in ("koordinator-gpu", "gang")]
        note = f"{nodes[0]} nodes, first fit {nodes[1]}"
        size = f"{pods} pods of {GPUS_PER_POD} GPUs on {LARGE_NODES:,} busy nodes"
        yield row("koordinator-gpu", size, ours, "gang, first fit", float(first_fit.min()), goal, note, "p50")
    for pods in LARGE_PODS:
        alone = microseconds(lambda n=pods: answer("koordinator-gpu", n, large, False), 5)
        first_fit = microseconds(lambda n=pods: answer("gang", n, large, False), 5)
        size = f"{pods} pods of {GPUS_PER_POD} GPUs without a group, {LARGE_NODES:,} busy nodes"
        yield row("koordinator-gpu", size, alone, "gang, first fit", float(first_fit.min()), None, "pod by pod", "p50")
