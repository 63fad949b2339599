"""Benchmark of every network topology format with 20,000 nodes, text to `Topology` and back.

Baseline: the bare parser.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import yaml
from measure import row

from workbench.formats.fabric.base import FabricFormat
from workbench.formats.fabric.registry import FORMATS
from workbench.formats.fabric.writing import node_manifests
from workbench.formats.load import load
from workbench.formats.write_manifests import to_yaml
from workbench.topology.presets import generate_scenario

# From the leaves up: 500 of 40 nodes, 50 of 10 leaves, 5 of 10 of those.
SIZES = (40, 10, 10, 5)
N_NODES = 20_000
REPEATS = 3
GOAL_READ_US = 0.4e6
#: Formats that are Kubernetes objects, a Node for each node.
MANIFESTS, GOAL_MANIFESTS_US = ("kueue", "kai", "koordinator", "cluster", "hypernodes-regex"), 1.5e6

Parse = Callable[[str], object]


def _yaml(text: str) -> object:
    return list(yaml.load_all(text, Loader=yaml.CSafeLoader))


def _lines(text: str) -> object:
    return [line.split() for line in text.splitlines()]


BASELINES: dict[str, tuple[str, Parse]] = {
    "slurm": ("str.split of each line", _lines),
    "slurm-block": ("str.split of each line", _lines),
    "snapshot": ("json.loads, parsing only", json.loads),
    "graphml": ("xml.etree, parsing only", ElementTree.fromstring),
}
YAML_BASELINE = ("yaml.CSafeLoader, parsing only", _yaml)


def rows() -> Iterator[dict[str, Any]]:
    """Two rows of the result table per format that can be written: reading into a snapshot, and writing."""
    snapshot = generate_scenario("balanced", sizes=SIZES, gpus=8).snapshot
    with tempfile.TemporaryDirectory() as folder:
        for entry in FORMATS:
            if entry.write is None:
                continue
            text = entry.write(snapshot).text
            if entry.name == "hypernodes-regex":
                # A pattern finds nothing without the Nodes.
                text += to_yaml(node_manifests(snapshot, {}))
            path = Path(folder, f"fabric.{entry.name}")
            path.write_text(text, encoding="utf-8")
            asked = entry.name if entry.detect is None and entry.read is not None else None
            yield _reading(entry, path, text, asked)
            writing = [_cpu_us(lambda entry=entry: entry.write(snapshot)) for _ in range(REPEATS)]
            yield row(f"write {entry.name}", f"{N_NODES} nodes", writing, "none", None, None, "CPU time")


def _reading(entry: FabricFormat, path: Path, text: str, asked: str | None) -> dict[str, Any]:
    baseline, parse = BASELINES.get(entry.name, YAML_BASELINE)
    ours = [_cpu_us(lambda: load(path, format=asked)) for _ in range(REPEATS)]
    return row(
        f"read {entry.name}",
        f"{N_NODES} nodes",
        ours,
        baseline,
        _cpu_us(lambda: parse(text)),
        GOAL_MANIFESTS_US if entry.name in MANIFESTS else GOAL_READ_US,
        f"{len(text) / 1e6:.1f} MB to a snapshot; CPU time",
        "p50",
    )


def _cpu_us(call: Callable[[], object]) -> float:
    """CPU time of one call in microseconds; wall-clock time would include other processes on the machine."""
    begin = time.process_time()
    call()
    return (time.process_time() - begin) * 1e6
