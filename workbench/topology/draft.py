"""`Draft`: a topology that is being drawn, made of switches and nodes with stable ids.

Changes to a draft are committed together and can be undone. The edit operations are in `workbench.topology.edits`, undo
and redo in `workbench.topology.history`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from workbench.errors import InputError
from workbench.model.number_text import whole_number
from workbench.objects.hypernode import HyperNode
from workbench.objects.node import Node

__all__ = ["ROOT", "Change", "Draft", "Item", "changed", "differences", "largest_number"]

#: Parent id of items directly under the virtual top.
ROOT = 0


@dataclass(frozen=True, slots=True)
class Item:
    """A switch (HyperNode) or node in a drawn topology.

    Attributes
    ----------
    id : int
        Identifier, counted from 1; it survives renaming and moving, and is never used for another item of the draft.
    name : str
        Name of the item; unique among switches, and among nodes.
    parent : int
        Id of the switch above the item; `ROOT` for the virtual top (the whole cluster).
    tier : int
        Tier of a switch, smaller is closer; 0 for a node.
    link_gbit_s : float
        Bandwidth of the link to the parent in Gbit/s; 0: unknown.
    gpus : int
        Number of GPUs of a node.
    cordoned : bool
        Whether the node is cordoned.
    failed, link_failed : bool
        Whether the item, or its link to the parent, is broken; then every node under it is unreachable.
    hypernode : HyperNode, optional
        The object that the switch was read from; kept for the fields that a draft does not show.
    node : Node, optional
        The object that the node was read from.
    """

    id: int
    kind: Literal["switch", "node"]
    name: str
    parent: int = ROOT
    tier: int = 0
    tier_name: str = ""
    link_gbit_s: float = 0.0
    gpus: int = 0
    labels: Mapping[str, str] = field(default_factory=dict)
    cordoned: bool = False
    failed: bool = False
    link_failed: bool = False
    hypernode: HyperNode | None = None
    node: Node | None = None

    def to_dict(self) -> dict[str, Any]:
        """The item's fields as a JSON-ready dict, without those that have their default value."""
        record: dict[str, Any] = {"id": self.id, "kind": self.kind, "name": self.name, "parent": self.parent}
        for name in ("tier", "tier_name", "link_gbit_s", "gpus", "cordoned", "failed", "link_failed"):
            if value := getattr(self, name):
                record[name] = value
        if self.labels:
            record["labels"] = dict(self.labels)
        return record


@dataclass(frozen=True, slots=True)
class Change:
    """An item of a drawn topology before and after a change; None if it did not exist before, or no longer exists."""

    before: Item | None
    after: Item | None

    @property
    def id(self) -> int:
        item = self.after or self.before
        assert item is not None
        return item.id

    def reversed(self) -> Change:
        """The change that undoes this one."""
        return Change(self.after, self.before)


