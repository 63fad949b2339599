"""Drawings of the pages, made from numbers that are kept: ``PYTHONPATH=. python -m tests.gallery NAME`` makes one anew.

Their numbers took hours, or are times of one machine, so they are files: a drawing is old as soon as those files, or
the way in which the workbench draws them, change (`tests.test_gallery`).
"""

from __future__ import annotations

from collections.abc import Callable
from math import log, log2
from pathlib import Path

import numpy as np
import pandas as pd

import workbench as wb
from workbench.report.lines import draw_lines
from workbench.report.study_views import StudyView, draw_differences
from workbench.study.statistics import compare_in_pairs, outcome

__all__ = ["DRAWINGS", "FLEETS", "IMAGES", "WAITING", "draw", "fleet_costs", "slope", "waiting"]

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"

#: Measured by ``python benchmarks/fleet_picture.py docs/images/fleets.csv``.
FLEETS = IMAGES / "fleets.csv"
#: Results of the study beside it, made by ``workbench study run``.
WAITING = ROOT / "datasets" / "placement-share" / "waiting.csv"


def fleet_costs() -> dict[str, list[tuple[int, float]]]:
    """By policy: nodes of a fleet, and milliseconds that one more gang takes there."""
    table = pd.read_csv(FLEETS)
    return {
        policy: list(zip(rows["nodes"].tolist(), rows["ms"].tolist(), strict=True))
        for policy, rows in table.groupby("policy", sort=False)
    }


def slope(costs: list[tuple[int, float]]) -> float:
    """Exponent p of cost = c · nodes^p, fitted by least squares on logarithms."""
    return float(np.polyfit([log(nodes) for nodes, _ in costs], [log(ms) for _, ms in costs], 1)[0])


def fleets() -> str:
    """The picture of docs/fleets.md."""
    lines = {
        f"{policy}, nodes^{slope(costs):.2f}": [(log2(nodes), ms) for nodes, ms in costs]
        for policy, costs in fleet_costs().items()
    }
    title = "One more gang of 8 to 32 pods on a fleet"
    return draw_lines(title, "nodes, as a power of two", "ms of processor time", lines)


def waiting() -> tuple[wb.Study, pd.DataFrame]:
    """The study of placements and its results, a row per run, with the columns that the table of results has."""
    study = wb.Study.read(WAITING.with_name("study.yaml"))
    table = pd.read_csv(WAITING).set_index(["load", "policy", "seed"])
    rows = []
    for run in study.runs:
        load = int(run.workload.split()[1])
        numbers = table.loc[(load, run.policy, run.seed)]
        scenario = {"topology": run.topology, "workload": run.workload, "discipline": run.discipline}
        rows.append({**scenario, "policy": run.policy, "seed": run.seed, **numbers})
    return study, pd.DataFrame(rows)


def placement_share() -> str:
    """The picture of docs/kube-scheduler.md, as ``workbench study show -o svg --metric gpu_use`` draws it."""
    study, results = waiting()
    shown = {"gpu_use": outcome("gpu_use")}
    differences = compare_in_pairs(results, study.compared_with, list(shown))
    view = StudyView(study.name, study.compared_with, results, differences, shown, 0, {})
    return draw_differences(view, "gpu_use")


#: Files below ``docs/images`` by name, and what draws each.
DRAWINGS: dict[str, Callable[[], str]] = {"fleets.svg": fleets, "placement-share.svg": placement_share}


def draw(name: str) -> None:
    """Make one drawing anew."""
    (IMAGES / name).write_text(DRAWINGS[name]() + "\n", encoding="utf-8")
