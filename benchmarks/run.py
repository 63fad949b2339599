"""Run the benchmarks and print one table: ``python benchmarks/run.py [--only NAME] [--full] [--json FILE]``.

A row is printed, and written to the JSON file, as soon as it is measured. ``interrupted`` in that file is true until
the last row stands in it.

Each ``benchmarks/bench_*.py`` has a function ``rows()`` that yields one dict per measurement, and may have
``slow_rows()`` with those that only ``--full`` asks for:

- ``benchmark``, ``size``: what was measured, on what;
- ``ours_us_p50``, ``ours_us_p99``: microseconds per call (of batch means where one call takes less than 10);
- ``baseline``, ``baseline_us``: what it is compared with, in the same run; None where there is nothing to compare;
- ``goal_us``: what must not be passed; None where nothing was promised;
- ``goal_of``: ``p50`` or ``p99``, of which the goal was stated;
- ``note``: anything the reader must know, or "";
- ``fault``: what was wrong with the answers, or "".

A benchmark never fails because it was slow: the table shows it, and the reader knows how busy the machine was. It fails
if the answers were wrong or a benchmark ended with an error: the others are measured all the same, the faults are named
below the table, and the exit status is 1.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import os
import platform
import sys
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import Any

from workbench.formats.whole_file import write_whole

HERE = Path(__file__).resolve().parent
KEYS = frozenset(
    {
        "benchmark",
        "size",
        "ours_us_p50",
        "ours_us_p99",
        "baseline",
        "baseline_us",
        "goal_us",
        "goal_of",
        "note",
        "fault",
    }
)
PACKAGES = ("topology-workbench", "numpy", "networkx", "pandas", "Cython")

Row = Mapping[str, Any]


def main(arguments: list[str] | None = None, folder: Path = HERE) -> int:
    """Run the benchmarks in `folder` that the command-line `arguments` select.

    Returns 0, or 1 if a benchmark found wrong answers or ended with an error, or 2 if no benchmark has the given name,
    or 130 after Ctrl-C.
    """
    options = _parser().parse_args(arguments)
    files = sorted(folder.glob("bench_*.py"))
    names = [name_of(path) for path in files]
    chosen = [path for path, name in zip(files, names, strict=True) if not options.only or name in options.only]
    unknown = sorted(set(options.only or ()) - set(names))
    if unknown:
        print(f"no benchmark '{unknown[0]}'; there are: {', '.join(names)}", file=sys.stderr)
        return 2
    # The modules share helpers that lie beside them, and the oracles of the tests are the plain-Python baselines.
    sys.path[:0] = [str(folder), str(HERE.parent)]
    machine = provenance(pin_to_one_core())
    found: list[Row] = []
    faults: list[str] = []
    seconds: dict[str, float] = {}
    begin = time.monotonic()
    options.json.parent.mkdir(parents=True, exist_ok=True)

    def keep(interrupted: bool) -> None:
        """Write the rows measured so far to the JSON file, so that a run that is killed loses one row at most."""
        result = {**machine, "interrupted": interrupted, "seconds": seconds, "faults": faults}
        result["rows"] = [dict(row) for row in found]
        write_whole(options.json, json.dumps(result, indent=1) + "\n")

    print(line(HEADINGS), flush=True)
    interrupted = False
    try:
        for path in chosen:
            started = time.monotonic()
            try:
                for row in rows_of(path, options.full):
                    found.append(row)
                    if row["fault"]:
                        faults.append(f"{name_of(path)}: {row['benchmark']}, {row['size']}: {row['fault']}")
                    print(line(cells(row)), flush=True)
                    seconds[name_of(path)] = round(time.monotonic() - started, 1)
                    keep(interrupted=True)
            except Exception as error:
                traceback.print_exc()
                faults.append(f"{name_of(path)} ended early: {error!r}")
    except KeyboardInterrupt:
        interrupted = True
    keep(interrupted)
    print(f"{machine['cpu']}, {machine['pinned']}, load {machine['load']}; {machine['date']}")
    print(f"{time.monotonic() - begin:.0f} s; wrote {options.json}")
    if interrupted:
        print("interrupted: what was measured until then stands above")
    for fault in faults:
        print(f"FAULT: {fault}")
    return 130 if interrupted else min(len(faults), 1)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Benchmarks beside their baselines, in one table.")
    parser.add_argument("--only", action="append", metavar="NAME", help="bench_NAME.py alone; may be given again")
    parser.add_argument("--full", action="store_true", help="the slow measurements, too: the rest takes ten minutes")
    parser.add_argument("--json", type=Path, default=HERE.parent / "build" / "bench.json", metavar="FILE")
    return parser


def name_of(path: Path) -> str:
    """The benchmark's name: ``NAME`` for the file ``bench_NAME.py``."""
    return path.stem.removeprefix("bench_")


