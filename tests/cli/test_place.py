from __future__ import annotations

import csv
import io
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from tests.cli.conftest import Run, job_yaml
from workbench.model.placement import Decision
from workbench.policies.volcano.session.session import VolcanoScheduler


def test_a_job_that_fits_is_placed_in_the_shape_others_rely_on(run: Run, files: Path) -> None:
    result = run("place", "-f", files / "cluster.yaml", "-f", files / "fits.yaml", "-o", "json")
    assert result.status == 0
    assert set(result.json) >= {"policy", "parameters", "jobs", "metrics"}
    assert result.json["policy"] == "volcano-1.15"
    (job,) = result.json["jobs"]
    assert (job["namespace"], job["name"], job["outcome"]) == ("default", "fits", "placed")
    assert (job["hypernode"], job["tier"]) == ("s0", 1)
    assert {"unplaced", "reasons", "warnings"} <= set(job)
    assert [pod["node"] for pod in job["pods"]] == ["node0", "node1"]
    assert set(job["pods"][0]) == {"name", "node", "gpus", "rank", "annotations", "environment"}
    assert job["pods"][0]["gpus"] == list(range(8))


def test_1_13_says_what_it_writes_on_the_pod_group_and_1_15_writes_nothing(run: Run, files: Path) -> None:
    for policy, written in (("volcano-1.13", {"volcano.sh/job-allocated-hypernode": "s0"}), ("volcano-1.15", None)):
        answer = run("place", files / "cluster.yaml", files / "fits.yaml", "--policy", policy, "-o", "json")
        (job,) = answer.json["jobs"]
        assert job.get("group_annotations") == written


def test_ranks_follow_the_placement_where_asked(run: Run, files: Path) -> None:
    answer = run("place", files / "cluster.yaml", files / "fits.yaml", "--rank-order", "-o", "json")
    (job,) = answer.json["jobs"]
    order = job["rank_order"]
    assert [pod["rank"] for pod in order["pods"]] == list(range(len(job["pods"])))
    assert sum(order["crossings_before"].values()) == sum(order["crossings_after"].values()) == len(job["pods"])
    table = run("place", "datasets/demo", "--policy", "random", "--set", "seed=3", "--rank-order")
    assert "ring crossings" in table.out and "by HyperNode" in table.out and "new rank" in table.out


def test_a_job_that_does_not_fit_is_pending_with_the_tier_and_counts(run: Run, files: Path) -> None:
    result = run("place", "-f", files / "cluster.yaml", "-f", files / "stuck.yaml")
    assert result.status == 1
    assert "default/stuck is pending" in result.out
    assert "tier" in result.out and "2 of 3" in result.out


@pytest.mark.parametrize("command", [("place",), ("compare", "--policies", "gang")])
def test_what_the_input_leaves_open_or_contradicts_is_said(run: Run, files: Path, command: tuple[str, ...]) -> None:
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: lost}\nspec: {nodeName: nowhere, containers: [{name: c}]}\n"
    (files / "lost.yaml").write_text(pod, encoding="utf-8")
    result = run(*command, "-f", files / "cluster.yaml", "-f", files / "fits.yaml", "-f", files / "lost.yaml")
    assert result.status == 0
    assert "note: 1 running pod is on a node that is not in the input\n" in result.err


def test_with_a_higher_tier_allowed_it_fits(run: Run, files: Path) -> None:
    (files / "wider.yaml").write_text(job_yaml("wider", 3, highest_tier=2), encoding="utf-8")
    result = run("place", "-f", files / "cluster.yaml", "-f", files / "wider.yaml", "-o", "json")
    assert (result.status, result.json["jobs"][0]["hypernode"]) == (0, "s2")


def test_a_matrix_by_pattern_decides_the_gpus(run: Run, files: Path) -> None:
    (files / "part.yaml").write_text(job_yaml("part", 1, gpus=4), encoding="utf-8")
    arguments = ["place", "-f", files / "cluster.yaml", "-f", files / "part.yaml", "-o", "json"]
    result = run(*arguments, "--matrix", f"node.*={files / 'matrix.csv'}")
    assert result.json["metrics"]["bottleneck_gb_s"] == 48.0
    assert result.json["jobs"][0]["pods"][0]["gpus"] in ([0, 1, 2, 3], [4, 5, 6, 7])
    assert run(*arguments).json["metrics"]["bottleneck_gb_s"] is None


def test_yaml_says_the_same_as_json(run: Run, files: Path) -> None:
    arguments = ["place", "-f", files / "cluster.yaml", "-f", files / "fits.yaml"]
    assert yaml.safe_load(run(*arguments, "-o", "yaml").out) == run(*arguments, "-o", "json").json


