"""`Mirror`: the objects of a live cluster, kept up to date by watches."""

from __future__ import annotations

import copy
import queue
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from workbench.cancel.progress import LOG
from workbench.control.kinds import Ref, api_path, api_version, key_of
from workbench.control.object_table import ObjectTable
from workbench.control.store import Object, StoreChange
from workbench.errors import ClusterError, InternalError
from workbench.live.kubernetes.connection import Connection, Expired, Forbidden, NoSuchApi
from workbench.live.kubernetes.lists import listed
from workbench.live.kubernetes.resources import Resource
from workbench.live.kubernetes.shapes import Misshapen, checked_event, version_of
from workbench.live.threads import keep_on
from workbench.model.notice import Notice

__all__ = ["Mirror", "without_managed_fields"]

#: Seconds after which the API server ends a watch, so that a connection that died silently is noticed, and seconds of
#: silence that are bearable until then: a bookmark comes about once a minute.
_WATCH_S = 300
_SILENCE_S = 330.0

#: Seconds after which a kind that the cluster does not serve, or may not be read or watched, is asked for again.
_ABSENT_S = 30.0

#: Seconds that a watch lasts at least: a server that ends every watch at once must not be asked without a pause.
_SHORT_S = 1.0


#: Seconds that closing waits for each watch; a watch that begins just then ends with the process.
_GOODBYE_S = 2.0


class _News(NamedTuple):
    """What a watch has to tell: one object (with its type of event), or a whole list with its resourceVersion."""

    kind: str
    event: str
    objects: Sequence[Object]
    version: int = 0


class _Home(NamedTuple):
    """Where the API server has the objects of a kind: path of the list, apiVersion, and field selector."""

    path: str
    api_version: str
    selector: str = ""


