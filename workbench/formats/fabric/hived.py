"""Reader of HiveD's configuration, which describes a cluster as nested cells down to nodes and their GPUs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.errors import InputError
from workbench.formats.fabric.base import FabricFormat, FabricRecords, Sample, make_node
from workbench.formats.manifests import read_text
from workbench.model.bandwidth import MAX_GPUS
from workbench.model.counted import counted
from workbench.model.notice import Notice
from workbench.objects.fields import child, get_bool, get_int, get_map, get_maps, get_text, wrong
from workbench.objects.hypernode import HyperNode, make_hypernode
from workbench.objects.node import Node
from workbench.objects.quantity import read_resources

__all__ = ["HIVED", "read_hived"]

_GPU = "nvidia.com/gpu"
#: Cell types inside one another; the largest published configuration has eight.
_DEEPEST = 32


@dataclass(frozen=True)
class _Level:
    """A cell type of HiveD, with its height above the node level (0 for a node); None for a cell inside a node."""

    child: str
    n_children: int
    height: int | None


@dataclass
class _Cells:
    types: dict[str, _Level]
    skus: Mapping[str, Any]
    hypernodes: list[HyperNode] = field(default_factory=list)
    nodes: dict[str, Node] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)
    notes: list[Notice] = field(default_factory=list)


def read_hived(text: str, source: str) -> FabricRecords:
    """Read the HyperNodes and nodes of the physical cluster in a HiveD configuration; `source` is the file's name.

    Raises InputError: an unknown cell type, a cell type inside itself, a node without an address or with the address of
    another node, a cell below a node; the field is named.

    Returns
    -------
    FabricRecords
        A cell above the node level becomes a HyperNode; its tier is the number of levels above the node, its tier name
        the cell type. The HyperNode is called by the cell's ``cellAddress``, or else by the cell type in lower case and
        the position in the file (``3-k80-node-0``); a cell inside another one by its parent's name and its position
        there (``…-0-1``). A cell at node level becomes a node, called by its ``cellAddress``. The node offers as many
        GPUs as the cell has leaf cells, and for each GPU the CPU and memory that ``skuTypes`` states.

    Notes
    -----
    Source: hivedscheduler, doc/user-manual.md, "Config". Virtual clusters and pinned cells are quotas, no topology;
    they are counted in the notes.
    """
    documents = read_text(text.encode(), source)
    config, where = documents[0]
    try:
        if len(documents) > 1 or type(config) is not dict:
            raise wrong("", config, "one mapping with physicalCluster")
        return _cluster(config)
    except InputError as error:
        place = f"{where}, {error.where}" if error.where else where
        raise InputError(error.message, source=source, where=place, got=error.got, expected=error.expected) from None


def _cluster(config: Mapping[str, Any]) -> FabricRecords:
    physical = get_map(config, "physicalCluster", "")
    levels = _levels(get_map(physical, "cellTypes", "physicalCluster"))
    cells = _Cells(levels, get_map(physical, "skuTypes", "physicalCluster"))
    counts: dict[str, int] = {}
    pinned = 0
    for path, cell in get_maps(physical, "physicalCells", "physicalCluster"):
        kind = get_text(cell, "cellType", path)
        position = counts.get(kind, 0)
        counts[kind] = position + 1
        pinned += _add(cells, cell, kind, f"{kind.lower()}-{position}", path)
    if not cells.nodes:
        raise wrong("physicalCluster.physicalCells", None, "cells with cellType and cellChildren")
    virtual = get_map(config, "virtualClusters", "")
    if virtual or pinned:
        cells.notes.append(
            Notice(
                "left-aside",
                f"{len(virtual)} virtual clusters and {pinned} pinned cells are not read: they are quotas",
                numbers={"count": len(virtual) + pinned},
            )
        )
    nodes = tuple(cells.nodes[name] for name in sorted(cells.nodes, key=str.encode))
    ordered = sorted(cells.hypernodes, key=lambda h: (h.tier, h.name.encode()))
    return FabricRecords(tuple(ordered), nodes, notes=tuple(cells.notes))


def _levels(types: Mapping[str, Any]) -> dict[str, _Level]:
    """Every cell type in ``cellTypes`` with its height above the node level."""
    levels: dict[str, _Level] = {}
    for name in types:
        chain: list[str] = []
        current = name
        while current in types and current not in levels:
            if current in chain or len(chain) > _DEEPEST:
                path = f"physicalCluster.cellTypes.{current}.childCellType"
                raise InputError("cell types inside one another without end", where=path, got=" in ".join(chain[:8]))
            chain.append(current)
            current = get_text(types[current], "childCellType", _type_path(types, current))
        for kind in reversed(chain):
            levels[kind] = _level(types, kind, levels)
    return levels


def _type_path(types: Mapping[str, Any], kind: str) -> str:
    path = f"physicalCluster.cellTypes.{kind}"
    if type(types[kind]) is not dict:
        raise wrong(path, types[kind], "a mapping with childCellType and childCellNumber")
    return path


def _level(types: Mapping[str, Any], kind: str, levels: Mapping[str, _Level]) -> _Level:
    path = _type_path(types, kind)
    below = get_text(types[kind], "childCellType", path)
    number = get_int(types[kind], "childCellNumber", path)
    if not below or number is None or not 1 <= number <= 1_000_000:
        key = "childCellNumber" if below else "childCellType"
        raise wrong(child(path, key), types[kind].get(key), "what is inside the cell, and how many of it")
    inner = levels[below].height if below in levels else None
    if get_bool(types[kind], "isNodeLevel", path):
        if inner is not None:
            raise wrong(child(path, "isNodeLevel"), True, "one node level in a chain of cell types")
        return _Level(below, number, 0)
    return _Level(below, number, None if inner is None else inner + 1)


def _add(cells: _Cells, cell: Mapping[str, Any], kind: str, name: str, path: str) -> int:
    """Add a cell of type `kind` and all inside it to `cells`; returns the number of pinned ones. `path`: for errors."""
    level = cells.types.get(kind)
    if level is None or level.height is None:
        expected = "a cell type of physicalCluster.cellTypes at node level or above"
        raise wrong(child(path, "cellType"), kind or None, expected)
    pinned = int(bool(get_text(cell, "pinnedCellId", path)))
    address = get_text(cell, "cellAddress", path)
    if level.height == 0:
        _add_node(cells, address, kind, path)
        return pinned
    name = address or name
    if name in cells.taken:
        raise InputError("two cells of one name", where=path, got=name, expected="each address once")
    cells.taken.add(name)
    members = []
    for position, (inner_path, inner) in enumerate(get_maps(cell, "cellChildren", path)):
        inner_kind = get_text(inner, "cellType", inner_path) or level.child
        if inner_kind != level.child:
            raise wrong(child(inner_path, "cellType"), inner_kind, level.child)
        inner_name = f"{name}-{position}"
        pinned += _add(cells, inner, inner_kind, inner_name, inner_path)
        members.append(get_text(inner, "cellAddress", inner_path) or inner_name)
    if len(members) != level.n_children:
        cells.notes.append(
            Notice(
                "cell-size-differs",
                f"{name} lists {counted(len(members), 'cell')}, its type {kind} has {level.n_children}",
                f"cell {name}",
            )
        )
    nodes, children = (members, []) if level.height == 1 else ([], members)
    cells.hypernodes.append(make_hypernode(name, level.height, nodes=nodes, children=children, tier_name=kind))
    return pinned


def _add_node(cells: _Cells, address: str, kind: str, path: str) -> None:
    if not address:
        raise wrong(child(path, "cellAddress"), None, "the node's name")
    if address in cells.nodes:
        raise InputError("the same node twice", where=child(path, "cellAddress"), got=address, expected="each once")
    gpus, leaf = 1, kind
    while leaf in cells.types:
        gpus *= cells.types[leaf].n_children
        leaf = cells.types[leaf].child
    if gpus > MAX_GPUS:
        raise wrong(path, gpus, f"at most {MAX_GPUS} leaf cells in one node")
    sku = get_map(cells.skus, leaf, "physicalCluster.skuTypes")
    where = f"physicalCluster.skuTypes.{leaf}"
    known = {key: sku[key] for key in ("cpu", "memory") if key in sku}
    each = read_resources({leaf: known}, leaf, "physicalCluster.skuTypes")
    per_leaf = get_int(sku, "gpu", where)
    if per_leaf is not None and not 0 <= per_leaf * gpus <= MAX_GPUS:
        raise wrong(child(where, "gpu"), per_leaf, f"0 to {MAX_GPUS // gpus}, with {gpus} leaf cells in one node")
    offered = {name: amount * gpus for name, amount in each.items()}
    cells.nodes[address] = make_node(
        address, allocatable={**offered, _GPU: gpus * (1 if per_leaf is None else per_leaf)}
    )


def _detect(sample: Sample) -> bool:
    return "physicalCluster" in sample.keys


HIVED = FabricFormat("hived", "HiveD cell configuration (YAML)", detect=_detect, read=read_hived)