def test_a_matrix_without_a_file_is_told_as_the_option(run: Run, files: Path) -> None:
    result = run("place", "-f", files / "cluster.yaml", "-f", files / "fits.yaml", "--matrix", "node.*=")
    assert result.status == 2
    assert result.err == "workbench: --matrix: no file (found 'node.*=', expected PATTERN=FILE)\n"


def test_the_same_input_gives_the_same_bytes(run: Run, files: Path) -> None:
    arguments = ["place", "-f", files, "--policy", "random", "--set", "seed=3", "-o", "json"]
    assert run(*arguments).out == run(*arguments).out


def test_parameters_reach_the_policy(run: Run, files: Path) -> None:
    arguments = ["place", "-f", files / "cluster.yaml", "-f", files / "fits.yaml", "-o", "json"]
    result = run(*arguments, "--policy", "random", "--set", "seed=7", "--set", "gpu.symmetric=max")
    assert result.json["parameters"]["seed"] == 7
    assert result.json["parameters"]["gpu.symmetric"] == "max"


def test_explain_tells_what_was_dropped_and_why(run: Run, files: Path) -> None:
    arguments = ["place", "-f", files / "cluster.yaml", "-f", files / "stuck.yaml", "--explain"]
    assert "above the highest allowed" in run(*arguments).out
    explanation = run(*arguments, "-o", "json").json["explanations"][0]
    assert (explanation["job"], explanation["outcome"]) == ("default/stuck", "pending")
    assert {"name", "kept", "why"} <= set(explanation["candidates"][0])


