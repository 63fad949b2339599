"""`SwitchMaps`: the ConfigMaps with the leaf switches of Ascend's scheduler plugin, read and written."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.control.kinds import Ref
from workbench.control.store import Object, Store, StoreChange
from workbench.formats.fabric.tor_node import nodes_by_address
from workbench.formats.fabric.tor_tables import share_manifest, switch_table_of
from workbench.model.snapshot import ClusterSnapshot
from workbench.objects.kinds import TOR_NODE_CONFIG_MAP
from workbench.objects.node import Node
from workbench.objects.tor_node import TorNodeConfig, read_tor_node

__all__ = ["SwitchMaps"]


class SwitchMaps:
    """Takes the table of leaf switches from basic-tor-node-cm, and publishes their states in tor-share-cm.

    The first ConfigMap of that name by namespace counts. Without one the tier-1 HyperNodes are the switches.
    """

    def __init__(self) -> None:
        self._tables: dict[Ref, TorNodeConfig] = {}

    def observe(self, change: StoreChange) -> bool:
        """Take note of a ConfigMap; returns whether it holds, or held, a table of switches."""
        if change.key.name != TOR_NODE_CONFIG_MAP:
            return False
        self._tables.pop(change.key, None)
        if change.after is not None:
            self._tables[change.key] = read_tor_node(change.after)
        return True

    def added_to(self, snapshot: ClusterSnapshot, nodes: Mapping[str, Node]) -> ClusterSnapshot:
        """The snapshot with the switches of the table, if there is one; `nodes` are the cluster's nodes by name."""
        if not self._tables:
            return snapshot
        table = self._tables[min(self._tables)].table
        if not table.tors:
            return snapshot
        return snapshot.with_switches(switch_table_of(table, nodes_by_address(table, nodes), snapshot.topology))

    @staticmethod
    def publish(store: Store, snapshot: ClusterSnapshot, owners: Mapping[str, str]) -> None:
        """Write the states of the switches to tor-share-cm if they changed.

        `snapshot`: the cluster at the end of a session. `owners`: name of the Job of each PodGroup that has one, by the
        PodGroup's key.
        """
        if snapshot.ledger().switches is None:
            return
        made: Object = share_manifest(snapshot, owners)
        key = Ref("ConfigMap", made["metadata"]["namespace"], made["metadata"]["name"])
        known = store.get(key)
        if known is None:
            store.create(made)
        elif known.get("data") != made["data"]:
            store.patch(key, {"data": made["data"]})
