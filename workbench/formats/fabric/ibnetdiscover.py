"""Reader of the output of ``ibnetdiscover``, which lists the switches and cables of an InfiniBand fabric."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from workbench.errors import InputError
from workbench.formats.fabric.base import FabricFormat, FabricRecords, Sample, make_node
from workbench.formats.fabric.cable_speeds import CableSpeed, slow_cables, speed_gbit_s
from workbench.formats.fabric.hosts import Role, host_role, hosts_aside, some
from workbench.formats.fabric.smallest_cut import Wiring
from workbench.formats.fabric.switch_groups import apart_notices, group_switches, switch_ranks, weak_joins
from workbench.model.counted import counted
from workbench.model.notice import Notice

__all__ = ["IBNETDISCOVER", "read_ibnetdiscover"]

_HEAD = re.compile(r'(Switch|Ca|Rt)\s+\d+\s+"([^"]+)"\s*(?:#\s*"([^"]*)".*)?\Z')
#: [port][ext …](guid) "peer"[its port](its guid) # … "its description" …
_PORT = re.compile(
    r"\[(\d+)\](?:\[[^\]]*\])?(?:\([0-9a-fx]+\))?\s+"
    r'"([A-Z]-[^"]+)"\[(\d+)\](?:\[[^\]]*\])?(?:\([0-9a-fx]+\))?\s*'
    r'(?:#[^"]*(?:"([^"]*)".*)?)?\Z'
)
#: The speed at the end of a port's line: 4xEDR.
_SPEED = re.compile(r"\s(\d{1,2}x[A-Z]{3}\d{0,2})\Z")
_BLOCKS = ("Switch", "Ca\t", "Ca ", "Rt\t", "Rt ")
_LONGEST_SPEED = len(" 12xFDR10")
_DETECT = re.compile(r'^(?:Switch|Ca|Rt)\s+\d+\s+"[SHR]-', re.MULTILINE)

# "name HCA-1", "name mlx5_5": the host, then its adapter.
_HOST = re.compile(r"(\S+)\s+\S+\Z")
_ADAPTER = re.compile(r"(\S+)\s+(?:HCA-\d+|mlx\d+_\w+|mthca\d+|hfi1_\d+|qib\d+|ib\d+)\b")
_VENDOR = re.compile(
    r"(?<![a-z])(?:MT\d+|Mellanox|Voltaire|QLogic|InfiniHost|ConnectX|Technologies|InfiniBand|Quantum)", re.I
)
#: A vendor's word where the host's name stands before an adapter; other words may well be a host's name (quantum-3).
_NO_HOST = re.compile(r"MT\d+|Mellanox|Voltaire|QLogic|InfiniHost\w*|ConnectX[-\w]*", re.I)
_AGGREGATION = "Aggregation Node"
# "MF0;name:MODEL/U1", and the chips of a modular switch: "MF0;name:MODEL/L02/U1".
_SWITCH = re.compile(r"[^;:]*;([^;:]+):[^;:/]*(/[^;:]*)?\Z")


#: Id of a switch or adapter, and the port there.
_End = tuple[str, str]


@dataclass
class _Fabric:
    """A parsed ``ibnetdiscover`` printout: descriptions, cables and speeds by id, the line of each switch or adapter.

    `ends` has each cable as its two ends (id, port) in byte order, with the speed that its first line says, or "".
    """

    described: dict[str, str] = field(default_factory=dict)
    cables: dict[str, set[str]] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    blocks: set[str] = field(default_factory=set)
    ends: dict[tuple[_End, _End], str] = field(default_factory=dict)


def read_ibnetdiscover(text: str, source: str) -> FabricRecords:
    """Read the HyperNodes and nodes of a fabric from the output of ``ibnetdiscover``; `source` is the file's name.

    Raises InputError: a line that begins like a switch, an adapter or a port and does not go on like one; no switch
    with a node on it (the line of the first block is named).

    Returns
    -------
    FabricRecords
        Nodes are the host names in the adapters' descriptions (``"node-01 HCA-1"``), each once, however many adapters
        the host has. If no adapter has a host name, each adapter becomes a node, called by its printed id. Switches are
        ranked by their distance from the nodes and joined as `group_switches` says.

        Ignored, with a note: storage, service hosts and fabric managers (`hosts_aside`); adapters without a host name
        where others have one; the switches' own aggregation nodes; a switch behind the spines (rank 3 or more), or on a
        single leaf, with such hosts but no node below: it would add a tier that no job ever crosses.

        A switch's name is the one in its description, made unique by the chip (``name/L02/U1``) for modular switches,
        or its printed id where the description is the vendor's.

    Notes
    -----
    Source: ibnetdiscover(8) of infiniband-diags, "TOPOLOGY FILE FORMAT". A cable that only one end prints counts.
    """
    fabric = _parse(text, source)
    switches = [which for which in fabric.cables if which.startswith("S-")]
    adapters = [which for which in fabric.cables if which.startswith("H-")]
    if not switches:
        first = min(fabric.lines.values(), default=1)
        raise InputError(
            "no switch in the printout: nothing is connected",
            source=source,
            where=f"line {first}",
            got=counted(len(adapters), "adapter"),
            expected='blocks that begin with Switch, and below them the ports: [1] "H-..."[1]',
        )
    hosts = {which: _host_name(fabric.described.get(which, "")) for which in adapters}
    notes: list[Notice] = []
    roles = hosts_aside(hosts.values())
    node_of = _nodes(fabric, hosts, roles, notes)
    names = _switch_names(switches, fabric.described)
    attached = {
        names[s]: sorted({node_of[h] for h in fabric.cables[s] if h in node_of}, key=str.encode) for s in switches
    }
    if not any(attached.values()):
        first = min(fabric.lines[s] for s in switches)
        expected = 'ports such as [1] "H-..."[1] # "node-01 HCA-1"'
        raise InputError("no node on any switch", source=source, where=f"line {first}", expected=expected)
    links = {names[s]: sorted((names[o] for o in fabric.cables[s] if o in names), key=str.encode) for s in switches}
    ranks = switch_ranks(attached, links)
    notes += weak_joins(attached)
    notes += slow_cables(_cables(fabric, names, ranks, node_of))
    _leave_aside(fabric, names, ranks, {h: roles[name] for h, name in hosts.items() if name in roles}, notes)
    unseen = sorted((names[s] for s in switches if s not in fabric.blocks), key=str.encode)
    if unseen:
        notes.append(
            Notice(
                "printout-cut-off",
                f"{counted(len(unseen), 'switch has no block of its own', 'switches have no block of their own')}"
                f", is the printout cut off? {some(unseen)}",
                numbers={"count": len(unseen)},
            )
        )
    nodes = tuple(make_node(name) for name in sorted(set(node_of.values()), key=str.encode))
    hypernodes = group_switches(attached, links, ranks, notes)
    wiring = Wiring(attached, _between_switches(fabric, names))
    return FabricRecords(hypernodes, nodes, notes=tuple(notes), wiring=wiring)


def _parse(text: str, source: str) -> _Fabric:
    fabric = _Fabric()
    described, cables, lines, ends = fabric.described, fabric.cables, fabric.lines, fabric.ends
    current = ""
    for number, line in enumerate(text.splitlines(), 1):
        line = line.rstrip()
        if line[:1] == "[":
            found = _PORT.match(line)
            if found is None or not current:
                raise InputError(
                    "not a port of ibnetdiscover" if current else "a port outside of a block",
                    source=source,
                    where=f"line {number}",
                    got=repr(line[:60]),
                    expected='[1] "H-..."[1] # "node-01 HCA-1" lid 1 4xNDR',
                )
            port, peer, its_port, description = found.groups()
            if peer not in lines:
                lines[peer] = number
                cables[peer] = set()
            if description is not None and peer not in described:
                described[peer] = description
            here, there = (current, port), (peer, its_port)
            cable = (here, there) if here <= there else (there, here)
            if not ends.get(cable):
                # The speed is the last word: no need to look for it in the whole line.
                speed = _SPEED.search(line, max(0, len(line) - _LONGEST_SPEED))
                ends[cable] = speed[1] if speed else ""
                cables[current].add(peer)
                cables[peer].add(current)
        elif line.startswith(_BLOCKS):
            found = _HEAD.match(line)
            if found is None:
                raise InputError(
                    "not a block of ibnetdiscover",
                    source=source,
                    where=f"line {number}",
                    got=repr(line[:60]),
                    expected='Switch 24 "S-..." # "name" ...',
                )
            current = found[2]
            if current not in lines:
                lines[current] = number
                cables[current] = set()
            # A switch's own description takes precedence over its neighbours' lines.
            described.pop(current, None)
            if found[3] is not None:
                described[current] = found[3]
            fabric.blocks.add(current)
    return fabric


def _host_name(description: str) -> str:
    """The host name in an InfiniBand adapter's description; empty if there is none."""
    description = description.strip()
    if description.endswith(_AGGREGATION):
        return ""
    before_adapter = _ADAPTER.match(description)
    if before_adapter is not None:
        return "" if _NO_HOST.fullmatch(before_adapter[1]) else before_adapter[1]
    found = _HOST.match(description)
    name = found[1] if found else description if " " not in description else ""
    return "" if _VENDOR.search(description if found is None else name) else name