def test_explaining_runs_one_session(run: Run, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sessions = []
    schedule = VolcanoScheduler.schedule

    def noted(self: VolcanoScheduler, *arguments: Any) -> list[Decision]:
        sessions.append(self.name)
        return schedule(self, *arguments)

    monkeypatch.setattr(VolcanoScheduler, "schedule", noted)
    result = run("place", "-f", files / "cluster.yaml", "-f", files / "fits.yaml", "--explain", "-o", "json")
    assert result.json["explanations"][0]["candidates"]
    assert len(sessions) == 1


def test_explain_sees_the_cluster_as_earlier_jobs_left_it(run: Run, files: Path) -> None:
    (files / "later.yaml").write_text(job_yaml("later", 2, highest_tier=1), encoding="utf-8")
    arguments = ["-f", files / "cluster.yaml", "-f", files / "fits.yaml", "-f", files / "later.yaml"]
    result = run("place", *arguments, "--explain", "-o", "json")
    dropped = {c["name"] for c in result.json["explanations"][1]["candidates"] if not c["kept"]}
    assert "s0" in dropped and result.json["jobs"][1]["hypernode"] == "s1"


def test_a_job_that_admission_refuses_is_named_with_its_text(run: Run, files: Path) -> None:
    (files / "bad.yaml").write_text(job_yaml("bad", 2, min_available=5), encoding="utf-8")
    result = run("place", "-f", files / "cluster.yaml", "-f", files / "bad.yaml")
    assert result.status == 1
    assert "refused:" in result.err and "bad" in result.err and "minAvailable" in result.err


def test_ignored_kinds_are_named_with_their_number(run: Run, files: Path) -> None:
    extra = (
        "apiVersion: v1\nkind: Service\nmetadata: {name: a}\n---\napiVersion: v1\nkind: Service\nmetadata: {name: b}\n"
    )
    (files / "extra.yaml").write_text(extra, encoding="utf-8")
    arguments = [x for name in ("cluster", "fits", "extra") for x in ("-f", files / f"{name}.yaml")]
    result = run("place", *arguments, "-o", "json")
    assert "Service (2)" in result.err and result.json["jobs"]


@pytest.mark.parametrize("command", ["place", "compare", "validate", "expand"])
def test_a_misspelt_kind_is_told_with_the_one_that_is_meant(run: Run, files: Path, command: str) -> None:
    text = (files / "fits.yaml").read_text(encoding="utf-8").replace("kind: Job", "kind: Jobb")
    (files / "typo.yaml").write_text(text, encoding="utf-8")
    result = run(command, files / "typo.yaml")
    assert result.status == 2 and "Jobb (1; did you mean Job?)" in result.err


def test_standard_input_is_a_file(run: Run, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (files / "cluster.yaml").read_text() + "---\n" + (files / "fits.yaml").read_text()
    stdin = SimpleNamespace(buffer=io.BytesIO(text.encode()), read=lambda: text, isatty=lambda: False)
    monkeypatch.setattr(sys, "stdin", stdin)
    assert run("place", "-f", "-").status == 0


def test_an_input_without_a_job_is_said(run: Run, files: Path) -> None:
    result = run("place", "-f", files / "cluster.yaml")
    assert result.status == 2 and "no job to place" in result.err


def test_a_policy_or_parameter_that_is_unknown_offers_close_names(run: Run, files: Path) -> None:
    result = run("place", "-f", files, "--policy", "volcanoo")
    assert result.status == 2 and "did you mean volcano" in result.err
    result = run("place", "-f", files, "--policy", "random", "--set", "sed=1")
    assert result.status == 2 and "did you mean seed" in result.err
    result = run("place", "-f", files, "--policy", "random", "--set", "gpu=3")
    assert result.status == 2 and "not a parameter" in result.err
    result = run("place", "-f", files, "--policy", "random", "--set", "seed")
    assert result.status == 2 and "KEY=VALUE" in result.err


CONF = """\
actions: "allocate, preempt"
tiers:
- plugins:
  - name: gang
  - name: predicates
"""


def test_set_config_reads_a_scheduler_configuration(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "volcano-scheduler.conf"
    path.write_text(CONF)
    result = run("place", "-f", "datasets/demo", "--policy", "volcano-1.13", "--set", f"config={path}", "-o", "json")
    assert result.status == 0
    assert result.json["parameters"]["config"]["actions"] == ["allocate", "preempt"]
    assert result.json["parameters"]["weight"] == 0
    for job in result.json["jobs"]:
        assert "action preempt is not modelled: it does nothing here" in [w["message"] for w in job["warnings"]]


def test_a_bad_configuration_is_bad_input(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "bad.conf"
    path.write_text("actions: 3\n")
    result = run("place", "-f", "datasets/demo", "--set", f"config={path}")
    assert result.status == 2
    assert f"{path}: actions: wrong type or value (found a number 3, expected text)" in result.err
    assert run("place", "-f", "datasets/demo", "--policy", "spread", "--set", f"config={path}").status == 2


FABRIC = "SwitchName=s0 Nodes=node[0-1]\nSwitchName=s1 Nodes=node[2-3]\nSwitchName=top Switches=s[0-1]\n"


def test_a_fabric_without_gpus_is_the_first_reason_and_gpus_can_be_assumed(run: Run, files: Path) -> None:
    (files / "topology.conf").write_text(FABRIC, encoding="utf-8")
    arguments = ["place", "-f", files / "topology.conf", "-f", files / "fits.yaml", "-o", "json"]
    pending = run(*arguments)
    assert pending.status == 1
    first = pending.json["jobs"][0]["reasons"][0]
    assert (first["code"], first["numbers"]["count"]) == ("not-offered", 2)
    assert first["message"] == "no node offers nvidia.com/gpu (pods request 8), cpu (pods request 1)"
    placed = run(*arguments, "--gpus-per-node", "8")
    assert placed.status == 0
    want = "assumed for 4 nodes that report no resources: 96 cpu, 1,024 GiB memory, 110 pods, 8 nvidia.com/gpu each"
    assert want in [gap["message"] for gap in placed.json["gaps"]] and f"note: {want}\n" in placed.err
    assert "no-resources" not in {gap["code"] for gap in placed.json["gaps"]}


@pytest.mark.parametrize("given", ["0", "1025", "x"])
def test_gpus_per_node_is_a_number_of_gpus(run: Run, files: Path, given: str) -> None:
    result = run("place", "-f", files / "cluster.yaml", "-f", files / "fits.yaml", "--gpus-per-node", given)
    assert result.status == 2 and "--gpus-per-node" in result.err and result.err.count("\n") == 1


def test_each_container_has_the_two_variables_that_tell_it_its_gpus(run: Run, files: Path) -> None:
    pods = run("place", files / "cluster.yaml", files / "fits.yaml", "-o", "json").json["jobs"][0]["pods"]
    eight = "0,1,2,3,4,5,6,7"
    assert [pod["environment"] for pod in pods] == [
        [{"NVIDIA_VISIBLE_DEVICES": eight, "CUDA_VISIBLE_DEVICES": eight}]
    ] * 2
    table = run("place", files / "cluster.yaml", files / "fits.yaml").out
    assert "NVIDIA_VISIBLE_DEVICES" in table and "CUDA_VISIBLE_DEVICES" in table


def test_csv_has_a_row_per_pod_and_one_per_pending_job(run: Run, files: Path) -> None:
    result = run("place", files, "-o", "csv")
    assert result.status == 1
    rows = list(csv.DictReader(io.StringIO(result.out)))
    assert [(row["job"], row["outcome"], row["pod"], row["tier"]) for row in rows] == [
        ("default/fits", "placed", "fits-worker-0", "1"),
        ("default/fits", "placed", "fits-worker-1", "1"),
        ("default/stuck", "pending", "", ""),
    ]
    assert rows[0]["gpus"] == "0 1 2 3 4 5 6 7" and rows[0]["CUDA_VISIBLE_DEVICES"] == "0,1,2,3,4,5,6,7"
    assert rows[2]["reason"]


def test_csv_goes_to_a_file_and_takes_no_explanation(run: Run, files: Path, tmp_path: Path) -> None:
    out = tmp_path / "pods.csv"
    assert run("place", files, "-o", "csv", "--out", out).out == ""
    assert out.read_text(encoding="utf-8").startswith("job,outcome,")
    refused = run("place", files, "-o", "csv", "--explain")
    assert refused.status == 2 and "--explain" in refused.err


def test_the_first_fix_and_one_at_no_cost_stand_in_the_headline(run: Run, tmp_path: Path) -> None:
    sizes = ("--set", "sizes=4,2", "--out", tmp_path / "cluster.yaml")
    assert run("topology", "generate", "balanced", *sizes).status == 0
    # Each job fills a HyperNode of four nodes; there are two.
    jobs = "---\n".join(job_yaml(name, 4) for name in ("a", "b", "c"))
    (tmp_path / "jobs.yaml").write_text(jobs, encoding="utf-8")
    result = run("place", tmp_path / "cluster.yaml", tmp_path / "jobs.yaml")
    assert result.status == 1 and "would help: raise its priority from 0 to 1 (then default/b waits)" in result.out


def _misspelt(files: Path, count: int) -> Path:
    jobs = "---\n".join(job_yaml(f"j{i}", 1, gpus=1).replace("minAvailable", "minAvailble") for i in range(count))
    (files / "misspelt.yaml").write_text(jobs, encoding="utf-8")
    return files / "misspelt.yaml"


def test_jobs_with_the_same_warning_share_a_line(run: Run, files: Path) -> None:
    text = "warning: spec.minAvailble is unknown and not read (did you mean minAvailable?)"
    placed = run("place", files / "cluster.yaml", _misspelt(files, 5)).out
    assert placed.count("minAvailble") == 1 and f"5 jobs (default/j0..default/j4): {text}\n" in placed
    assert f"default/j0: {text}\n" in run("place", files / "cluster.yaml", _misspelt(files, 1)).out


def test_a_warning_of_every_policy_is_told_once(run: Run, files: Path) -> None:
    compared = run("compare", files / "cluster.yaml", _misspelt(files, 5), "--policies", "volcano-1.13,gang").out
    assert compared.count("minAvailble") == 1
    assert "every policy:\n  5 jobs (default/j0..default/j4): warning: spec.minAvailble" in compared
    one = run("compare", files / "cluster.yaml", _misspelt(files, 5), "--policies", "gang").out
    assert "gang:\n  5 jobs" in one and "every policy" not in one


def test_a_run_tells_a_warning_once_with_its_objects(run: Run, files: Path) -> None:
    told = run("run", files / "cluster.yaml", _misspelt(files, 5)).err
    text = "spec.minAvailble is unknown and not read"
    assert told.count(text) == 1 and f"Job default/j0..Job default/j4: {text}" in told


@pytest.mark.parametrize(
    ("status", "want"),
    [
        ({"phase": "Running", "containerStatuses": [{"name": "c", "ready": True, "restartCount": 0}]}, "placed"),
        (
            {
                "phase": "Running",
                "containerStatuses": [
                    {
                        "name": "c",
                        "ready": False,
                        "restartCount": 7,
                        "state": {"waiting": {"reason": "CrashLoopBackOff"}},
                    }
                ],
            },
            "placed",
        ),
        ({"phase": "Failed"}, "pending"),
    ],
    ids=["runs", "restarts in place", "failed"],
)
def test_a_pod_whose_containers_restart_counts_for_its_gang_and_keeps_its_gpus(
    run: Run, files: Path, status: dict[str, Any], want: str
) -> None:
    """A gang of two of which one pod has node0 already: its sister starts if the first one counts as running."""
    group = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "pg", "uid": "u"},
        "spec": {"minMember": 2, "queue": "default"},
        "status": {"phase": "Running"},
    }
    spec = {"schedulerName": "volcano", "containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": 8}}}]}
    pods = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "annotations": {"scheduling.k8s.io/group-name": "pg"}},
            "spec": spec | more,
            "status": found,
        }
        for name, more, found in (("p0", {"nodeName": "node0"}, status), ("p1", {}, {"phase": "Pending"}))
    ]
    (files / "pods.yaml").write_text(yaml.safe_dump_all([group, *pods]), encoding="utf-8")
    (job,) = run("place", files / "cluster.yaml", files / "pods.yaml", "-o", "json").json["jobs"]
    assert job["outcome"] == want
    if want == "placed":
        assert [pod["node"] for pod in job["pods"]] == ["node1"]


def test_a_table_without_a_job_says_so(run: Run, files: Path) -> None:
    (files / "bad.yaml").write_text(job_yaml("bad", 2, min_available=5), encoding="utf-8")
    result = run("place", files / "cluster.yaml", files / "bad.yaml")
    assert (result.status, result.out) == (1, "volcano-1.15: no job to place\n")
