"""A study of a few runs that takes no time: four nodes of eight GPUs, a dozen jobs, drawn arrivals."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import cluster_yaml
from workbench.study import Study

__all__ = ["STUDY", "small_study", "write_small"]

STUDY = """\
name: small
topologies:
  - name: four nodes
    path: cluster.yaml
workloads:
  - trace: jobs.csv
    load: 90
policies: [binpack, spread]
disciplines: [fifo, best-effort]
seeds: 0-2
faults: {node_per_1000_days: 20000, repair_s: 300}
"""


def write_small(folder: Path, text: str = STUDY, jobs: int = 12) -> Path:
    """Write the study and its inputs into a folder; returns the study's file."""
    lines = [f"job-{i},{60 * i},{600 + 97 * i},{1 + i % 3},{(8, 4, 2)[i % 3]}" for i in range(jobs)]
    (folder / "jobs.csv").write_text("\n".join(["name,submit_s,duration_s,pods,gpus_per_pod", *lines, ""]))
    (folder / "cluster.yaml").write_text(cluster_yaml())
    (folder / "study.yaml").write_text(text)
    return folder / "study.yaml"


def small_study(folder: Path, text: str = STUDY) -> Study:
    """The study that `write_small` writes, read."""
    return Study.read(write_small(folder, text))