class Mirror:
    """Objects of some kinds of a live cluster. It reads as `workbench.control.store.Store` says.

    Each kind has a thread that lists it, then watches it, and lists it anew when the watch has expired. What they learn
    becomes visible when `watch` is called, by the thread that owns the mirror.

    `gaps`: kinds that the cluster does not serve, or the user may not read or not watch, by kind; asked for again now
    and then. `lost`: number of watches that broke or expired, by kind. `failing`: why a kind cannot be followed at this
    moment, by kind; what is known of it may be old.

    Parameters
    ----------
    kinds : sequence of str
        Kinds as in `workbench.control.kinds.Ref.kind`; listed in this order before `start` returns.
    keep : callable, optional
        Called with the kind and each object; returns what of it is kept, or None for an object that this mirror leaves
        out. Default: everything but managed fields.
    homes : mapping of str to sequence of Resource
        Of kinds that `workbench.control.kinds` does not know: their versions, the first of which that is there counts.
    """

    # Two sides, which share a queue of news:
    #   threads     one for each kind: list, then watch from the list's version; again after an error (`_follow`)
    #   readers     `watch` takes the news over (`_take`) in the caller's thread; `get` and `list` read what was taken
    # What a write has told (`put`, `bound`, `removed`) counts at once; older news about the object change nothing then.

    def __init__(
        self,
        connection: Connection,
        kinds: Sequence[str],
        keep: Callable[[str, Object], Object | None] | None = None,
        homes: Mapping[str, Sequence[Resource]] = MappingProxyType({}),
    ) -> None:
        self.connection = connection
        self.kinds = tuple(kinds)
        self.gaps: dict[str, Notice] = {}
        self.lost: Counter[str] = Counter()
        self.failing: dict[str, str] = {}
        self._keep = keep or without_managed_fields
        self._homes = {
            kind: [_Home(one.path, one.api_version, one.selector) for one in homes[kind]]
            if kind in homes
            else [_Home(api_path(kind), api_version(kind))]
            for kind in self.kinds
        }
        self._table = ObjectTable()
        self._news: queue.SimpleQueue[_News] = queue.SimpleQueue()
        self._arrived = threading.Event()
        self._stopped = threading.Event()
        self._threads: list[threading.Thread] = []
        #: resourceVersion from which each kind is watched; None: it must be listed first.
        self._position: dict[str, int | None] = {}
        #: Kinds that may be listed and not watched.
        self._polled: set[str] = set()
        #: Pods that were bound through this mirror while no watch has shown them with their node: uid, node and
        #: annotations.
        self._bound: dict[Ref, tuple[str, str, Mapping[str, str]]] = {}
        #: Objects that were deleted through this mirror while no watch has shown them gone: identity and uid, and the
        #: last version known.
        self._gone: dict[tuple[Ref, str], int] = {}

    # -----------------------------------------------------------------------------------------------------------------
    # reading
    # -----------------------------------------------------------------------------------------------------------------

    @property
    def version(self) -> int:
        """Version of the newest change."""
        return self._table.version

    def __len__(self) -> int:
        return len(self._table)

    def get(self, key: Ref) -> Object | None:
        """The object with identity `key`; None if it does not exist."""
        return self._table.get(key)

    def list(self, kind: str, namespace: str | None = None) -> Sequence[Object]:
        """The objects of a kind in all namespaces or in one, sorted by namespace and name."""
        return self._table.list(kind, namespace)

    def contents(self) -> Sequence[Object]:
        """Every object, sorted by kind, namespace and name."""
        return self._table.contents()

    def table(self) -> ObjectTable:
        """A copy of what is known, which does not change."""
        return copy.copy(self._table)

    def watch(self, since: int) -> Sequence[StoreChange]:
        """Take over what the watches have learned, and return the changes after version `since`, oldest first."""
        self._arrived.clear()
        while True:
            try:
                news = self._news.get_nowait()
            except queue.Empty:
                break
            self._take(news)
        return self._table.watch(since)

    def forget(self, version: int) -> None:
        """Drop the changes up to `version`; a later `watch` from an earlier version fails."""
        self._table.forget(version)

    def wait(self, timeout_s: float) -> bool:
        """Wait until a watch has learned something, or for `timeout_s` seconds; returns whether one has."""
        return self._arrived.wait(timeout_s)

    # -----------------------------------------------------------------------------------------------------------------
    # following
    # -----------------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """List every kind, and begin to watch it. Raises ClusterError: the API server does not answer."""
        for kind in self.kinds:
            self._position[kind] = self._list_once(kind)
        self.watch(self.version)
        for kind in self.kinds:
            one = threading.Thread(target=self._follow, args=(kind,), name=f"watch-{kind}", daemon=True)
            self._threads.append(one)
            one.start()

    def close(self) -> None:
        """Stop to watch; the connection is closed."""
        self._stopped.set()
        self.connection.close()
        for one in self._threads:
            one.join(_GOODBYE_S)

    def _list_once(self, kind: str) -> int | None:
        """Hand the list of a kind over; returns its resourceVersion, or None where it cannot be read."""
        name = _plain(kind)
        try:
            found, text = self._listed(kind)
            version = version_of({"resourceVersion": text or "0"}, f"the list of {kind}")
        except NoSuchApi:
            text = f"the cluster has no {name} ({self._homes[kind][0].api_version})"
            self.gaps[kind] = Notice("kind-not-served", text, kind)
            return None
        except Forbidden:
            text = f"user {self.connection.cluster.user} may not list {name} ({self._homes[kind][0].api_version})"
            self.gaps[kind] = Notice("not-permitted", text, kind)
            return None
        if kind not in self._polled:
            self.gaps.pop(kind, None)
        self._tell(_News(kind, "LIST", [one for one in found if one is not None], version))
        return version

    def _listed(self, kind: str) -> tuple[Sequence[Object | None], str]:
        """The objects of a kind in the first of its versions that is there; that one is watched, too."""
        homes = self._homes[kind]
        for number, home in enumerate(homes):
            try:
                found = listed(self.connection, home.path, self._named(kind, home), selector=home.selector)
            except NoSuchApi:
                if number == len(homes) - 1:
                    raise
            else:
                self._homes[kind] = [home, *(one for one in homes if one is not home)]
                return found
        raise InternalError(f"{kind}: a kind without a version")

    def _named(self, kind: str, home: _Home) -> Callable[[Object], Object | None]:
        # The items of a list do not say their kind.
        named = {"apiVersion": home.api_version, "kind": _plain(kind)}

        def kept(data: Object) -> Object | None:
            version_of(data["metadata"], f"the list of {kind}")
            return self._keep(kind, {**data, **named})

        return kept

    def _tell(self, news: _News) -> None:
        self._news.put(news)
        self._arrived.set()

    def _follow(self, kind: str) -> None:
        """Watch a kind until the mirror is closed."""

        def failed(error: Exception, text: str) -> None:
            self.lost[kind] += 1
            anew = (Expired, NoSuchApi, Misshapen)
            if isinstance(error, anew) or not isinstance(error, ClusterError):
                self._position[kind] = None
            # A watch expires now and then in a cluster that is well.
            if not isinstance(error, Expired):
                if self.failing.get(kind) != text:
                    LOG.warning("cannot follow %s: %s", kind, text)
                self.failing[kind] = text

        keep_on(lambda: self._listed_and_watched(kind), self._stopped, failed)

    def _listed_and_watched(self, kind: str) -> None:
        """List a kind, unless a watch can go on where one has ended, and watch it until the API server ends that."""
        if self._position[kind] is None:
            self._position[kind] = self._list_once(kind)
        if self._position[kind] is None:
            self.failing.pop(kind, None)
            self._stopped.wait(_ABSENT_S)
            return
        begun = time.monotonic()
        try:
            self._watch_from(kind)
        except Forbidden:
            home = self._homes[kind][0]
            text = f"user {self.connection.cluster.user} may list {_plain(kind)} ({home.api_version}) but not watch"
            self.gaps[kind] = Notice("not-permitted", f"{text}: it is read every {_ABSENT_S:g} s", kind)
            self._polled.add(kind)
            self.failing.pop(kind, None)
            self._position[kind] = None
            self._stopped.wait(_ABSENT_S)
            return
        if time.monotonic() - begun < _SHORT_S:
            raise ClusterError(f"the watch of {kind} ended at once")

    def _watch_from(self, kind: str) -> None:
        """Hand over events until the API server ends the watch."""
        query = {"watch": "1", "allowWatchBookmarks": "true", "timeoutSeconds": str(_WATCH_S)}
        what = f"the watch of {kind}"

        def opened() -> None:
            if kind in self.failing:
                LOG.info("follows %s again", kind)
            self.failing.pop(kind, None)
            if kind in self._polled:
                self._polled.discard(kind)
                self.gaps.pop(kind, None)

        position, home = str(self._position[kind]), self._homes[kind][0]
        if home.selector:
            query["fieldSelector"] = home.selector
        for each in self.connection.stream(home.path, _SILENCE_S, opened, resourceVersion=position, **query):
            event, data = checked_event(each, what)
            if event == "ERROR":
                if data.get("code") == 410:
                    raise Expired(f"{what} has expired")
                raise ClusterError(f"{what} ended: {data.get('message')}")
            if event == "BOOKMARK":
                self._position[kind] = version_of(data["metadata"], what)
                continue
            if data.get("kind") != _plain(kind) or data.get("apiVersion") != home.api_version:
                raise Misshapen(f"{what}: an event is about an object of another kind")
            version = version_of(data["metadata"], what)
            kept = self._keep(kind, data)
            self._tell(_News(kind, event if kept is not None else "DELETED", [data if kept is None else kept]))
            self._position[kind] = version

    # -----------------------------------------------------------------------------------------------------------------
    # taking over
    # -----------------------------------------------------------------------------------------------------------------

    def _take(self, news: _News) -> None:
        if news.event == "DELETED":
            self._take_deletion(news.objects[0])
            return
        for data in news.objects:
            self._take_object(data)
        if news.event == "LIST":
            self._drop_missing(news)

    def _take_object(self, data: Object) -> None:
        key, uid = key_of(data), str(data["metadata"].get("uid"))
        if (key, uid) in self._gone:
            return
        known = self._table.get(key)
        if known is not None and _version(data) <= _version(known):
            return
        if known is not None and known["metadata"].get("uid") != uid:
            self._table.remove(key)
            self._bound.pop(key, None)
            known = None
        self._table.put(key, _sharing(known, self._with_binding(key, data)))

    def _with_binding(self, key: Ref, data: Object) -> Object:
        """The pod with the node that it was bound to, where the news is older than the binding."""
        bound = self._bound.get(key)
        if bound is None:
            return data
        uid, node, annotations = bound
        if data["metadata"].get("uid") != uid or data["spec"].get("nodeName"):
            del self._bound[key]
            return data
        return _as_bound(data, node, annotations)

    def _take_deletion(self, data: Object) -> None:
        key, uid = key_of(data), str(data["metadata"].get("uid"))
        self._gone.pop((key, uid), None)
        known = self._table.get(key)
        if known is not None and known["metadata"].get("uid") == uid:
            self._table.remove(key)
            self._bound.pop(key, None)

    def _drop_missing(self, news: _News) -> None:
        """Remove what a list no longer has, unless it is younger than the list."""
        there = {key_of(data) for data in news.objects}
        for data in list(self._table.list(news.kind)):
            key = key_of(data)
            if key not in there and _version(data) <= news.version:
                self._table.remove(key)
                self._bound.pop(key, None)
        # The list may be older than the object, and then its whole life is still to come in a watch.
        for gone, version in list(self._gone.items()):
            if gone[0].kind == news.kind and gone[0] not in there and version <= news.version:
                del self._gone[gone]

    # -----------------------------------------------------------------------------------------------------------------
    # what this process wrote itself
    # -----------------------------------------------------------------------------------------------------------------

    def put(self, data: Object) -> Object:
        """Take over an object as the API server stored it in answer to a write; returns it as kept."""
        key = key_of(data)
        known = self._table.get(key)
        if known is not None and _version(data) <= _version(known):
            return known
        kept = self._keep(key.kind, data) if key.kind in self.kinds else None
        if kept is None:
            return data
        stored = _sharing(known, self._with_binding(key, kept))
        self._table.put(key, stored)
        return stored

    def bound(self, key: Ref, node: str, annotations: Mapping[str, str]) -> Object | None:
        """Take note that a pod was bound.

        Returns the pod as kept; None if the mirror does not know it.

        `node`: name of its node. `annotations`: those written with the binding.
        """
        known = self._table.get(key)
        if known is None:
            return None
        self._bound[key] = str(known["metadata"].get("uid")), node, annotations
        data = _as_bound(known, node, annotations)
        self._table.put(key, data)
        return data

    def removed(self, key: Ref, uid: str) -> None:
        """Take note that an object with this uid was deleted."""
        known = self._table.get(key)
        if known is not None and known["metadata"].get("uid") == uid:
            self._gone[key, uid] = _version(known)
            self._bound.pop(key, None)
            self._table.remove(key)


