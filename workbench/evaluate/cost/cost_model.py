"""`CostModel`: seconds of a collective among the nodes of a topology, and how much of them each tier adds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from workbench.errors import InputError, UnknownNameError
from workbench.evaluate.cost.calibration import Calibration, Estimate
from workbench.evaluate.cost.checks import positive
from workbench.evaluate.cost.kriging import system_of
from workbench.evaluate.cost.traffic import bus_factor
from workbench.model.collective import CollectiveBlock
from workbench.model.topology import NO_DOMAIN, Topology

__all__ = ["LEFT_OUT", "SPEEDS", "CollectiveCost", "CostModel"]

#: Source of errors about the speeds of tiers.
SPEEDS = "tier_gb_s"
#: What no number of `CostModel` holds.
LEFT_OUT = (
    "other jobs on the same links",
    "loss of links that carry many flows: hashing, pauses, retransmissions",
    "stragglers, memory stalls and failures",
    "libraries newer than the measurements",
)
_ALL_TO_ALL = "all-to-all"


@dataclass(frozen=True)
class CollectiveCost:
    """One collective of one group of ranks.

    Attributes
    ----------
    estimate : Estimate
        Seconds with interval, the tiers' links included.
    calibrated : Estimate
        Seconds with interval if no tier's links were slower than the network of the measured machines.
    tier_s : mapping of int to float
        Seconds that the links above the HyperNodes of each tier need by themselves; only tiers of which the group uses
        more than one HyperNode.
    crossings : mapping of int to int
        Steps of the ring of ranks that leave a HyperNode of the tier; of the HyperNode that most steps leave.
    """

    estimate: Estimate
    calibrated: Estimate
    tier_s: Mapping[int, float]
    crossings: Mapping[int, int]

    def within(self, tier: int) -> float:
        """Seconds if no links above HyperNodes of a higher tier than this one were slow."""
        return max([self.calibrated.time_s, *(time for each, time in self.tier_s.items() if each <= tier)])


@dataclass
class CostModel:
    """A calibration, the machine that all nodes are, and the speeds of the fabric.

    `tier_gb_s`: GB/s per GPU, one direction, that the links above a HyperNode of each tier give, if all GPUs below it
    send at once. Tiers that no priced group crosses need none.
    """

    # `cost` takes the larger of two times: of the calibration (`_calibrated`), which knows no tiers, and of the links
    # above the HyperNodes of each tier (`_links`). `crossed` says of which tiers a group of ranks needs the speed.

    calibration: Calibration
    machine: str
    topology: Topology
    tier_gb_s: Mapping[int, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.machine not in self.calibration.machines:
            raise UnknownNameError("machine", self.machine, list(self.calibration.machines))
        for tier, gb_s in self.tier_gb_s.items():
            positive(gb_s, f"GB/s of tier {tier}")
            if tier not in self.topology.tiers:
                raise InputError(
                    "no HyperNode of this tier",
                    source=SPEEDS,
                    got=str(tier),
                    expected=", ".join(str(each) for each in self.topology.tiers) or "a cluster with HyperNodes",
                )
        self._gpus_per_node = max(
            fit.block.gpus_per_node for fit in self.calibration.blocks if fit.block.machine == self.machine
        )
        self._domain_of_node = {tier: self.topology.domain_of_node(tier) for tier in self.topology.tiers}
        self._estimates: dict[tuple[CollectiveBlock, float], Estimate] = {}

    def cost(self, collective: str, size: float, nodes: npt.NDArray[np.int64]) -> CollectiveCost:
        """Seconds of one collective.

        `size`: bytes as nccl-tests counts them. `nodes` (ndarray of shape (ranks,), int64): node of each rank, in the
        order of the ring. Raises InputError: fewer than two ranks, or a tier is crossed whose speed is not known.

        Returns
        -------
        CollectiveCost
            The larger of the calibrated time, which knows ranks and nodes but no tiers, and the times of the links
            above HyperNodes. Ring collectives load these links once per step of the ring that leaves the HyperNode, so
            rank order matters; an all-to-all loads them with everything that goes out, in any order. A group has the
            share of a HyperNode's links that its GPUs are of the GPUs below. Groups that use a part of the GPUs of
            their nodes count as running side by side with others like them.
        """
        if len(nodes) < 2:
            raise InputError(
                "a collective of one rank", source="nodes", got=str(len(nodes)), expected="2 ranks or more"
            )
        calibrated = self._calibrated(collective, size, nodes)
        tier_s, crossings = {}, {}
        for tier, domains in self.crossed(nodes).items():
            tier_s[tier], crossings[tier] = self._links(collective, size, domains, self.tier_gb_s[tier])
        slowest = max(tier_s.values(), default=0.0)
        estimate = Estimate(
            max(calibrated.time_s, slowest),
            max(calibrated.low_s, slowest),
            max(calibrated.high_s, slowest),
            calibrated.basis,
        )
        return CollectiveCost(estimate, calibrated, tier_s, crossings)

    def crossed(self, nodes: npt.NDArray[np.int64]) -> dict[int, npt.NDArray[np.int64]]:
        """Tiers of which ranks use more than one HyperNode, with the HyperNode of each rank.

        `nodes` (ndarray of shape (ranks,), int64): node of each rank. Returns: by tier, closest first, an ndarray of
        shape (ranks,), int64. Other tiers need no speed. Raises InputError: a crossed tier has no speed.
        """
        found = {}
        for tier, domain_of_node in self._domain_of_node.items():
            # A node outside every HyperNode of the tier stands alone.
            domains = np.where(domain_of_node[nodes] == NO_DOMAIN, -2 - nodes, domain_of_node[nodes])
            if (domains == domains[:1]).all():
                continue
            if tier not in self.tier_gb_s:
                raise InputError(
                    "a fabric without speeds",
                    source=SPEEDS,
                    where=f"tier {tier}",
                    got="ranks in more than one of its HyperNodes",
                    expected=f"GB/s per GPU of the links above them: --tier-gb-s {tier}=…",
                )
            found[tier] = domains
        return found

    def _calibrated(self, collective: str, size: float, nodes: npt.NDArray[np.int64]) -> Estimate:
        """Seconds by the calibration, which knows how many ranks are on how many nodes."""
        held = np.unique(nodes, return_counts=True)[1]
        block = CollectiveBlock(self.machine, collective, int(held.max()), len(held))
        full = self._gpus_per_node
        if system_of(self.machine, self.calibration.systems).domains(block) > 1 and block.gpus_per_node < full:
            # Side by side: together they send through the node's cards what one group of all its GPUs would send.
            if collective != _ALL_TO_ALL:
                size = size * full / block.gpus_per_node
            block = CollectiveBlock(self.machine, collective, full, block.nodes)
        key = block, size
        if key not in self._estimates:
            self._estimates[key] = self.calibration.estimate(block, size)
        return self._estimates[key]

    @staticmethod
    def _links(collective: str, size: float, domains: npt.NDArray[np.int64], gb_s: float) -> tuple[float, int]:
        """Seconds of the slowest links above the HyperNodes of one tier, and the most steps that leave one of them."""
        ranks = len(domains)
        leaving = domains != np.roll(domains, -1)
        slowest, most = 0.0, 0
        for domain in np.unique(domains):
            inside = domains == domain
            here, steps = int(inside.sum()), int((leaving & inside).sum())
            if collective == _ALL_TO_ALL:
                volume = here * size * (ranks - here) / ranks
            else:
                volume = steps * size * bus_factor(collective, ranks)
            slowest, most = max(slowest, volume / (here * gb_s * 1e9)), max(most, steps)
        return slowest, most