def _nodes(fabric: _Fabric, hosts: Mapping[str, str], roles: Mapping[str, Role], notes: list[Notice]) -> dict[str, str]:
    """Name of the node of each adapter that belongs to a node, by the adapter's id.

    `hosts` are the adapters' hosts, `roles` those that are no compute nodes. Ignored adapters are noted in `notes`.
    """
    aside: dict[Role, Counter[str]] = {}
    node_of: dict[str, str] = {}
    unnamed: list[str] = []
    for adapter, host in hosts.items():
        if host in roles:
            aside.setdefault(roles[host], Counter())[host] += max(1, len(fabric.cables[adapter]))
        elif host_role(host) != "unnamed":
            node_of[adapter] = host
        elif not fabric.described.get(adapter, "").rstrip().endswith(_AGGREGATION):
            unnamed.append(adapter)
    for role in sorted(aside):
        listed = [f"{host} ({counted(n, 'port')})" for host, n in sorted(aside[role].items())]
        notes.append(Notice("left-aside", f"{role} ports, not nodes: {some(listed)}", numbers={"count": len(listed)}))
    if unnamed and not node_of:
        notes.append(
            Notice(
                "hosts-without-name",
                f"no adapter says its host's name: each of the {len(unnamed)} adapters is taken for a node",
                numbers={"count": len(unnamed)},
            )
        )
        return {adapter: adapter for adapter in unnamed}
    if unnamed:
        notes.append(
            Notice(
                "hosts-without-name",
                f"{len(unnamed)} adapters do not say their host's name and belong to no node: {some(unnamed)}",
                numbers={"count": len(unnamed)},
            )
        )
    notes += apart_notices(set(node_of.values()) - {node_of[a] for a in node_of if fabric.cables[a]})
    return node_of


