"""Reader and writer of Slurm's ``topology.yaml``: several named topologies, each a switch tree, blocks, or flat.

Source: topology.yaml(5).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from workbench.errors import InputError
from workbench.formats.fabric.base import FabricFormat, FabricRecords, Sample, Written
from workbench.formats.fabric.slurm import SlurmBlock, Switch, block_records, block_rows, switch_records, switch_rows
from workbench.formats.write_manifests import to_yaml_value
from workbench.formats.yaml_events import read_yaml
from workbench.model.notice import Notice
from workbench.model.snapshot import ClusterSnapshot
from workbench.objects.fields import child, get_bool, get_list, get_map, get_maps, get_text, shown, wrong

__all__ = ["SLURM_BLOCK_YAML", "SLURM_YAML"]

_TYPES = ("tree", "block", "flat")

_LISTED = re.compile(r"^[ \t]*-[ \t]+topology[ \t]*:", re.MULTILINE)


def _read(text: str, source: str) -> FabricRecords:
    return _records(text, source, _TYPES)


def _read_blocks(text: str, source: str) -> FabricRecords:
    return _records(text, source, ("block",))


def _records(text: str, source: str, wanted: tuple[str, ...]) -> FabricRecords:
    documents = list(read_yaml(text.encode(), source))
    if len(documents) != 1 or type(documents[0].data) is not list:
        got = f"{len(documents)} documents" if len(documents) != 1 else shown(documents[0].data)
        raise InputError("not a topology.yaml", source=source, got=got, expected="one list of topologies")
    try:
        entries = [_entry(item, path) for path, item in get_maps({"document": documents[0].data}, "document", "")]
    except InputError as error:
        raise error.at(source=source) from None
    fitting = [entry for entry in entries if entry[2] in wanted]
    if not fitting:
        found = ", ".join(kind for _, _, kind, _, _ in entries) or "nothing"
        raise InputError("no topology to read", source=source, got=found, expected=" or ".join(wanted))
    # The plugin takes the first default, and without one the first of the file.
    name, _, kind, path, item = next((entry for entry in fitting if entry[1]), fitting[0])
    notes = []
    if len(entries) > 1:
        left = ", ".join(entry[0] for entry in entries if entry[3] != path)
        notes.append(
            Notice(
                "left-aside",
                f"{source}: of {len(entries)} topologies {name} was read; left aside: {left}",
                numbers={"count": len(entries) - 1},
            )
        )
    try:
        records = _RECORDS[kind](item, path, source)
    except InputError as error:
        raise error.at(source=source) from None
    return FabricRecords(records.hypernodes, records.nodes, notes=(*records.notes, *notes))


def _entry(item: Mapping[str, Any], path: str) -> tuple[str, bool, str, str, Mapping[str, Any]]:
    """Name, default flag, type, path and content of one topology in a ``topology.yaml``."""
    name = get_text(item, "topology", path)
    if not name:
        raise wrong(child(path, "topology"), item.get("topology"), "the name of the topology")
    kinds = [kind for kind in _TYPES if item.get(kind) not in (None, False)]
    if len(kinds) != 1:
        raise InputError(
            "a topology of no type or several",
            where=path,
            got=" and ".join(kinds) or "none",
            expected=" or ".join(_TYPES),
        )
    return name, get_bool(item, "cluster_default", path), kinds[0], path, item


def _tree(item: Mapping[str, Any], path: str, source: str) -> FabricRecords:
    where = child(path, "tree")
    switches = [
        Switch(get_text(row, "switch", at), get_text(row, "children", at), get_text(row, "nodes", at), at)
        for at, row in get_maps(get_map(item, "tree", path), "switches", where)
    ]
    return switch_records(switches, source)


def _blocks(item: Mapping[str, Any], path: str, source: str) -> FabricRecords:
    where = child(path, "block")
    block = get_map(item, "block", path)
    blocks = [
        SlurmBlock(get_text(row, "block", at), get_text(row, "nodes", at), at)
        for at, row in get_maps(block, "blocks", where)
    ]
    return block_records(blocks, [str(size) for size in get_list(block, "block_sizes", where)], source)


def _flat(item: Mapping[str, Any], path: str, source: str) -> FabricRecords:
    return FabricRecords(notes=(Notice("flat-topology", f"{source}: a flat topology says nothing about the network"),))


_RECORDS = {"tree": _tree, "block": _blocks, "flat": _flat}


def _detect(sample: Sample) -> bool:
    if sample.json is not None:
        rows = sample.json if isinstance(sample.json, list) else []
        return any(isinstance(row, dict) and "topology" in row and set(row) & set(_TYPES) for row in rows)
    return _LISTED.search(sample.text) is not None


def _write(snapshot: ClusterSnapshot) -> Written:
    rows, losses = switch_rows(snapshot)
    switches = []
    for row in rows:
        entry = {"switch": row.name}
        entry |= {"children": row.switches} if row.switches else {}
        entry |= {"nodes": row.nodes} if row.nodes else {}
        switches.append(entry)
    return Written(_text({"tree": {"switches": switches}}), losses)


def _write_blocks(snapshot: ClusterSnapshot) -> Written:
    rows, sizes, losses = block_rows(snapshot)
    blocks = [{"block": row.name, "nodes": row.nodes} for row in rows]
    return Written(_text({"block": {"block_sizes": sizes, "blocks": blocks}}), losses)


def _text(content: Mapping[str, Any]) -> str:
    return "---\n" + to_yaml_value([{"topology": "default", "cluster_default": True, **content}])


SLURM_YAML = FabricFormat(
    "slurm-yaml", "Slurm topology.yaml; written as a tree of switches", detect=_detect, read=_read, write=_write
)
SLURM_BLOCK_YAML = FabricFormat(
    "slurm-yaml-block", "the blocks of Slurm's topology.yaml", read=_read_blocks, write=_write_blocks
)
