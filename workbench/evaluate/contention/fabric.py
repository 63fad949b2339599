"""`RoutedFabric`: the links between the nodes of a topology, their capacities, and those that a flow crosses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from workbench.errors import InputError, UnknownNameError
from workbench.evaluate.cost.checks import keep_whole, positive
from workbench.model.arrays import Longs
from workbench.model.snapshot import ClusterSnapshot
from workbench.model.topology import NO_DOMAIN, Topology
from workbench.model.value import Value

__all__ = ["ROUTES", "Cable", "RoutedFabric", "Routes", "TierLinks"]

Reals = npt.NDArray[np.float64]

#: How a flow finds its cable among equal ones.
Routes = Literal["hashed", "static", "spread"]
ROUTES: tuple[str, ...] = get_args(Routes)


@dataclass(frozen=True)
class TierLinks(Value):
    """The links above each HyperNode of a tier.

    `gb_s`: GB/s per GPU, one direction, if all GPUs below the HyperNode send at once. `cables`: equal cables on each
    rail that share this; a flow takes one of them.
    """

    gb_s: float
    cables: int = 1

    def __post_init__(self) -> None:
        positive(self.gb_s, "GB/s of a tier")
        keep_whole(self, "cables")


class Cable(NamedTuple):
    """A cable by what it belongs to.

    `below`: the HyperNode or node on its side of the nodes. `tier`: tier of that HyperNode; 0: a node, and the cable is
    one of its network cards. `rail`, `number`: rail, and number among the equal cables on it.
    """

    below: str
    tier: int
    rail: int
    number: int


@dataclass(frozen=True, eq=False)
class RoutedFabric(Value):
    """Nodes with network cards on rails, and above them the HyperNodes of each tier with their cables.

    Every rail is a network of its own with the same HyperNodes: the GPUs of a node are dealt out to its rails in equal
    runs, and traffic stays on the rail of the GPU that receives it. A link is one direction of a cable.

    Raises InputError: a tier that flows may cross has no speed, or a tier that the topology has not has one;
    UnknownNameError: no such routes.

    Attributes
    ----------
    card_gb_s : float
        GB/s per GPU, one direction, of a node's network cards.
    tiers : mapping of int to TierLinks
        Every tier that has more than one HyperNode, or leaves a node out.
    routes : {"hashed", "static", "spread"}
        ``hashed``: a hash of the job, the two nodes, the rail and `seed` draws one of the cables, as equal-cost
        multipath does. ``static``: the receiving node decides, d mod k in the lowest tier, (d div k) mod k' in the
        next, as routes of InfiniBand fat trees do. ``spread``: the cables are one link, as packet spraying makes them.
    seed : int
        Seed of the hash.
    """

    # Cables are numbered: first the network cards, node by node, then the cables above the HyperNodes, tier by tier
    # (`_crossed`). A link is a cable and a direction. `paths` says which links flows cross: `_wished` hashes each flow,
    # and `_chosen` picks one of the cables that are not broken.

    topology: Topology
    gpus: tuple[int, ...]
    card_gb_s: float
    tiers: Mapping[int, TierLinks] = field(default_factory=dict)
    rails: int = 1
    routes: Routes = "hashed"
    seed: int = 0

    def __post_init__(self) -> None:
        positive(self.card_gb_s, "card_gb_s")
        keep_whole(self, "rails")
        if self.routes not in ROUTES:
            raise UnknownNameError("routes", self.routes, ROUTES)
        topology = self.topology
        crossed = [tier for tier in topology.tiers if len(np.unique(topology.domain_of_node(tier))) > 1]
        missing = [str(tier) for tier in crossed if tier not in self.tiers]
        if missing:
            raise InputError(
                "a fabric without speeds",
                source="fabric",
                got=f"no speed of tier {', '.join(missing)}",
                expected=f"GB/s per GPU of every tier that traffic may cross: --tier-gb-s {missing[0]}=…",
            )
        unknown = [str(tier) for tier in self.tiers if tier not in topology.tiers]
        if unknown:
            known = ", ".join(map(str, topology.tiers)) or "a cluster with HyperNodes"
            raise InputError("no HyperNode of this tier", source="fabric", got=", ".join(unknown), expected=known)

    @classmethod
    def of(
        cls,
        snapshot: ClusterSnapshot,
        card_gb_s: float,
        tiers: Mapping[int, TierLinks],
        *,
        rails: int = 1,
        routes: Routes = "hashed",
        seed: int = 0,
    ) -> RoutedFabric:
        """The fabric of a cluster; `card_gb_s`, `tiers`, `rails`, `routes` and `seed` are those of `RoutedFabric`."""
        gpus = np.bitwise_count(snapshot.gpu_total).sum(axis=1)
        return cls(snapshot.topology, tuple(gpus.tolist()), card_gb_s, dict(tiers), rails, routes, seed)

    @cached_property
    def _crossed(self) -> tuple[tuple[Longs, Longs, int], ...]:
        """By tier from below: HyperNode of each node, first cable of each HyperNode, and cables per rail."""
        found = []
        first = self.topology.n_nodes * self.rails
        for tier in self.topology.tiers:
            if tier not in self.tiers:
                continue
            cables = 1 if self.routes == "spread" else self.tiers[tier].cables
            domains = self.topology.domains_at(tier)
            place = np.full(self.topology.n_domains, -1, dtype=np.int64)
            place[domains] = first + np.arange(len(domains)) * self.rails * cables
            first += len(domains) * self.rails * cables
            found.append((self.topology.domain_of_node(tier).astype(np.int64), place, cables))
        return tuple(found)

    @cached_property
    def cable_gb_s(self) -> Reals:
        """GB/s of each cable, in each direction: rails of the nodes first, then HyperNodes by tier, rail and cable."""
        gpus = np.array(self.gpus, dtype=np.float64)
        parts = [np.repeat(gpus * self.card_gb_s / self.rails, self.rails)]
        for tier, (domain_of_node, _, cables) in zip(self._tiers_used, self._crossed, strict=True):
            inside = domain_of_node != NO_DOMAIN
            below = np.bincount(domain_of_node[inside], gpus[inside], self.topology.n_domains)
            whole_gb_s = below[self.topology.domains_at(tier)] * self.tiers[tier].gb_s
            parts.append(np.repeat(whole_gb_s / (self.rails * cables), self.rails * cables))
        return np.concatenate(parts)

    @property
    def _tiers_used(self) -> tuple[int, ...]:
        return tuple(tier for tier in self.topology.tiers if tier in self.tiers)

    @property
    def n_cables(self) -> int:
        """Cables of the fabric; cable c is the links 2c (away from the nodes) and 2c + 1 (towards them)."""
        return len(self.cable_gb_s)

    @property
    def n_card_cables(self) -> int:
        """Cables of network cards, which come first."""
        return self.topology.n_nodes * self.rails

    def link_gb_s(self) -> Reals:
        """GB/s of each link."""
        return np.repeat(self.cable_gb_s, 2)

    def cable(self, number: int) -> Cable:
        """What a cable belongs to.

        Raises InputError: there is no such cable.
        """
        if 0 <= number < self.n_card_cables:
            node, rail = divmod(number, self.rails)
            return Cable(self.topology.node_names[node], 0, rail, 0)
        at = number - self.n_card_cables
        for tier, (_, _, cables) in zip(self._tiers_used, self._crossed, strict=True):
            domains = self.topology.domains_at(tier)
            held = len(domains) * self.rails * cables
            if 0 <= at < held:
                domain, rest = divmod(at, self.rails * cables)
                return Cable(self.topology.domain_names[int(domains[domain])], tier, *divmod(rest, cables))
            at -= held
        raise InputError("no such cable", source="fabric", got=str(number), expected=f"0 to {self.n_cables - 1}")

    def rail(self, node: Longs, gpu: Longs) -> Longs:
        """Rail of GPUs.

        `node`, `gpu` (ndarray of int64): node, and number of the GPU on it.
        """
        return gpu * self.rails // np.maximum(np.array(self.gpus, dtype=np.int64)[node], 1)

    def paths(
        self, source: Longs, target: Longs, rail: Longs, job: int, broken: frozenset[int] = frozenset()
    ) -> tuple[Longs, Longs]:
        """The links that flows cross, from the node that sends up to the first HyperNode around both, and down again.

        `source`, `target`, `rail` (ndarray of shape (f,), int64): nodes and rail of each flow. A flow inside a node
        crosses no link. `job`: number of the job, for the hash. `broken`: cables that no flow takes as long as another
        one is left between the same HyperNodes. Returns: ndarray of shape (k,), int64: a pair for each link of each
        flow.
        """
        flows = np.flatnonzero(source != target)
        a, b, r = source[flows], target[flows], rail[flows]
        links = [2 * (a * self.rails + r), 2 * (b * self.rails + r) + 1]
        owners = [flows, flows]
        apart = np.ones(len(flows), dtype=bool)
        divisor = 1
        for level, (domain_of_node, first, cables) in enumerate(self._crossed):
            above, below = domain_of_node[a], domain_of_node[b]
            # A node outside every HyperNode of the tier stands alone.
            apart = apart & ((above != below) | (above == NO_DOMAIN))
            wished = self._wished(a, b, r, job, level) if self.routes == "hashed" else b // divisor
            divisor *= cables
            ends = [np.where(end == NO_DOMAIN, -1, first[end] + r * cables) for end in (above, below)]
            cable = self._chosen(wished, ends, cables, broken)
            for way, end in enumerate(ends):
                crossed = apart & (end >= 0)
                links.append(2 * (end + cable)[crossed] + way)
                owners.append(flows[crossed])
        return np.concatenate(owners), np.concatenate(links)

    def _wished(self, a: Longs, b: Longs, rail: Longs, job: int, level: int) -> npt.NDArray[np.uint64]:
        """A hash of each flow."""
        mixed = np.full(len(a), (self.seed * 0x9E3779B97F4A7C15 + level) % 2**64, dtype=np.uint64)
        for part in (np.full(len(a), job), a, b, rail):
            mixed = _mixed(mixed ^ part.astype(np.uint64))
        return mixed

    @staticmethod
    def _chosen(wished: npt.NDArray[np.integer], ends: list[Longs], cables: int, broken: frozenset[int]) -> Longs:
        """Number of the cable of each flow, the same at both ends, among those that are whole at both."""
        if not broken:
            return (wished % cables).astype(np.int64)
        lost = np.array(sorted(broken))
        usable = np.ones((len(wished), cables), dtype=bool)
        for end in ends:
            usable &= (end < 0)[:, None] | ~np.isin(end[:, None] + np.arange(cables), lost)
        usable[~usable.any(axis=1)] = True
        nth = wished % usable.sum(axis=1).astype(wished.dtype)
        chosen: Longs = np.argmax(usable.cumsum(axis=1) > nth[:, None], axis=1).astype(np.int64)
        return chosen


def _mixed(x: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """The finaliser of splitmix64: every bit of the result depends on every bit of the number."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
    return x ^ (x >> np.uint64(31))
