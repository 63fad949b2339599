"""`workbench live compare --recorded` on a small recording of our own."""

from __future__ import annotations

import copy
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run

CONFIG = """\
actions: "enqueue, allocate"
tiers:
- plugins:
  - name: gang
  - name: predicates
  - name: nodeorder
  - name: network-topology-aware
"""
CONTAINER = {"name": "c", "image": "x", "resources": {"requests": {"nvidia.com/gpu": "4"}}}
TEMPLATE = {"spec": {"schedulerName": "volcano", "containers": [CONTAINER]}}


def recorded_job(name: str, *nodes: str | None) -> dict[str, Any]:
    spec = {
        "schedulerName": "volcano",
        "queue": "default",
        "minAvailable": len(nodes),
        "networkTopology": {"mode": "hard", "highestTierAllowed": 1},
        "tasks": [{"name": "w", "replicas": len(nodes), "minAvailable": len(nodes), "template": TEMPLATE}],
    }
    manifest = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": name}, "spec": spec}
    group = {
        "spec": {
            "minMember": len(nodes),
            "queue": "default",
            "networkTopology": spec["networkTopology"],
        }
    }
    pods = {f"{name}-w-{i}": node for i, node in enumerate(nodes)}
    return {"manifest": manifest, "stored_spec": spec, "pods": pods, "podgroup": group}


def session(*jobs: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Two leaves with two nodes of 4 GPUs each."""
    hypernodes = [
        {"name": f"leaf{i}", "tier": 1, "type": "Node", "members": [f"n{2 * i}", f"n{2 * i + 1}"]} for i in range(2)
    ]
    nodes = [f"n{i}" for i in range(4)]
    found = {"seed": 7, "release": "1.15.1", "config": CONFIG, "gpus": 4, "nodes": nodes, "hypernodes": hypernodes}
    return {**found, "jobs": list(jobs), **changes}


@pytest.fixture
def recording(tmp_path: Path) -> Any:
    def write(*sessions: dict[str, Any]) -> Path:
        path = tmp_path / "sessions.jsonl"
        lines = [{"about": "a recording"}, *sessions]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return path

    return write


AGREEING = session(recorded_job("a", "n2", "n3"), recorded_job("b", "n1", "n0"), recorded_job("c", None, None))


def test_a_scheduler_that_chose_another_equal_agrees(run: Run, recording: Any) -> None:
    result = run("live", "compare", "--recorded", recording(AGREEING), "-o", "json")
    assert result.status == 0
    rows = [(one["job"], one["verdict"], one["pods"], one["observed_domain"], one["equals"]) for one in result.json]
    assert rows == [
        ("default/a", "placed", 2, "leaf1", ["leaf0", "leaf1"]),
        ("default/b", "placed", 2, "leaf0", ["leaf0"]),
        ("default/c", "pending", 0, None, []),
    ]
    assert all(one["agrees"] and one["policy"] == "volcano-1.15" for one in result.json)


@pytest.mark.parametrize(
    ("jobs", "difference"),
    [
        ([recorded_job("a", "n1", "n2")], "inside leaf0 or leaf1, but the cluster chose another HyperNode"),
        ([recorded_job("a", None, None)], "2 pods placed, but the cluster placed none"),
        ([recorded_job("a", "n0", None)], "2 pods placed, but the cluster placed 1"),
        (
            [recorded_job("a", "n0", "n1"), recorded_job("b", "n2", "n3"), recorded_job("c", "n0", "n1")],
            "pending, but the cluster placed 2 pods",
        ),
        ([recorded_job("a", "n0", "elsewhere")], "inside leaf0 or leaf1, but the cluster chose another HyperNode"),
    ],
)
def test_what_the_rules_do_not_allow_is_told(run: Run, recording: Any, jobs: list[Any], difference: str) -> None:
    result = run("live", "compare", "--recorded", recording(session(*jobs)), "-o", "json")
    assert result.status == 1
    assert (result.json[-1]["agrees"], result.json[-1]["difference"]) == (False, difference)


def test_the_table_counts_and_lists_what_differs(run: Run, recording: Any) -> None:
    path = recording(AGREEING, session(recorded_job("a", None, None), seed=8))
    result = run("live", "compare", "--recorded", path, "--policies", "volcano-1.15,binpack")
    assert result.status == 1
    lines = [line.split() for line in result.out.splitlines()]
    assert ["volcano-1.15", "4", "3", "3", "3", "2", "of", "2"] in lines
    assert ["8", "default/a", "binpack", "2", "pods", "placed,", "but", "the", "cluster", "placed", "none"] in lines


def test_a_compressed_recording_is_read(run: Run, recording: Any, tmp_path: Path) -> None:
    packed = tmp_path / "sessions.jsonl.gz"
    packed.write_bytes(gzip.compress(recording(AGREEING).read_bytes()))
    assert run("live", "compare", "--recorded", packed, "-o", "json").status == 0
    packed.write_bytes(packed.read_bytes()[:-20])
    result = run("live", "compare", "--recorded", packed)
    assert result.status == 2 and "cannot be read" in result.err


def without(key: str) -> dict[str, Any]:
    made = copy.deepcopy(AGREEING)
    del made[key]
    return made


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (without("config"), "line 2: no recorded session"),
        (without("nodes"), "line 2: no recorded session"),
        (session({"manifest": {}}), "session 7: a job that cannot be replayed"),
        (session(recorded_job("a", "n0"), release="0.9.1"), "no policy stands for the release (found '0.9.1'"),
        (session(recorded_job("a", "n0"), config="actions: ["), "line 2"),
    ],
)
def test_a_recording_that_cannot_be_replayed_is_one_line(run: Run, recording: Any, broken: Any, said: str) -> None:
    result = run("live", "compare", "--recorded", recording(broken))
    assert (result.status, result.out) == (2, "")
    assert said in result.err and len(result.err.splitlines()) == 1


def test_a_file_that_is_no_recording_is_one_line(run: Run, tmp_path: Path) -> None:
    (tmp_path / "x").write_text("{]\n")
    result = run("live", "compare", "--recorded", tmp_path / "x")
    assert result.status == 2
    assert result.err.startswith(f"workbench: {tmp_path / 'x'}: line 1: not JSON")
    assert run("live", "compare", "--recorded", tmp_path / "none").status == 2


def test_the_running_gangs_of_a_file_are_placed_anew(run: Run) -> None:
    result = run("live", "compare", "datasets/demo", "--policies", "volcano-1.13,volcano-1.15", "-o", "json")
    assert result.status == 0
    assert [(one["job"], one["policy"], one["observed_domain"]) for one in result.json] == [
        ("serving/chat-0", "volcano-1.13", "s0"),
        ("serving/chat-0", "volcano-1.15", "s0"),
        ("serving/chat-1", "volcano-1.13", "s1"),
        ("serving/chat-1", "volcano-1.15", "s1"),
    ]
    lines = [line.split() for line in run("live", "compare", "datasets/demo").out.splitlines()]
    assert ["-", "serving/chat-1", "1", "s1", "placed"] in lines


def test_a_recording_and_a_path_together_are_refused(run: Run, tmp_path: Path) -> None:
    result = run("live", "compare", "datasets/demo", "--recorded", tmp_path / "x")
    assert result.status == 2 and result.err.startswith("workbench: --recorded: nothing else is read")
