"""Measured collectives: the block that a sweep of message sizes belongs to, one measurement, and the GPU system."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

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
    racks : int
        Racks that the nodes stand in; 0: not stated, and they count as in as few as can be. It matters to machines
        whose NVLink domain is a rack (`GpuSystem.stated`).
    """

    machine: str
    collective: str
    gpus_per_node: int
    nodes: int
    racks: int = 0

    def __post_init__(self) -> None:
        for name in ("machine", "collective"):
            if not isinstance(getattr(self, name), str):
                raise InputError("no name", source=name, got=repr(getattr(self, name)), expected="a text")
        for name, least in (("gpus_per_node", 1), ("nodes", 1), ("racks", 0)):
            number = getattr(self, name)
            if isinstance(number, bool) or not isinstance(number, int) or number < least:
                expected = f"a whole number of at least {least}"
                raise InputError("wrong number", source=name, got=repr(number), expected=expected)
        if self.ranks < 2:
            raise InputError("a collective of one rank", source="nodes", got="1 GPU on 1 node", expected="2 ranks")
        if self.racks > self.nodes:
            raise InputError(
                "more racks than nodes", source="racks", got=str(self.racks), expected=f"at most {self.nodes}"
            )

    @property
    def ranks(self) -> int:
        """Number of GPUs that take part."""
        return self.gpus_per_node * self.nodes


@dataclass(frozen=True)
class Measurement:
    """Time of one collective at one message size.

    `source`: who published the number. `size`: bytes as nccl-tests counts them (all-gather: the gathered buffer;
    all-to-all: the buffer of one rank). `time_s`: seconds of one operation.
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
        A machine belongs to the first system of a table of which one pattern occurs in its name, in lower case. The
        pattern ``a100+pcie`` occurs where all its parts do, whatever is between them.
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
            if number is not None and not 0 < number < math.inf:
                place, expected = f"system {self.name}: {name}", "a number above 0, or nothing"
                raise InputError("wrong number", source=place, got=repr(number), expected=expected)

    def matches(self, machine: str) -> bool:
        """Whether a machine, by its name, is one of this system."""
        name = machine.lower()
        return any(all(part in name for part in pattern.split("+")) for pattern in self.patterns)

    def domains(self, block: CollectiveBlock) -> int:
        """Number of NVLink domains that the ranks of a block span: nodes, or racks of an NVL72 system.

        Racks are those that the block states, or as few as hold its ranks if that is more.
        """
        if self.gpus_per_rack is None:
            return block.nodes
        return max(block.racks, -(-block.ranks // self.gpus_per_rack))

    def stated(self, block: CollectiveBlock) -> CollectiveBlock:
        """The block with its racks only where they are more than its ranks need, else with 0.

        A block that states the minimum number of racks equals one that states none; racks mean nothing where the NVLink
        domain is the node.
        """
        plain = replace(block, racks=0)
        return plain if self.domains(block) == self.domains(plain) else block

    def least_s(self, block: CollectiveBlock, size: float) -> float:
        """Seconds that the bytes which must leave an NVLink domain take at nominal speed; 0: none must, or unknown.

        No algorithm is faster, be it one that reduces inside the network: of n ranks in d domains, n/d of them in each,
        a domain sends or receives at least (d-1)/d of an all-gather, a reduce-scatter or an all-reduce, and in an
        all-to-all what its ranks have for the others.

        `size`: bytes as of `Measurement`.
        """
        domains, gb_s = self.domains(block), self.inter_rack_gb_s or self.inter_node_gb_s
        if domains < 2 or gb_s is None:
            return 0.0
        leaving = size * (domains - 1) / domains
        senders = block.ranks / domains
        return (leaving if block.collective == "all-to-all" else leaving / senders) / (gb_s * 1e9)
