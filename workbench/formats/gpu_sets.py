"""Sets of GPUs, from a file or an option: partitions of NVIDIA's fabric manager, or modules of several dies."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson

from workbench.errors import InputError
from workbench.formats.file_bytes import MAX_SETTINGS, read_bytes
from workbench.model.notice import Notice
from workbench.model.number_text import whole_number
from workbench.objects.fields import shown

__all__ = ["parse_gpu_sets", "read_gpu_sets"]

_MOST_SETS = 100_000
_MOST_GPUS = 1024
# A name before the GPUs of a set; GPUs may be bus ids, which have colons, too.
_NAME = re.compile(r"^[^,;:]*:\s+")
_BRACES = str.maketrans("", "", "{}[]()")


def read_gpu_sets(
    given: str, option: str, labels: Sequence[str] = ()
) -> tuple[tuple[tuple[int, ...], ...], tuple[Notice, ...]]:
    """Read sets of GPUs from a file, or from a text if there is no file of that name.

    `given`: path of a file, or the sets: ``0,1;2,3``. `option`: name of the option in errors about a text. `labels`:
    names of the machine's GPUs, which may stand for their numbers. Returns: the sets, and how ids were read. GPUs of a
    fabric manager's partitions are told by their bus ids if these are known of every GPU of the machine, else by
    physical ids. Raises InputError: the file cannot be read, or what it holds is no list of sets of GPUs; with the
    place.
    """
    if re.search(r"[;,]", given) and not Path(given).is_file():
        return parse_gpu_sets(given, option, labels)
    if whole_number(given.strip()) is not None and not Path(given).is_file():
        return parse_gpu_sets(given, option, labels)
    try:
        text = read_bytes(given, MAX_SETTINGS).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError("not text", source=given, expected="sets of GPUs, one per line, or JSON") from None
    return parse_gpu_sets(text, given, labels)


def parse_gpu_sets(
    text: str, source: str, labels: Sequence[str] = ()
) -> tuple[tuple[tuple[int, ...], ...], tuple[Notice, ...]]:
    """Parse sets of GPUs: lines or parts between ``;``, or JSON; as `read_gpu_sets`.

    `text`, `source`: the sets, and the name of their file or option in errors. `labels`: names of the machine's GPUs.
    """
    if text.lstrip()[:1] in ("[", "{") and ('"' in text or text.lstrip().startswith("[[")):
        return _of_json(text, source, labels)
    place = {label: i for i, label in enumerate(labels)}
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        for part in line.split("#")[0].split(";"):
            words = _NAME.sub("", part.strip()).translate(_BRACES).replace(",", " ").split()
            where = f"line {number}" if "\n" in text.strip() else ""
            if words:
                found.append(tuple(gpu for word in words for gpu in _gpus(word, place, source, where)))
    return _checked(found, source), ()


def _gpus(word: str, place: dict[str, int], source: str, where: str) -> Sequence[int]:
    if word in place:
        return (place[word],)
    first, dash, last = word.partition("-")
    low, high = whole_number(first), whole_number(last if dash else first)
    if low is None or high is None or not low <= high < low + _MOST_GPUS:
        expected = "numbers such as 0,1,4-7, or names of the table; or a file of them"
        raise InputError("not a list of GPUs", source=source, where=where, got=shown(word), expected=expected)
    return range(low, high + 1)


def _of_json(text: str, source: str, labels: Sequence[str]) -> tuple[tuple[tuple[int, ...], ...], tuple[Notice, ...]]:
    expected = "a list of lists of GPUs, or partitions of a fabric manager (partitionInfo)"
    try:
        data = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise InputError(f"not JSON: {error.msg}", source=source, where=where, expected=expected) from None
    if isinstance(data, dict):
        data = next((data[key] for key in ("partitionInfo", "partitions", "allowed", "modules") if key in data), data)
    if not isinstance(data, list):
        raise InputError("no list of sets", source=source, got=shown(data), expected=expected)
    numbers: list[tuple[int, ...]] = []
    counted_from_1 = False
    labels = _by_bus_id(data, labels)
    for number, entry in enumerate(data, 1):
        gpus = entry
        if isinstance(entry, dict):
            gpus = next((entry[key] for key in ("gpuInfo", "gpus", "physicalIds") if key in entry), None)
        where = f"set {number}"
        if not isinstance(gpus, list):
            raise InputError("not a set of GPUs", source=source, where=where, got=shown(entry), expected=expected)
        found = [_one(gpu, labels, source, where) for gpu in gpus]
        counted_from_1 = counted_from_1 or any(physical for _, physical in found)
        numbers.append(tuple(gpu - physical for gpu, physical in found))
    if any(gpu < 0 for one in numbers for gpu in one):
        raise InputError("a physical id of 0", source=source, expected="ids from 1, as the fabric manager counts")
    text = "physical ids count from 1: id 1 is taken for the first GPU of the table"
    return _checked(numbers, source), (Notice("physical-ids", text),) * counted_from_1


def _bus_id(text: str) -> str:
    """A bus id as Linux writes it: ``0000:bd:00.0`` for ``00000000:BD:00.0``."""
    return re.sub(r"^0000(?=[0-9a-f]{4}:)", "", text.lower())


def _by_bus_id(partitions: list[Any], labels: Sequence[str]) -> Sequence[str]:
    """Names of the GPUs: bus ids in ascending order, as `nvidia-smi` counts, where the partitions tell all of them."""
    lists = [entry["gpuInfo"] for entry in partitions if isinstance(entry, dict) and "gpuInfo" in entry]
    gpus = [gpu for one in lists if isinstance(one, list) for gpu in one if isinstance(gpu, dict)]
    found = {_bus_id(str(gpu.get("pciBusId") or "")) for gpu in gpus}
    known = {_bus_id(label) for label in labels}
    if "" in found or len(found) != len(labels):
        return [_bus_id(label) if _bus_id(label) in found else label for label in labels]
    return [_bus_id(label) for label in labels] if found == known else sorted(found)


def _one(gpu: Any, labels: Sequence[str], source: str, where: str) -> tuple[int, bool]:
    """A GPU of the JSON by its number, and whether that is a physical id, which counts from 1."""
    fields = gpu if isinstance(gpu, dict) else {}
    names = [gpu] if isinstance(gpu, str) else [str(fields[key]) for key in ("name", "pciBusId") if key in fields]
    names += [_bus_id(name) for name in names]
    known = next((name for name in names if name in labels), None)
    if known is not None:
        return list(labels).index(known), False
    value = next((fields[key] for key in ("physicalId", "gpu", "index") if key in fields), gpu)
    number = whole_number(value) if isinstance(value, str) else value
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        raise InputError("not a GPU", source=source, where=where, got=shown(value), expected="a number or a name")
    return number, "physicalId" in fields


def _checked(sets: Sequence[tuple[int, ...]], source: str) -> tuple[tuple[int, ...], ...]:
    if not sets or len(sets) > _MOST_SETS:
        expected = f"1 to {_MOST_SETS:,} sets, such as 0,1;2,3"
        raise InputError("no list of sets of GPUs", source=source, got=f"{len(sets)} sets", expected=expected)
    return tuple(sets)
