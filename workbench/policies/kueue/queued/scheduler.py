"""`KueueScheduler`: a policy that decides in Kueue's scheduling cycles where a snapshot has ClusterQueues."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from weakref import WeakKeyDictionary

from workbench.model.explanation import NO_RECORDERS, Recorders
from workbench.model.gang import Gang
from workbench.model.kueue_request import KueueObjects, KueueRequest
from workbench.model.ledger import Ledger
from workbench.model.notice import Notice
from workbench.model.placement import Decision, Placement, Refusal
from workbench.model.snapshot import ClusterSnapshot
from workbench.policies.composed import Composed
from workbench.policies.contract import SessionPolicy
from workbench.policies.kueue.policy import Kueue019
from workbench.policies.kueue.query import Gates
from workbench.policies.kueue.queued.session import QueueSession
from workbench.policies.kueue.queued.stream import QueueStream
from workbench.policies.stream import Stream

__all__ = ["KueueScheduler"]


class _Held(NamedTuple):
    gangs: tuple[Gang, ...]
    gates: Gates
    session: QueueSession


#: The last session on a snapshot: who asks whom it admits asks next where they go.
_LAST: WeakKeyDictionary[ClusterSnapshot, _Held] = WeakKeyDictionary()


class KueueScheduler(Composed, SessionPolicy):
    """A policy whose node part is `Kueue019`: with ClusterQueues in the snapshot, quota decides before topology does.

    Without ClusterQueues every gang is placed in turn, and all are admitted.
    """

    def schedule(
        self, gangs: Sequence[Gang], snapshot: ClusterSnapshot, recorders: Recorders = NO_RECORDERS
    ) -> list[Decision]:
        """Decide on all gangs in scheduling cycles of Kueue.

        `gangs`, `snapshot`, `recorders`: as in `Policy.schedule`.
        """
        if not snapshot.extra(KueueObjects).cluster_queues:
            return super().schedule(gangs, snapshot, recorders)
        session = self._session(gangs, snapshot)
        ledger, decisions = snapshot.ledger(), {}
        place = session.order()
        for turn, i in enumerate(sorted(range(len(gangs)), key=lambda i: (place.get(gangs[i].key, len(place)), i))):
            gpus = self._gpu_questions(gangs[i], ledger)
            result = self._place_with(gpus, gangs[i], ledger, recorders.get(i), session.assign)
            decisions[i] = Decision(gangs[i], result, turn=turn)
        return [decisions[i] for i in range(len(gangs))]

    def admit(self, gangs: Sequence[Gang], snapshot: ClusterSnapshot) -> list[Notice | None]:
        """Decide which gangs get quota and, if their flavors have a topology, domains.

        Returns list of Notice or None: Kueue's message for each gang that waits, else None.

        `gangs`, `snapshot`: as in `SessionPolicy.admit`.
        """
        if not snapshot.extra(KueueObjects).cluster_queues:
            return [None] * len(gangs)
        session = self._session(gangs, snapshot)
        return [session.refusal(gang) if gang.n_pods else None for gang in gangs]

    def stream(self, snapshot: ClusterSnapshot) -> Stream:
        """Return a `Stream`; with ClusterQueues in the snapshot one that keeps its queues (`QueueStream`)."""
        queued = bool(snapshot.extra(KueueObjects).cluster_queues)
        return QueueStream(self, snapshot, self._gates) if queued else Stream(self, snapshot)

    def place_admitted(self, gang: Gang, ledger: Ledger, session: QueueSession) -> Placement | Refusal:
        """Place a gang on the nodes of its admission; refuse it where a session does not admit it.

        `ledger`: holds the placement afterwards; unchanged if the answer is a refusal. `session`: which has decided on
        the gang.
        """
        return self._place_with(self._gpu_questions(gang, ledger), gang, ledger, None, session.assign)

    @property
    def _gates(self) -> Gates:
        assert isinstance(self.node, Kueue019)
        return self.node.gates

    def _session(self, gangs: Sequence[Gang], snapshot: ClusterSnapshot) -> QueueSession:
        known = _LAST.get(snapshot)
        if known is None or known.gates != self._gates or not _ask_the_same(gangs, known.gangs):
            session = QueueSession(snapshot, self._gates)
            for number, gang in enumerate(gangs):
                session.wait(gang, number)
            for _ in session.run():
                pass
            known = _LAST[snapshot] = _Held(tuple(gangs), self._gates, session)
        return known.session


def _ask_the_same(some: Sequence[Gang], others: Sequence[Gang]) -> bool:
    """Whether two lists of gangs are the same to Kueue: they may differ in what other schedulers read."""
    return len(some) == len(others) and all(
        one is other or (one.roles is other.roles and _read_of(one) == _read_of(other))
        for one, other in zip(some, others, strict=True)
    )


def _read_of(gang: Gang) -> tuple[object, ...]:
    asked = gang.extra(KueueRequest)
    return gang.key, gang.queue, gang.priority, gang.created, gang.min_available, gang.ready, gang.constraint, asked
