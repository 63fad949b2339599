"""Reader and writer of Slurm's ``topology.conf``: switches (topology/tree) or blocks (topology/block).

Source: topology.conf(5). Parameter names are case insensitive, ``#`` begins a comment, a backslash at the end of a line
continues it. What ``scontrol show topology`` prints is such a file, too, with the level or the index of each line; of
blocks it prints their sizes instead of BlockSizes, and a line for each group of blocks (AggregatedBlock).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from workbench.errors import InputError
from workbench.formats.fabric.base import FabricFormat, FabricRecords, Sample, Written
from workbench.formats.fabric.slurm import SlurmBlock, Switch, block_records, block_rows, switch_records, switch_rows
from workbench.model.counted import counted
from workbench.model.notice import Notice
from workbench.model.number_text import whole_number
from workbench.model.snapshot import ClusterSnapshot

__all__ = ["SLURM_BLOCK_CONF", "SLURM_CONF"]

_DETECT = re.compile(r"^[ \t]*(?:SwitchName|BlockName|AggregatedBlock|BlockSizes)[ \t]*=", re.MULTILINE | re.IGNORECASE)
_PAIR = re.compile(r'\s*([A-Za-z]+)\s*=\s*(?:"([^"]*)"|(\S*))')

_KEYS = {
    "switchname": {"switchname", "switches", "nodes", "linkspeed", "level"},
    "blockname": {"blockname", "nodes", "blockindex", "blocksize"},
    "aggregatedblock": {"aggregatedblock", "nodes", "blockindex", "blocksize"},
    "blocksizes": {"blocksizes"},
}


def _read(text: str, source: str) -> FabricRecords:
    switches, blocks, sizes = _parse(text, source)
    if not switches and not blocks:
        raise InputError(
            "a topology.conf without a switch or block",
            source=source,
            got="BlockSizes alone" if sizes else "nothing",
            expected="SwitchName= or BlockName= lines; Slurm does not start without one",
        )
    if not switches:
        return block_records(blocks, sizes, source)
    text = (
        f"{source}: {counted(len(blocks), 'block beside the switches was', 'blocks beside the switches were')} "
        "left aside"
    )
    notes = [Notice("left-aside", text, numbers={"count": len(blocks)})] if blocks else []
    return switch_records(switches, source, notes)


def _read_blocks(text: str, source: str) -> FabricRecords:
    _, blocks, sizes = _parse(text, source)
    return block_records(blocks, sizes, source)


def _parse(text: str, source: str) -> tuple[list[Switch], list[SlurmBlock], list[str]]:
    switches: list[Switch] = []
    blocks: list[SlurmBlock] = []
    sizes: list[str] = []
    printed: dict[str, int] = {}
    for number, line in _lines(text):
        where = f"line {number}"
        pairs = _pairs(line, source, where)
        first = next(iter(pairs))
        if first not in _KEYS:
            raise InputError(
                "not a line of topology.conf",
                source=source,
                where=where,
                got=repr(line.strip()[:60]),
                expected="SwitchName=, BlockName= or BlockSizes=",
            )
        for key in pairs:
            if key not in _KEYS[first]:
                raise InputError(
                    "not a parameter of this line",
                    source=source,
                    where=where,
                    got=repr(key),
                    expected=", ".join(sorted(_KEYS[first])),
                )
        if first == "switchname":
            speed = "linkspeed" in pairs and "level" not in pairs
            below = pairs.get("switches", "")
            # With the level, as scontrol prints it, a switch repeats the nodes of the switches below it.
            nodes = "" if below and "level" in pairs else pairs.get("nodes", "")
            switches.append(Switch(pairs[first], below, nodes, where, speed))
        elif first == "blockname":
            blocks.append(SlurmBlock(pairs[first], pairs.get("nodes", ""), where))
        elif first == "blocksizes":
            sizes = pairs[first].split(",")
        if first in ("blockname", "aggregatedblock") and "blocksize" in pairs:
            printed[pairs["blocksize"]] = whole_number(pairs["blocksize"]) or 0
    return switches, blocks, sizes or sorted(printed, key=printed.__getitem__)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """The non-empty lines of a text with their numbers; continued lines count as the first of them."""
    held, first = "", 0
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.partition("#")[0].rstrip()
        first = first or number
        if line.endswith("\\"):
            held += line[:-1] + " "
            continue
        line = held + line
        if line.strip():
            yield first, line
        held, first = "", 0
    if held.strip():
        yield first, held


def _pairs(line: str, source: str, where: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    at = 0
    line = line.rstrip()
    while at < len(line):
        found = _PAIR.match(line, at)
        if found is None:
            got = repr(line[at:].strip()[:60])
            raise InputError("not KEY=VALUE", source=source, where=where, got=got, expected="SwitchName=... Nodes=...")
        key = found[1].lower()
        if key in pairs:
            raise InputError("the same parameter twice", source=source, where=where, got=found[1], expected="once")
        pairs[key] = found[2] if found[2] is not None else found[3]
        at = found.end()
    return pairs


def _detect(sample: Sample) -> bool:
    return _DETECT.search(sample.text) is not None


def _write(snapshot: ClusterSnapshot) -> Written:
    rows, losses = switch_rows(snapshot)
    lines = []
    for row in rows:
        parts = [f"SwitchName={row.name}"]
        parts += [f"Switches={row.switches}"] if row.switches else []
        parts += [f"Nodes={row.nodes}"] if row.nodes else []
        lines.append(" ".join(parts))
    return Written("".join(f"{line}\n" for line in lines), losses)


def _write_blocks(snapshot: ClusterSnapshot) -> Written:
    rows, sizes, losses = block_rows(snapshot)
    lines = [f"BlockName={row.name} Nodes={row.nodes}" for row in rows]
    lines += [f"BlockSizes={','.join(map(str, sizes))}"] if sizes else []
    return Written("".join(f"{line}\n" for line in lines), losses)


SLURM_CONF = FabricFormat(
    "slurm", "Slurm topology.conf; written as switches (topology/tree)", detect=_detect, read=_read, write=_write
)
SLURM_BLOCK_CONF = FabricFormat(
    "slurm-block", "the blocks of Slurm's topology.conf (topology/block)", read=_read_blocks, write=_write_blocks
)
