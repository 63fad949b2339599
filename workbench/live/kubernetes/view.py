"""`LiveView`: a live cluster as it is now, kept up to date by watches; nothing is written to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from workbench.control.event_log import EventLog
from workbench.control.scheduler import Scheduler
from workbench.control.store import Object
from workbench.control.views import JobRow, PodRow, job_rows, jobs_of_groups, pod_rows
from workbench.live.kubernetes.configuration import Cluster, cluster_of
from workbench.live.kubernetes.connection import Connection
from workbench.live.kubernetes.mirror import Mirror
from workbench.live.kubernetes.projection import projected
from workbench.live.wall_clock import WallClock
from workbench.model.notice import Notice, texts_of
from workbench.model.placement import Decision, Refusal
from workbench.model.snapshot import ClusterSnapshot, Scenario
from workbench.policies.base import Policy
from workbench.policies.registry import get_policy

__all__ = ["LiveView"]

_KINDS = ("PriorityClass", "Queue", "HyperNode", "Node", "Device", "HyperJob", "Job", "PodGroup", "Pod")


class LiveView:
    """A live cluster, followed by watches. Secrets are not read, and of containers only names and resources are kept.

    Parameters
    ----------
    context : str, optional
        Context of the kubeconfig; None: the current one.
    kubeconfig : path, optional
        None: the files of KUBECONFIG, or else ``~/.kube/config``.
    policy : str or Policy
        Answers what would happen to pending jobs (`what_if`).
    timeout_s : float
        Limit in seconds for each request.
    announce : callable, optional
        Called with the `Cluster` (context, server, user) before the first request.

    Raises
    ------
    ClusterError
        The cluster cannot be read.

    Examples
    --------
    ::

        with LiveView("production") as view:
            while True:
                view.update(timeout_s=60)
                print(view.jobs())
    """

    def __init__(
        self,
        context: str | None = None,
        *,
        kubeconfig: str | Path | None = None,
        policy: str | Policy = "volcano",
        timeout_s: float = 60.0,
        announce: Callable[[Cluster], object] | None = None,
    ) -> None:
        self.policy = get_policy(policy) if isinstance(policy, str) else policy
        self.cluster: Cluster = cluster_of(context, kubeconfig, timeout_s=timeout_s)
        if announce is not None:
            announce(self.cluster)
        self._mirror = Mirror(Connection(self.cluster, timeout_s), _KINDS, _kept)
        # A scheduler that is never asked to work: it knows how changes of objects change a snapshot.
        self._observer = Scheduler(self._mirror, WallClock(), EventLog(), self.policy)  # type: ignore[arg-type]
        self._mirror.start()
        self._seen = 0
        self.update(0)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the watches and the connection."""
        self._mirror.close()

    @property
    def gaps(self) -> Mapping[str, Notice]:
        """Kinds that the cluster does not serve or the user may not read."""
        return dict(self._mirror.gaps)

    @property
    def trouble(self) -> str:
        """Why the cluster cannot be followed at this moment, in one line; empty while every watch goes on."""
        return next(iter(dict(self._mirror.failing).values()), "")

    def update(self, timeout_s: float = 0.0) -> bool:
        """Take over what changed.

        Parameters
        ----------
        timeout_s : float
            Seconds to wait for a change if there is none yet.

        Returns
        -------
        bool
            Whether anything changed.
        """
        if timeout_s > 0:
            self._mirror.wait(timeout_s)
        changes = self._mirror.watch(self._seen)
        for change in changes:
            if change.key.kind in self._observer.kinds:
                self._observer.observe(change)
        self._seen = self._mirror.version
        self._mirror.forget(self._seen)
        return bool(changes)

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
        rows = job_rows(self._mirror, self.snapshot.topology)
        if not ask_policy or all(row.waits_for or not row.pending for row in rows):
            return rows
        found = self.reasons()
        told = (found.get(f"{row.namespace}/{row.name}", "") if row.pending else "" for row in rows)
        return [row._replace(waits_for=row.waits_for or reason) for row, reason in zip(rows, told)]

    def pods(self) -> list[PodRow]:
        """The pods with their nodes and GPUs; ``pandas.DataFrame(view.pods())`` is a table."""
        return pod_rows(self._mirror)

    def what_if(self, policy: str | Policy | None = None) -> list[Decision]:
        """What a policy would do with the jobs that wait at this moment.

        Parameters
        ----------
        policy : str or Policy, optional
            None: that of this view.
        """
        chosen = self.policy if policy is None else get_policy(policy) if isinstance(policy, str) else policy
        snapshot, gangs = self._observer.observed()
        return chosen.schedule(gangs, snapshot) if gangs else []

    def reasons(self) -> dict[str, str]:
        """Why each job waits that the view's policy would not place now, by ``namespace/name`` of the job."""
        names = jobs_of_groups(self._mirror)
        found = {}
        for decision in self.what_if():
            if isinstance(decision.result, Refusal):
                text = "; ".join(texts_of(decision.result.reasons))
                found[names.get(decision.gang.key, decision.gang.key)] = text
        return found


def _kept(kind: str, data: Object) -> Object:
    # The names of a kind stay: the items of a list do not say them, and the mirror has added them.
    return {"apiVersion": data["apiVersion"], "kind": data["kind"], **projected(kind, data)}
