"""Measured collectives: the block that a sweep of message sizes belongs to, one measurement, and the GPU system."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.errors import InputError

__all__ = ["CollectiveBlock", "GpuSystem", "Measurement"]


@dataclass(frozen=True, order=True)
class CollectiveBlock:
    """Machine, collective and ranks of a sweep: measurements of one block differ in the message size only.

    Attributes
    ----------
    machine : str
        Machine or shape as the source of the measurements calls it.
    collective : str
        ``all-reduce``, ``all-gather``, ``reduce-scatter`` or ``all-to-all``.
    gpus_per_node, nodes : int
        GPUs used on each node, and nodes; their product is the number of ranks.
    """

    machine: str
    collective: str
    gpus_per_node: int
    nodes: int

    def __post_init__(self) -> None:
        for name in ("machine", "collective"):
            if not isinstance(getattr(self, name), str):
                raise InputError("no name", source=name, got=repr(getattr(self, name)), expected="a text")
        for name in ("gpus_per_node", "nodes"):
            number = getattr(self, name)
            if isinstance(number, bool) or not isinstance(number, int) or number < 1:
                raise InputError("wrong number", source=name, got=repr(number), expected="a whole number of at least 1")
        if self.ranks < 2:
            raise InputError("a collective of one rank", source="nodes", got="1 GPU on 1 node", expected="2 ranks")

    @property
    def ranks(self) -> int:
        """Number of GPUs that take part."""
        return self.gpus_per_node * self.nodes


@dataclass(frozen=True)
class Measurement:
    """Time of one collective at one message size.

    Attributes
    ----------
    block : CollectiveBlock
    source : str
        Who published the number.
    size : int
        Bytes as nccl-tests counts them (all-gather: the gathered buffer; all-to-all: the buffer of one rank).
    time_s : float
        Seconds of one operation.
    """

    block: CollectiveBlock
    source: str
    size: int
    time_s: float


@dataclass(frozen=True)
class GpuSystem:
    """A family of machines with equal GPUs and links, and their nominal bandwidths.

    Attributes
    ----------
    name : str
        Such as ``h100``.
    architecture : str
        Generation of the GPU, such as ``hopper``; systems of one architecture resemble each other.
    patterns : tuple of str
        A machine belongs to the first system of a table of which one pattern occurs in its name, in lower case.
    gpus_per_rack : int or None
        GPUs in one NVLink domain that spans nodes; None: the domain ends at the node.
    inter_rack_gb_s : float or None
        Nominal GB/s per GPU, one direction, between such domains; None: the domain ends at the node.
    inter_node_gb_s : float or None
        Nominal GB/s per GPU, one direction, of a node's network cards; None: unknown, or the domain spans nodes.
    """

    name: str
    architecture: str
    patterns: tuple[str, ...]
    gpus_per_rack: int | None = None
    inter_rack_gb_s: float | None = None
    inter_node_gb_s: float | None = None

    def __post_init__(self) -> None:
        for name in ("gpus_per_rack", "inter_rack_gb_s", "inter_node_gb_s"):
            number = getattr(self, name)
            if number is not None and not number > 0:
                raise InputError("wrong number", source=name, got=repr(number), expected="a number above 0, or nothing")

    def matches(self, machine: str) -> bool:
        """Whether a machine, by its name, is one of this system."""
        return any(pattern in machine.lower() for pattern in self.patterns)

    def domains(self, block: CollectiveBlock) -> int:
        """Number of NVLink domains that the ranks of a block span at least: nodes, or racks of an NVL72 system."""
        return block.nodes if self.gpus_per_rack is None else -(-block.ranks // self.gpus_per_rack)

    def least_s(self, block: CollectiveBlock, size: float) -> float:
        """Seconds that the bytes which must leave an NVLink domain take at nominal speed; 0: none must, or unknown.

        No algorithm is faster, be it one that reduces inside the network: of n ranks in d domains, n/d of them in each,
        a domain sends at least (d-1)/d of an all-gather, a reduce-scatter or an all-reduce, and in an all-to-all what
        its ranks have for the others.

        Parameters
        ----------
        block : CollectiveBlock
        size : float
            Bytes as of `Measurement`.
        """
        domains, gb_s = self.domains(block), self.inter_rack_gb_s or self.inter_node_gb_s
        if domains < 2 or gb_s is None:
            return 0.0
        leaving = size * (domains - 1) / domains
        senders = block.ranks / domains
        return (leaving if block.collective == "all-to-all" else leaving / senders) / (gb_s * 1e9)
