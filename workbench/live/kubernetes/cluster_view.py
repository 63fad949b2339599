"""`ClusterView`: a cluster as some store knows it, in the values that policies and tables read."""

from __future__ import annotations

from workbench.control.event_log import EventLog
from workbench.control.scheduler import Scheduler
from workbench.control.store import Object, ReadStore, StoreChange
from workbench.control.views import JobRow, PodRow, job_rows, jobs_of_groups, pod_rows
from workbench.live.wall_clock import WallClock
from workbench.model.counted import quoted
from workbench.model.placement import Decision, Refusal
from workbench.model.scenario import Scenario
from workbench.model.snapshot import ClusterSnapshot
from workbench.policies.contract import Policy
from workbench.policies.registry import as_policy

__all__ = ["ClusterView"]


class ClusterView:
    """A cluster whose objects somebody else keeps current.

    Parameters
    ----------
    store : ReadStore
    policy : str or Policy
        Answers what would happen to pending jobs (`what_if`).
    """

    def __init__(self, store: ReadStore, policy: str | Policy = "volcano") -> None:
        self.policy = as_policy(policy)
        self._store = store
        # A scheduler that is never asked to work: it knows how changes of objects change a snapshot.
        self._observer = Scheduler(store, WallClock(), EventLog(), self.policy)  # type: ignore[arg-type]
        self._seen = 0

    def _take_over(self) -> list[StoreChange]:
        """Read what has changed in the store since the last call; returns the changes, oldest first."""
        changes = list(self._store.watch(self._seen))
        for change in changes:
            if change.key.kind in self._observer.kinds:
                self._observer.observe(change)
        self._seen = self._store.version
        self._store.forget(self._seen)
        return changes

    @property
    def objects(self) -> list[Object]:
        """Every object that is known of the cluster, sorted by kind, namespace and name."""
        return list(self._store.contents())

    @property
    def snapshot(self) -> ClusterSnapshot:
        """The cluster with the pods that run, for `workbench.place`, `compare` and pictures."""
        return self._observer.snapshot

    def scenario(self) -> Scenario:
        """The cluster and the gangs that wait, as `workbench.load` gives them of a file."""
        snapshot, gangs = self._observer.observed()
        return Scenario(snapshot, tuple(gangs))

    def jobs(self, *, ask_policy: bool = False) -> list[JobRow]:
        """The Jobs, and the PodGroups of pods without one; ``pandas.DataFrame(view.jobs())`` is a table.

        Parameters
        ----------
        ask_policy : bool
            Whether jobs that wait without a reason of their scheduler get that of the view's policy.
        """
        rows = job_rows(self._store, self.snapshot.topology)
        if not ask_policy or all(row.waits_for or not row.pending for row in rows):
            return rows
        found = self.reasons()
        told = (found.get(f"{row.namespace}/{row.name}", "") if row.pending else "" for row in rows)
        return [row._replace(waits_for=row.waits_for or reason) for row, reason in zip(rows, told)]

    def pods(self) -> list[PodRow]:
        """The pods with their nodes and GPUs; ``pandas.DataFrame(view.pods())`` is a table."""
        return pod_rows(self._store)

    def what_if(self, policy: str | Policy | None = None) -> list[Decision]:
        """What a policy would do with the jobs that wait at this moment.

        Parameters
        ----------
        policy : str or Policy, optional
            None: that of this view.
        """
        chosen = self.policy if policy is None else as_policy(policy)
        snapshot, gangs = self._observer.observed()
        return chosen.schedule(gangs, snapshot) if gangs else []

    def reasons(self) -> dict[str, str]:
        """Why each job waits that the view's policy would not place now, by ``namespace/name`` of the job."""
        names = jobs_of_groups(self._store)
        found = {}
        for decision in self.what_if():
            if isinstance(decision.result, Refusal):
                text = "; ".join(map(quoted, decision.result.reasons))
                found[names.get(decision.gang.key, decision.gang.key)] = text
        return found
