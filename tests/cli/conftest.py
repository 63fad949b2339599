"""A small cluster as files, and the command line as a function."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from workbench.cli import main

HYPERNODES = """\
apiVersion: topology.volcano.sh/v1alpha1
kind: HyperNode
metadata: {{name: {name}}}
spec:
  tier: {tier}
  members:
{members}"""
MEMBER = "  - {{type: {type}, selector: {{exactMatch: {{name: {name}}}}}}}\n"
NODE = """\
apiVersion: v1
kind: Node
metadata: {{name: {name}}}
status:
  allocatable: {{cpu: "96", memory: 1Ti, pods: "110", nvidia.com/gpu: "8"}}
"""
JOB = """\
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {{name: {name}, namespace: default}}
spec:
  minAvailable: {min_available}
  schedulerName: volcano
{topology}  tasks:
  - name: worker
    replicas: {pods}
    template:
      spec:
        containers:
        - name: main
          image: train
          resources: {{requests: {{cpu: "1", nvidia.com/gpu: "{gpus}"}}, limits: {{nvidia.com/gpu: "{gpus}"}}}}
"""


RUNNING = """\
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {{name: {gang}, namespace: default}}
spec: {{minMember: 1}}
status: {{phase: Running}}
---
apiVersion: v1
kind: Pod
metadata: {{name: {gang}-{node}, namespace: default, annotations: {{scheduling.k8s.io/group-name: {gang}}}}}
spec:
  schedulerName: volcano
  nodeName: {node}
  containers:
  - name: main
    image: train
    resources: {{requests: {{cpu: "1", nvidia.com/gpu: "8"}}, limits: {{nvidia.com/gpu: "8"}}}}
status: {{phase: Running}}
"""


def cluster_yaml(running: Mapping[str, str] = MappingProxyType({})) -> str:
    """Leaves s0 over node0, node1 and s1 over node2, node3; s2 above.

    `running` names the gang of a pod that holds all GPUs of a node, by the node.
    """
    parts = [NODE.format(name=f"node{i}") for i in range(4)]
    parts += [RUNNING.format(gang=gang, node=node) for node, gang in running.items()]
    for leaf, nodes in (("s0", ("node0", "node1")), ("s1", ("node2", "node3"))):
        members = "".join(MEMBER.format(type="Node", name=n) for n in nodes)
        parts.append(HYPERNODES.format(name=leaf, tier=1, members=members))
    members = "".join(MEMBER.format(type="HyperNode", name=n) for n in ("s0", "s1"))
    parts.append(HYPERNODES.format(name="s2", tier=2, members=members))
    return "---\n".join(parts)


def job_yaml(
    name: str, pods: int, gpus: int = 8, highest_tier: int | None = None, min_available: int | None = None
) -> str:
    """A Volcano Job; hard up to a tier if one is given."""
    topology = f"  networkTopology: {{mode: hard, highestTierAllowed: {highest_tier}}}\n" if highest_tier else ""
    return JOB.format(
        name=name,
        pods=pods,
        gpus=gpus,
        topology=topology,
        min_available=pods if min_available is None else min_available,
    )


MATRIX = "\n".join(
    ",".join("700" if i == j else "48" if i // 4 == j // 4 else "15" for j in range(8)) for i in range(8)
)


@dataclass
class Result:
    """What a command left behind."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Result]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Call the command line in this process."""
    monkeypatch.setenv("COLUMNS", "80")

    def call(*arguments: object) -> Result:
        status = main([str(a) for a in arguments])
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return Result(status, captured.out, captured.err)

    return call


@pytest.fixture
def on_terminal(run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Call the command line in this process as on a terminal of 80 columns without colours."""
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("NO_COLOR", "1")

    def call(*arguments: object) -> Result:
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
        return run(*arguments)

    return call


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with cluster.yaml, fits.yaml (hard, tier 1), stuck.yaml (hard, tier 1, three nodes) and matrix.csv."""
    (tmp_path / "cluster.yaml").write_text(cluster_yaml(), encoding="utf-8")
    (tmp_path / "fits.yaml").write_text(job_yaml("fits", 2, highest_tier=1), encoding="utf-8")
    (tmp_path / "stuck.yaml").write_text(job_yaml("stuck", 3, highest_tier=1), encoding="utf-8")
    (tmp_path / "matrix.csv").write_text(MATRIX, encoding="utf-8")
    return tmp_path
