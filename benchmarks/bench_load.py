"""Benchmark of loading 20,000 Nodes from YAML and JSON into a snapshot, beside the parsers alone, and of
writing YAML.
"""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml

from workbench.formats.load import load
from workbench.formats.write_manifests import to_yaml

N_NODES = 20_000
REPEATS = 3


def node(i: int) -> dict[str, Any]:
    """The manifest of a Node as a GPU cluster reports it, without its list of images; `i` gives the name."""
    name = f"node-{i:05d}"
    offered = {"memory": "1040Gi", "nvidia.com/gpu": "8", "pods": "110", "ephemeral-storage": "480Gi"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "uid": f"00000000-0000-4000-8000-{i:012d}",
            "labels": {
                "kubernetes.io/hostname": name,
                "kubernetes.io/arch": "amd64",
                "topology.kubernetes.io/zone": f"zone-{i // 5000}",
                "rack": f"rack-{i // 40}",
            },
        },
        "spec": {"podCIDR": f"10.{i // 256}.{i % 256}.0/24"},
        "status": {
            "capacity": {"cpu": "96", **offered},
            "allocatable": {"cpu": "95500m", **offered},
            "addresses": [{"type": "InternalIP", "address": f"10.{i // 256}.{i % 256}.1"}],
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
            "nodeInfo": {"architecture": "amd64", "kubeletVersion": "v1.31.0", "operatingSystem": "linux"},
        },
    }


def rows() -> Iterator[dict[str, Any]]:
    """Three rows: YAML beside PyYAML's CSafeLoader, JSON beside the standard library, writing beside CSafeDumper."""
    nodes = [node(i) for i in range(N_NODES)]
    with tempfile.TemporaryDirectory() as folder:
        as_yaml, as_json = Path(folder, "nodes.yaml"), Path(folder, "nodes.json")
        as_yaml.write_text(to_yaml(nodes))
        as_json.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": nodes}))
        yield _reading("YAML", as_yaml, "yaml.CSafeLoader, parsing only", _parse_yaml, 1.5e6)
        yield _reading("JSON", as_json, "json.loads, parsing only", _parse_json, 0.6e6)
        size = as_yaml.stat().st_size
        yield _row("write YAML", size, "yaml.CSafeDumper", lambda: to_yaml(nodes), lambda: _dump(nodes), 1e6)


def _dump(nodes: list[dict[str, Any]]) -> object:
    return yaml.dump_all(nodes, Dumper=yaml.CSafeDumper, sort_keys=False)


def _parse_yaml(path: Path) -> object:
    return list(yaml.load_all(path.read_bytes(), Loader=yaml.CSafeLoader))


def _parse_json(path: Path) -> object:
    return json.loads(path.read_bytes())


def _reading(kind: str, path: Path, baseline: str, parse: Callable[[Path], object], goal_us: float) -> dict[str, Any]:
    name = f"load {kind} to a snapshot"
    return _row(name, path.stat().st_size, baseline, lambda: load(path), lambda: parse(path), goal_us)


def _row(
    name: str, size: int, baseline: str, ours: Callable[[], object], theirs: Callable[[], object], goal_us: float
) -> dict[str, Any]:
    # In turns, because what else the machine does changes over such long calls.
    pairs = [(_seconds(ours), _seconds(theirs)) for _ in range(REPEATS)]
    seconds = sorted(pair[0] for pair in pairs)
    return {
        "benchmark": name,
        "size": f"{N_NODES} nodes",
        "ours_us_p50": statistics.median(seconds) * 1e6,
        "ours_us_p99": seconds[-1] * 1e6,
        "baseline": baseline,
        "baseline_us": statistics.median(pair[1] for pair in pairs) * 1e6,
        "goal_us": goal_us,
        "goal_of": "p50",
        "note": f"{size / 1e6:.1f} MB; p99 is the slowest of {REPEATS}",
        "fault": "",
    }


def _seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start
