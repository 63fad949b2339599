"""`place --policy switch-affinity`: on a switch table, on plain HyperNodes, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tests.cli.conftest import Run, job_yaml
from tests.objects.test_tor_node import config_map, payload


def labelled(text: str, label: str, framework: str = "pytorch") -> str:
    return text.replace(
        "namespace: default}", f"namespace: default, labels: {{tor-affinity: {label}, framework: {framework}}}}}"
    )


def npus(text: str) -> str:
    return text.replace("nvidia.com/gpu", "huawei.com/Ascend910").replace('cpu: "1", ', "")


def test_the_bare_payload_is_a_cluster(run: Run, tmp_path: Path) -> None:
    (tmp_path / "tor.json").write_text(json.dumps(payload()), "utf-8")
    (tmp_path / "job.yaml").write_text(labelled(npus(job_yaml("big", 4)), "large-model-schema"), "utf-8")
    result = run(
        "place", "-f", tmp_path / "tor.json", "-f", tmp_path / "job.yaml", "--policy", "switch-affinity", "-o", "json"
    )
    assert result.status == 0
    (placed,) = result.json["jobs"]
    assert [pod["rank"] for pod in placed["pods"]] == [0, 1, 2, 3]
    assert [pod["node"] for pod in placed["pods"]] == ["2.0.0.0", "2.0.0.1", "2.0.1.0", "2.0.1.1"]
    assert placed["pods"][0]["annotations"]["isSharedTor"] == "2"
    assert placed["pods"][0]["annotations"]["isHealthy"] == "0"
    assert placed["pods"][3]["annotations"]["hccl/rankIndex"] == "3"
    assert placed["warnings"] == []


@pytest.mark.parametrize("policy", ["switch-affinity", "switch-affinity-1.0", "switch-affinity-single-layer"])
def test_tier_1_hyper_nodes_are_switches(run: Run, files: Path, policy: str) -> None:
    (files / "pad.yaml").write_text(labelled(job_yaml("pad", 2), "normal-schema"), "utf-8")
    result = run("place", "-f", files / "cluster.yaml", "-f", files / "pad.yaml", "--policy", policy, "--explain")
    assert result.status == 0
    assert "node0" in result.out and "node1" in result.out
    assert "s1" in result.out


def test_a_wrong_label_and_another_framework_are_told(run: Run, files: Path) -> None:
    (files / "a.yaml").write_text(labelled(job_yaml("odd", 2), "big"), "utf-8")
    (files / "b.yaml").write_text(labelled(job_yaml("ms", 2), "normal-schema", "MindSpore"), "utf-8")
    jobs = ("-f", files / "a.yaml", "-f", files / "b.yaml")
    result = run("place", "-f", files / "cluster.yaml", *jobs, "--policy", "switch-affinity", "-o", "json")
    assert result.status == 1
    other, odd = sorted(result.json["jobs"], key=lambda row: row["name"])
    assert odd["outcome"] == "pending"
    assert odd["reasons"][0]["code"] == "invalid-label"
    assert odd["reasons"][0]["message"].endswith("tor-affinity label value is big")
    assert [w["code"] for w in other["warnings"]] == ["unsupported-framework"]


def test_without_switches_a_job_of_this_kind_is_invalid(run: Run, files: Path) -> None:
    nodes = "\n---\n".join(
        part for part in (files / "cluster.yaml").read_text("utf-8").split("---\n") if "HyperNode" not in part
    )
    (files / "flat.yaml").write_text(nodes, "utf-8")
    (files / "a.yaml").write_text(labelled(job_yaml("a", 2), "normal-schema"), "utf-8")
    result = run(
        "place", "-f", files / "flat.yaml", "-f", files / "a.yaml", "--policy", "switch-affinity", "-o", "json"
    )
    assert result.status == 1
    assert "basic-tor-node-cm is not imported" in result.json["jobs"][0]["reasons"][0]["message"]


def test_jobs_without_a_label_may_be_given_one(run: Run, files: Path) -> None:
    arguments = [
        "place",
        "-f",
        files / "cluster.yaml",
        "-f",
        files / "fits.yaml",
        "-o",
        "json",
        "--policy",
        "switch-affinity",
    ]
    (plain,) = run(*arguments).json["jobs"]
    assert plain["warnings"][0]["code"] == "no-switch-affinity"
    assert "isSharedTor" not in plain["pods"][0]["annotations"]
    (common,) = run(*arguments, "--set", "default_label=normal-schema").json["jobs"]
    assert [warning["code"] for warning in common["warnings"]] == ["not-expressed"]  # its networkTopology
    assert common["pods"][0]["annotations"]["isSharedTor"] == "2"


@pytest.mark.parametrize(
    ("change", "want"),
    [
        (lambda data: data.update(tor_count=1), "tor_count"),
        (lambda data: data["server_list"][1]["server"][0].update(server_ip="2.0.0.0"), "listed twice"),
        (lambda data: data.pop("server_list"), "server_list"),
    ],
)
def test_a_bad_config_map_is_bad_input(run: Run, tmp_path: Path, change, want: str) -> None:
    data = payload()
    change(data)
    path = tmp_path / "cm.yaml"
    path.write_text(json.dumps(config_map(data)), "utf-8")
    result = run("place", "-f", path, "--policy", "switch-affinity")
    assert result.status == 2
    assert want in result.err and "cm.yaml" in result.err and "data.tor_info" in result.err


def test_json_that_is_none_is_bad_input(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "cm.yaml"
    path.write_text(json.dumps(config_map("{nonsense")), "utf-8")
    result = run("place", "-f", path, "--policy", "switch-affinity")
    assert result.status == 2
    assert "not JSON" in result.err


def test_the_vendors_own_table_is_a_cluster(run: Run, tmp_path: Path, public_data: Path) -> None:
    """Four switches of four: tor-0 and tor-2 shared, tor-1 idle, tor-3 shared and unhealthy."""
    for name, pods, label in (("big", 7, "large-model-schema"), ("pad", 2, "large-model-schema")):
        (tmp_path / f"{name}.yaml").write_text(labelled(npus(job_yaml(name, pods)), label), "utf-8")
    files = ("-f", public_data / "ascend" / "tor-node.json", "-f", tmp_path / "big.yaml", "-f", tmp_path / "pad.yaml")
    result = run("place", *files, "--policy", "switch-affinity", "-o", "json")
    assert result.status == 0
    big, pad = result.json["jobs"]
    first, last = ["1.1.0.4", "1.1.0.5", "1.1.0.6", "1.1.0.7"], ["1.1.0.0", "1.1.0.1", "1.1.0.2"]
    assert [pod["node"] for pod in big["pods"]] == first + last
    assert [pod["node"] for pod in pad["pods"]] == ["1.1.0.12", "1.1.0.13"]
    assert big["pods"][6]["annotations"]["sharedTorIp"] == "1.0.0.0"
    assert pad["pods"][0]["annotations"]["isSharedTor"] == "0"


def test_each_switch_is_told_before_and_after_and_published_on_request(run: Run, tmp_path: Path) -> None:
    (tmp_path / "tor.json").write_text(json.dumps(payload()), "utf-8")
    (tmp_path / "job.yaml").write_text(labelled(npus(job_yaml("big", 4)), "large-model-schema"), "utf-8")
    share = tmp_path / "share.yaml"
    command = ("place", tmp_path / "tor.json", tmp_path / "job.yaml", "--policy", "switch-affinity")
    result = run(*command, "-o", "json", "--tor-share", share)
    assert result.status == 0
    switches = result.json["switches"]
    assert all(set(switch) == {"switch", "address", "before", "after"} for switch in switches)
    assert {switch["before"] for switch in switches} == {"idle"}
    assert [switch["after"] for switch in switches][:2] == ["exclusive", "exclusive"]
    published = json.loads(yaml.safe_load(share.read_text("utf-8"))["data"]["global-tor-info"])
    states = {"idle": 0, "shared/healthy": 1, "exclusive": 2}
    assert {address: one["IsSharedTor"] for address, one in published.items()} == {
        switch["address"]: states[switch["after"]] for switch in switches
    }
    assert "exclusive" in run(*command).out
    # What was published is where the next session begins.
    again = run(
        "place", tmp_path / "tor.json", share, tmp_path / "job.yaml", "--policy", "switch-affinity", "-o", "json"
    )
    assert [switch["before"] for switch in again.json["switches"]] == [switch["after"] for switch in switches]


def test_a_cluster_without_switches_has_none_to_publish(run: Run, tmp_path: Path) -> None:
    node = "apiVersion: v1\nkind: Node\nmetadata: {name: n0}\nstatus: {allocatable: {cpu: 8, nvidia.com/gpu: 8}}\n---\n"
    (tmp_path / "all.yaml").write_text(node + job_yaml("one", 1), "utf-8")
    result = run("place", tmp_path / "all.yaml", "--policy", "gang", "--tor-share", tmp_path / "share.yaml")
    assert result.status == 2 and "--tor-share: the cluster has no switches" in result.err
    assert not (tmp_path / "share.yaml").exists()
