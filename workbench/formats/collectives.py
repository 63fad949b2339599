"""Files about measured collectives: tables of measurements, the table of GPU systems, and fitted calibrations."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from workbench.errors import InputError
from workbench.formats.file_bytes import MAX_SETTINGS, on_disk, read_bytes
from workbench.formats.nccl_tests import is_nccl_tests, read_nccl_tests
from workbench.model.collective import CollectiveBlock, GpuSystem, Measurement
from workbench.model.counted import counted
from workbench.model.notice import Notice
from workbench.objects.fields import shown

__all__ = ["default_systems", "read_calibration_record", "read_measurement_files", "read_measurements"]

_SYSTEMS = Path(__file__).with_name("gpu-systems.csv")
_CALIBRATION = Path(__file__).with_name("calibration.json")

_COLUMNS = ("source", "machine", "gpus_per_node", "nodes", "collective", "bytes", "time_us", "note")
_SYSTEM_COLUMNS = ("system", "architecture", "patterns", "gpus_per_rack", "inter_rack_gb_s", "inter_node_gb_s")

#: What nccl-tests calls collectives -> our names.
_NAMES = {
    "all_reduce": "all-reduce",
    "all_gather": "all-gather",
    "reduce_scatter": "reduce-scatter",
    "alltoall": "all-to-all",
}

#: Printouts in a folder of measurements, and the bytes of one.
_PRINTOUTS = (".txt", ".log", ".out")
_MAX_PRINTOUT = 1 << 26

#: In notes: the library's own choice of algorithm was overruled.
_OVERRULED = re.compile(r"\bnvls[ _:=-]*(off|disabled)\b|\bNCCL_NVLS_ENABLE *[=:] *0\b", re.IGNORECASE)


def read_measurements(path: str | Path) -> tuple[tuple[Measurement, ...], int]:
    """Read a table of measured collectives.

    `path`: CSV with the columns source, machine, gpus_per_node, nodes, collective (as nccl-tests names it), bytes,
    time_us and note; racks may be there, empty where it is not stated; further columns are for people. Returns:
    measurements in file order, and the number of rows left out because their note says that an algorithm was switched
    off: ``NVLS off`` or ``NCCL_NVLS_ENABLE=0``, in any case. Raises InputError: a column is missing, there is no row to
    read, or a row has an unknown collective, one rank or a number out of range; with its line.
    """
    found, overruled = [], 0
    for line, row in _rows(path, _COLUMNS):
        if _OVERRULED.search(row["note"]):
            overruled += 1
            continue
        where = f"line {line}"
        if row["collective"] not in _NAMES:
            raise InputError(
                "unknown collective",
                source=str(path),
                where=where,
                got=shown(row["collective"]),
                expected=", ".join(_NAMES),
            )
        gpus, nodes, size = (_whole(row, name, where, path) for name in ("gpus_per_node", "nodes", "bytes"))
        time = _number(row, "time_us", where, path, 1e-3) * 1e-6
        racks = _whole(row, "racks", where, path) if row.get("racks") else 0
        try:
            block = CollectiveBlock(row["machine"], _NAMES[row["collective"]], gpus, nodes, racks)
        except InputError as error:
            raise error.of(str(path)).at(where=where) from None
        found.append(Measurement(block, row["source"], size, time))
    if not found:
        expected = "a row of a measurement with the library's own choice of algorithm"
        raise InputError("no measurement", source=str(path), got=counted(overruled, "other row"), expected=expected)
    return tuple(found), overruled


def read_measurement_files(path: str | Path) -> tuple[tuple[Measurement, ...], int, tuple[tuple[str, Notice], ...]]:
    """Read measured collectives from a file or a folder.

    `path`: a folder with ``collectives.csv`` (`read_measurements`), printouts of nccl-tests (``*.txt``, ``*.log``,
    ``*.out``; `workbench.formats.nccl_tests`), or both; or one such file. Returns: measurements, the table's first,
    then those of printouts by the name of their file; the number of rows left out because an algorithm was switched
    off; and notices with the file that they are about. Raises InputError: there is no measurement, or a file is not as
    it should be.
    """
    path = Path(path)
    table = path / "collectives.csv"
    files = [path]
    if on_disk(path).is_dir():
        inside = on_disk(path).iterdir()
        files = sorted(path / file.name for file in inside if file.suffix in _PRINTOUTS and file.is_file())
        files = ([table] if on_disk(table).is_file() else []) + files
    found: list[Measurement] = []
    overruled, notes = 0, []
    for file in files:
        if file.suffix == ".csv":
            measured, without = read_measurements(file)
            told: tuple[Notice, ...] = ()
        else:
            text = read_bytes(file, _MAX_PRINTOUT).decode("utf-8-sig", "replace")
            if not is_nccl_tests(text):
                if file == path:
                    expected = "what a program of nccl-tests prints, or a CSV table"
                    raise InputError("no measured collectives", source=str(file), expected=expected)
                continue
            measured, told, without = read_nccl_tests(text, str(file))
        found += measured
        overruled += without
        notes += [(file.name, note) for note in told]
    if not found:
        expected = f"collectives.csv ({', '.join(_COLUMNS)}), or what nccl-tests prints (*{', *'.join(_PRINTOUTS)})"
        raise InputError(
            "no measured collectives", source=str(path), got=counted(overruled, "other row"), expected=expected
        )
    return tuple(found), overruled, tuple(notes)


def default_systems() -> tuple[GpuSystem, ...]:
    """The GPU systems that come with the package (datasets/calibration), in the order in which names are matched."""
    found = []
    for line, row in _rows(_SYSTEMS, _SYSTEM_COLUMNS):
        where = f"line {line}"
        speeds = (
            _number(row, name, where, _SYSTEMS, 1e-3) if row[name] else None
            for name in ("inter_rack_gb_s", "inter_node_gb_s")
        )
        rack = _whole(row, "gpus_per_rack", where, _SYSTEMS) if row["gpus_per_rack"] else None
        found.append(GpuSystem(row["system"], row["architecture"], tuple(row["patterns"].split()), rack, *speeds))
    return tuple(found)


def read_calibration_record(path: str | Path | None = None) -> tuple[dict[str, Any], str]:
    """Read a fitted calibration.

    `path`: JSON that ``workbench calibrate`` wrote; None: the calibration that comes with the package. Raises
    InputError: the file cannot be read or is no JSON object. Returns: content, and the name of the file for errors.
    """
    source = _CALIBRATION.name if path is None else str(path)
    text = read_bytes(_CALIBRATION if path is None else path, MAX_SETTINGS)
    try:
        record = json.loads(text)
    except ValueError as error:
        raise InputError("no JSON", source=source, got=shown(str(error)), expected="a calibration") from None
    if not isinstance(record, dict):
        raise InputError("no calibration", source=source, got=type(record).__name__, expected="a JSON object")
    return record, source


def _rows(path: str | Path, columns: tuple[str, ...]) -> Iterator[tuple[int, dict[str, str]]]:
    """Rows of a CSV file with their line numbers."""
    try:
        text = read_bytes(path, MAX_SETTINGS).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError("not text", source=str(path), expected="a CSV table in UTF-8") from None
    reader = csv.DictReader(text.splitlines())
    missing = [name for name in columns if name not in (reader.fieldnames or ())]
    if missing:
        got = shown(",".join(reader.fieldnames or ()))
        raise InputError("a column is missing", source=str(path), got=got, expected=", ".join(missing))
    for row in reader:
        if any(row[name] is None for name in columns):
            raise InputError(
                "a short row", source=str(path), where=f"line {reader.line_num}", expected=f"{len(columns)} columns"
            )
        yield reader.line_num, row


def _whole(row: dict[str, str], name: str, where: str, path: str | Path) -> int:
    """A whole number of at least 1, be it written as 8 or as 8.0."""
    number = _number(row, name, where, path, 1)
    if not number.is_integer():
        expected = "a whole number of at least 1"
        raise InputError(
            "wrong number", source=str(path), where=f"{where}, {name}", got=repr(row[name]), expected=expected
        )
    return int(number)


def _number(row: dict[str, str], name: str, where: str, path: str | Path, least: float) -> float:
    try:
        number = float(row[name])
    except ValueError:
        number = float("nan")
    if not least <= number < 1e15:
        raise InputError(
            "wrong number",
            source=str(path),
            where=f"{where}, {name}",
            got=repr(row[name]),
            expected=f"a number of at least {least:g}",
        )
    return number
