"""Run the benchmarks and print one table: ``python benchmarks/run.py [--only NAME] [--json FILE]``.

Each ``benchmarks/bench_*.py`` has a function ``rows()`` that yields one dict per measurement:

- ``benchmark``, ``size``: what was measured, on what;
- ``ours_us_p50``, ``ours_us_p99``: microseconds per call (of batch means where one call takes less than 10);
- ``baseline``, ``baseline_us``: what it is compared with, in the same run; None where there is nothing to compare;
- ``goal_us``: what the p99 should not pass; None where nothing was promised;
- ``note``: anything the reader must know, or "".

A benchmark never fails because it was slow: the table says so, and the reader knows what else the machine was doing.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import os
import platform
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

HERE = Path(__file__).resolve().parent
KEYS = frozenset({"benchmark", "size", "ours_us_p50", "ours_us_p99", "baseline", "baseline_us", "goal_us", "note"})
PACKAGES = ("topology-workbench", "numpy", "networkx", "pandas", "Cython")

Row = Mapping[str, Any]


def main(arguments: list[str] | None = None, folder: Path = HERE) -> int:
    """Run what was asked for of a folder; 0, or 2 when no benchmark has that name, 130 after Ctrl-C."""
    options = _parser().parse_args(arguments)
    files = sorted(folder.glob("bench_*.py"))
    names = [path.stem.removeprefix("bench_") for path in files]
    chosen = [path for path, name in zip(files, names, strict=True) if not options.only or name in options.only]
    unknown = sorted(set(options.only or ()) - set(names))
    if unknown:
        print(f"no benchmark '{unknown[0]}'; there are: {', '.join(names)}", file=sys.stderr)
        return 2
    # The modules share helpers that lie beside them, and the oracles of the tests are the plain-Python baselines.
    sys.path[:0] = [str(folder), str(HERE.parent)]
    pinned = pin_to_one_core()
    found: list[Row] = []
    # Redirected output has no width to fit into; a table cut to 80 columns would lose its numbers.
    console = Console() if sys.stdout.isatty() else Console(width=200)
    interrupted = False
    try:
        for path in chosen:
            name = path.stem.removeprefix("bench_")
            with console.status(name) as status:
                for row in rows_of(path):
                    found.append(row)
                    status.update(f"{name}: {row['benchmark']} {row['size']}")
    except KeyboardInterrupt:
        interrupted = True
    console.print(table(found))
    machine = provenance(pinned, interrupted)
    console.print(f"{machine['cpu']}, {machine['pinned']}, load {machine['load']}; {machine['date']}", style="dim")
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps({**machine, "rows": [dict(row) for row in found]}, indent=1) + "\n", "utf-8")
    console.print(f"wrote {options.json}", style="dim")
    if interrupted:
        console.print("interrupted: what was measured until then stands above")
    return 130 if interrupted else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Benchmarks beside their baselines, in one table.")
    parser.add_argument("--only", action="append", metavar="NAME", help="bench_NAME.py alone; may be given again")
    parser.add_argument("--json", type=Path, default=HERE.parent / "build" / "bench.json", metavar="FILE")
    return parser


def rows_of(path: Path) -> Iterator[Row]:
    """The rows of one benchmark file; ValueError for a row with a key too few or too many."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # dataclasses look their module up by name
    spec.loader.exec_module(module)
    for row in module.rows():
        if row.keys() != KEYS:
            raise ValueError(f"{path.name}: a row differs in {', '.join(sorted(row.keys() ^ KEYS))}")
        yield row


def table(rows: list[Row]) -> Table:
    """The rows as people read them; times in the unit that suits them."""
    shown = Table(title="ours beside the baselines, one core", title_justify="left")
    for heading in ("benchmark", "size"):
        shown.add_column(heading, overflow="fold")
    for heading in ("p50", "p99", "baseline", "speed-up", "goal"):
        shown.add_column(heading, justify="right", no_wrap=True)
    shown.add_column("met", no_wrap=True)
    shown.add_column("compared with; note", overflow="fold")
    for row in rows:
        goal = row["goal_us"]
        shown.add_row(
            row["benchmark"],
            str(row["size"]),
            duration(row["ours_us_p50"]),
            duration(row["ours_us_p99"]),
            duration(row["baseline_us"]),
            speed_up(row),
            duration(goal),
            Text("") if goal is None else Text("yes", "green") if row["ours_us_p99"] <= goal else Text("no", "red"),
            "; ".join(part for part in (row["baseline"], row["note"]) if part),
        )
    return shown


def duration(microseconds: float | None) -> str:
    """Three digits and a unit: ``0.18 us``, ``4.21 ms``; a dash for None."""
    if microseconds is None:
        return "-"
    for unit, size in (("s", 1e6), ("ms", 1e3), ("us", 1.0)):
        if microseconds >= size:
            return f"{microseconds / size:.3g} {unit}"
    return f"{microseconds:.2g} us"


def speed_up(row: Row) -> str:
    """Baseline over our median, as ``12x``; a dash where there is no baseline."""
    if row["baseline_us"] is None or not row["ours_us_p50"]:
        return "-"
    factor = row["baseline_us"] / row["ours_us_p50"]
    return f"{factor:,.0f}x" if factor >= 10 else f"{factor:.1f}x"


def pin_to_one_core() -> str:
    """Keep this process on the core it was given, or on its first one; says which."""
    if not hasattr(os, "sched_setaffinity"):
        return "not pinned to a core"
    core = min(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})
    return f"pinned to core {core} of {os.cpu_count()}"


def provenance(pinned: str, interrupted: bool) -> dict[str, Any]:
    """What a number needs beside it: machine, interpreter, versions, date."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "cpu": cpu_name(),
        "system": platform.platform(),
        "pinned": pinned,
        "load": [round(load, 2) for load in os.getloadavg()] if hasattr(os, "getloadavg") else None,
        "python": platform.python_version(),
        "versions": {name: installed(name) for name in PACKAGES},
        "native_build": os.environ.get("WORKBENCH_NATIVE") == "1",
        "interrupted": interrupted,
    }


def cpu_name() -> str:
    """What the processor calls itself."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text("utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def installed(name: str) -> str | None:
    """Version of an installed distribution; None if it is not there."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


if __name__ == "__main__":
    sys.exit(main())
