"""Edit operations on a drawn topology; each function returns the changes to commit and changes nothing itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from workbench.errors import InputError
from workbench.objects.selectors import compile_pattern
from workbench.topology.draft import ROOT, Change, Draft, Item, changed, largest_number
from workbench.topology.edit_checks import (
    _NUMBERED,
    FIELDS,
    check_count,
    check_field,
    check_parent,
    check_size,
    free_names,
    new_node,
    next_names,
)

__all__ = [
    "add_nodes",
    "add_switches",
    "delete",
    "group",
    "move",
    "paste",
    "rename",
    "rename_all",
    "select",
    "set_fields",
    "sub_tree",
    "without_gpus",
]


def add_switches(
    draft: Draft,
    parent: int = ROOT,
    count: int = 1,
    prefix: str = "s",
    tier: int | None = None,
    nodes_each: int = 0,
    node_prefix: str = "node-",
    gpus: int = 8,
    link_gbit_s: float = 0.0,
    gpu_model: str = "",
    spines: int = 0,
    spine_prefix: str = "spine-",
) -> list[Change]:
    """Changes that add `count` switches under a switch, each with its nodes.

    With `spines`, "4 spines of 8 leaves of 16 nodes" is one call: each spine has `count` switches.

    Parameters
    ----------
    parent : int
        Id of a switch; `ROOT`: no HyperNode above.
    prefix, node_prefix, spine_prefix : str
        Names are the prefix and the next free number; padded with zeros to one width when several are added at once,
        and to the width of the last name with this prefix.
    tier : int, optional
        Tier of the `count` switches; by default one below the switch above them, at least 1; under `ROOT` 1. Spines are
        one tier above.
    count, nodes_each, gpus, link_gbit_s : number
        Number of switches, nodes under each switch, GPUs of each node, bandwidth of every link that is added.
    gpu_model : str
        Value of the label `GPU_MODEL` of each node, as GPU feature discovery sets it; empty: no label.
    spines : int
        Number of switches between the parent and the others; each of them gets `count` switches. 0: none.
    """
    check_parent(draft, parent)
    check_count("count", count, 1)
    check_count("nodes_each", nodes_each, 0)
    check_count("spines", spines, 0)
    n_leaves = count * max(spines, 1)
    check_size(draft, spines + n_leaves * (1 + nodes_each))
    above = 2**31 if parent == ROOT else draft[parent].tier
    if spines and above < 3:
        raise InputError(
            "no room for two tiers", source="drawing", got=f"{draft[parent].name} of tier {above}", expected="tier >= 3"
        )
    if tier is None:
        tier = 1 if parent == ROOT else max(above - (2 if spines else 1), 1)
    check_field("tier", tier)
    check_field("gpus", gpus)
    check_field("link_gbit_s", link_gbit_s)
    link = float(link_gbit_s)
    added = [
        Item(item_id, "switch", name, parent, tier=tier + 1, link_gbit_s=link)
        for item_id, name in zip(draft.new_ids(spines), free_names(draft, "switch", spine_prefix, spines))
    ]
    parents = [spine.id for spine in added for _ in range(count)] or [parent] * count
    leaves = [
        Item(item_id, "switch", name, holder, tier=tier, link_gbit_s=link)
        for item_id, name, holder in zip(
            draft.new_ids(n_leaves), free_names(draft, "switch", prefix, n_leaves), parents, strict=True
        )
    ]
    names = iter(free_names(draft, "node", node_prefix, n_leaves * nodes_each))
    node = new_node(gpus, link_gbit_s, gpu_model)
    added += leaves
    for leaf in leaves:
        added += [replace(node, id=item_id, name=next(names), parent=leaf.id) for item_id in draft.new_ids(nodes_each)]
    return [Change(None, item) for item in added]


def add_nodes(
    draft: Draft,
    parent: int,
    count: int = 1,
    prefix: str = "node-",
    gpus: int = 8,
    link_gbit_s: float = 0.0,
    gpu_model: str = "",
) -> list[Change]:
    """Changes that add nodes under a switch.

    Parameters
    ----------
    parent : int
        Id of a switch; `ROOT`: under no switch.
    count : int
        Number of nodes.
    prefix : str
        Prefix of the names, which are numbered as in `add_switches`.
    gpus : int
        GPUs of each node.
    link_gbit_s : float
        Bandwidth of the link of each node.
    gpu_model : str
        As in `add_switches`.
    """
    check_parent(draft, parent)
    check_count("count", count, 1)
    check_size(draft, count)
    check_field("gpus", gpus)
    check_field("link_gbit_s", link_gbit_s)
    node = new_node(gpus, link_gbit_s, gpu_model)
    return [
        Change(None, replace(node, id=item_id, name=name, parent=parent))
        for item_id, name in zip(draft.new_ids(count), free_names(draft, "node", prefix, count))
    ]


def move(draft: Draft, ids: Iterable[int], parent: int) -> list[Change]:
    """Changes that move items, with everything under them, under another switch.

    `ids`: items to move. `parent`: id of the new parent; `ROOT`: the virtual top.
    """
    check_parent(draft, parent)
    return [changed(item, parent=parent) for item in _topmost(draft, ids) if item.parent != parent]


def group(draft: Draft, ids: Iterable[int], name: str = "") -> list[Change]:
    """Changes that insert a new switch between several items and their common parent.

    Its tier is one above the highest tier of the items.

    `ids`: items that get the new parent.
    """
    items = _topmost(draft, ids)
    parents = {item.parent for item in items}
    if len(parents) != 1:
        raise InputError("items of several parents cannot be grouped", source="drawing", got=f"{len(parents)} parents")
    tier = max((item.tier for item in items), default=0) + 1
    [parent], [item_id] = parents, draft.new_ids(1)
    switch = Item(item_id, "switch", name or free_names(draft, "switch", "s", 1)[0], parent, tier=tier)
    return [Change(None, switch), *(changed(item, parent=item_id) for item in items)]


def rename(draft: Draft, item_id: int, name: str) -> list[Change]:
    """The change, as a list of one, that gives the item of an id another name."""
    return [changed(draft[item_id], name=name)]


def rename_all(draft: Draft, ids: Iterable[int], prefix: str) -> list[Change]:
    """Changes that rename the items of these ids to a prefix with the next free numbers, in the order given.

    `prefix`: beginning of the names; numbers are padded as in `add_switches`.
    """
    items = [draft[item_id] for item_id in dict.fromkeys(ids)]
    changes = []
    for kind in dict.fromkeys(item.kind for item in items):
        chosen = [item for item in items if item.kind == kind]
        others = set(draft.names(kind)) - {item.name for item in chosen}
        names = next_names(largest_number(others, prefix), prefix, len(chosen))
        changes += [changed(item, name=name) for item, name in zip(chosen, names)]
    return changes


def delete(draft: Draft, ids: Iterable[int], keep_children: bool = False) -> list[Change]:
    """Changes that remove the items of these ids with everything under them.

    `keep_children`: move the items under a removed switch to its parent instead of removing them.
    """
    items = _topmost(draft, ids) if not keep_children else [draft[i] for i in dict.fromkeys(ids)]
    gone = {item.id for item in items}
    if not keep_children:
        return [Change(item, None) for top in items for item in [*reversed(draft.beneath(top.id)), top]]
    changes = []
    for item in items:
        parent = item.parent
        while parent in gone:
            parent = draft[parent].parent
        changes += [changed(child, parent=parent) for child in draft.children(item.id) if child.id not in gone]
    return changes + [Change(item, None) for item in items]


def set_fields(draft: Draft, ids: Iterable[int], fields: Mapping[str, Any]) -> list[Change]:
    """Changes that set fields of the items of these ids; a field that an item's kind does not have is ignored for it.

    Raises InputError: an unknown field, or a value that the field does not take.

    `fields`: values of ``tier``, ``tier_name`` (switches), ``gpus``, ``cordoned`` (nodes), ``link_gbit_s``, ``failed``,
    ``link_failed``, ``labels`` (both).
    """
    for name, value in fields.items():
        check_field(name, value)
    changes = []
    for item_id in dict.fromkeys(ids):
        item = draft[item_id]
        own = {k: dict(v) if k == "labels" else v for k, v in fields.items() if FIELDS[k][0] in ("", item.kind)}
        if own:
            changes.append(changed(item, **own))
    return changes


def select(draft: Draft, pattern: str = "", label: str = "", kind: Literal["", "switch", "node"] = "") -> list[int]:
    """Ids of the items whose name matches a regular expression and that carry a label.

    `pattern`: RE2, anywhere in the name; empty: every name. `label`: ``key`` or ``key=value``; empty: any labels.
    `kind`: {"", "switch", "node"}; kind of the items; empty: both.
    """
    search = compile_pattern(pattern).search
    key, has_value, value = label.partition("=")
    return [
        item.id
        for item in draft
        if (not kind or item.kind == kind)
        and (not pattern or search(item.name))
        and (not label or (key in item.labels and (not has_value or item.labels[key] == value)))
    ]


def sub_tree(draft: Draft, ids: Iterable[int]) -> list[Item]:
    """The items with these ids and everything under them, parents first, for `paste`."""
    return [item for top in _topmost(draft, ids) for item in [top, *draft.beneath(top.id)]]


def without_gpus(draft: Draft) -> list[int]:
    """Ids of the nodes whose number of GPUs may be missing because no input states it.

    These are nodes without GPUs that were read from a file format without node resources, such as Slurm's
    topology.conf; and all nodes if none has GPUs.
    """
    nodes = [item for item in draft if item.kind == "node"]
    none_has = not any(item.gpus for item in nodes)
    return [
        item.id
        for item in nodes
        if not item.gpus and (none_has or (item.node is not None and not item.node.allocatable))
    ]


def paste(draft: Draft, items: Sequence[Item], parent: int) -> list[Change]:
    """Changes that add copies of a sub-tree under a switch, with new ids and the next free names.

    A name that ends in a number keeps the text before the number. The objects that items were read from are not copied,
    because the copy is another HyperNode or node.

    `items`: the sub-tree, parents first. `parent`: id of a switch; `ROOT`: the virtual top.
    """
    check_parent(draft, parent)
    check_size(draft, len(items))
    new_id = dict(zip((item.id for item in items), draft.new_ids(len(items))))
    names: dict[tuple[Literal["switch", "node"], str], list[str]] = {}
    stems = []
    for item in items:
        numbered = _NUMBERED.match(item.name)
        stems.append((item.kind, numbered[1] if numbered else f"{item.name}-"))
    for kind, stem in dict.fromkeys(stems):
        names[kind, stem] = free_names(draft, kind, stem, stems.count((kind, stem)), pad=False)[::-1]
    return [
        Change(
            None,
            replace(
                item,
                id=new_id[item.id],
                name=names[stem].pop(),
                parent=new_id.get(item.parent, parent),
                hypernode=None,
                node=None,
            ),
        )
        for item, stem in zip(items, stems)
    ]


def _topmost(draft: Draft, ids: Iterable[int]) -> list[Item]:
    chosen = dict.fromkeys(ids)
    return [draft[i] for i in chosen if not any(above.id in chosen for above in draft.ancestors(i))]
