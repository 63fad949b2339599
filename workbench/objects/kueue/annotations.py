"""Kueue's annotations on pod templates, and the topology request that a pod template makes by them.

Source: Kueue 0.19, pkg/controller/jobframework/tas.go.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from workbench.errors import InputError
from workbench.model.kueue import SliceLayer, TopologyRequest
from workbench.model.kueue_names import (
    CONSTRAINTS,
    GROUP_NAME,
    PREFERRED,
    REQUIRED,
    SLICE_REQUIRED,
    SLICE_SIZE,
    UNCONSTRAINED,
)

__all__ = ["as_bool", "as_int32", "layer_count_error", "read_layers", "topology_request"]

#: Most slice layers in one annotation.
_MOST_LAYERS = 3

_TRUE = frozenset(("1", "t", "T", "TRUE", "true", "True"))
_FALSE = frozenset(("0", "f", "F", "FALSE", "false", "False"))
_INTEGER = re.compile(r"[+-]?[0-9]{1,30}", re.ASCII)


def as_bool(text: str) -> bool | None:
    """A boolean as Go reads it (``strconv.ParseBool``); None: the text is none."""
    return True if text in _TRUE else False if text in _FALSE else None


def as_int32(text: str) -> int | None:
    """A decimal integer of 32 bits as Go reads it; None: the text is none, or the number is too large."""
    number = int(text) if _INTEGER.fullmatch(text) else None
    return number if number is not None and -(2**31) <= number < 2**31 else None


def read_layers(text: str) -> tuple[SliceLayer, ...]:
    """Read the JSON list of the constraints annotation.

    Raises ValueError: the text is no JSON list of objects with a text ``topology`` and a 32-bit integer ``size``.
    """
    try:
        rows = json.loads(text, parse_constant=_no_number)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if rows is None:
        return ()
    if type(rows) is not list:
        raise ValueError(f"{type(rows).__name__} instead of a list")
    return tuple(_layer(row) for row in rows)


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no number")


def _layer(row: Any) -> SliceLayer:
    if row is None:
        return SliceLayer("", 0)
    if type(row) is not dict:
        raise ValueError(f"{type(row).__name__} instead of an object in the list")
    # Go matches the names of fields without regard to case, and null leaves a field as it was.
    found: dict[str, Any] = {"topology": "", "size": 0}
    for key, value in row.items():
        if key.lower() in found and value is not None:
            found[key.lower()] = value
    level, size = found["topology"], found["size"]
    if type(level) is not str:
        raise ValueError("the topology is no text")
    if type(size) is not int or not -(2**31) <= size < 2**31:
        raise ValueError("the size is no integer of 32 bits")
    return SliceLayer(level, size)


def layer_count_error(layers: Iterable[SliceLayer]) -> str:
    """What Kueue says of a number of slice layers; empty if it is allowed."""
    number = len(tuple(layers))
    allowed = 1 <= number <= _MOST_LAYERS
    return "" if allowed else f"topology constraints must contain between 1 and {_MOST_LAYERS} entries: got {number}"


def topology_request(
    annotations: Mapping[str, str],
    *,
    index_label: str | None = None,
    sub_group_label: str | None = None,
    sub_group_count: int | None = None,
    layers_allowed: bool = True,
) -> TopologyRequest | None:
    """The topology request of a pod template; None: it makes none.

    Of required, preferred and unconstrained the first one that is there counts.

    Raises InputError: an annotation that cannot be read, in Kueue's words.

    `index_label`: label in which pods of the job have their index; None: they have none. `sub_group_label`: label in
    which pods have the index of their replicated job; None: there are no replicated jobs. `sub_group_count`: number of
    replicated jobs. `layers_allowed`: whether the constraints annotation is read (feature gate TASMultiLayerTopology).
    """
    required, preferred, unconstrained = _level(annotations)
    slices = _slices(annotations, layers_allowed)
    asked = required is not None or preferred is not None or unconstrained is not None
    helped = any(each is not None for each in (index_label, sub_group_label, sub_group_count))
    if not (asked or helped or slices or CONSTRAINTS in annotations):
        return None
    bound = required is not None or preferred is not None
    return TopologyRequest(
        required,
        preferred,
        unconstrained,
        slices,
        annotations.get(GROUP_NAME) if bound else None,
        index_label,
        sub_group_label,
        sub_group_count,
    )


def _level(annotations: Mapping[str, str]) -> tuple[str | None, str | None, bool | None]:
    if REQUIRED in annotations:
        return annotations[REQUIRED], None, None
    if PREFERRED in annotations:
        return None, annotations[PREFERRED], None
    if UNCONSTRAINED not in annotations:
        return None, None, None
    text = annotations[UNCONSTRAINED]
    if (value := as_bool(text)) is None:
        raise _unreadable(UNCONSTRAINED, text, f"parsing {json.dumps(text)}: invalid syntax", "true or false")
    return None, None, value


def _slices(annotations: Mapping[str, str], layers_allowed: bool) -> tuple[SliceLayer, ...]:
    if layers_allowed and CONSTRAINTS in annotations:
        text, expected = annotations[CONSTRAINTS], 'JSON such as [{"topology": "example.com/rack", "size": 8}]'
        try:
            layers = read_layers(text)
        except ValueError as error:
            message = f"failed to parse multi-layer topology constraints annotation: {error}"
            raise _unreadable(CONSTRAINTS, text, message, expected) from None
        if wrong := layer_count_error(layers):
            raise _unreadable(CONSTRAINTS, text, wrong, expected)
        return layers
    if SLICE_REQUIRED not in annotations or SLICE_SIZE not in annotations:
        return ()
    text = annotations[SLICE_SIZE]
    if (size := as_int32(text)) is None:
        raise _unreadable(SLICE_SIZE, text, f"parsing {json.dumps(text)}: invalid syntax", "a number of pods")
    return (SliceLayer(annotations[SLICE_REQUIRED], size),)


def _unreadable(name: str, text: str, message: str, expected: str) -> InputError:
    return InputError(message, where=f"annotations[{name!r}]", got=text, expected=expected)
