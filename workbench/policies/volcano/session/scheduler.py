"""`VolcanoScheduler`: a policy that decides in sessions of Volcano."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.model.explanation import NO_RECORDERS, Recorders
from workbench.model.gang import Gang
from workbench.model.notice import Notice
from workbench.model.placement import Decision
from workbench.model.snapshot import ClusterSnapshot
from workbench.policies.composed import Composed
from workbench.policies.contract import SessionPolicy
from workbench.policies.volcano.session.policy import VolcanoPolicy
from workbench.policies.volcano.session.session import Session

__all__ = ["VolcanoScheduler"]


class VolcanoScheduler(Composed, SessionPolicy):
    """A policy whose node part is a `VolcanoPolicy`: decides in sessions of Volcano, with their queues and actions."""

    def schedule(
        self, gangs: Sequence[Gang], snapshot: ClusterSnapshot, recorders: Recorders = NO_RECORDERS
    ) -> list[Decision]:
        """Decide on all gangs in one session of Volcano."""
        return self._session(gangs, snapshot, recorders).run()

    def admit(self, gangs: Sequence[Gang], snapshot: ClusterSnapshot) -> list[Notice | None]:
        """Decide which gangs are admitted, by running only the action enqueue of a session."""
        return self._session(gangs, snapshot, NO_RECORDERS).admit()

    def _session(self, gangs: Sequence[Gang], snapshot: ClusterSnapshot, recorders: Recorders) -> Session:
        assert isinstance(self.node, VolcanoPolicy)
        return Session(self, self.node, gangs, snapshot, recorders)