def _switch_names(switches: list[str], described: Mapping[str, str]) -> dict[str, str]:
    """A unique name for each switch, by its id; `described` holds the switches' descriptions."""
    names: dict[str, str] = {}
    chips: dict[str, str] = {}
    for which in switches:
        description = described.get(which, "")
        found = _SWITCH.match(description)
        plain = found[1] if found else description
        names[which] = plain if plain and not re.search(r"[\s;:]", plain) else which
        chips[which] = f"{names[which]}{found[2] or ''}" if found else which
    for better in (chips, {which: which for which in switches}):
        counts = Counter(names.values())
        names = {which: name if counts[name] == 1 else better[which] for which, name in names.items()}
    return names


def _between_switches(fabric: _Fabric, names: Mapping[str, str]) -> dict[tuple[str, str], int]:
    """Number of cables between two switches, the smaller name first."""
    found: Counter[tuple[str, str]] = Counter()
    for (a, _), (b, _) in fabric.ends:
        if a in names and b in names:
            low, high = sorted((names[a], names[b]), key=str.encode)
            found[low, high] += 1
    return found


def _cables(
    fabric: _Fabric, names: Mapping[str, str], ranks: Mapping[str, int], node_of: Mapping[str, str]
) -> Iterator[CableSpeed]:
    """Cables with a speed, of the kinds that have several: between switches, alike if the ranks are, and from a switch
    to its nodes.
    """
    kinds: dict[tuple[int, int] | str, list[tuple[tuple[_End, _End], str]]] = {}
    rank_of = {which: ranks[name] for which, name in names.items() if name in ranks}
    for ends, speed in fabric.ends.items():
        if not speed:
            continue
        (first, _), (second, _) = ends
        low, high = rank_of.get(first), rank_of.get(second)
        if low is not None and high is not None:
            kinds.setdefault((low, high) if low <= high else (high, low), []).append((ends, speed))
        elif low is not None and (second in node_of or first in node_of):
            kinds.setdefault(names[first], []).append((ends, speed))
        elif high is not None and (second in node_of or first in node_of):
            kinds.setdefault(names[second], []).append((ends, speed))
    for kind, alike in kinds.items():
        if len({speed for _, speed in alike}) == 1:
            continue
        if isinstance(kind, str):
            words = f"from {kind} to nodes"
        else:
            words = f"between switches of rank {kind[0]}" + (f" and {kind[1]}" if kind[1] > kind[0] else "")
        for (first_end, second_end), speed in alike:
            # A switch is named before a node.
            swapped = second_end[0] in names and first_end[0] not in names
            (a, a_port), (b, b_port) = (second_end, first_end) if swapped else (first_end, second_end)
            text = f"{names.get(a) or node_of.get(a, a)}[{a_port}] - {names.get(b) or node_of.get(b, b)}[{b_port}]"
            yield CableSpeed(text, kind, words, speed, speed_gbit_s(speed))


