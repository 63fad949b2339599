"""`ClusterView`: a cluster as some store knows it, in the values that policies and tables read."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from workbench.control.event_log import EventLog
from workbench.control.kinds import Ref
from workbench.control.owner_rows import owner_rows
from workbench.control.scheduler import Scheduler
from workbench.control.store import Object, ReadStore, StoreChange
from workbench.control.views import JobRow, PodRow, job_rows, jobs_of_groups, pod_rows
from workbench.errors import InputError
from workbench.formats.kueue_configuration import configuration_change
from workbench.live.kubernetes.loop import WallClock
from workbench.live.kubernetes.resources import OPTIONAL
from workbench.model.counted import quoted
from workbench.model.notice import Notice
from workbench.model.placement import Decision, Refusal
from workbench.model.scenario import Scenario
from workbench.model.snapshot import ClusterSnapshot
from workbench.policies.contract import Policy
from workbench.policies.registry import as_policy

__all__ = ["ClusterView"]


#: Kinds beside Volcano's of which snapshots are made.
_FOLLOWED = frozenset(one.kind_of_refs for one in OPTIONAL)

_KUBE_GROUP = "PodGroup.scheduling.k8s.io"


class _Observer(Scheduler):
    """A scheduler that is never asked to work: it knows how changes of objects change a snapshot."""

    kinds = Scheduler.kinds | _FOLLOWED

    def pods_of(self, key: str) -> Sequence[str]:
        """Keys of the pods of the job named ``namespace/name``."""
        return self._state.members_of(key)[0]

    def observe(self, change: StoreChange) -> Iterable[Hashable]:
        """As `Scheduler.observe`; of two PodGroups of one name, as in files, Volcano's counts."""
        kind, namespace, name = change.key
        if kind == _KUBE_GROUP and self.store.get(Ref("PodGroup", namespace, name)) is not None:
            return []
        read = configuration_change(change.before, change.after) if kind == "ConfigMap" else None
        if read is None:
            return super().observe(change)
        self._changes[change.key] = read
        self.session_due = True
        return []


class ClusterView:
    """A cluster whose objects somebody else keeps current.

    `policy`: answers what would happen to pending jobs (`what_if`).
    """

    def __init__(self, store: ReadStore, policy: str | Policy = "volcano") -> None:
        self.policy = as_policy(policy)
        self._store = store
        self._observer = _Observer(store, WallClock(), EventLog(), self.policy)  # type: ignore[arg-type]
        self._seen = 0
        #: Objects that could not be read, by kind, namespace and name, each with the reason.
        self.unread: dict[str, Notice] = {}

    def _take_over(self) -> list[StoreChange]:
        """Read what has changed in the store since the last call; returns the changes, oldest first."""
        changes = list(self._store.watch(self._seen))
        for change in changes:
            if change.key.kind in self._observer.kinds:
                self._observe(change)
        self._seen = self._store.version
        self._store.forget(self._seen)
        return changes

    def _observe(self, change: StoreChange) -> None:
        """Take over one change; an object that cannot be read is as if it were not there, and told."""
        name = str(change.key)
        was_read = self.unread.pop(name, None) is None
        try:
            if change.after is not None or was_read:
                self._observer.observe(change)
        except InputError as error:
            if change.key.kind not in _FOLLOWED | {"ConfigMap"}:
                raise
            if change.before is not None and was_read:
                self._observer.observe(change._replace(after=None))
            self.unread[name] = Notice("object-not-read", f"{name}: not read: {error}", name)

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
        """The Jobs, PodGroups of pods without one, and jobs of other systems; ``pandas.DataFrame(view.jobs())`` is a
        table.

        Other systems' are JobSets and their like, groups of kube-scheduler, and Workloads of Kueue without one of these
        (`workbench.control.owner_rows.owner_rows`).

        `ask_policy`: whether jobs that wait without a reason of their scheduler get that of the view's policy.
        """
        topology = self.snapshot.topology
        rows = [*job_rows(self._store, topology), *owner_rows(self._store, topology, self._observer.pods_of)]
        rows.sort(key=lambda row: (row.namespace.encode(), row.name.encode(), row.kind))
        if not ask_policy or all(row.waits_for or not _waits(row) for row in rows):
            return rows
        found = self.reasons()
        told = (found.get(f"{row.namespace}/{row.name}", "") if _waits(row) else "" for row in rows)
        return [row._replace(waits_for=row.waits_for or reason) for row, reason in zip(rows, told)]

    def pods(self) -> list[PodRow]:
        """The pods with their nodes and GPUs; ``pandas.DataFrame(view.pods())`` is a table."""
        return pod_rows(self._store)

    def what_if(self, policy: str | Policy | None = None) -> list[Decision]:
        """What a policy would do with the jobs that wait at this moment. `policy`, if None: that of this view."""
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


def _waits(row: JobRow) -> bool:
    """Whether a job waits for nodes; Kueue and its like suspend it meanwhile, so that it has no pods."""
    return row.pending > 0 or (row.phase in ("Suspended", "Pending") and row.kind not in ("Job", "PodGroup"))