class Draft:
    """A topology that is being drawn: a forest of switches and nodes that is always consistent.

    Names are unique among switches and among nodes, every parent is an existing switch, and no switch is its own
    ancestor; `commit` refuses changes that break this. Tiers need not rise towards the root: such mistakes are reported
    by the linter.
    """

    def __init__(self, items: Iterable[Item] = ()) -> None:
        self._items: dict[int, Item] = {}
        self._children: dict[int, dict[int, None]] = {ROOT: {}}
        self._by_name: dict[tuple[str, str], int] = {}
        self._next = 1
        #: Cached largest number per kind and prefix; updated when names are added, dropped when a name is removed.
        self._last_numbers: dict[tuple[str, str], int] = {}
        self.commit([Change(None, item) for item in items])

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Item]:
        """All items in order of their ids."""
        return (self._items[i] for i in sorted(self._items))

    def __contains__(self, item_id: object) -> bool:
        return item_id in self._items

    def __eq__(self, other: object) -> bool:
        """Whether two drawings have the same items by name, parent and attributes; ids are not compared."""
        return isinstance(other, Draft) and self._drawing() == other._drawing()

    __hash__ = None  # type: ignore[assignment]

    def _drawing(self) -> dict[tuple[str, str], tuple[Any, ...]]:
        drawing: dict[tuple[str, str], tuple[Any, ...]] = {}
        for item in self._items.values():
            parent = self._items[item.parent].name if item.parent != ROOT else None
            record = {k: v for k, v in item.to_dict().items() if k not in ("id", "parent")}
            drawing[item.kind, item.name] = (parent, record)
        return drawing

    def copy(self) -> Draft:
        """An independent copy of the drawing; the immutable items are shared."""
        made = Draft()
        made._items = dict(self._items)
        made._children = {parent: dict(children) for parent, children in self._children.items()}
        made._by_name = dict(self._by_name)
        made._next = self._next
        return made

    def names(self, kind: Literal["switch", "node"]) -> Iterator[str]:
        """Names of all switches or of all nodes, as `kind` says, in no particular order."""
        return (name for its, name in self._by_name if its == kind)

    def last_number(self, kind: Literal["switch", "node"], prefix: str) -> int:
        """The largest number after `prefix` in the names of switches or nodes (`largest_number`).

        -1 if no name has one.
        """
        found = self._last_numbers.get((kind, prefix))
        if found is None:
            found = self._last_numbers[kind, prefix] = largest_number(self.names(kind), prefix)
        return found

    def new_ids(self, count: int) -> range:
        """`count` consecutive ids that no item of the draft has ever had."""
        first = self._next
        self._next += count
        return range(first, first + count)

    def __getitem__(self, item_id: int) -> Item:
        try:
            return self._items[item_id]
        except KeyError:
            raise InputError("no such item", source="drawing", got=f"id {item_id}", expected="an item drawn") from None

    def find(self, kind: Literal["switch", "node"], name: str) -> Item | None:
        """The switch or node called `name`; None if there is none."""
        found = self._by_name.get((kind, name))
        return None if found is None else self._items[found]

    def children(self, item_id: int) -> list[Item]:
        """Items directly under the switch with this id, or under the virtual top (`ROOT`), in order of ids."""
        return [self._items[i] for i in sorted(self._children.get(item_id, ()))]

    def beneath(self, item_id: int) -> list[Item]:
        """All items at any depth under the item with this id, parents before children."""
        found: list[Item] = []
        rest = [item_id]
        while rest:
            children = self.children(rest.pop())
            found += children
            rest += [child.id for child in reversed(children) if child.kind == "switch"]
        return found

    def ancestors(self, item_id: int) -> Iterator[Item]:
        """The switches above the item with this id, nearest first."""
        parent = self[item_id].parent
        while parent != ROOT:
            item = self._items[parent]
            yield item
            parent = item.parent

    def commit(self, changes: Sequence[Change]) -> None:
        """Apply several changes to the drawing, either all or none.

        Raises InputError: the drawing would become inconsistent; nothing has changed then.
        """
        self._swap(changes)
        try:
            for change in changes:
                if change.after is not None:
                    self._check(change.after)
                elif self._children.get(change.id):
                    child = self.children(change.id)[0]
                    raise InputError("something hangs under it", source="drawing", got=child.name)
        except InputError:
            self._swap([change.reversed() for change in changes])
            raise

    def _swap(self, changes: Sequence[Change]) -> None:
        # All removals come before all additions, so that two items may exchange their names.
        for change in changes:
            if (before := change.before) is not None:
                self._children[before.parent].pop(before.id, None)
                if self._by_name.get((before.kind, before.name)) == before.id:
                    del self._by_name[before.kind, before.name]
                del self._items[before.id]
        for change in changes:
            if (after := change.after) is not None:
                self._items[after.id] = after
                self._children.setdefault(after.parent, {})[after.id] = None
                self._by_name.setdefault((after.kind, after.name), after.id)
                self._next = max(self._next, after.id + 1)
        self._count_names(changes)

    def _count_names(self, changes: Sequence[Change]) -> None:
        if not self._last_numbers:
            return
        gone = {(change.before.kind, change.before.name) for change in changes if change.before is not None}
        come = {(change.after.kind, change.after.name) for change in changes if change.after is not None}
        if gone - come:
            self._last_numbers.clear()
        for (kind, prefix), last in self._last_numbers.items():
            new = largest_number((name for its, name in come - gone if its == kind), prefix)
            self._last_numbers[kind, prefix] = max(last, new)

    def _check(self, item: Item) -> None:
        where = f"{item.kind} {item.name or item.id}"
        if not item.name or not item.name.isprintable() or "/" in item.name:
            raise InputError(
                "not a name",
                source="drawing",
                where=where,
                got=repr(item.name),
                expected="printable text without a slash",
            )
        if self._by_name.get((item.kind, item.name)) != item.id:
            raise InputError(
                "the name is taken", source="drawing", where=where, got=item.name, expected=f"a {item.kind} name once"
            )
        if item.parent != ROOT and (item.parent not in self._items or self._items[item.parent].kind != "switch"):
            raise InputError("no switch to hang it under", source="drawing", where=where, got=f"id {item.parent}")
        above = item.parent
        seen = {item.id}
        while above != ROOT:
            if above in seen:
                raise InputError("a switch cannot hang under itself", source="drawing", where=where)
            seen.add(above)
            above = self._items[above].parent if above in self._items else ROOT


def largest_number(names: Iterable[str], prefix: str) -> int:
    """The largest number below 10**17 that follows `prefix` at the end of a name; -1 if no name has such a number.

    Larger numbers do not count, so that the numbers after the result can still be read back (`whole_number`).
    """
    numbers = (whole_number(name[len(prefix) :]) for name in names if name.startswith(prefix))
    return max((number for number in numbers if number is not None and number < 10**17), default=-1)


def changed(item: Item, **fields: Any) -> Change:
    """The change that sets the given fields of one item."""
    return Change(item, replace(item, **fields))


def differences(draft: Draft, wanted: Draft) -> list[Change]:
    """The changes that make the drawing `draft` equal to `wanted`; items of equal kind and name keep their ids."""
    ids = {ROOT: ROOT}
    found = {item.id: draft.find(item.kind, item.name) for item in wanted}
    new = iter(draft.new_ids(sum(same is None for same in found.values())))
    for item in wanted:
        same = found[item.id]
        ids[item.id] = same.id if same is not None else next(new)
    changes = []
    for item in wanted:
        same = found[item.id]
        after = replace(item, id=ids[item.id], parent=ids[item.parent])
        if same is not None and item.kind == "node":
            # The object that a node was read from is not part of the drawing.
            after = replace(after, node=same.node)
        if same is None or same != after:
            changes.append(Change(same, after))
    kept = set(ids.values())
    return changes + [Change(item, None) for item in draft if item.id not in kept]
