"""Compare the speed of two checkouts: ``compare_commits.py OLD NEW [--cells searches|flat] [--rounds N]``.

OLD and NEW are folders, each a checkout with its kernels built (`make build`, or ``setup.py build_ext --inplace``);
both are run by the Python that runs this script. ``search_cells.py`` and ``flat_cells.py`` define what is measured:
cells, each a list of calls, equal in both checkouts, which must both have what the cells call. Rounds alternate between
the checkouts, and each is a process of its own, so that neither a busy machine nor the position of the code in memory
favours one of them.

A cell's time is the sum over its calls, in processor time. For each call either the median of the rounds' medians
counts (p50), or the least of all its runs. A row is slower if ``new / old`` exceeds 1.10.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import workbench

HERE = Path(__file__).resolve().parent
MODULES = {"searches": "search_cells", "flat": "flat_cells"}

#: By cell, for each of its calls: the median and the least of its runs, in microseconds.
Times = dict[str, list[tuple[float, float]]]


def measured(cells: str) -> Times:
    """Measure all cells once in this process: the times of each call, by cell."""
    module = importlib.import_module(MODULES[cells])
    times: Times = {}
    for name, calls in module.cells():
        times[name] = []
        for ready in calls:
            taken = []
            for _ in range(module.REPEATS):
                call = ready()
                begin = time.process_time_ns()
                call()
                taken.append((time.process_time_ns() - begin) / 1e3)
            times[name].append((statistics.median(taken), min(taken)))
    return times


def run_in(checkout: Path, cells: str) -> Times:
    """Measure all cells once in a new process that imports the package from the folder `checkout`."""
    # This folder's cells for both, whatever the checkout has in its own.
    environment = {**os.environ, "PYTHONPATH": f"{checkout}{os.pathsep}{HERE}", "PYTHONHASHSEED": "0"}
    command = [sys.executable, "-P", str(HERE / "compare_commits.py"), "--worker", str(checkout), "--cells", cells]
    answer = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    found: Times = json.loads(answer.stdout)
    return found


def summed(rounds: list[Times]) -> dict[str, tuple[float, float]]:
    """Time of each cell in microseconds, from several rounds: by the median of each call's medians, and by the least
    run.
    """
    return {
        name: (
            sum(statistics.median(median for median, _ in runs) for runs in by_call),
            sum(min(least for _, least in runs) for runs in by_call),
        )
        for name, by_call in ((name, list(zip(*(times[name] for times in rounds), strict=True))) for name in rounds[0])
    }


def total(cells: dict[str, tuple[float, float]]) -> tuple[float, float]:
    """Sum of both times over all cells."""
    return sum(median for median, _ in cells.values()), sum(least for _, least in cells.values())


def line(name: str, old: tuple[float, float], new: tuple[float, float]) -> str:
    """One row of the table that compares the old and the new times of a cell."""
    columns = (f"{a:11,.1f} {b:11,.1f} {b / a:8.3f}" for a, b in zip(old, new, strict=True))
    return f"{name:62} {'  '.join(columns)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("checkouts", nargs="+", type=Path, metavar="FOLDER", help="OLD and NEW")
    parser.add_argument("--cells", choices=MODULES, default="searches")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.worker:
        if not Path(workbench.__file__).is_relative_to(asked.checkouts[0].resolve()):
            raise SystemExit(f"compare_commits: {workbench.__file__} is not in {asked.checkouts[0]}")
        print(json.dumps(measured(asked.cells)))
        return
    if len(asked.checkouts) != 2:
        parser.error("two folders, OLD and NEW")
    rounds: tuple[list[Times], list[Times]] = ([], [])
    for turn in range(asked.rounds):
        # Who goes first changes from round to round.
        for side in (turn % 2, 1 - turn % 2):
            rounds[side].append(run_in(asked.checkouts[side].resolve(), asked.cells))
    old, new = (summed(side) for side in rounds)
    print(f"{'cell':62} {'old p50 us':>11} {'new p50 us':>11} {'new/old':>8}  ", end="")
    print(f"{'old least':>11} {'new least':>11} {'new/old':>8}")
    for name in old:
        print(line(name, old[name], new[name]))
    print(line("sum", total(old), total(new)))


if __name__ == "__main__":
    main()
