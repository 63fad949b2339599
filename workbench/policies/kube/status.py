"""`Status`: a filter's answer about a pod on a node, and `NodeStatuses`: the answers for many nodes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum

import numpy as np
import numpy.typing as npt

__all__ = ["SUCCESS", "Code", "NodeStatuses", "Status", "text_of"]

Ints = npt.NDArray[np.int32]


class Code(Enum):
    """Result of a step of kube-scheduler, by upstream's name."""

    SUCCESS = "Success"
    UNSCHEDULABLE = "Unschedulable"
    UNRESOLVABLE = "UnschedulableAndUnresolvable"
    WAIT = "Wait"
    ERROR = "Error"


@dataclass(frozen=True)
class Status:
    """Result of a step with its reasons, in upstream's words.

    ``UnschedulableAndUnresolvable`` says that evicting pods would not help.
    """

    code: Code = Code.SUCCESS
    reasons: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return self.code is Code.SUCCESS


SUCCESS = Status()


@dataclass(eq=False)
class NodeStatuses:
    """The filters' answers about one pod for a list of nodes.

    Attributes
    ----------
    nodes : ndarray of shape (m,), int32
        Indices of the nodes.
    number : ndarray of shape (m,), int32
        Position in `table` of each node's status; 0: the node passes all filters asked so far.
    table : list of Status
        The distinct statuses; the first is success.
    plugins : list of str
        The plugin that gave each status of the table, by upstream's name; empty for success.
    plugin : str
        The plugin that is asked now.
    """

    nodes: Ints
    number: Ints = field(init=False)
    table: list[Status] = field(default_factory=lambda: [SUCCESS])
    plugins: list[str] = field(default_factory=lambda: [""])
    plugin: str = ""

    def __post_init__(self) -> None:
        self.number = np.zeros(len(self.nodes), dtype=np.int32)

    def fail(self, failed: npt.NDArray[np.bool_], status: Status) -> None:
        """Give the nodes in the mask `failed` a status, except those that have failed before."""
        hit = failed & (self.number == 0)
        if hit.any():
            self.number[hit] = len(self.table)
            self.table.append(status)
            self.plugins.append(self.plugin)

    @property
    def passed(self) -> npt.NDArray[np.bool_]:
        """Which of the nodes passed all filters: bool of shape (m,)."""
        passed: npt.NDArray[np.bool_] = self.number == 0
        return passed

    def head(self, count: int) -> NodeStatuses:
        """The statuses of the first `count` nodes."""
        first = NodeStatuses(self.nodes[:count], self.table, self.plugins)
        first.number = self.number[:count]
        return first

    def of(self, position: int) -> Status:
        """Status of the node at a position of `nodes`."""
        return self.table[int(self.number[position])]

    def counts(self) -> Counter[str]:
        """Number of nodes that have each reason; a node with two reasons counts for both."""
        found: Counter[str] = Counter()
        for number, nodes in enumerate(np.bincount(self.number, minlength=len(self.table)).tolist()):
            for reason in self.table[number].reasons if nodes else ():
                found[reason] += nodes
        return found

    def main_plugin(self) -> str:
        """The plugin that most of the nodes failed, the first of several; empty: none failed."""
        found: Counter[str] = Counter()
        for number, nodes in enumerate(np.bincount(self.number, minlength=len(self.table)).tolist()):
            found[self.plugins[number]] += nodes if number else 0
        return max(found, key=lambda plugin: found[plugin], default="")

    def text(self) -> str:
        """The pod's message, such as ``0/5 nodes are available: 3 Insufficient cpu, 2 Too many pods.``."""
        parts = sorted(f"{count} {reason}" for reason, count in self.counts().items())
        told = f": {', '.join(parts)}." if parts else "."
        return f"0/{len(self.nodes)} nodes are available{told}"


def text_of(status: Status) -> str:
    """Reasons of a status in one line, as conditions carry them."""
    return ", ".join(status.reasons)
