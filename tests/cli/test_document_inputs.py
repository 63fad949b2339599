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


@pytest.mark.slow
def test_gpus_without_a_domain_are_mended_in_nodes_and_jobs(run: Run, typed: Path) -> None:
    result = run("place", typed / "d0/c44.yaml", typed / "d0/hj.yaml", "-o", "json")
    assert [job["outcome"] for job in result.json["jobs"]] == ["placed"]
    assert result.err.count("Nodes offer the resource 'gpu'") == 1


def test_hypernodes_have_conditions(run: Run, typed: Path) -> None:
    text = run("run", typed / "tree.yaml", typed / "nodes.yaml", typed / "d0/h2.yaml", "--until", "5", "-o", "yaml").out
    hypernodes = [one for one in yaml.safe_load_all(text) if one["kind"] == "HyperNode"]
    assert {(c["type"], c["status"]) for one in hypernodes for c in one["status"]["conditions"]} == {("Ready", "True")}


def test_a_hyperjob_is_expanded_and_ranks_are_those_of_its_jobs(run: Run, typed: Path) -> None:
    result = run("expand", typed / "d0/hjs.yaml")
    made = [(one["kind"], one["metadata"]["name"]) for one in yaml.safe_load_all(result.out)]
    assert [name for kind, name in made if kind == "Job"] == ["hj-j-0", "hj-j-1"]
    assert [name for kind, name in made if kind == "Pod"] == [f"hj-j-{j}-worker-{i}" for j in (0, 1) for i in (0, 1)]
    inputs = (typed / "tree.yaml", typed / "nodes.yaml", typed / "d0/hjs.yaml")
    (job,) = run("place", *inputs, "-o", "json").json["jobs"]
    assert [pod["rank"] for pod in job["pods"]] == [0, 1, 0, 1]


def test_gpu_cores_of_the_device_are_whole_gpus(run: Run, typed: Path) -> None:
    result = run("place", typed / "d3/core.yaml", "--policy", "koordinator-gpu", "-o", "json")
    (job,) = result.json["jobs"]
    assert job["outcome"] == "placed" and len(job["pods"][0]["gpus"]) == 1
    assert "write nvidia.com/gpu: 1" in result.err


def test_every_slip_of_a_document_is_told(run: Run, typed: Path) -> None:
    said = run("topology", "show", typed / "d0/block0.yaml").err
    assert "lines 8, 17, 26, 35, 44, 52, 61: the key 'name' twice" in said and "line 45: a second 'version'" in said
    assert said.count("\n") == 1 and " … " not in said


def test_one_bad_hypernode_stops_neither_lint_nor_place(run: Run, typed: Path) -> None:
    result = run("topology", "lint", typed / "d0/adm.yaml", "-o", "json")
    refused = {one["hypernode"] for one in result.json["findings"] if one["rule"] == "refused-by-admission"}
    assert result.status == 1
    assert refused == {"badregex", "badtype", "both", "negstatus", "neither", "notier", "three", "tierstring"}
    placed = run("place", typed / "d0/adm.yaml", typed / "nodes.yaml", typed / "d0/h2x1.yaml", "-o", "json")
    assert [job["outcome"] for job in placed.json["jobs"]] == ["placed"]
    for name in ("badregex", "badtype"):
        assert f"refused: HyperNode {name}: " in placed.err


def test_objects_without_api_version_are_told_one_by_one(run: Run, typed: Path) -> None:
    judged = run("validate", typed / "d0/ex1.yaml", "-o", "json").json
    assert judged["refused"] == len(judged["objects"]) == 7
    assert all("write apiVersion: topology.volcano.sh/v1alpha1" in one["message"] for one in judged["objects"])
    linted = run("topology", "lint", typed / "d0/ex1.yaml", "-o", "json").json
    assert {one["hypernode"] for one in linted["findings"]} >= {f"s{i}" for i in range(7)}
    expanded = run("expand", typed / "d0/pt.yaml")
    assert expanded.status == 0 and "write apiVersion: batch.volcano.sh/v1alpha1" in expanded.err


def test_a_wrong_plugin_argument_is_refused_by_every_command(run: Run, typed: Path) -> None:
    cluster, job = (typed / "tree.yaml", typed / "nodes.yaml"), typed / "d2/badport.yaml"
    for arguments in (("validate", job), ("expand", job), ("place", *cluster, job), ("run", *cluster, job)):
        result = run(*arguments)
        assert result.status in (1, 2)
        assert 'invalid value "abc" for -port: parse error' in result.err + result.out


@pytest.mark.parametrize("command", [("place",), ("run", "--until", "5")])
def test_a_deployment_without_a_scheduler_is_told(run: Run, typed: Path, command: tuple[str, ...]) -> None:
    result = run(*command, typed / "tree.yaml", typed / "nodes.yaml", typed / "d4/depnone.yaml")
    assert "schedulerName is missing" in result.err + result.out


def test_a_stateful_set_is_placed_as_run_does(run: Run, typed: Path) -> None:
    inputs = (typed / "tree.yaml", typed / "nodes.yaml", typed / "d4/sts.yaml")
    (job,) = run("place", *inputs, "-o", "json").json["jobs"]
    lived = run("run", *inputs, "--until", "5", "-o", "json").json["pods"]
    assert {pod["name"]: pod["node"] for pod in job["pods"]} == {pod["name"]: pod["node"] for pod in lived}


def test_a_member_that_volcano_ignores_is_warned_of(run: Run, typed: Path) -> None:
    result = run("validate", typed / "d4/nl.yaml", "-o", "json").json
    warned = {one["name"]: [w["code"] for w in one["warnings"]] for one in result["objects"]}
    assert warned == {"leaf": [], "parent": ["ignored-member"]}


def test_the_route_between_two_nodes(run: Run, typed: Path) -> None:
    shown = run("topology", "path", "node0", "node2", typed / "tree.yaml", typed / "nodes.yaml")
    assert shown.out == "node0 → s0 → s4 → s1 → node2\nmeet in s4 (tier 2)\n"
    told = run("topology", "path", "node0", "node4", typed / "tree.yaml", "-o", "json").json
    assert told == {"route": ["node0", "s0", "s4", "s6", "s5", "s2", "node4"], "hypernode": "s6", "tier": 3}
    assert told == run("topology", "show", typed / "tree.yaml", "--route", "node0,node4", "-o", "json").json
    wrong = run("topology", "path", "node0", "nod4", typed / "tree.yaml")
    assert wrong.status == 2 and "unknown node 'nod4'; did you mean node4" in wrong.err


def test_pods_carry_the_variables_of_the_node_agent(run: Run, typed: Path) -> None:
    text = run("run", typed / "d3/two.yaml", "--policy", "koordinator-gpu", "--until", "5", "-o", "yaml").out
    pods = [one for one in yaml.safe_load_all(text) if one["kind"] == "Pod"]
    seen = []
    for pod in pods:
        (container,) = pod["spec"]["containers"]
        variables = {one["name"]: one["value"] for one in container["env"]}
        seen.append((*variables.values(), pod["metadata"]["annotations"]["topology-workbench/host-gpus-0"]))
    assert seen == [("4,5,6,7", "0,3", "4,7"), ("4,5,6,7", "1,2", "5,6")]
