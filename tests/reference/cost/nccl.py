"""NCCL's own prediction of ring and tree, which its choice of algorithm and protocol follows.

The tables are those of NCCL's tuning of June 2026. They choose well where the crossover lies and tell absolute times
roughly; NVLS, SHARP and vendor tuners are left out.
"""

from __future__ import annotations

from dataclasses import dataclass

#: Microseconds for (LL, LL128, Simple), as are all triples below.
_BASE = {"tree": (6.8, 14.0, 8.4), "ring": (6.6, 14.0, 8.4)}
_INNER = {
    "nvlink": {"tree": (0.6, 1.25, 4.0), "ring": (0.6, 1.9, 3.4)},
    "pci": {"tree": (1.0, 1.9, 4.0), "ring": (1.0, 2.5, 5.7)},
}
_NETWORK = {"tree": (5.0, 8.5, 14.0), "ring": (2.7, 4.0, 14.0)}
_PROTOCOLS = ("LL", "LL128", "Simple")

#: GB/s. Tree caps are for 1, 2 and more nodes.
_LL_TOTAL = {"volta": 39.0, "ampere": 87.7, "hopper": 141.0, "blackwell": 282.0}
_LL_TOTAL_BY_CPU = {"intel": (39.0, 20.4), "amd": (22.5, 19.0)}
_RING_LL128 = {"volta": 20.0, "ampere": 20.0, "hopper": 36.7, "blackwell": 40.0}
_TREE_LL128 = {
    "volta": (20.0, 20.0, 20.0),
    "ampere": (20.0, 20.0, 20.0),
    "hopper": (36.7, 36.7, 29.0),
    "blackwell": (55.6, 31.67, 20.0),
}
_TREE = {
    "volta": (26.5, 18.5, 10.0),
    "ampere": (24.0, 23.6, 17.8),
    "hopper": (38.7, 41.4, 36.0),
    "blackwell": (70.0, 42.8, 24.0),
}
_LAUNCH_US = {"intel": 1.0, "amd": 2.0}

#: Factors of the tree's bandwidth by the whole logarithm of bytes / 64.
_TREE_BY_SIZE = (
    (1, 1, 1, 1, 0.9, 0.8, 0.7, 0.7, 0.7, 0.7, 0.6, 0.5, 0.4, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1, 1, 1),
    (1, 1, 1, 1, 1, 0.9, 0.8, 0.8, 0.8, 0.7, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.8, 0.9, 0.9, 0.9, 0.9, 1, 1),
    (0.9,) * 7 + (0.8, 0.7, 0.6, 0.6, 0.5, 0.5, 0.5, 0.5, 0.6, 0.7, 0.8, 0.7, 0.7, 0.8, 0.9, 0.9),
)
_RING_STEPS = {"all-reduce": 2, "all-gather": 1, "reduce-scatter": 1}


@dataclass(frozen=True)
class NcclSystem:
    """What NCCL's topology search found. All nodes are alike.

    Attributes
    ----------
    architecture : str
        "volta", "ampere", "hopper" or "blackwell".
    cpu : str
        "intel" or "amd".
    ranks, nodes, channels : int
    bw_intra_gb_s, bw_inter_gb_s : float
        Bandwidth of a channel inside a node and between nodes; the second counts above two nodes only.
    latency_inter_us : float
        Latency of the network card.
    link : str
        "nvlink" or "pci": the link inside a node.
    ll128 : bool
        Whether the protocol LL128 is allowed.
    plain_tree : bool
        Whether the search found the plain tree pattern, neither balanced nor split.
    """

    architecture: str
    cpu: str
    ranks: int
    nodes: int
    channels: int
    bw_intra_gb_s: float
    bw_inter_gb_s: float
    latency_inter_us: float
    link: str
    ll128: bool
    plain_tree: bool = False

    @property
    def bandwidth_gb_s(self) -> float:
        """Bandwidth of all channels together."""
        return self.channels * (self.bw_intra_gb_s if self.nodes <= 2 else self.bw_inter_gb_s)

    @property
    def size_class(self) -> int:
        """0, 1 or 2: one node, two nodes, more."""
        return min(self.nodes, 3) - 1