def _as_bound(pod: Object, node: str, annotations: Mapping[str, str]) -> Object:
    """A pod with the node and the annotations that its binding gives to it."""
    metadata = pod["metadata"]
    if annotations:
        metadata = {**metadata, "annotations": {**(metadata.get("annotations") or {}), **annotations}}
    return {**pod, "metadata": metadata, "spec": {**pod["spec"], "nodeName": node}}


def _plain(kind: str) -> str:
    """The kind of manifests: ``Topology`` for ``Topology.kueue.x-k8s.io``."""
    return kind.partition(".")[0]


def _version(data: Object) -> int:
    return int(data["metadata"].get("resourceVersion") or 0)


def without_managed_fields(kind: str, data: Object) -> Object:
    """An object without the record of who owns which field, which may be larger than the rest."""
    metadata = data.get("metadata") or {}
    if "managedFields" not in metadata:
        return data
    return {**data, "metadata": {name: value for name, value in metadata.items() if name != "managedFields"}}


def _sharing(before: Object | None, after: Object) -> Object:
    """The object `after` with the parts of `before` that are equal, so that a reader sees by identity what changed."""
    if before is None:
        return after
    shared: dict[str, Any] = dict(after)
    for name in ("spec", "status"):
        if name in after:
            shared[name] = _same(before.get(name), after[name], ("containers",))
    shared["metadata"] = _same(before["metadata"], after["metadata"], ("labels", "annotations", "ownerReferences"))
    return shared


def _same(before: Any, after: Any, parts: Iterable[str]) -> Any:
    if before == after:
        return before
    if not isinstance(before, Mapping) or not isinstance(after, Mapping):
        return after
    equal = {name: before[name] for name in parts if name in after and before.get(name) == after[name]}
    return {**after, **equal} if equal else after
