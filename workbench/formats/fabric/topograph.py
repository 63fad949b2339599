"""Reader of topograph's simulation models: switches, and blocks of nodes with their NVLink domains.

NVLink domains fit among the tiers of switches below, between or above them, or nowhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from workbench.errors import InputError
from workbench.formats.fabric.base import FabricFormat, FabricRecords, Sample, make_node, switch_heights
from workbench.formats.fabric.hostlist import expand_hosts
from workbench.formats.fabric.switch_groups import group_tree
from workbench.formats.manifests import read_text
from workbench.model.counted import counted
from workbench.model.notice import Notice
from workbench.objects.fields import child, get_list, get_map, get_maps, get_text, get_texts, wrong

__all__ = ["DOMAIN_LABEL", "TOPOGRAPH", "insert_level", "read_topograph", "stays_inside"]

#: Label of a node's NVLink domain, as topograph's newest releases write it.
DOMAIN_LABEL = "accelerator.topograph.run/domain"
_SECTIONS = ("switches", "blocks", "capacity_blocks")


@dataclass
class _Model:
    """A parsed topograph model: what is below each switch, NVLink domains, and labels of switches and nodes."""

    children: dict[str, list[str]] = field(default_factory=dict)
    nodes: dict[str, list[str]] = field(default_factory=dict)
    parent: dict[str, str] = field(default_factory=dict)
    labels: dict[str, dict[str, str]] = field(default_factory=dict)
    switch_of: dict[str, str] = field(default_factory=dict)
    domain_of: dict[str, str] = field(default_factory=dict)
    block_switch: dict[str, str] = field(default_factory=dict)


def read_topograph(text: str, source: str) -> FabricRecords:
    """Read the HyperNodes and nodes of a topograph simulation model; `source` is the file's name.

    Raises InputError: a node in two places, a switch below switches of two heights, a block under an unknown switch, a
    bad host list; the field is named.

    Returns
    -------
    FabricRecords
        A switch is a HyperNode of its own name, redundant switches are one (`group_tree`); its tier is its height, 1
        for a leaf. Nodes carry the labels of the
        switches above them, the closest winning, and `DOMAIN_LABEL`. NVLink domains are HyperNodes of their own names
        below the leaves (with ``nvlink-`` in front of a name that a switch has, too), unless they are the leaves' own
        nodes or do not fit below them: then they stay labels.

    Notes
    -----
    Source: NVIDIA/topograph, pkg/models and tests/models: switches as a mapping with blocks (2025 and later) or as a
    list with capacity_blocks (before).
    """
    documents = read_text(text.encode(), source)
    data, where = documents[0]
    try:
        if len(documents) > 1 or type(data) is not dict:
            raise wrong("", data, "one mapping with switches and blocks")
        model = _read(data)
    except InputError as error:
        place = f"{where}, {error.where}" if error.where else where
        raise InputError(error.message, source=source, where=place, got=error.got, expected=error.expected) from None
    notes = [Notice("left-aside", f"{key} is not read", f"field {key}") for key in data if key not in _SECTIONS]
    labels = {node: _node_labels(model, node) for nodes in model.nodes.values() for node in nodes}
    _place_domains(model, notes)
    hypernodes = group_tree(model.children, model.nodes, notes)
    nodes = tuple(make_node(node, labels[node]) for node in sorted(labels, key=str.encode))
    return FabricRecords(hypernodes, nodes, notes=tuple(notes))


def _read(data: Mapping[str, Any]) -> _Model:
    model = _Model()
    parents: dict[str, list[tuple[str, str]]] = {}
    for name, path, switch in _named(data, "switches"):
        if name in model.children:
            raise InputError("the same switch twice", where=path, got=name, expected="each switch once")
        below = [_text(item, f"{path}.switches[{i}]") for i, item in enumerate(get_list(switch, "switches", path))]
        model.children[name] = below
        model.labels[name] = get_texts(switch, "labels", path) or get_texts(switch, "metadata", path)
        for lower in below:
            model.parent.setdefault(lower, name)
            parents.setdefault(lower, []).append((name, f"{path}.switches"))
        for i, block in enumerate(get_list(switch, "capacity_blocks", path)):
            model.block_switch[_text(block, f"{path}.capacity_blocks[{i}]")] = name
    heights = switch_heights(model.children, {})
    for lower, above in parents.items():
        # Switches of one height are redundant; those of different heights contradict each other.
        for name, path in above[1:]:
            if heights[name] != heights[above[0][0]]:
                got = f"{lower} below {above[0][0]} and {name}"
                raise InputError("a switch in two places", where=path, got=got, expected="parents of one height")
    for key in ("blocks", "capacity_blocks"):
        for name, path, block in _named(data, key):
            _read_block(model, name, path, block)
    if not model.nodes:
        raise wrong("blocks", None, "blocks with nodes")
    return model


def _named(data: Mapping[str, Any], key: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Name (may be empty), path and fields of each entry under `key`, which is a list or a mapping by name."""
    if type(data.get(key)) is dict:
        for name, item in data[key].items():
            path = child(key, name)
            if item is not None and type(item) is not dict:
                raise wrong(path, item, "a mapping")
            yield name, path, item or {}
        return
    for path, item in get_maps(data, key, ""):
        name = get_text(item, "name", path)
        if key == "switches" and not name:
            raise wrong(f"{path}.name", None, "the switch's name")
        yield name, path, item


