"""The ConfigMap basic-tor-node-cm of Ascend: the servers under each leaf switch (ToR), with their positions.

Source: reference of switch affinity, section 1.1. The switches' states are in `workbench.model.switches`; names of
nodes for the servers' addresses are found by `workbench.formats.fabric.tor_node`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workbench.errors import InputError
from workbench.model.counted import counted
from workbench.objects.fields import child, get_int, get_maps, get_text, get_texts, shown, wrong
from workbench.objects.metadata import Metadata, read_metadata

__all__ = ["Tor", "TorNodeConfig", "TorNodeTable", "TorServer", "as_payload", "parse_tor_node", "read_tor_node"]

_LEVELS = ("single_layer", "double_layer")


@dataclass(frozen=True)
class TorServer:
    """One server under a leaf switch: its address (a node's InternalIP), number of NPUs, and position from 0."""

    address: str
    n_npus: int
    position: int


@dataclass(frozen=True)
class Tor:
    """One leaf switch (ToR) in Ascend's ConfigMap basic-tor-node-cm.

    `address`: address of the switch (tor_ip); may be empty. `servers`: in the order of the file. `shared`: preset
    state: 0 idle, 1 shared, 2 exclusive. `unhealthy`: preset health: 0 healthy, 1 unhealthy.
    """

    tor_id: int
    address: str
    servers: tuple[TorServer, ...]
    shared: int = 0
    unhealthy: int = 0

    @property
    def name(self) -> str:
        """Name of the HyperNode that stands for this switch."""
        return f"tor-{self.tor_id}"


@dataclass(frozen=True)
class TorNodeTable:
    """The switch table of Ascend's ConfigMap basic-tor-node-cm: its keys ``tor_info`` and ``tor_level``.

    `tors`: in the order of server_list, which breaks ties. `nodes_per_tor`: number of servers under one switch, written
    as tor_count. `level`: ``single_layer``, ``double_layer`` or empty (then two layers). `version`: value of the key
    ``version`` of the table, as written.
    """

    tors: tuple[Tor, ...]
    nodes_per_tor: int
    level: str = ""
    version: str = "1.0"


@dataclass(frozen=True)
class TorNodeConfig:
    """The ConfigMap basic-tor-node-cm: its metadata, and the table of switches that it contains."""

    metadata: Metadata
    table: TorNodeTable


def read_tor_node(data: Mapping[str, Any]) -> TorNodeConfig:
    """Read the ConfigMap basic-tor-node-cm from a parsed manifest; an InputError names the key inside ``data``."""
    metadata = read_metadata(data, namespaced=True)
    texts = get_texts(data, "data", "")
    if not texts.get("tor_info"):
        raise wrong("data.tor_info", texts.get("tor_info"), "JSON text with server_list")
    level = texts.get("tor_level", "")
    if level not in ("", *_LEVELS):
        raise wrong("data.tor_level", level, " or ".join(_LEVELS))
    return TorNodeConfig(metadata, parse_tor_node(texts["tor_info"], where="data.tor_info", level=level))


def parse_tor_node(
    payload: str | Mapping[str, Any], source: str | None = None, *, where: str = "", level: str = ""
) -> TorNodeTable:
    """Read the leaf switches and their servers from the key ``tor_info`` of the ConfigMap basic-tor-node-cm.

    Raises InputError: no JSON; a field that is missing or of the wrong type; a server under two switches or twice under
    one; two switches with one tor_id or tor_ip; a tor_count that is too small for a switch's servers or their
    positions.

    `payload`: the JSON text, or the parsed value. `source`: file, for error messages. `where`: key of the ConfigMap
    that contains the payload. `level`: value of tor_level, another key of the ConfigMap.
    """
    try:
        return _table(_parsed(payload, where), where, level)
    except InputError as error:
        raise error.at(source=source) from None


def _parsed(payload: str | Mapping[str, Any], where: str) -> Mapping[str, Any]:
    value: Any = payload
    if isinstance(payload, str):
        try:
            value = json.loads(payload)
        except (ValueError, RecursionError) as error:
            place, reason = "", str(error)
            if isinstance(error, json.JSONDecodeError):
                place, reason = f"line {error.lineno}, column {error.colno}", error.msg
            raise InputError(
                f"not JSON: {reason}",
                where=", ".join(filter(None, (where, place))),
                expected="the tor_info of basic-tor-node-cm",
            ) from None
    if not isinstance(value, Mapping):
        raise InputError("not a switch table", where=where, got=shown(value), expected="a mapping with server_list")
    return value


def _table(data: Mapping[str, Any], where: str, level: str) -> TorNodeTable:
    if data.get("server_list") is None:
        raise wrong(child(where, "server_list"), None, "a list of switches")
    per_tor = get_int(data, "tor_count", where)
    if per_tor is None or per_tor < 1:
        raise wrong(child(where, "tor_count"), per_tor, "the number of servers under one switch, at least 1")
    home: dict[str, str] = {}
    seen: dict[tuple[str, Any], str] = {}
    tors = []
    for path, item in get_maps(data, "server_list", where):
        tor = _tor(item, path)
        for key, value in (("tor_id", tor.tor_id), ("tor_ip", tor.address)):
            first = seen.setdefault((key, value), path) if value != "" else path
            if first != path:
                raise InputError(f"the same {key} twice", where=child(path, key), got=f"{value}, as in {first}")
        for i, server in enumerate(tor.servers):
            place = f"{child(path, 'server')}[{i}].server_ip"
            other = home.setdefault(server.address, place)
            if other != place:
                raise InputError(
                    f"the node {server.address} is listed twice",
                    where=place,
                    got=f"the same address as {other}",
                    expected="each server under one switch",
                )
        _check_count(tor, per_tor, path, where)
        tors.append(tor)
    return TorNodeTable(tuple(tors), per_tor, level, get_text(data, "version", where, "1.0"))


def _check_count(tor: Tor, per_tor: int, path: str, where: str) -> None:
    if len(tor.servers) > per_tor:
        raise InputError(
            "tor_count is not the number of servers under a switch",
            where=child(where, "tor_count"),
            got=f"{per_tor}, but {counted(len(tor.servers), 'server')} in {path}",
            expected="at least as many as any switch has",
        )
    for i, server in enumerate(tor.servers):
        if server.position >= per_tor:
            raise InputError(
                "a position beyond tor_count",
                where=f"{child(path, 'server')}[{i}].slice_id",
                got=f"{server.position} with tor_count {per_tor}",
                expected=f"0 to {per_tor - 1}",
            )


def _tor(item: Mapping[str, Any], path: str) -> Tor:
    servers = tuple(_server(server, place) for place, server in get_maps(item, "server", path))
    positions: dict[int, int] = {}
    for i, server in enumerate(servers):
        first = positions.setdefault(server.position, i)
        if first != i:
            place = f"{child(path, 'server')}[{i}].slice_id"
            got = f"{server.position}, as server[{first}]"
            raise InputError("two servers at one position", where=place, got=got, expected="each position once")
    return Tor(
        tor_id=_number(item, "tor_id", path, 2**31 - 1),
        address=get_text(item, "tor_ip", path),
        servers=servers,
        shared=_number(item, "IsSharedTor", path, 2, 0),
        unhealthy=_number(item, "IsHealthy", path, 1, 0),
    )


def _server(item: Mapping[str, Any], path: str) -> TorServer:
    address = get_text(item, "server_ip", path)
    if not address:
        raise wrong(child(path, "server_ip"), item.get("server_ip"), "the InternalIP of a node")
    return TorServer(address, _number(item, "npu_count", path, 1024, 0), _number(item, "slice_id", path, 2**31 - 1))


def _number(item: Mapping[str, Any], key: str, path: str, most: int, default: int | None = None) -> int:
    value = get_int(item, key, path)
    if value is None and default is not None:
        return default
    if value is None or not 0 <= value <= most:
        raise wrong(child(path, key), value, f"a whole number from 0 to {most}")
    return value


def as_payload(table: TorNodeTable) -> dict[str, Any]:
    """The JSON content of ``tor_info`` for a switch table; `parse_tor_node` reads it back as an equal table.

    Switch states are written only where they are preset.
    """
    rows = []
    for tor in table.tors:
        row: dict[str, Any] = {"tor_id": tor.tor_id}
        if tor.shared:
            row["IsSharedTor"] = tor.shared
        if tor.unhealthy:
            row["IsHealthy"] = tor.unhealthy
        if tor.address:
            row["tor_ip"] = tor.address
        row["server"] = [
            {"server_ip": server.address, "npu_count": server.n_npus, "slice_id": server.position}
            for server in tor.servers
        ]
        rows.append(row)
    return {"version": table.version, "tor_count": table.nodes_per_tor, "server_list": rows}
