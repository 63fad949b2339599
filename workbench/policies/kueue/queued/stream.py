"""`QueueStream`: Kueue's queues that stay open while gangs arrive, start and end."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from copy import deepcopy
from typing import Any, Protocol

from workbench.model.gang import Gang
from workbench.model.kueue_request import KueueObjects
from workbench.model.ledger import Ledger
from workbench.model.placement import Decision, Placement, Refusal
from workbench.model.snapshot import ClusterSnapshot
from workbench.policies.kueue.query import Gates
from workbench.policies.kueue.queued.session import QueueSession
from workbench.policies.stream import Placer, SessionStream

__all__ = ["QueueStream"]


class AdmittedPlacer(Placer, Protocol):
    """Places gangs by their admissions, too; a `KueueScheduler` does."""

    def place_admitted(self, gang: Gang, ledger: Ledger, session: QueueSession) -> Placement | Refusal:
        """Place a gang on the nodes of its admission."""


class QueueStream(SessionStream):
    """Gangs in ClusterQueues: they wait, cycles admit them, and what they give back lets others be tried again.

    A parked gang is tried again when a gang of a queue in the same tree of cohorts ends, or, if room on nodes is all
    that it lacks, any gang, or when nodes change. The queues
    are read again from the snapshot after nodes were closed or reopened and after placements were adopted; all that
    waits is then tried anew.

    `snapshot`: with ClusterQueues.
    """

    # Gangs come by `wait` and are decided by `decide`; admitted ones get nodes in `_place_admitted`; `_refused`
    # says why the others wait. `close`, `reopen`, `adopt` and `give_back` keep quota and ledger in step.

    _policy: AdmittedPlacer

    def __init__(self, policy: AdmittedPlacer, snapshot: ClusterSnapshot, gates: Gates) -> None:
        super().__init__(policy, snapshot)
        self._gates = gates
        self.queues = frozenset(queue.name for queue in snapshot.extra(KueueObjects).cluster_queues)
        # None: to be read again.
        self._session: QueueSession | None = None
        # By key: when gangs came first, those that wait, and those among them that were not refused yet.
        self._numbers: dict[str, int] = {}
        self._waiting: dict[str, Gang] = {}
        self._untold: dict[str, None] = {}
        self._refusals: dict[Hashable, Refusal] = {}
        # Waiting gangs without quota to wait for: their Workload has it, or they have no queue.
        self._outside: dict[str, Gang] = {}
        # What a call of `decide` that was cancelled leaves to the next one: admitted gangs without nodes yet, those
        # that find no nodes, the victims of the last cycle, the answers.
        self._admitted: list[str] = []
        self._nowhere: list[str] = []
        self._to_end: list[str] = []
        self._answers: list[Decision] = []

    def _kept(self) -> dict[str, Any]:
        topology = self._ledger.topology
        return {**super()._kept(), "_session": deepcopy(self._session, {id(topology): topology})}

    def wait(self, gang: Gang) -> None:
        """Let a gang wait until it is placed, in place of an earlier one of the same key."""
        before = self._waiting.get(gang.key)
        if self._session is not None:
            if before is not None and self._outside.pop(gang.key, None) is None:
                self._session.leave(before)
            self._enter(self._session, gang)
        self._waiting[gang.key] = gang
        self._untold[gang.key] = None

    def _enter(self, session: QueueSession, gang: Gang) -> None:
        if not session.wait(gang, self._numbers.setdefault(gang.key, len(self._numbers))):
            self._outside[gang.key] = gang

    def _opened(self, snapshot: Callable[[], ClusterSnapshot]) -> QueueSession:
        if self._session is None:
            session = QueueSession(snapshot(), self._gates)
            self._outside.clear()
            self._refusals.clear()
            for key in sorted(self._waiting, key=lambda key: self._numbers.get(key, len(self._numbers))):
                self._enter(session, self._waiting[key])
            self._admitted, self._nowhere, self._to_end = [], [], []
            self._session = session
        return self._session

    def close(self, node: int, gpus: int = 0) -> None:
        """As `Stream.close`."""
        super().close(node, gpus)
        self._session = None

    def reopen(self, node: int) -> None:
        """As `Stream.reopen`."""
        super().reopen(node)
        self._session = None

    def adopt(self, placement: Placement) -> None:
        """As `Stream.adopt`."""
        super().adopt(placement)
        self._session = None

    def give_back(self, placement: Placement) -> None:
        """Free the resources and the quota of a placement whose pods have ended."""
        super().give_back(placement)
        if self._session is not None:
            self._session.end(placement.gang.key)

    def decide(self, now_s: float, snapshot: Callable[[], ClusterSnapshot]) -> list[Decision]:
        """Run scheduling cycles until nothing more is admitted, or until gangs have to end for others (`victims`).

        `now_s`, `snapshot`: as of `SessionStream.decide`.
        """
        session = self._opened(snapshot)
        self._place_admitted(session)
        for turns in () if self._to_end else session.run(now_s):
            self._admitted += [turn.workload.key for turn in turns if turn.admission is not None]
            self._to_end += [key for turn in turns for key in turn.victims]
            self._place_admitted(session)
        for gang in list(self._outside.values()):
            if session.is_admitted_before(gang):
                self._place(gang, session)
        while self._nowhere:
            session.park(self._nowhere[-1])
            self._nowhere.pop()
        for key in list(self._untold):
            self._answers.append(self._refused(self._waiting[key], session))
            del self._untold[key]
        self.victims, self._to_end = tuple(dict.fromkeys(self._to_end)), []
        answers, self._answers = self._answers, []
        return answers

    def _place_admitted(self, session: QueueSession) -> None:
        """Give the gangs that cycles have admitted their nodes, in the order of their turns."""
        while self._admitted:
            gang = self._waiting[self._admitted[0]]
            if not self._place(gang, session):
                self._nowhere.append(gang.key)
            self._admitted.pop(0)

    def _place(self, gang: Gang, session: QueueSession) -> bool:
        """Give an admitted gang its nodes; whether there are any."""
        decision = self._decision(gang, session)
        if isinstance(decision.result, Placement) and decision.result.n_placed:
            self._hold(decision.result, self._log())
            del self._waiting[gang.key]
            self._outside.pop(gang.key, None)
        self._untold.pop(gang.key, None)
        self._answers.append(decision)
        return gang.key not in self._waiting

    def _refused(self, gang: Gang, session: QueueSession) -> Decision:
        """The refusal of a gang that waits: that of another of the same shape, but for Kueue's message."""
        shape, now = session.shape(gang.key), session.refusal(gang)
        known = None if shape is None else self._refusals.get(shape)
        if known is None or now is None or known.gang.notes != gang.notes:
            decision = self._decision(gang, session)
            if shape is not None and isinstance(decision.result, Refusal):
                self._refusals[shape] = decision.result
            return decision
        reasons = tuple([now if reason.code == now.code else reason for reason in known.reasons])
        refusal = Refusal(gang, known.policy, known.parameters, reasons, known.nearest_misses, known.warnings)
        return Decision(gang, refusal, turn=len(self._answers))

    def _decision(self, gang: Gang, session: QueueSession) -> Decision:
        try:
            result = self._policy.place_admitted(gang, self._ledger, session)
        except BaseException:
            self._ledger.rollback(0)
            raise
        return Decision(gang, result, turn=len(self._answers))