def module_of(path: Path) -> ModuleType:
    """The loaded module of one benchmark file."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # dataclasses look their module up by name
    spec.loader.exec_module(module)
    return module


def rows_of(path: Path, full: bool = False) -> Iterator[Row]:
    """The rows of one benchmark file, with `full` its slow ones too; raises ValueError for a row with other keys."""
    module = module_of(path)
    slow = getattr(module, "slow_rows", tuple) if full else tuple
    for row in chain(module.rows(), slow()):
        if row.keys() != KEYS:
            raise ValueError(f"{path.name}: a row differs in {', '.join(sorted(row.keys() ^ KEYS))}")
        yield row


HEADINGS = ("benchmark", "size", "p50", "p99", "baseline", "speed-up", "goal", "met", "compared with; note")
_WIDTHS = (44, 26, -8, -8, -8, -8, -11, 3, 0)


def line(texts: Sequence[str]) -> str:
    """One line of the table; column widths are fixed, because each row is printed before the next one is measured."""
    padded = [
        text.rjust(-width) if width < 0 else text.ljust(width) for text, width in zip(texts, _WIDTHS, strict=True)
    ]
    return "  ".join(padded).rstrip()


def cells(row: Row) -> tuple[str, ...]:
    """The cells of a row as text, with times in a suitable unit."""
    goal = row["goal_us"]
    return (
        row["benchmark"],
        str(row["size"]),
        duration(row["ours_us_p50"]),
        duration(row["ours_us_p99"]),
        duration(row["baseline_us"]),
        speed_up(row),
        "-" if goal is None else f"{row['goal_of']} {duration(goal)}",
        "" if goal is None else "yes" if row[f"ours_us_{row['goal_of']}"] <= goal else "no",
        "; ".join(part for part in (row["baseline"], row["note"]) if part),
    )


def duration(microseconds: float | None) -> str:
    """A time as text with three digits and a unit, ``0.18 us`` or ``4.21 ms``; a dash for None."""
    if microseconds is None:
        return "-"
    for unit, size in (("s", 1e6), ("ms", 1e3), ("us", 1.0)):
        if microseconds >= size:
            return f"{microseconds / size:.3g} {unit}"
    return f"{microseconds:.2g} us"


def speed_up(row: Row) -> str:
    """The baseline's time divided by our median, such as ``12x``; a dash if there is no baseline."""
    if row["baseline_us"] is None or not row["ours_us_p50"]:
        return "-"
    factor = row["baseline_us"] / row["ours_us_p50"]
    return f"{factor:,.0f}x" if factor >= 10 else f"{factor:.1f}x"


def pin_to_one_core() -> str:
    """Pin this process to the first of its allowed cores; returns a text that says which core it is."""
    if not hasattr(os, "sched_setaffinity"):
        return "not pinned to a core"
    core = min(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})
    return f"pinned to core {core} of {os.cpu_count()}"


def provenance(pinned: str) -> dict[str, Any]:
    """Machine, interpreter, versions and date of a run, to be kept with its results.

    `pinned` is `pin_to_one_core`'s text.
    """
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "cpu": cpu_name(),
        "system": platform.platform(),
        "pinned": pinned,
        "load": [round(load, 2) for load in os.getloadavg()] if hasattr(os, "getloadavg") else None,
        "python": platform.python_version(),
        "versions": {name: installed(name) for name in PACKAGES},
        "native_build": os.environ.get("WORKBENCH_NATIVE") == "1",
    }


def cpu_name() -> str:
    """Model name of the processor, as the operating system reports it."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text("utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def installed(name: str) -> str | None:
    """Version of the installed package `name`; None if it is not installed."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


if __name__ == "__main__":
    sys.exit(main())
