"""Edits of nodes: usable again, without a taint, and new ones."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from workbench.errors import InputError
from workbench.formats.edit_manifests.manifest_set import Manifest, ManifestSet, child_map
from workbench.model.labels import CORDON_TAINT, HOSTNAME_LABEL, NOT_READY_TAINTS, PRESSURE_TAINTS
from workbench.objects.device_info import DEVICE_INFO_PREFIX, lists_faulty_npus
from workbench.objects.fields import shown
from workbench.objects.hypernode import read_hypernode
from workbench.objects.kinds import TOR_NODE_CONFIG_MAP
from workbench.objects.selectors import NameIndex, resolve_selector

__all__ = ["add_nodes", "make_ready", "parse_taint", "remove_taint", "uncordon"]

Edit = Mapping[str, Any]


def uncordon(manifests: ManifestSet, edit: Edit) -> None:
    """Make cordoned nodes schedulable."""
    for position in _nodes(manifests, edit):
        data = manifests.change(position)
        child_map(data, "spec").pop("unschedulable", None)
        _without_taints(data, lambda taint: taint.get("key") == CORDON_TAINT)


def make_ready(manifests: ManifestSet, edit: Edit) -> None:
    """Make nodes ready: their conditions say so, and the taints that say otherwise are gone."""
    for position in _nodes(manifests, edit):
        data = manifests.change(position)
        _without_taints(data, lambda taint: taint.get("key") in NOT_READY_TAINTS)
        conditions = (data.get("status") or {}).get("conditions") or []
        for condition in conditions:
            if condition.get("type") == "Ready":
                condition.update({"status": "True", "reason": "KubeletReady"})
            elif condition.get("type") in PRESSURE_TAINTS:
                condition["status"] = "False"


def remove_taint(manifests: ManifestSet, edit: Edit) -> None:
    """Remove one taint from nodes."""
    key, value, effect = parse_taint(edit.get("from"))

    def gone(taint: Manifest) -> bool:
        return (taint.get("key"), taint.get("value") or "", taint.get("effect") or "") == (key, value, effect)

    for position in _nodes(manifests, edit):
        _without_taints(manifests.change(position), gone)


def parse_taint(text: Any) -> tuple[str, str, str]:
    """Key, value and effect of a taint that is written as ``key=value:effect``; value and effect may be empty."""
    if type(text) is not str or not text:
        raise InputError("no taint", where="from", got=shown(text), expected="key=value:effect")
    named, _, effect = text.rpartition(":") if ":" in text else (text, "", "")
    key, _, value = named.partition("=")
    return key, value, effect


def _nodes(manifests: ManifestSet, edit: Edit) -> list[int]:
    return [manifests.need("Node", name) for name in edit.get("nodes") or ()]


def _without_taints(data: Manifest, gone: Callable[[Manifest], bool]) -> None:
    spec = data.get("spec") or {}
    if spec.get("taints"):
        spec["taints"] = [taint for taint in spec["taints"] if not gone(taint)]
        if not spec["taints"]:
            del spec["taints"]


def add_nodes(manifests: ManifestSet, hypernode: str, edit: Edit) -> None:
    """Add empty copies of a node as members of a HyperNode; without a HyperNode (empty) to the cluster alone.

    A member of the HyperNode that selects the new node already is enough. HyperNodes that are derived from labels of
    nodes are not in the manifests: the labels of a copy place it.

    `manifests`: changed in place. `hypernode`: name of the HyperNode; empty: none. `edit`: the key ``like`` has the
    name of the node that is copied, ``names`` the names of the new nodes.
    """
    like, names = str(edit.get("like") or ""), [str(name) for name in edit.get("names") or ()]
    position = manifests.need("Node", like)
    for name in names:
        if manifests.find("Node", name) is not None:
            raise InputError("a node of this name is there already", got=name, expected="a new name")
        manifests.add(_copy_of_node(manifests.read(position), name))
        _copy_parts(manifests, like, name)
    if hypernode and manifests.find("HyperNode", hypernode) is None and any(True for _ in manifests.each("HyperNode")):
        manifests.need("HyperNode", hypernode)
    if hypernode:
        _join(manifests, hypernode, like, names)


def _copy_of_node(data: Manifest, name: str) -> Manifest:
    """The manifest of a new node that offers as much as an existing one."""
    metadata, spec, status = data["metadata"], data.get("spec") or {}, data.get("status") or {}
    labels = dict(metadata.get("labels") or {})
    if HOSTNAME_LABEL in labels:
        labels[HOSTNAME_LABEL] = name
    # Faulty NPUs are no resource that the node offers.
    annotations = {key: text for key, text in (metadata.get("annotations") or {}).items() if lists_faulty_npus(key)}
    own = ("taints", "unschedulable", "podCIDR", "podCIDRs", "providerID", "externalID")
    made: Manifest = {"apiVersion": data["apiVersion"], "kind": data["kind"], "metadata": {"name": name}}
    for key, pairs in (("labels", labels), ("annotations", annotations)):
        if pairs:
            made["metadata"][key] = pairs
    kept = {key: value for key, value in spec.items() if key not in own}
    if kept:
        made["spec"] = kept
    made["status"] = {key: dict(status[key]) for key in ("capacity", "allocatable", "nodeInfo") if status.get(key)}
    if status.get("conditions"):
        made["status"]["conditions"] = [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]
    return made


def _copy_parts(manifests: ManifestSet, like: str, name: str) -> None:
    """Add copies of what describes the GPUs of a node: its Device, and the ConfigMap of its NPUs."""
    device = manifests.find("Device", like)
    if device is not None:
        data = manifests.read(device)
        manifests.add({**data, "metadata": {"name": name}})
    for position in list(manifests.each("ConfigMap")):
        data = manifests.read(position)
        if data["metadata"]["name"] == f"{DEVICE_INFO_PREFIX}{like}":
            metadata = {key: data["metadata"][key] for key in ("namespace",) if key in data["metadata"]}
            manifests.add({**data, "metadata": {"name": f"{DEVICE_INFO_PREFIX}{name}", **metadata}})


def _join(manifests: ManifestSet, hypernode: str, like: str, names: list[str]) -> None:
    """Make nodes members of a HyperNode, and servers of the switch that the switch table has for it."""
    position = manifests.find("HyperNode", hypernode)
    if position is not None:
        data = manifests.read(position)
        rows = [manifests.read(manifests.need("Node", name))["metadata"].get("labels") or {} for name in names]
        index = NameIndex(names, rows)
        members = read_hypernode(data).members
        held = {one for member in members if member.type == "Node" for one in resolve_selector(member.selector, index)}
        missing = [name for name in names if name not in held]
        if missing:
            spec = child_map(manifests.change(position), "spec")
            added = [{"type": "Node", "selector": {"exactMatch": {"name": name}}} for name in missing]
            spec["members"] = [*(spec.get("members") or ()), *added]
    for position in manifests.each("ConfigMap"):
        if manifests.read(position)["metadata"]["name"] == TOR_NODE_CONFIG_MAP:
            _add_servers(manifests, position, hypernode, like, names)


def _add_servers(manifests: ManifestSet, position: int, hypernode: str, like: str, names: list[str]) -> None:
    """Add servers to one switch in the ConfigMap of a switch table, at the first free positions.

    It is the switch after which the HyperNode is called ``tor-ID``, else that of the node `like`.
    """
    node = manifests.read(manifests.need("Node", like))
    addresses = (node.get("status") or {}).get("addresses") or ()
    known = {like, *(one.get("address") for one in addresses if one.get("type") == "InternalIP")}
    data = manifests.change(position)
    payload = json.loads(data["data"]["tor_info"])
    tors = payload.get("server_list") or []
    twins = [(tor, server) for tor in tors for server in tor.get("server") or () if server.get("server_ip") in known]
    if not twins:
        return
    for tor in [tor for tor in tors if f"tor-{tor.get('tor_id')}" == hypernode] or [twins[0][0]]:
        twin, servers = twins[0][1], tor.get("server") or []
        taken = {server.get("slice_id") for server in servers}
        free = (i for i in range(len(servers) + len(names) + 1) if i not in taken)
        tor["server"] = [*servers, *({**twin, "server_ip": name, "slice_id": next(free)} for name in names)]
        payload["tor_count"] = max(payload.get("tor_count") or 0, *(one["slice_id"] + 1 for one in tor["server"]))
    data["data"]["tor_info"] = json.dumps(payload, ensure_ascii=False)