def _leave_aside(
    fabric: _Fabric, names: Mapping[str, str], ranks: dict[str, int], aside: Mapping[str, Role], notes: list[Notice]
) -> None:
    """Remove from `ranks` switches that have only storage and services below, and note switches that no node reaches
    in `notes`.

    `aside` has the role of each adapter whose host is no compute node, by the adapter's id.
    """
    storage = []
    for s in names:
        leaves = sum(ranks.get(names.get(other, "")) == 1 for other in fabric.cables[s])
        # A switch that joins several leaves is a spine, whatever else hangs on it.
        beside = ranks.get(names[s], 0) > 2 or (ranks.get(names[s]) == 2 and leaves == 1)
        if beside and not fabric.cables[s].isdisjoint(aside):
            storage.append(names[s])
            del ranks[names[s]]
    found = {aside[h] for s in names if names[s] in storage for h in fabric.cables[s] if h in aside}
    if storage:
        notes.append(
            Notice(
                "left-aside",
                f"switches of {' and '.join(sorted(found))}, left out of the tiers: "
                f"{some(sorted(storage, key=str.encode))}",
                numbers={"count": len(storage)},
            )
        )
    notes += apart_notices(switches=[names[s] for s in names if names[s] not in ranks and names[s] not in storage])


def _detect(sample: Sample) -> bool:
    return _DETECT.search(sample.text) is not None


IBNETDISCOVER = FabricFormat(
    "ibnetdiscover", "InfiniBand fabric as ibnetdiscover prints it", detect=_detect, read=read_ibnetdiscover
)
