"""A tree of switches with the capacity of each uplink, the paths through it, and rings of jobs that share them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.reference.cost.fluid import Flow, Transfer, finish_times
from workbench.evaluate.cost.traffic import bus_factor


@dataclass(frozen=True)
class TreeFabric:
    """Nodes and switches; the link ``u:x`` goes from x up to its parent, ``d:x`` down to x.

    Attributes
    ----------
    parent : Mapping of str to str
        Child -> parent.
    uplink_gb_s : Mapping of str to float
        Capacity of each child's uplink, in each direction separately.
    """

    parent: Mapping[str, str]
    uplink_gb_s: Mapping[str, float]

    def links(self) -> dict[str, float]:
        """GB/s of every directed link."""
        return {f"{way}:{child}": gb_s for child, gb_s in self.uplink_gb_s.items() for way in "ud"}

    def path(self, source: str, target: str) -> tuple[str, ...]:
        """Links from a node or switch up to the lowest common ancestor and down to another one.

        Parameters
        ----------
        source, target : str
            Any node or switch, the root of the tree among them.
        """
        up, down = self._ancestors(source), self._ancestors(target)
        shared = set(up) & set(down)
        climbed = [f"u:{x}" for x in up if x not in shared]
        return (*climbed, *reversed([f"d:{x}" for x in down if x not in shared]))

    def _ancestors(self, node: str) -> list[str]:
        """The node, its parent, and so on up to the root."""
        found = [node]
        while found[-1] in self.parent:
            found.append(self.parent[found[-1]])
        return found


@dataclass(frozen=True)
class RingJob:
    """A job whose ranks pass data round a ring.

    Attributes
    ----------
    ranks : tuple of str
        Nodes in ring order.
    payload_gb : float
    collective : str
        "all-reduce", "all-gather" or "reduce-scatter".
    """

    ranks: tuple[str, ...]
    payload_gb: float
    collective: str = "all-reduce"


def ring_times(fabric: TreeFabric, jobs: Sequence[RingJob]) -> list[float | None]:
    """Seconds until each job's ring collective has ended, all jobs starting at once.

    Each rank sends the next one a single flow, without latency. Rank order decides how often the ring crosses a switch.

    Parameters
    ----------
    fabric : TreeFabric
    jobs : sequence of RingJob
        One job alone gives the time without contention.

    Returns
    -------
    list of float or None
        None: a link of the ring carries nothing.
    """
    transfers, owners = [], []
    for number, job in enumerate(jobs):
        volume = job.payload_gb * bus_factor(job.collective, len(job.ranks))
        for source, target in zip(job.ranks, (*job.ranks[1:], *job.ranks[:1]), strict=True):
            transfers.append(Transfer(Flow(fabric.path(source, target)), volume))
            owners.append(number)
    ends: list[list[float | None]] = [[] for _ in jobs]
    for owner, end in zip(owners, finish_times(fabric.links(), transfers), strict=True):
        ends[owner].append(end)
    return [None if None in each else max((end for end in each if end is not None), default=0.0) for each in ends]
