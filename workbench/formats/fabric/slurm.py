"""Convert Slurm's switches and blocks to HyperNodes and back, for both of Slurm's topology files.

Source: topology.conf(5) and topology.yaml(5). A leaf switch has tier 1; any other switch is one tier above its highest
child.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from workbench.errors import InputError
from workbench.formats.fabric.base import FabricRecords, make_node
from workbench.formats.fabric.hostlist import MOST_HOSTS, compress_hosts, expand_hosts, holds
from workbench.formats.fabric.switch_groups import group_tree
from workbench.formats.fabric.writing import TopologyShape, listed, losses_beside, shape_of
from workbench.model.counted import counted
from workbench.model.notice import Notice
from workbench.model.number_text import whole_number
from workbench.model.snapshot import ClusterSnapshot
from workbench.objects.hypernode import HyperNode, make_hypernode

__all__ = ["SlurmBlock", "Switch", "block_records", "block_rows", "switch_records", "switch_rows"]


@dataclass(frozen=True)
class Switch:
    """One switch of a Slurm topology file, as written there.

    `switches`, `nodes`: host lists of the switches and of the nodes directly below the switch; empty: none. `where`:
    place in the file, for errors. `has_speed`: whether the file gives a link speed, which is not read.
    """

    name: str
    switches: str
    nodes: str
    where: str = ""
    has_speed: bool = False


@dataclass(frozen=True)
class SlurmBlock:
    """One block of a Slurm topology file as written there; `nodes` is a host list, `where` the place for errors."""

    name: str
    nodes: str
    where: str = ""


def switch_records(switches: Sequence[Switch], source: str, notes: Sequence[Notice] = ()) -> FabricRecords:
    """Convert a Slurm switch tree to HyperNodes; redundant switches become one, as `group_tree` says.

    A missing child switch becomes a dangling member, and a node under two switches that differ in other nodes an
    overlap; both are found by `workbench.topology.build` (docs/decisions.md, decision 14).

    `source`: name of the file in errors. `notes`: notices to add to the result. Raises InputError: a switch twice,
    without a name or with neither switches nor nodes; something that is no host list.
    """
    children: dict[str, list[str]] = {}
    nodes: dict[str, list[str]] = {}
    total = 0
    for switch in switches:
        _new_name(switch.name, children, "switch", source, switch.where)
        children[switch.name] = _hosts(switch.switches, source, switch.where, "Switches")
        nodes[switch.name] = _hosts(switch.nodes, source, switch.where, "Nodes")
        total += len(children[switch.name]) + len(nodes[switch.name])
        _check_total(total, source, switch.where)
        if not children[switch.name] and not nodes[switch.name]:
            raise InputError(
                f"switch {switch.name} has neither switches nor nodes",
                source=source,
                where=switch.where,
                expected="Switches= or Nodes=",
            )
    if not switches:
        raise InputError("no switch in it", source=source, got="nothing", expected="at least one switch")
    notes = list(notes)
    speeds = sum(switch.has_speed for switch in switches)
    if speeds:
        text = f"{source}: the LinkSpeed of {counted(speeds, 'switch', 'switches')} is not kept"
        notes.append(Notice("left-aside", text, numbers={"count": speeds}))
    names = dict.fromkeys(name for some in nodes.values() for name in some)
    hypernodes = group_tree(children, nodes, notes)
    return FabricRecords(hypernodes, tuple(make_node(name) for name in names), notes=tuple(notes))


def block_records(blocks: Sequence[SlurmBlock], sizes: Sequence[str], source: str) -> FabricRecords:
    """Convert Slurm's blocks to HyperNodes: blocks become tier 1, groups of blocks by BlockSizes the tiers above.

    Raises InputError: a block twice, without a name or without nodes; sizes that do not grow by a power of two.

    Parameters
    ----------
    blocks : sequence of SlurmBlock
        In the order of the file: consecutive blocks are aggregated.
    sizes : sequence of str
        BlockSizes: the planning size of a block, then of each higher level, a power of two times the one before.
        With at most one size there is no higher level.
    source : str
        Name of the file in errors.
    """
    names: dict[str, list[str]] = {}
    total = 0
    if not blocks:
        raise InputError("no block in it", source=source, got="nothing", expected="at least one block")
    for block in blocks:
        _new_name(block.name, names, "block", source, block.where)
        names[block.name] = _hosts(block.nodes, source, block.where, "Nodes")
        if not names[block.name]:
            raise InputError(f"block {block.name} has no nodes", source=source, where=block.where, expected="Nodes=")
        total += len(names[block.name])
        _check_total(total, source, block.where)
    counts = _sizes(sizes, source)
    result: list[HyperNode] = [make_hypernode(name, 1, nodes=nodes) for name, nodes in names.items()]
    taken = set(names)
    below = list(names)
    for tier, (size, smaller) in enumerate(zip(counts[1:], counts, strict=False), 2):
        factor = size // smaller
        groups = [below[i : i + factor] for i in range(0, len(below), factor)]
        below = []
        for i, group in enumerate(groups, 1):
            name = _free_name(f"blocks-{size}-{i}", taken)
            result.append(make_hypernode(name, tier, children=group))
            below.append(name)
    nodes = dict.fromkeys(node for some in names.values() for node in some)
    return FabricRecords(tuple(result), tuple(make_node(name) for name in nodes))


def _sizes(sizes: Sequence[str], source: str) -> list[int]:
    numbers: list[int] = []
    for text in sizes:
        text = str(text).strip()
        number = whole_number(text) or 0
        ratio, rest = divmod(number, numbers[-1]) if numbers else (2, 0)
        if number < 1 or rest or ratio < 2 or ratio & (ratio - 1):
            raise InputError(
                "not a block size",
                source=source,
                where="BlockSizes",
                got=repr(text),
                expected="whole numbers, each a power of two times the one before",
            )
        numbers.append(number)
    return numbers


def _new_name(name: str, known: dict[str, list[str]], kind: str, source: str, where: str) -> None:
    if not name:
        raise InputError(f"a {kind} without a name", source=source, where=where, expected="a name")
    if name in known:
        raise InputError(f"the same {kind} twice", source=source, where=where, got=name, expected="each once")


def _check_total(total: int, source: str, where: str) -> None:
    """Raise InputError if the host lists of a file, each of a million names at most, have too many names together."""
    if total > MOST_HOSTS:
        raise InputError("too many names", source=source, where=where, got=f"{total}", expected=f"at most {MOST_HOSTS}")


def _hosts(text: str, source: str, where: str, key: str) -> list[str]:
    try:
        return list(dict.fromkeys(expand_hosts(text)))
    except InputError as error:
        raise error.at(source=source, where=f"{where}, {key}") from None


def _free_name(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "-"
    taken.add(name)
    return name


def switch_rows(snapshot: ClusterSnapshot) -> tuple[list[Switch], tuple[str, ...]]:
    """The switches to write for a snapshot's topology, root first, and sentences about what cannot be written.

    A Slurm switch has either switches or nodes below it; nodes beside child HyperNodes therefore get a switch of their
    own.
    """
    shape = shape_of(snapshot.topology)
    losses = losses_beside(snapshot, shape)
    _check_names(shape)
    taken = set(shape.names)
    empty = set(shape.empty)
    rows: list[Switch] = []
    leaves: list[Switch] = []
    mixed = []
    for j in shape.root_first:
        if j in empty:
            continue
        name, nodes = shape.names[j], shape.own[j]
        below = [shape.names[c] for c in shape.children[j] if c not in empty]
        if below and nodes:
            mixed.append(name)
            extra = _free_name(f"{name}-nodes", taken)
            leaves.append(Switch(extra, "", compress_hosts(nodes)))
            below, nodes = [*below, extra], []
        rows.append(Switch(name, compress_hosts(below), compress_hosts(nodes)))
    if mixed:
        losses.append(f"changed: the nodes directly under {listed('HyperNode', mixed)} got a switch of their own")
    return rows + leaves, tuple(losses)


def block_rows(snapshot: ClusterSnapshot) -> tuple[list[SlurmBlock], list[int], tuple[str, ...]]:
    """The blocks to write for a snapshot's topology, their sizes level by level, and sentences about what cannot be
    written.

    A block is a HyperNode with nodes of its own. Higher levels are written only if block sizes can express them, that
    is, if all groups of a level but the last hold the same number of blocks, a power of two.
    """
    shape = shape_of(snapshot.topology)
    losses = losses_beside(snapshot, shape, frozenset({"tiers"}))
    _check_names(shape)
    order = _leaves_in_tree_order(shape)
    rows = [SlurmBlock(shape.names[j], compress_hosts(shape.own[j])) for j in order]
    sizes = [min((len(shape.own[j]) for j in order), default=0)] if order else []
    level, held, empty = order, set[int](), set(shape.empty)
    while level:
        counts = Counter(int(snapshot.topology.parent[j]) for j in level)
        *full, _ = counts.values()
        factor = max(counts.values())
        regular = all(count == factor for count in full) and factor >= 2 and not factor & (factor - 1)
        # A group is nothing but its part of this level: no nodes of its own, no child of another height.
        whole = all(
            group >= 0 and not shape.own[group] and count == len(set(shape.children[group]) - empty)
            for group, count in counts.items()
        )
        if not regular or not whole:
            break
        sizes.append(sizes[-1] * factor)
        level = list(counts)
        held.update(level)
    above = set(range(len(shape.names))) - set(order) - set(shape.empty)
    if held:
        losses.append(f"not written: the names of {listed('HyperNode', [shape.names[j] for j in sorted(held)])}")
    if above - held:
        dropped = [shape.names[j] for j in sorted(above - held)]
        losses.append(
            f"not written: {listed('HyperNode', dropped)} above the blocks, which are no power of two of them"
        )
    return rows, sizes, tuple(losses)


def _leaves_in_tree_order(shape: TopologyShape) -> list[int]:
    """HyperNodes with nodes of their own, by index, in preorder, so that a group's blocks are consecutive."""
    place, _ = shape.topology.preorder
    return sorted((j for j in range(len(shape.names)) if shape.own[j]), key=lambda j: int(place[j]))


def _check_names(shape: TopologyShape) -> None:
    for name in (*shape.names, *shape.topology.node_names):
        if not holds(name):
            raise InputError(
                "a name that no host list can hold",
                source="Slurm",
                got=repr(name),
                expected="no blank, comma or bracket",
            )
