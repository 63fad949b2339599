"""`Stream`: places gangs one after another and takes placements back, for the replay of a trace."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from workbench.errors import InputError
from workbench.model.gang import Gang
from workbench.model.gpu_shares import shares_of_pods, words_of_mask
from workbench.model.ledger import Ledger
from workbench.model.placement import Decision, Placement, Refusal
from workbench.model.snapshot import ClusterSnapshot
from workbench.model.value import Working
from workbench.policies.taking import take_placement

__all__ = ["SessionStream", "Stream", "Taken"]

#: Nodes, requests and GPUs of some pods, as `Ledger.take` has them.
Taken = tuple[npt.NDArray[np.int32], npt.NDArray[np.int64], npt.NDArray[np.uint64] | None]


class Placer(Protocol):
    """Places one gang on a ledger; a `Policy` does."""

    def place(self, gang: Gang, ledger: Ledger) -> Placement | Refusal:
        """Place one gang; `ledger` holds the placement afterwards."""


class Stream(Working):
    """Places gangs one by one on one ledger by one policy; made by `Policy.stream`.

    `place` answers exactly as ``policy.place(gang, ledger)`` would, although a policy may compute the answer in a
    faster way. There is no queue, priority or clock: the caller chooses the order.

    `snapshot`: the cluster at the beginning, with its running pods; not changed.
    """

    def __init__(self, policy: Placer, snapshot: ClusterSnapshot) -> None:
        self._policy = policy
        self._ledger = snapshot.ledger()
        # By identity: pods without a request may be placed alike twice.
        self._held: dict[int, tuple[Placement, list[Taken]]] = {}
        self._closed: dict[int, Taken] = {}

    def _kept(self) -> dict[str, Any]:
        # Copied placements have other identities, so the dict is rebuilt.
        return {**super()._kept(), "_held": list(self._held.values())}

    def _derive(self) -> None:
        self._held = {id(held[0]): held for held in self.__dict__["_held"]}

    @property
    def ledger(self) -> Ledger:
        """The present resources of the cluster, to be read only.

        Valid until the next call of a method of the stream.
        """
        return self._ledger

    @property
    def held(self) -> tuple[Placement, ...]:
        """Placements that the stream holds, made by it or adopted, oldest first."""
        return tuple(placement for placement, _ in self._held.values())

    def holds(self, placement: Placement) -> bool:
        """Whether the stream holds a placement."""
        return id(placement) in self._held

    def place(self, gang: Gang) -> Placement | Refusal:
        """Place one gang on the resources that earlier gangs left free.

        A placement holds its resources until it is given back.
        """
        result, taken = self._decided(gang)
        if isinstance(result, Placement):
            self._hold(result, taken)
        return result

    def _decided(self, gang: Gang) -> tuple[Placement | Refusal, list[Taken]]:
        """As `_by_policy`, but the ledger is as it was if the policy is cancelled or fails."""
        try:
            return self._by_policy(gang)
        except BaseException:
            self._ledger.rollback(0)
            raise

    def give_back(self, placement: Placement) -> None:
        """Free the resources of a placement whose pods have ended.

        Raises InputError: the stream does not hold the placement.
        """
        held = self._held.pop(id(placement), None)
        if held is None:
            expected = "a placement of this stream, once"
            raise InputError("nothing to give back", source="placement", got=repr(placement), expected=expected)
        for nodes, rows, words in held[1]:
            self._give(nodes, rows, words)
        if placement.exclusive:
            others = {job: at for job, at in self._ledger.exclusive.items() if job not in placement.exclusive}
            self._ledger.exclusive = others
        if placement.gang.shares_gpus and placement.gpu_words is not None:
            shares = shares_of_pods(placement.node, placement.gpu_words, placement.gpu_milli)
            self._ledger.give_back_shares(*shares)
        self._ledger.end_pods(placement.gang.key, placement.node)
        self._ledger.remove_pods(placement.gang, placement.node)
        self._ledger.commit()

    @property
    def closed(self) -> tuple[int, ...]:
        """Nodes that are closed, wholly or in part."""
        return tuple(self._closed)

    def close(self, node: int, gpus: int = 0) -> None:
        """Take what is idle on a node, or some of its idle GPUs, so that no pod is placed there until `reopen`.

        A node that has failed is closed once the placements on it were given back. Pods that run there from the
        beginning stay.

        Raises InputError: the node is closed already.

        `gpus`: bits of GPUs; 0: the whole node.
        """
        if node in self._closed:
            name = self.ledger.topology.node_names[node]
            raise InputError("closed already", source="stream", got=name, expected="a node that is open")
        ledger = self.ledger
        nodes = np.array([node], dtype=np.int32)
        rows = np.maximum(ledger.idle[nodes], 0)
        words = ledger.gpu_free[nodes]
        if gpus:
            words = words & words_of_mask(gpus, words.shape[1])
            left = int(np.bitwise_count(words).sum())
            for column in range(rows.shape[1]):
                taken = min(left, int(rows[0, column])) if column in ledger.snapshot.gpu_columns else 0
                rows[0, column] = taken
                left -= taken
        self._closed[node] = (nodes, rows, words)
        self._take(nodes, rows, words)

    def reopen(self, node: int) -> None:
        """Give back what `close` took from a node. Raises InputError: the node is not closed."""
        taken = self._closed.pop(node, None)
        if taken is None:
            name = self.ledger.topology.node_names[node]
            raise InputError("not closed", source="stream", got=name, expected="a node that is closed")
        self._give(*taken)

    def adopt(self, placement: Placement) -> None:
        """Hold a placement that was made elsewhere: by a session, joined from others, or what a fault left of one.

        Raises InputError: it is held already.

        `placement`: its nodes and GPUs are free; its Jobs close the HyperNodes that `Placement.exclusive` names.
        """
        if id(placement) in self._held:
            expected = "a placement that the stream does not hold"
            raise InputError("nothing to adopt", source="placement", got=repr(placement), expected=expected)
        take_placement(placement, self.ledger)
        self._hold(placement, self._log())

    def _log(self) -> list[Taken]:
        """Return the changes made to the ledger, which become final."""
        taken = self._ledger.since(0)
        self._ledger.commit()
        return taken

    def _by_policy(self, gang: Gang) -> tuple[Placement | Refusal, list[Taken]]:
        """Let the policy place a gang on the ledger; return its answer and the changes that it made to the ledger."""
        result = self._policy.place(gang, self.ledger)
        return result, self._log()

    def _hold(self, placement: Placement, taken: list[Taken]) -> None:
        self._held[id(placement)] = placement, taken
        if placement.exclusive:
            self._ledger.exclusive = {**self._ledger.exclusive, **placement.exclusive}

    def _take(
        self, nodes: npt.NDArray[np.int32], rows: npt.NDArray[np.int64], words: npt.NDArray[np.uint64] | None
    ) -> None:
        self._ledger.take(nodes, rows, words)
        self._ledger.commit()

    def _give(
        self, nodes: npt.NDArray[np.int32], rows: npt.NDArray[np.int64], words: npt.NDArray[np.uint64] | None
    ) -> None:
        self._ledger.give_back(nodes, rows, words)
        self._ledger.commit()


class SessionStream(Stream, ABC):
    """A stream with queues: gangs `wait` in it, and `decide` answers for those that something can be said of.

    `decide` answers as sessions of the policy would in which the queues are built again from what waits and runs, at a
    cost that depends on what has changed.

    `queues`: names of the queues whose quotas it keeps. `victims`: keys of the running gangs that have to end before
    `decide` goes on, for gangs that preempt them.
    """

    queues: frozenset[str] = frozenset()
    victims: tuple[str, ...] = ()

    @abstractmethod
    def wait(self, gang: Gang) -> None:
        """Let a gang wait until it is placed, in place of an earlier one of the same key.

        A gang that waits again keeps its place in the order of arrival.
        """

    @abstractmethod
    def decide(self, now_s: float, snapshot: Callable[[], ClusterSnapshot]) -> list[Decision]:
        """Decide on the gangs that wait, until nothing more can be done without a change.

        A placement holds its resources until it is given back. A refused gang waits on; it is refused once, until it
        has run. After a call that was cancelled, the next one goes on and returns the decisions of both.

        `now_s`: the present time. `snapshot`: returns the cluster as it is now; called if nodes have changed, or a
        placement was adopted.
        """
