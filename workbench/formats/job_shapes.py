"""Reader of published parallel shapes of training jobs (JSON)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson

from workbench.errors import InputError
from workbench.formats.file_bytes import read_bytes
from workbench.formats.tables import read_table
from workbench.model.counted import counted
from workbench.model.job_log import ModelSize, PublishedShape
from workbench.model.notice import Notice

__all__ = ["read_job_shapes", "read_model_sizes"]

_SIZES = Path(__file__).with_name("model-sizes.csv")
_COLUMNS = ("model", "parameters", "active", "layers", "hidden", "kv_hidden", "moe_layers", "top_k")
_DEGREES = ("dp", "tp", "pp", "cp", "ep")
_BATCHES = ("seq_len", "micro_batch", "global_batch")
_MOST = 10**9


def read_model_sizes(path: Path | None = None) -> dict[str, ModelSize]:
    """Sizes of models by name.

    Raises InputError: a value that is none of its column; the line is named.

    `path`: table as ``datasets/model-sizes/model-sizes.csv``; None: that table.
    """
    path = path or _SIZES
    found = {}
    for row in read_table(read_bytes(path), str(path), _COLUMNS):
        whole, active = (row.amount(column, "parameters") for column in _COLUMNS[1:3])
        found[row.text("model")] = ModelSize(whole, active, *(row.number(column) for column in _COLUMNS[3:]))
    return found


def read_job_shapes(path: Path, sizes: dict[str, ModelSize] | None = None) -> tuple[list[PublishedShape], list[Notice]]:
    """Read published shapes: a JSON list of objects with model, dp, tp, pp, cp, ep, seq_len, micro_batch, global_batch.

    ``vp``, virtual pipeline stages, counts as 1 where it is null or not there; ``fsdp`` as false.

    Raises InputError: not such a file, or a degree that is no whole number from 1 on; the entry is named.

    `sizes`: by the names that the file uses; None: those of `read_model_sizes`.

    Returns
    -------
    shapes : list of PublishedShape
        In the order of the file, each once.
    notes : list of Notice
        Shapes that are left out, counted by the reason: a model of unknown size, a number that is not stated, degrees
        that do not multiply to ``gpus``, a batch that the replicas cannot share, more virtual stages than layers.
    """
    known = read_model_sizes() if sizes is None else sizes
    try:
        entries = orjson.loads(read_bytes(path))
    except orjson.JSONDecodeError as error:
        raise InputError(f"not JSON: {error}", source=str(path)) from None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise InputError("not shapes of jobs", source=str(path), expected="a list of objects with model, dp, tp, pp")
    found: dict[PublishedShape, None] = {}
    left_out: dict[str, int] = {}
    for number, entry in enumerate(entries):
        answer = _shape(entry, known, str(path), f"entry {number}")
        if isinstance(answer, PublishedShape):
            found[answer] = None
        else:
            left_out[answer] = left_out.get(answer, 0) + 1
    notes = [
        Notice("shapes-left-out", f"{counted(count, 'shape')} left out: {why}", numbers={"count": count})
        for why, count in left_out.items()
    ]
    return list(found), notes


def _shape(entry: dict[str, Any], known: dict[str, ModelSize], source: str, where: str) -> PublishedShape | str:
    """The shape of one entry, or why it is left out."""
    model = entry.get("model")
    if not isinstance(model, str) or model not in known:
        return f"the size of {str(model)[:60]} is not known"
    given: dict[str, int] = {}
    for name in (*_DEGREES, *_BATCHES, "gpus"):
        value = entry.get(name)
        if value is None:
            return f"{name} is not stated"
        given[name] = _counted(value, source, f"{where}, {name}")
    dp, tp, pp, cp, ep = (given[name] for name in _DEGREES)
    if dp * tp * pp * cp != given["gpus"]:
        return "its degrees do not multiply to its GPUs"
    if dp * cp * tp % ep:
        return "EP does not divide DP x CP x TP"
    interleave = entry.get("vp")
    interleave = 1 if interleave is None else _counted(interleave, source, f"{where}, vp")
    sequence, micro_batch, batch = (given[name] for name in _BATCHES)
    if batch % (dp * micro_batch):
        return "its replicas cannot share the batch evenly"
    size = known[model]
    if interleave > size.layers:
        return "it has more virtual pipeline stages than layers"
    return PublishedShape(
        model,
        size,
        (dp, tp, pp, cp, ep),
        sequence,
        micro_batch,
        batch // (dp * micro_batch),
        bool(entry.get("fsdp")),
        interleave,
    )


def _counted(value: object, source: str, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _MOST:
        expected = f"a whole number from 1 to {_MOST:,}"
        raise InputError("not a shape", source=source, where=where, got=repr(value), expected=expected)
    return value
