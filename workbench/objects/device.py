"""`Device` (scheduling.koordinator.sh): the GPUs of one node and the bandwidth between them."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any

from workbench.errors import InputError
from workbench.model.bandwidth import MAX_GPUS, BandwidthMatrix
from workbench.objects.fields import child, get_bool, get_int, get_map, get_maps, get_text, shown, wrong
from workbench.objects.metadata import Metadata, read_metadata

__all__ = ["Device", "check_rows", "device_manifest", "read_device"]


@dataclass(frozen=True)
class Device:
    """GPUs of one node as Koordinator's node agent reports them; the object is named like the node.

    `healthy_gpus`, `all_gpus`: minor numbers of the healthy GPUs and of all GPUs, ascending; a device without
    ``health`` is not healthy, as in the API. `bandwidth`: bandwidth between the GPUs, whose minor numbers are the rows;
    None if not reported. Devices with equal text share one matrix object.
    """

    metadata: Metadata
    healthy_gpus: tuple[int, ...]
    all_gpus: tuple[int, ...]
    bandwidth: BandwidthMatrix | None

    @property
    def name(self) -> str:
        return self.metadata.name


def read_device(data: Mapping[str, Any]) -> Device:
    """Read a Device from a parsed manifest; devices that are not GPUs are left out.

    Raises InputError: a field of the wrong type, a minor number given twice or out of range, two bandwidth topologies,
    an invalid matrix, or one whose size does not follow from the largest minor number.
    """
    spec = get_map(data, "spec", "")
    healthy, listed = [], []
    for path, item in get_maps(spec, "devices", "spec"):
        if get_text(item, "type", path) != "gpu":
            continue
        minor = get_int(item, "minor", path)
        if minor is None or not 0 <= minor < MAX_GPUS or minor in listed:
            raise wrong(child(path, "minor"), item.get("minor"), f"the GPU's number, 0 to {MAX_GPUS - 1}, each once")
        listed.append(minor)
        if get_bool(item, "health", path):
            healthy.append(minor)
    return Device(
        metadata=read_metadata(data, namespaced=False),
        healthy_gpus=tuple(sorted(healthy)),
        all_gpus=tuple(sorted(listed)),
        bandwidth=_bandwidth(spec, max(listed, default=-1) + 1),
    )


def device_manifest(
    name: str, gpus: Iterable[int], bandwidth: BandwidthMatrix | None = None, unhealthy: Collection[int] = ()
) -> dict[str, Any]:
    """Make the manifest of a Device as the node agent would write it; `read_device` reads it back.

    `gpus`: minor numbers, written in ascending order. `bandwidth`: written as ``topologies.gpu[]`` without rounding,
    NaN on the diagonal as 0; None: no topology. `unhealthy`: minor numbers of the GPUs that are not healthy.
    """
    spec: dict[str, Any] = {}
    if bandwidth is not None:
        rows = [[entry if math.isfinite(entry) else 0.0 for entry in row] for row in bandwidth.gb_s.tolist()]
        table = json.dumps(rows, separators=(",", ":"))
        spec["topologies"] = {"gpu": [{"name": "bandwidth", "topology": table}]}
    spec["devices"] = [
        {"type": "gpu", "id": f"{name}-gpu-{minor}", "minor": minor, "health": minor not in unhealthy}
        for minor in sorted(gpus)
    ]
    return {
        "apiVersion": "scheduling.koordinator.sh/v1alpha1",
        "kind": "Device",
        "metadata": {"name": name},
        "spec": spec,
    }


def _bandwidth(spec: Mapping[str, Any], n_gpus: int) -> BandwidthMatrix | None:
    topologies = get_map(spec, "topologies", "spec")
    found = [
        (child(path, "topology"), get_text(item, "topology", path))
        for path, item in get_maps(topologies, "gpu", "spec.topologies")
        if get_text(item, "name", path) == "bandwidth"
    ]
    if not found:
        return None
    where, text = found[0]
    if len(found) > 1:
        raise InputError("two bandwidth topologies", where=found[1][0], expected="one entry named bandwidth")
    try:
        matrix = _shared_bandwidth(text)
    except InputError as error:
        where = f"{where}, {error.where}" if error.where else where
        raise InputError(error.message, where=where, got=error.got, expected=error.expected) from None
    if len(matrix) != n_gpus:
        raise InputError(
            "the matrix has another number of GPUs than the Device lists",
            where=where,
            got=f"{len(matrix)} rows",
            expected=f"{n_gpus}, one per GPU",
        )
    return matrix


#: Cache of the matrices read last, by their text, the oldest first: nodes of one kind have equal matrices.
_recent: dict[str, BandwidthMatrix] = {}
_recent_lock = Lock()
#: Most matrices in the cache, and most characters of their texts together.
_MOST_RECENT, _MOST_CHARACTERS = 256, 4 << 20


def _shared_bandwidth(text: str) -> BandwidthMatrix:
    """Like `_parse_bandwidth`, but cached: nodes with the same text share one matrix object."""
    with _recent_lock:
        found = _recent.pop(text, None)
    if found is None:
        found = _parse_bandwidth(text)
    with _recent_lock:
        _recent[text] = found
        while len(_recent) > _MOST_RECENT or sum(map(len, _recent)) > _MOST_CHARACTERS:
            del _recent[next(iter(_recent))]
    return found


def _parse_bandwidth(text: str) -> BandwidthMatrix:
    """Parse the bandwidth matrix of a Device, a JSON list of rows in GB/s.

    InputError, which names the row: no JSON, rows of unequal length, an entry that is missing or not a bandwidth.
    """
    try:
        rows = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError("the matrix is no JSON", got=str(error)[:80], expected="[[...], ...]") from None
    check_rows(rows)
    if len(rows) > MAX_GPUS:
        raise InputError("too many GPUs in one matrix", got=f"{len(rows)} rows", expected=f"at most {MAX_GPUS}")
    return BandwidthMatrix(rows, source="Device")


def check_rows(rows: Any, source: str | None = None) -> None:
    """Raise InputError, naming row and column, if a parsed JSON matrix has a wrong shape or an invalid entry.

    `source` is the file's name for the message.
    """
    if type(rows) is not list or not rows:
        raise InputError("the matrix is no list of rows", source=source, got=shown(rows), expected="[[...], ...]")
    for i, row in enumerate(rows):
        if type(row) is not list or len(row) != len(rows):
            got = f"{len(row)} numbers" if type(row) is list else shown(row)
            raise InputError(
                "the matrix is not square",
                source=source,
                where=f"row {i}",
                got=got,
                expected=f"{len(rows)} numbers, as many as rows",
            )
        for j, entry in enumerate(row):
            # A JSON integer may be too large for a float.
            if type(entry) not in (int, float) or entry > 1e300:
                raise InputError(
                    "a missing or wrong entry in the matrix",
                    source=source,
                    where=f"row {i}, column {j}",
                    got=shown(entry),
                    expected="a finite number >= 0, in GB/s",
                )
