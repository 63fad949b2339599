"""Translate operations of the topology editor's page into changes of the drawing: one function per operation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from workbench.errors import InputError
from workbench.objects.fields import shown
from workbench.topology import edits
from workbench.topology.draft import ROOT, Change, Draft, Item
from workbench.topology.draft_objects import add_fabric, fix_finding
from workbench.topology.generate import Fabric
from workbench.topology.presets import preset_fabric

__all__ = ["NOTHING", "Copied", "changes_of", "fabric_asked"]


class Copied(NamedTuple):
    """The items of a drawing that were copied last, for pasting.

    `mark`: identifier of the copy; the page puts it on the system's clipboard too, and sends it with ``paste``.
    `items`: parents first.
    """

    mark: str = ""
    items: Sequence[Item] = ()


NOTHING = Copied()


def changes_of(draft: Draft, op: dict[str, Any], copied: Copied = NOTHING) -> tuple[str, list[Change]]:
    """Translate an operation of the page into changes of the drawing; returns its name in the history, and the changes.

    `draft`: not changed. `op`: ``op`` names the operation (see `_OPERATIONS`), the rest are its arguments. `copied`:
    the items that the operation ``paste`` inserts. Raises InputError: an unknown operation, an argument of the wrong
    type, or what the operation itself refuses.
    """
    name = op.get("op")
    if not isinstance(name, str) or name not in _OPERATIONS:
        raise InputError("unknown operation", source="editor", got=shown(name), expected=", ".join(sorted(_OPERATIONS)))
    return _OPERATIONS[name](draft, op, copied)


def _add_switches(draft: Draft, op: dict[str, Any], _: Copied) -> tuple[str, list[Change]]:
    changes = edits.add_switches(
        draft,
        _id(op, "parent", ROOT),
        _get(op, "count", int, 1),
        _get(op, "prefix", str, "s"),
        tier=_get(op, "tier", int, None),
        nodes_each=_get(op, "nodes_each", int, 0),
        node_prefix=_get(op, "node_prefix", str, "node-"),
        gpus=_get(op, "gpus", int, 8),
        link_gbit_s=_get(op, "link_gbit_s", (int, float), 0),
        gpu_model=_get(op, "gpu_model", str, ""),
        spines=_get(op, "spines", int, 0),
    )
    return _added(changes), changes


def _add_nodes(draft: Draft, op: dict[str, Any], _: Copied) -> tuple[str, list[Change]]:
    changes = edits.add_nodes(
        draft,
        _id(op, "parent", ROOT),
        _get(op, "count", int, 1),
        _get(op, "prefix", str, "node-"),
        gpus=_get(op, "gpus", int, 8),
        link_gbit_s=_get(op, "link_gbit_s", (int, float), 0),
        gpu_model=_get(op, "gpu_model", str, ""),
    )
    return _added(changes), changes


def _move(draft: Draft, op: dict[str, Any], _: Copied) -> tuple[str, list[Change]]:
    return f"move {_named(draft, op)}", edits.move(draft, _ids(op), _id(op, "parent", ROOT))


def _group(draft: Draft, op: dict[str, Any], _: Copied) -> tuple[str, list[Change]]:
    return f"group {_named(draft, op)}", edits.group(draft, _ids(op), _get(op, "name", str, ""))


def _rename(draft: Draft, op: dict[str, Any], _: Copied) -> tuple[str, list[Change]]:
    ids, name = _ids(op), _get(op, "name", str, "")
    changes = edits.rename(draft, ids[0], name) if len(ids) == 1 else edits.rename_all(draft, ids, name)
    return f"rename {_named(draft, op)}", changes


def _delete(draft: Draft, op: dict[str, Any], _: Copied) -> tuple[str, list[Change]]:
    return f"delete {_named(draft, op)}", edits.delete(draft, _ids(op), _get(op, "keep_children", bool, False))


def _set(draft: Draft, op: dict[str, Any], _: Copied) -> tuple[str, list[Change]]:
    fields = _get(op, "fields", dict, {})
    return f"set {', '.join(sorted(fields))} of {_named(draft, op)}", edits.set_fields(draft, _ids(op), fields)


def _paste(draft: Draft, op: dict[str, Any], copied: Copied) -> tuple[str, list[Change]]:
    if not copied.items:
        raise InputError("nothing to paste", source="editor", expected="something copied before in this drawing")
    if _get(op, "mark", str, "") != copied.mark:
        raise InputError(
            "copied from another drawing, or before it was reopened", source="editor", expected="a new copy"
        )
    changes = edits.paste(draft, copied.items, _id(op, "parent", ROOT))
    return f"paste {len(copied.items)} items", changes


def _fix(draft: Draft, op: dict[str, Any], _: Copied) -> tuple[str, list[Change]]:
    rule, hypernode, field = (_get(op, name, str, "") for name in ("rule", "hypernode", "field"))
    return f"fix {rule} of {hypernode}", fix_finding(draft, rule, hypernode, field)


def _preset(draft: Draft, op: dict[str, Any], _: Copied) -> tuple[str, list[Change]]:
    fabric = fabric_asked(op)
    return f"draw {op['kind']}", add_fabric(draft, fabric)


def fabric_asked(body: dict[str, Any]) -> Fabric:
    """The fabric of the preset ``kind`` with ``parameters``, texts by name; an empty text means the default.

    Raises UnknownNameError: no such preset or parameter; InputError: a value of the wrong type or out of the
    parameter's range.
    """
    given = _get(body, "parameters", dict, {})
    return preset_fabric(_get(body, "kind", str, ""), {name: value for name, value in given.items() if value != ""})


_OPERATIONS: dict[str, Callable[[Draft, dict[str, Any], Copied], tuple[str, list[Change]]]] = {
    "add_switches": _add_switches,
    "add_nodes": _add_nodes,
    "move": _move,
    "group": _group,
    "rename": _rename,
    "delete": _delete,
    "set": _set,
    "paste": _paste,
    "fix": _fix,
    "preset": _preset,
}


def _added(changes: list[Change]) -> str:
    names = [change.after.name for change in changes if change.after is not None]
    return f"add {names[0]}" if len(names) == 1 else f"add {len(names)} items"


def _named(draft: Draft, op: dict[str, Any]) -> str:
    ids = _ids(op)
    return draft[ids[0]].name if len(ids) == 1 else f"{len(ids)} items"


def _ids(op: dict[str, Any]) -> list[int]:
    ids = op.get("ids")
    if not isinstance(ids, list) or not ids or not all(type(i) is int for i in ids):
        raise InputError("nothing is selected", source="editor", where="ids", got=shown(ids), expected="ids of items")
    return ids


def _id(op: dict[str, Any], name: str, default: int) -> int:
    value = op.get(name, default)
    if type(value) is not int:
        raise InputError("no id", source="editor", where=name, got=shown(value), expected="the id of an item")
    return value


def _get(op: dict[str, Any], name: str, kind: Any, default: Any) -> Any:
    value = op.get(name)
    if value is None:
        return default
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise InputError("an argument of the wrong type", source="editor", where=name, got=shown(value))
    return value
