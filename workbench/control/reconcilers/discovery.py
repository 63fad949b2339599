"""The topology discovery of Volcano's controller: HyperNodes from node labels and fabrics, as its ConfigMap says."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from types import MappingProxyType
from typing import Any

from workbench.control.event_log import EventLog
from workbench.control.kinds import Ref
from workbench.control.reconciler import Reconciler
from workbench.control.store import Object, Store, StoreChange
from workbench.errors import ClusterError, InputError, StoreError
from workbench.formats.discovery_conf import discovery_config_of
from workbench.model.clock import Clock
from workbench.objects.discovery import (
    VOLCANO_SOURCES,
    DiscoveryConfig,
    DiscoverySource,
    config_map_name,
    read_topology_types,
    reload,
)
from workbench.objects.hypernode import HyperNode, read_hypernode
from workbench.topology.discovery.label import SOURCE as LABEL
from workbench.topology.discovery.label import discover_label
from workbench.topology.discovery.reconcile import ReconcilePlan, reconcile
from workbench.topology.discovery.result import DiscoveryResult

__all__ = ["Ask", "Discovery"]

#: Asks the endpoint of a source, given the Secret that its settings name, if there is one; raises `InputError` where
#: the settings do not suffice.
Ask = Callable[[DiscoverySource, Object | None], Future[DiscoveryResult]]

#: Seconds between two looks for the answer of an endpoint, and until a source that could not be asked is asked again.
_LOOK_S, _RETRY_S = 0.2, 30.0


class Discovery(Reconciler):
    """Makes HyperNodes as the sources find them that the controller's ConfigMap enables.

    The ConfigMap is ``volcano-system/volcano-controller-configmap``, key ``volcano-controller.conf``. Whenever it
    changes, every enabled source begins anew. The source ``label`` makes a round when a node came, went or changed a
    label that matters, and when a HyperNode was deleted. Only HyperNodes that carry the label of the source are updated
    or deleted.

    Parameters
    ----------
    store, clock, log
        As for `workbench.control.reconciler.Reconciler`.
    asks : mapping of str to callable
        How to ask each source that has an endpoint. With any, all sources also make a round at the end of their
        interval. Without, as in an embedded cluster, which opens no connection, the log says that ``ufm`` is not asked.
    secrets : collection of (str, str)
        Namespace and name of each Secret that is read although it is in another namespace than the ConfigMap. Upstream
        reads any Secret that the ConfigMap names: whoever may write that has it sent to wherever it says.

    Notes
    -----
    Source: docs/reference/volcano-topology.md, section 9. Where upstream retries a configuration that it cannot read or
    run, the log says so once. A source that cannot be asked, for instance because its Secret is missing, is asked again
    after 30 s, and does not hold up other sources. Its Secret is read at each round, so that a new password is used.
    """

    # Overview:
    #   observe      the configuration, node labels and HyperNodes: which sources need a round
    #   _reload      read the configuration again, so that each source has its interval
    #   _round       a round of a source: of labels at once; others are asked, and their answer is awaited
    #   _carry_out   create, change and delete HyperNodes as the round's plan says

    kinds = frozenset({"ConfigMap", "Node", "HyperNode"})

    def __init__(
        self,
        store: Store,
        clock: Clock,
        log: EventLog,
        asks: Mapping[str, Ask] = MappingProxyType({}),
        secrets: Collection[tuple[str, str]] = (),
    ) -> None:
        super().__init__(store, clock, log)
        self._asks = asks
        self._secrets = frozenset(secrets)

    def _begin(self) -> None:
        self._config = DiscoveryConfig()
        self._reread = False
        #: Sources that run, in the order of the configuration, with the time of their next round.
        self._due: dict[str, float] = {}
        #: Rounds whose answer is awaited.
        self._awaited: dict[str, Future[DiscoveryResult]] = {}
        #: For each network type its node labels, widest first; only while the source label runs.
        self._types: Mapping[str, Sequence[str]] = {}
        self._labels: dict[str, Mapping[str, str]] = {}
        self._map = Ref("ConfigMap", *config_map_name({}))

    # -----------------------------------------------------------------------------------------------------------------
    # what changed
    # -----------------------------------------------------------------------------------------------------------------

    def observe(self, change: StoreChange) -> Iterable[Hashable]:
        """The configuration, a node's labels, or the end of a HyperNode can ask for a round."""
        if change.key.kind == "ConfigMap":
            if change.key != self._map:
                return []
            self._reread = True
            return [self._map]
        return self._round_of_labels() if self._matters(change) else []

    def _matters(self, change: StoreChange) -> bool:
        """Whether a change of a node or HyperNode changes what the labels of nodes say."""
        if change.key.kind == "HyperNode":
            return change.after is None
        before = self._labels.pop(change.key.name, {})
        if change.after is not None:
            self._labels[change.key.name] = change.after["metadata"].get("labels") or {}
        after = self._labels.get(change.key.name, {})
        return any(before.get(key) != after.get(key) for keys in self._types.values() for key in keys)

    def _round_of_labels(self) -> Iterable[Hashable]:
        if LABEL not in self._due:
            return []
        self._due[LABEL] = self.clock.now
        return [self._map]

    # -----------------------------------------------------------------------------------------------------------------
    # what to do
    # -----------------------------------------------------------------------------------------------------------------

    def reconcile(self, key: Hashable) -> float | None:
        """Read the configuration again if it changed, and make the rounds that are due."""
        if self._reread:
            self._reload()
            self._reread = False
        for source in [name for name, due in self._due.items() if due <= self.clock.now]:
            self._due[source] = self._round(source)
        return min((due for due in self._due.values() if due < math.inf), default=None)

    def _reload(self) -> None:
        stored = self.store.get(self._map)
        try:
            new = None if stored is None else discovery_config_of(stored.get("data") or {}, str(self._map))
            change = reload(self._config, new, VOLCANO_SOURCES | self._asks.keys())
            enabled = {} if new is None else new.enabled
            begun = [name for name in enabled if name in change.restarted + change.started]
            types = read_topology_types(enabled[LABEL].config) if LABEL in begun else None
        except InputError as error:
            self._warn(str(error))
            return
        self._config = new or DiscoveryConfig()
        if types is not None:
            self._types = types
        # What an endpoint still answers to the old settings is not used.
        self._awaited.clear()
        kept = {name: due for name, due in self._due.items() if name in change.waiting}
        self._due = dict.fromkeys(begun, self.clock.now) | kept
        if change.failing:
            waiting = f"; waiting behind it: {', '.join(change.waiting)}" if change.waiting else ""
            self._warn(f"unsupported discoverer type: {change.failing}{waiting}")

    def _round(self, source: str) -> float:
        """Make a round of a source, or a part of one; returns the time at which it goes on."""
        if source == LABEL:
            self._carry_out_round(lambda existing: discover_label(self._types, self._labels, existing))
        elif source not in self._asks:
            self._warn(f"the source {source} is not asked: an embedded cluster opens no connection")
        elif source not in self._awaited:
            return self._begin_round(source)
        elif not self._awaited[source].done():
            return self.clock.now + _LOOK_S
        else:
            answer = self._awaited.pop(source)
            self._carry_out_round(lambda _: answer.result())
        return self.clock.now + self._config.enabled[source].interval_s if self._asks else math.inf

    def _begin_round(self, source: str) -> float:
        settings = self._config.enabled[source]
        try:
            self._awaited[source] = self._asks[source](settings, self._secret_of(settings))
        except (InputError, ClusterError) as error:
            self._warn(f"{source}: {error}")
            return self.clock.now + _RETRY_S
        return self.clock.now + _LOOK_S

    def _secret_of(self, settings: DiscoverySource) -> Object | None:
        """The Secret that the settings of a source name; None if they name none, or it does not exist."""
        named = settings.secret
        if named is None or not named.name or not named.namespace:
            return None
        if named.namespace != self._map.namespace and (named.namespace, named.name) not in self._secrets:
            raise InputError(
                f"the Secret {named.namespace}/{named.name} is not read",
                expected=f"one in the namespace {self._map.namespace} of the ConfigMap, or one that --secret names",
            )
        return self.store.get(Ref("Secret", named.namespace, named.name))

    def _carry_out_round(self, discover: Callable[[Sequence[HyperNode]], DiscoveryResult]) -> None:
        stored = {one["metadata"]["name"]: one for one in self.store.list("HyperNode")}
        existing: list[HyperNode] = [read_hypernode(one) for one in stored.values()]
        try:
            result = discover(existing)
        except (InputError, ClusterError) as error:
            self._warn(str(error))
            return
        for note in result.notes:
            self._warn(note.message)
        plan = reconcile(result, existing)
        for conflict in plan.conflicts:
            self._warn(f"HyperNode {conflict.name} exists and is not the source's: left as it is")
        self._carry_out(plan, stored)

    def _carry_out(self, plan: ReconcilePlan, stored: Mapping[str, Any]) -> None:
        if not (plan.create or plan.update or plan.delete):
            return
        for manifest in plan.apply(stored):
            try:
                if manifest["metadata"]["name"] not in stored:
                    self.store.create(manifest)
                elif manifest["metadata"]["name"] in {one.name for one in plan.update}:
                    self.store.update(manifest)
            except StoreError as error:
                if error.reason == "Conflict":
                    # Somebody else wrote it just now: the round is made again.
                    raise
                self._warn(str(error))
        for name in plan.delete:
            self.store.delete(Ref("HyperNode", "", name))
        self.log.say(self.clock.now, self._map, "Discovered", plan.summary)

    def _warn(self, message: str) -> None:
        self.log.say(self.clock.now, self._map, "DiscoveryFailed", message, warning=True, again=False)
