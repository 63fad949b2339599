"""`SessionStream`: a session of a policy that stays open while gangs arrive, start and end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from workbench.model.gang import Gang
from workbench.model.placement import Decision
from workbench.model.snapshot import ClusterSnapshot
from workbench.policies.stream import Stream

__all__ = ["SessionStream"]


class SessionStream(Stream, ABC):
    """A stream with queues: gangs `wait` in it, and `decide` answers for those that something can be said of.

    `decide` answers as sessions of the policy would in which the queues are built again from what waits and runs, at a
    cost that depends on what has changed.

    Attributes
    ----------
    queues : frozenset of str
        Names of the queues whose quotas it keeps.
    victims : tuple of str
        Keys of the running gangs that have to end before `decide` goes on, for gangs that preempt them.
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

        Parameters
        ----------
        now_s : float
            The present time.
        snapshot : callable
            Returns the cluster as it is now; called if nodes have changed, or a placement was adopted.
        """
