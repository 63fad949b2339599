"""`take_snapshot`: read a live cluster into one file that replays without it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from workbench.cancel import reached
from workbench.errors import ClusterError
from workbench.formats.load import load
from workbench.live.kubernetes.anonymous import ANYBODY, anonymized
from workbench.live.kubernetes.configuration import Cluster, cluster_of
from workbench.live.kubernetes.connection import Connection, Forbidden, NoSuchApi
from workbench.live.kubernetes.lists import Served, listed
from workbench.live.kubernetes.projection import projected
from workbench.live.kubernetes.resources import (
    CONFIG_MAPS,
    DEVICE_INFOS,
    EVENTS,
    KUEUE_CONFIG,
    LISTS,
    OPTIONAL,
    OWNERS,
    QUEUEING,
    NamedConfigMap,
    Resource,
    is_kueue_there,
)
from workbench.live.kubernetes.shapes import mapping
from workbench.model.notice import Notice
from workbench.model.scenario import Scenario
from workbench.objects.device_info import DEVICE_INFO_PREFIX

__all__ = ["LiveSnapshot", "read_cluster", "take_snapshot"]


#: Phases of a PodGroup, and of a Volcano Job, whose pods do not all run yet; empty: nobody has looked at it.
_PHASES = ("", "Pending", "Inqueue", "Unknown")


class WaitingObjects:
    """Collects what waits while the lists of a cluster are read.

    Jobs, PodGroups and pods must be seen before the events about them.
    """

    def __init__(self) -> None:
        self._keys: set[tuple[str, str, str]] = set()

    def see(self, resource: Resource, item: Mapping[str, Any]) -> None:
        """Note an object of the cluster if it waits."""
        waits = _WAITS.get((resource.group, resource.kind))
        if waits is not None and waits(item):
            metadata = mapping(item.get("metadata"))
            self._keys.add((resource.kind, str(metadata.get("namespace")), str(metadata.get("name"))))

    def concerns(self, event: Mapping[str, Any]) -> bool:
        """Whether an event is about an object that waits."""
        about = mapping(event.get("involvedObject"))
        return (str(about.get("kind")), str(about.get("namespace")), str(about.get("name"))) in self._keys


def _pod(item: Mapping[str, Any]) -> bool:
    spec, status = mapping(item.get("spec")), mapping(item.get("status"))
    return not spec.get("nodeName") and status.get("phase", "Pending") == "Pending"


def _group(item: Mapping[str, Any]) -> bool:
    return (mapping(item.get("status")).get("phase") or "") in _PHASES


def _job(item: Mapping[str, Any]) -> bool:
    return (mapping(mapping(item.get("status")).get("state")).get("phase") or "") in _PHASES


def _lacks(types: Collection[str], item: Mapping[str, Any]) -> bool:
    """Whether none of the conditions holds that end the wait of an object."""
    listed = mapping(item.get("status")).get("conditions")
    conditions = [mapping(one) for one in listed] if isinstance(listed, list) else []
    return not any(one.get("type") in types and one.get("status") == "True" for one in conditions)


#: Conditions that hold once an object of `OWNERS` has ended.
_ENDS = frozenset({"Complete", "Completed", "Succeeded", "Failed"})

_WAITS: dict[tuple[str, str], Callable[[Mapping[str, Any]], bool]] = {
    ("", "Pod"): _pod,
    ("scheduling.volcano.sh", "PodGroup"): _group,
    ("batch.volcano.sh", "Job"): _job,
    ("training.volcano.sh", "HyperJob"): lambda _: True,
    ("kueue.x-k8s.io", "Workload"): partial(_lacks, ("Admitted", "Finished")),
    ("scheduling.k8s.io", "PodGroup"): partial(_lacks, ("PodGroupInitiallyScheduled",)),
    ("scheduling.k8s.io", "CompositePodGroup"): lambda _: True,
    **{(one.group, one.kind): partial(_lacks, _ENDS) for one in OWNERS},
}


#: Begins the names of NPU resources in the JSON of an object.
_NPU = b'"huawei.com/'

#: Reports progress: (objects of a kind read, objects of it in all, its plural name).
Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class LiveSnapshot:
    """A cluster as it was read, with what could not be read.

    Attributes
    ----------
    context, server, user : str
        Where it was read, by whom.
    versions : mapping of str to str
        resourceVersion at which each list was read, by ``plural.group`` (``nodes`` for the core group).
    gaps : tuple of Notice
        Kinds that the cluster does not have or the user may not read, with the RBAC rule that would close the gap.
    objects : tuple of bytes
        Each object as one line of JSON, cut to what a scheduler looks at.
    """

    context: str
    server: str
    user: str
    versions: Mapping[str, str]
    gaps: tuple[Notice, ...]
    objects: tuple[bytes, ...]

    def to_json(self) -> bytes:
        """The snapshot as a file: a Kubernetes List, which every command and `workbench.load` reads."""
        record = {
            "context": self.context,
            "server": self.server,
            "user": self.user,
            "versions": dict(self.versions),
            "gaps": [{"code": gap.code, "message": gap.message, "subject": gap.subject} for gap in self.gaps],
        }
        head = b'{"apiVersion":"v1","kind":"List","metadata":{"snapshot":' + orjson.dumps(record) + b'},"items":[\n'
        return head + b",\n".join(self.objects) + b"\n]}\n"

    def scenario(self) -> Scenario:
        """The cluster and its pending jobs, as `workbench.load` reads the file."""
        return load("-", stdin=self.to_json())

    def anonymized(self) -> LiveSnapshot:
        """The same cluster without the names that somebody chose, for a bug report.

        The same name has the same stand-in everywhere, in the byte order of the names, so policies place the jobs as
        they place those of the cluster. Context, server and user are called ``anonymous``.
        """
        objects, names = anonymized(self.objects)

        def hidden(text: str) -> str:
            for told in (self.user, self.server, self.context):
                text = text.replace(told, ANYBODY) if told else text
            return names.in_text(text)

        gaps = tuple(replace(gap, message=hidden(gap.message)) for gap in self.gaps)
        return LiveSnapshot(ANYBODY, ANYBODY, ANYBODY, self.versions, gaps, objects)

    def __repr__(self) -> str:
        return f"LiveSnapshot(context {self.context!r}, {len(self.objects):,} objects, {len(self.gaps)} gaps)"


def take_snapshot(
    context: str | None = None,
    *,
    kubeconfig: str | Path | None = None,
    timeout_s: float = 60.0,
    anonymize: bool = False,
    announce: Callable[[Cluster], object] | None = None,
    progress: Progress | None = None,
) -> LiveSnapshot:
    """Read a live cluster. Nothing is written to it, and no Secret is read.

    Raises ClusterError: no connection, wrong credentials, or no right to read nodes and pods.

    Parameters
    ----------
    context : str, optional
        Context of the kubeconfig; None: the current one.
    kubeconfig : path, optional
        None: the files of KUBECONFIG, or else ``~/.kube/config``.
    timeout_s : float
        Limit in seconds for each request.
    anonymize : bool
        Whether names that somebody chose get stand-ins (`LiveSnapshot.anonymized`).
    announce : callable, optional
        Called with the `Cluster` (context, server, user) before the first request.
    progress : callable, optional
        Called after each page as ``progress(read, in_all, plural)``.
    """
    cluster = cluster_of(context, kubeconfig, timeout_s=timeout_s)
    if announce is not None:
        announce(cluster)
    with Connection(cluster, timeout_s) as connection:
        found = read_cluster(connection, progress)
    return found.anonymized() if anonymize else found


def read_cluster(connection: Connection, progress: Progress | None = None) -> LiveSnapshot:
    """Read the cluster behind a connection, as `take_snapshot` does.

    The ConfigMaps of ``kube-system`` are listed if a node has NPUs, to find those that tell which are faulty.

    Raises ClusterError: as for `take_snapshot`.
    """
    reading = _Reading(connection, progress)
    for resource in (*LISTS[:-2], *OPTIONAL, *LISTS[-2:], EVENTS):
        reading.read(resource)
    if any(_NPU in one for one in reading.objects):
        reading.read(DEVICE_INFOS)
    for one in CONFIG_MAPS:
        reading.read_by_name(one)
    if is_kueue_there(reading.versions) and not reading.read_by_name(KUEUE_CONFIG):
        reading.gaps.append(KUEUE_CONFIG.missing)
    cluster = connection.cluster
    parts = reading.versions, tuple(reading.gaps), tuple(reading.objects)
    return LiveSnapshot(cluster.context, cluster.server, cluster.user, *parts)


class _Reading:
    """The objects of a cluster, kind by kind, with what could not be read; attributes as in `LiveSnapshot`."""

    def __init__(self, connection: Connection, progress: Progress | None) -> None:
        self.objects: list[bytes] = []
        self.versions: dict[str, str] = {}
        self.gaps: list[Notice] = []
        self._connection = connection
        self._progress = progress
        self._waiting = WaitingObjects()
        self._served = Served(connection)

    def read(self, resource: Resource) -> None:
        """Read the objects of a kind, in the first of its versions that is there; otherwise take note of the gap."""
        optional = resource in OPTIONAL
        for one in self._served.versions_of(resource) if optional else (resource,):
            try:
                found, self.versions[one.name] = _listed(self._connection, one, self._progress, self._waiting)
            except NoSuchApi:
                continue
            except Forbidden as error:
                if one.needed:
                    raise ClusterError(f"{error}; a ClusterRole with the rule {one.rule} would allow it") from None
                self._forbidden(one)
            else:
                self.objects += found
            return
        if resource.needed:
            server = self._connection.cluster.server
            raise ClusterError(f"{server}: no {resource.plural}: not a Kubernetes API server")
        # No cluster has all optional kinds: one is reported as missing only if others of its group are there.
        if not optional or self._served.misses(resource) or self._without_neighbours(resource):
            text = f"the cluster has no {resource.kind} ({resource.api_version})"
            self.gaps.append(Notice("kind-not-served", text, resource.name))

    def _without_neighbours(self, resource: Resource) -> bool:
        """Whether a cluster has Kueue, and a kind of it in no version that is read."""
        return resource in QUEUEING and self._served.known and bool(self._served.versions_of(resource))

    def _forbidden(self, resource: Resource) -> None:
        where = f" in {resource.namespace}" if resource.namespace else ""
        text = (
            f"user {self._connection.cluster.user} may not list {resource.name}{where}; "
            f"the rule {resource.rule}{where} would allow it"
        )
        self.gaps.append(Notice("not-permitted", text, resource.name))

    def read_by_name(self, one: NamedConfigMap) -> bool:
        """Read one ConfigMap, or take note that the user may not; returns False if there is none."""
        name = f"ConfigMap {one.namespace}/{one.name}"
        try:
            self.objects.append(_kept("v1", "ConfigMap", self._connection.get_object(one.path)))
        except NoSuchApi:
            return False
        except Forbidden:
            user = self._connection.cluster.user
            text = f"user {user} may not get {name}; in that namespace {one.rule} would allow it"
            self.gaps.append(Notice("not-permitted", text, name))
        return True


def _listed(
    connection: Connection, resource: Resource, progress: Progress | None, waiting: WaitingObjects
) -> tuple[list[bytes], str]:
    """Objects of a kind and the list's resourceVersion; events and ConfigMaps only if they are read."""

    def keep(item: Mapping[str, Any]) -> bytes | None:
        waiting.see(resource, item)
        if resource is EVENTS and not waiting.concerns(item):
            return None
        if resource is DEVICE_INFOS and not _name_of(item).startswith(DEVICE_INFO_PREFIX):
            return None
        return _kept(resource.api_version, resource.kind, item)

    def tell(read: int, in_all: int) -> None:
        if progress is not None:
            progress(read, in_all, resource.plural)
        reached(resource.plural, read, in_all)

    found, version = listed(connection, resource.path, keep, tell, resource.selector)
    return [one for one in found if one is not None], version


def _name_of(item: Mapping[str, Any]) -> str:
    return str((item.get("metadata") or {}).get("name", ""))


def _kept(api_version: str, kind: str, item: Mapping[str, Any]) -> bytes:
    # The items of a list do not say their kind.
    return orjson.dumps({"apiVersion": api_version, "kind": kind, **projected(kind, item)}, option=orjson.OPT_SORT_KEYS)
