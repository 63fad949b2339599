"""`LiveView`: a live cluster as it is now, kept up to date by watches; nothing is written to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from workbench.control.store import Object, StoreChange
from workbench.live.kubernetes.cluster_view import ClusterView
from workbench.live.kubernetes.configuration import Cluster, cluster_of
from workbench.live.kubernetes.connection import Connection
from workbench.live.kubernetes.lists import Served
from workbench.live.kubernetes.mirror import Mirror
from workbench.live.kubernetes.projection import projected
from workbench.live.kubernetes.resources import KUEUE_CONFIG, OPTIONAL, is_kueue_there
from workbench.model.notice import Notice
from workbench.policies.contract import Policy

__all__ = ["LiveView"]

#: Listed in this order; pods come last, because they name the others.
_KINDS = ("PriorityClass", "Queue", "HyperNode", "Node", "Device", "HyperJob", "Job", "PodGroup")


class LiveView(ClusterView):
    """A live cluster, followed by watches. Secrets are not read, and of containers only names and resources are kept.

    Raises ClusterError: the cluster cannot be read.

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
        self.cluster: Cluster = cluster_of(context, kubeconfig, timeout_s=timeout_s)
        if announce is not None:
            announce(self.cluster)
        connection = Connection(self.cluster, timeout_s)
        served = Served(connection)
        self._absent = dict(_absent(served, self.cluster.user))
        homes = {one.kind_of_refs: served.versions_of(one) for one in OPTIONAL if served.known}
        homes = {kind: versions for kind, versions in homes.items() if versions}
        if is_kueue_there(homes):
            homes["ConfigMap"] = (KUEUE_CONFIG.followed,)
        self._mirror = Mirror(connection, (*_KINDS, *homes, "Pod"), _kept, homes)
        super().__init__(self._mirror, policy)
        #: Functions called with the changes that each `update` takes over.
        self.heard: list[Callable[[Sequence[StoreChange]], object]] = []
        self._mirror.start()
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
        """Kinds that the cluster does not serve or the user may not read, and objects that could not be read.

        Kinds of Kueue, groups of kube-scheduler, JobSets and their like are followed where the cluster had them when
        this view was made.
        """
        followed = "ConfigMap" in self._mirror.kinds and not self._mirror.list("ConfigMap")
        missing = {"ConfigMap": KUEUE_CONFIG.missing} if followed else {}
        return {**self._absent, **missing, **self._mirror.gaps, **self.unread}

    @property
    def trouble(self) -> str:
        """Why the cluster cannot be followed at this moment, in one line; empty while every watch goes on."""
        return next(iter(dict(self._mirror.failing).values()), "")

    def update(self, timeout_s: float = 0.0) -> bool:
        """Take over what changed.

        `timeout_s`: seconds to wait for a change if there is none yet. Returns whether anything changed.
        """
        if timeout_s > 0:
            self._mirror.wait(timeout_s)
        changes = self._take_over()
        if changes:
            for told in self.heard:
                told(changes)
        return bool(changes)


def _absent(served: Served, user: str) -> Iterator[tuple[str, Notice]]:
    """Why kinds of `OPTIONAL` are not followed, by kind, where a user would not expect it."""
    if not served.known:
        text = (
            f"user {user} may not ask for the API groups: Kueue, groups of kube-scheduler and JobSets are not followed"
        )
        yield "", Notice("not-permitted", text, "/apis")
    for one in OPTIONAL:
        if served.misses(one):
            text = f"the cluster has no {one.kind} ({one.api_version})"
            yield one.kind_of_refs, Notice("kind-not-served", text, one.kind_of_refs)


def _kept(kind: str, data: Object) -> Object:
    # The names of a kind stay: the items of a list do not say them, and the mirror has added them.
    return {"apiVersion": data["apiVersion"], "kind": data["kind"], **projected(kind, data)}
