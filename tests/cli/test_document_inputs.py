"""Promises of the design documents, on inputs that were typed from their text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tests.cli.conftest import Run


@pytest.fixture(scope="session")
def typed(public_data: Path) -> Path:
    folder = public_data / "document-inputs"
    if not folder.is_dir():
        pytest.skip(f"no {folder.name} in the folder of public data")
    return folder


def test_nodes_that_are_not_ready_take_no_pods(run: Run, typed: Path) -> None:
    inputs = (typed / "tree.yaml", typed / "d1/notready.yaml", typed / "d0/h2x1.yaml")
    (job,) = run("place", *inputs, "-o", "json").json["jobs"]
    assert [pod["node"] for pod in job["pods"]] == ["node2", "node3"]
    rows = run("run", *inputs, "--until", "5", "-o", "json").json["pods"]
    assert sorted(row["node"] for row in rows) == ["node2", "node3"]


@pytest.mark.parametrize("wish", [("--lose", "a-1@10"), ("--fail-node", "a-1@10"), ("--fail-npu", "a-1:0@10")])
def test_pods_of_healthy_nodes_return_when_a_fault_restarts_their_job(
    run: Run, typed: Path, wish: tuple[str, str]
) -> None:
    arguments = ("run", typed / "d1/runrj.yaml", "--policy", "switch-affinity", "--run-seconds", "60", "-o", "json")
    before = {pod["name"]: pod["node"] for pod in run(*arguments, "--until", "5").json["pods"]}
    after = {pod["name"]: pod["node"] for pod in run(*arguments, *wish, "--until", "30").json["pods"]}
    (moved,) = [name for name, node in before.items() if node == "a-1"]
    assert after.pop(moved) == "h-2"
    assert after == {name: node for name, node in before.items() if name != moved}


@pytest.mark.parametrize("name", ["V1", "V2"])
def test_a_switch_stays_exclusive_while_its_job_is_rescheduled(run: Run, typed: Path, name: str) -> None:
    jobs = run("place", typed / f"d1/{name}.yaml", "--policy", "switch-affinity", "-o", "json").json["jobs"]
    assert {job["name"]: job["outcome"] for job in jobs} == {"a": "pending", "j": "placed"}


def test_states_are_published_after_a_restart_of_single_pods(run: Run, typed: Path) -> None:
    arguments = ("run", typed / "d1/run.yaml", "--policy", "switch-affinity", "--run-seconds", "60")
    text = run(*arguments, "--lose", "a-1@10", "--until", "30", "-o", "yaml").out
    (share,) = [one for one in yaml.safe_load_all(text) if one["metadata"]["name"] == "tor-share-cm"]
    states = json.loads(share["data"]["global-tor-info"])
    assert {name: state["IsSharedTor"] for name, state in states.items()} == {"A": 2, "H": 1, "I": 0}


@pytest.mark.parametrize("release", ["1.13", "1.15"])
def test_what_discovery_writes_is_accepted(run: Run, typed: Path, tmp_path: Path, release: str) -> None:
    out = tmp_path / "x.yaml"
    wanted = ("label", typed / "d4/lnodes.yaml", "--config", typed / "d4/controller.conf")
    assert run("topology", "discover", *wanted, "--release", release, "--out", out).status == 0
    assert run("validate", "--release", release, out).status == 0