def _read_block(model: _Model, name: str, path: str, block: Mapping[str, Any]) -> None:
    switch = get_text(block, "switch", path) or model.block_switch.get(name, "")
    lowest = switch and switch not in model.children and switch in model.parent
    if switch and switch not in model.children and not lowest:
        raise wrong(f"{path}.switch", switch, "a switch of the section switches")
    domain = get_text(block, "nvlink", path) or min(_domains(block, path), default="")
    for i, item in enumerate(get_list(block, "nodes", path)):
        where = f"{path}.nodes[{i}]"
        text = _name(item, where)
        try:
            names = expand_hosts(text)
        except InputError as error:
            raise error.at(where=where) from None
        for node in names:
            if node in model.switch_of:
                raise InputError("the same node twice", where=where, got=node, expected="each node once")
            model.switch_of[node] = switch
            model.nodes.setdefault(switch, []).append(node)
            if domain:
                model.domain_of[node] = domain


def _domains(block: Mapping[str, Any], path: str) -> list[str]:
    """Names of the NVLink domains in the annotations of a block."""
    where = child(path, "annotations")
    return [
        _name(value, f"{where}[{key!r}]")
        for key, value in get_map(block, "annotations", path).items()
        if key.endswith(("/domain", "/accelerator")) and value not in (None, "")
    ]


def _name(value: Any, where: str) -> str:
    """Read a name; a whole number counts as one, because YAML reads an unquoted name such as 7 as a number."""
    return str(value) if type(value) is int else _text(value, where)


def _text(value: Any, where: str) -> str:
    if type(value) is not str or not value:
        raise wrong(where, value, "a name")
    return value


def _node_labels(model: _Model, node: str) -> dict[str, str]:
    labels: dict[str, str] = {}
    switch = model.switch_of[node]
    seen: set[str] = set()
    while switch and switch not in seen:
        seen.add(switch)
        labels = {**model.labels.get(switch, {}), **labels}
        switch = model.parent.get(switch, "")
    if node in model.domain_of:
        labels[DOMAIN_LABEL] = model.domain_of[node]
    return labels


def _place_domains(model: _Model, notes: list[Notice]) -> None:
    """Insert NVLink domains between switches and nodes; if they do not fit, `notes` gets the reason."""
    leaves = {node: switch for node, switch in model.switch_of.items() if switch}
    homeless = model.nodes.pop("", [])
    if not model.domain_of:
        if homeless:
            notes.append(
                Notice(
                    "nodes-without-switch",
                    f"{counted(len(homeless), 'node is', 'nodes are')} below no switch",
                    numbers={"count": len(homeless)},
                )
            )
        return
    position = insert_level([leaves] if leaves else [], model.domain_of)
    if position != 0:
        why = position if isinstance(position, str) else "are wider than a leaf"
        notes.append(
            Notice(
                "nvlink-domains-dropped",
                f"the NVLink domains {why}: no HyperNodes, but labels {DOMAIN_LABEL} on the nodes",
            )
        )
        return
    taken = {*model.children, *model.parent}
    groups: dict[str, list[str]] = {}
    for node, domain in model.domain_of.items():
        groups.setdefault(f"nvlink-{domain}" if domain in taken else domain, []).append(node)
    for name, nodes in groups.items():
        switch = next((model.switch_of[n] for n in nodes if model.switch_of[n]), "")
        model.nodes[name] = nodes
        if switch:
            inside = set(nodes)
            model.children.setdefault(switch, []).append(name)
            model.nodes[switch] = [node for node in model.nodes[switch] if node not in inside]


def _detect(sample: Sample) -> bool:
    keys = sample.keys
    return {"switches", "blocks"} <= keys or "capacity_blocks" in keys


TOPOGRAPH = FabricFormat("topograph", "topograph model (YAML)", detect=_detect, read=read_topograph)
#: Domain by node.
Level = Mapping[str, str]


def stays_inside(inner: Level, outer: Level) -> bool:
    """Whether each domain of `inner` lies in one domain of `outer`; only nodes that are in both levels are considered.

    A level maps each node to its domain.
    """
    found: dict[str, str] = {}
    return all(found.setdefault(d, outer[node]) == outer[node] for node, d in inner.items() if node in outer)


def insert_level(levels: Sequence[Level], level: Level) -> int | str:
    """Position at which a level of domains (such as NVLink domains) fits among nested levels of switches.

    `levels`: the existing levels, closest first, each a mapping from node to domain; each level is nested in the next.
    `level`: the level to insert, as a mapping from node to domain. Returns: the lowest index at which the levels stay
    nested. If there is none, the reason as the end of a sentence: ``draw the lines of another tier`` if the level
    equals an existing one, or ``cross the tiers``.
    """
    for other in levels:
        if set(other) == set(level) and stays_inside(level, other) and stays_inside(other, level):
            return "draw the lines of another tier"
    for position in range(len(levels) + 1):
        below, above = levels[:position], levels[position:]
        if all(stays_inside(other, level) for other in below) and all(stays_inside(level, o) for o in above):
            return position
    return "cross the tiers"