@dataclass(frozen=True)
class Prediction:
    """What NCCL predicts for one algorithm and protocol.

    Attributes
    ----------
    latency_us, bandwidth_gb_s : float
        Before the corrections at prediction time.
    time_us : float
        With these corrections.
    """

    latency_us: float
    bandwidth_gb_s: float
    time_us: float


def predict(system: NcclSystem, collective: str, size: int) -> dict[str, Prediction]:
    """Predictions by ``algorithm/protocol``: ring before tree, then LL, LL128, Simple.

    Parameters
    ----------
    system : NcclSystem
    collective : str
        "all-reduce", "all-gather" or "reduce-scatter". Only an all-reduce has a tree.
    size : int
        Bytes of the whole vector.
    """
    per_rank = _RING_STEPS[collective]
    found = {}
    for algorithm in ("ring", "tree") if collective == "all-reduce" else ("ring",):
        for number, protocol in enumerate(_PROTOCOLS):
            if protocol == "LL128" and not system.ll128:
                continue
            if algorithm == "ring":
                one = _ring(system, per_rank, number, size)
            else:
                one = _tree(system, number, size)
            found[f"{algorithm}/{protocol}"] = one
    return found


def choose(predictions: dict[str, Prediction]) -> str:
    """The key with the smallest time; of equal ones the first."""
    return min(predictions, key=lambda key: predictions[key].time_us)


def _ring(system: NcclSystem, per_rank: int, protocol: int, size: int) -> Prediction:
    n, b = system.ranks, system.bandwidth_gb_s
    steps = per_rank * (n - 1)
    if protocol == 0:
        b = min(_ll_total(system), b / 2)
    elif protocol == 1:
        b = min(0.92 * b, system.channels * _RING_LL128[system.architecture])
    bandwidth = b * n / steps if steps else b
    outer_steps = per_rank * (system.nodes - 1)
    launch = 0.0
    if system.nodes > 1:
        launch = _LAUNCH_US[system.cpu] * (3 if protocol == 2 else 1)
    inner = max(_INNER[system.link]["ring"][protocol], launch)
    latency = _BASE["ring"][protocol] + (steps - outer_steps) * inner + outer_steps * _outer(system, "ring", protocol)
    corrected = latency
    if protocol == 2 and per_rank == 2 and system.nodes > 1 and size // (system.channels * n) >= 64:
        corrected *= 1.9 if system.architecture == "volta" else 1.4
    return Prediction(latency, bandwidth, corrected + size / (1000 * bandwidth))


def _tree(system: NcclSystem, protocol: int, size: int) -> Prediction:
    kind = system.size_class
    b = min(0.92 * system.bandwidth_gb_s, system.channels * _TREE[system.architecture][kind])
    if protocol == 0:
        b = min(b / 3.8, _ll_total(system))
    elif protocol == 1:
        share = 7 / 9 if system.nodes == 1 else 120 / 128
        b = min(b * share, system.channels * _TREE_LL128[system.architecture][kind])
    if system.plain_tree:
        b *= 0.85
    bandwidth = b / 2
    inner, outer = _INNER[system.link]["tree"][protocol], _outer(system, "tree", protocol)
    hops = (system.ranks // system.nodes - 1) * inner + (system.nodes.bit_length() - 1) * outer
    latency = _BASE["tree"][protocol] + 2 * hops
    by_size = (size // 64).bit_length() - 1
    factor = _TREE_BY_SIZE[protocol][by_size] if 0 <= by_size < len(_TREE_BY_SIZE[protocol]) else 1.0
    return Prediction(latency, bandwidth, latency + size / (1000 * bandwidth * factor))


def _ll_total(system: NcclSystem) -> float:
    """Cap of protocol LL over all channels: by the GPU on one node, by the CPU on several."""
    if system.nodes == 1:
        return _LL_TOTAL[system.architecture]
    return _LL_TOTAL_BY_CPU[system.cpu][system.size_class - 1]


def _outer(system: NcclSystem, algorithm: str, protocol: int) -> float:
    """Microseconds of a step between two nodes."""
    kind = "tree" if system.ranks == system.nodes else algorithm
    return _NETWORK[kind][protocol] + system.latency_inter_us * (2 if protocol == 2 else 1)
