"""Checks of what is drawn, and free names for new items."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Literal

from workbench.errors import CapacityError, InputError
from workbench.model.bandwidth import MAX_GPUS
from workbench.topology.draft import ROOT, Draft, Item

__all__ = [
    "FIELDS",
    "GPU_MODEL",
    "MAX_ITEMS",
    "_NUMBERED",
    "check_count",
    "check_field",
    "check_parent",
    "check_size",
    "free_names",
    "new_node",
    "next_names",
]

#: Largest drawing; above, a fabric is generated or loaded rather than drawn.
MAX_ITEMS = 200_000
#: Label that names the model of a node's GPUs, as NVIDIA's GPU feature discovery sets it.
GPU_MODEL = "nvidia.com/gpu.product"
_NUMBERED = re.compile(r"(.*?)(\d+)\Z", re.DOTALL)
#: Fields that `set_fields` sets, with the check of their values.
FIELDS: dict[str, tuple[str, Callable[[Any], bool], str]] = {
    "tier": ("switch", lambda v: type(v) is int and 0 <= v < 2**31, "a whole number >= 0"),
    "tier_name": ("switch", lambda v: isinstance(v, str) and (not v or v.isprintable()), "printable text"),
    "gpus": ("node", lambda v: type(v) is int and 0 <= v <= MAX_GPUS, f"0 to {MAX_GPUS}"),
    "cordoned": ("node", lambda v: isinstance(v, bool), "true or false"),
    "link_gbit_s": (
        "",
        lambda v: type(v) in (int, float) and 0 <= v < 1e9,
        "a number >= 0, in Gbit/s",
    ),
    "failed": ("", lambda v: isinstance(v, bool), "true or false"),
    "link_failed": ("", lambda v: isinstance(v, bool), "true or false"),
    "labels": (
        "",
        lambda v: isinstance(v, Mapping) and all(isinstance(x, str) for pair in v.items() for x in pair),
        "texts by text",
    ),
}


def free_names(draft: Draft, kind: Literal["switch", "node"], prefix: str, count: int, pad: bool = True) -> list[str]:
    """Names for `count` new items, made of a prefix and the next free numbers.

    `kind`: {"switch", "node"}. `pad`: give all numbers one width, and at least that of the last name with the prefix.
    """
    last = draft.last_number(kind, prefix)
    # The last name tells how wide the numbers are that the drawing has already.
    widths = range(len(str(last)) + 1, 18)
    padded = (width for width in widths if draft.find(kind, f"{prefix}{last:0{width}d}") is not None)
    return next_names(last, prefix, count, pad, next(padded, 1))


def next_names(last: int, prefix: str, count: int, pad: bool = True, least: int = 1) -> list[str]:
    """`count` names made of the prefix and the numbers after `last`, padded with zeros to at least `least` digits.

    `pad`: give all numbers one width.
    """
    first = last + 1
    width = max(least, len(str(first + count - 1)) if pad and count > 1 else 1)
    return [f"{prefix}{number:0{width}d}" for number in range(first, first + count)]


def new_node(gpus: int, link_gbit_s: float, gpu_model: str) -> Item:
    """A new node with these GPUs and link, without name or parent.

    `gpu_model`: becomes a label, with blanks replaced; empty: no label.
    """
    labels = {GPU_MODEL: "-".join(gpu_model.split())} if gpu_model.strip() else {}
    return Item(ROOT, "node", "", gpus=gpus, link_gbit_s=float(link_gbit_s), labels=labels)


def check_parent(draft: Draft, parent: int) -> None:
    """Raise InputError if something would be put into a node."""
    if parent != ROOT and draft[parent].kind != "switch":
        raise InputError("a node holds nothing", source="drawing", got=draft[parent].name, expected="a switch")


def check_count(name: str, value: Any, least: int) -> None:
    """Raise InputError unless a value is a whole number of items.

    `name`: the argument in the error. `least`: smallest number allowed.
    """
    if type(value) is not int or value < least:
        raise InputError("not a number of items", source=name, got=repr(value), expected=f"a whole number >= {least}")


def check_size(draft: Draft, more: int) -> None:
    """Raise CapacityError if a drawing would have more items than it may with `more` of them."""
    if len(draft) + more > MAX_ITEMS:
        raise CapacityError(f"{len(draft) + more} switches and nodes in one drawing, at most {MAX_ITEMS} are supported")


def check_field(name: str, value: Any) -> None:
    """Raise InputError unless a field of `FIELDS` may have the value."""
    if name not in FIELDS:
        raise InputError("no such field", source="drawing", got=name, expected=", ".join(sorted(FIELDS)))
    _, fits, expected = FIELDS[name]
    if not fits(value):
        raise InputError("not a value for it", source="drawing", where=name, got=repr(value), expected=expected)
