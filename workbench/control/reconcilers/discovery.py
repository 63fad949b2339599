"""The topology discovery of Volcano's controller: HyperNodes from node labels, as its ConfigMap says."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

from workbench.control.kinds import Ref
from workbench.control.reconciler import Reconciler
from workbench.control.store import StoreChange
from workbench.errors import InputError, StoreError
from workbench.formats.discovery_conf import discovery_config_of
from workbench.objects.discovery import DiscoveryConfig, config_map_name, read_topology_types, reload
from workbench.objects.hypernode import HyperNode, read_hypernode
from workbench.topology.discovery.label import SOURCE, discover_label
from workbench.topology.discovery.reconcile import ReconcilePlan, reconcile

__all__ = ["LabelDiscovery"]

_CONFIG, _ROUND = "configuration", "round"


class LabelDiscovery(Reconciler):
    """Makes HyperNodes of node labels while the controller's ConfigMap enables the source ``label``.

    The ConfigMap is ``volcano-system/volcano-controller-configmap``, key ``volcano-controller.conf``. A round takes
    place when the configuration changed, when a node came, went or changed a label that matters, and when a HyperNode
    was deleted. The source ``ufm`` is not asked: the embedded cluster opens no connection.

    Notes
    -----
    Source: docs/reference/volcano-topology.md, section 9. Where upstream retries a configuration that it cannot read or
    run, the log says so once.
    """

    kinds = frozenset({"ConfigMap", "Node", "HyperNode"})

    def _begin(self) -> None:
        self._config = DiscoveryConfig()
        # For each network type its node labels, widest first; None: the source does not run.
        self._types: Mapping[str, Sequence[str]] | None = None
        self._labels: dict[str, Mapping[str, str]] = {}
        self._map = Ref("ConfigMap", *config_map_name({}))

    def observe(self, change: StoreChange) -> Iterable[Hashable]:
        """The configuration, a node's labels, or the end of a HyperNode can ask for a round."""
        if change.key.kind == "ConfigMap":
            return [_CONFIG] if change.key == self._map else []
        if change.key.kind == "HyperNode":
            return [_ROUND] if change.after is None else []
        before = self._labels.pop(change.key.name, {})
        if change.after is not None:
            self._labels[change.key.name] = change.after["metadata"].get("labels") or {}
        after = self._labels.get(change.key.name, {})
        relevant = (key for keys in (self._types or {}).values() for key in keys)
        return [_ROUND] if any(before.get(key) != after.get(key) for key in relevant) else []

    def reconcile(self, key: Hashable) -> float | None:
        """Read the configuration again, or make a round."""
        if key == _CONFIG:
            self._reload()
        if self._types is not None:
            self._discover(self._types)
        return None

    def _reload(self) -> None:
        stored = self.store.get(self._map)
        try:
            new = None if stored is None else discovery_config_of(stored.get("data") or {}, str(self._map))
            change = reload(self._config, new)
            enabled = {} if new is None else new.enabled
            if SOURCE in change.restarted + change.started:
                self._types = read_topology_types(enabled[SOURCE].config)
            elif SOURCE in change.stopped:
                self._types = None
        except InputError as error:
            self._warn(str(error))
            return
        self._config = new or DiscoveryConfig()
        if change.failing:
            waiting = f"; waiting behind it: {', '.join(change.waiting)}" if change.waiting else ""
            self._warn(f"unsupported discoverer type: {change.failing}{waiting}")
        if "ufm" in change.restarted + change.started:
            self._warn("the source ufm is not asked: an embedded cluster opens no connection")

    def _discover(self, types: Mapping[str, Sequence[str]]) -> None:
        stored = {one["metadata"]["name"]: one for one in self.store.list("HyperNode")}
        existing: list[HyperNode] = [read_hypernode(one) for one in stored.values()]
        try:
            result = discover_label(types, self._labels, existing)
        except InputError as error:
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
                self._warn(str(error))
        for name in plan.delete:
            self.store.delete(Ref("HyperNode", "", name))
        self.log.say(self.clock.now, self._map, "Discovered", plan.summary)

    def _warn(self, message: str) -> None:
        self.log.say(self.clock.now, self._map, "DiscoveryFailed", message, warning=True, again=False)
