"""`workbench fix`: why a job is pending and the least that helps, as table, JSON, YAML and changed input."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from tests.cli.conftest import Run, cluster_yaml, job_yaml

CASES = Path("datasets/pending/cases")
TREE = Path("datasets/three-level-tree")

Made = Callable[..., Path]


@pytest.fixture
def made(tmp_path: Path) -> Made:
    """A file of the cluster of `cluster_yaml` (two leaves of two nodes of 8 GPUs, s2 above) and of jobs."""

    def call(*jobs: str, cluster: str | None = None) -> Path:
        path = tmp_path / "all.yaml"
        path.write_text("---\n".join((cluster_yaml() if cluster is None else cluster, *jobs)), "utf-8")
        return path

    return call


#: Three whole nodes inside one leaf, which has two.
STUCK = job_yaml("stuck", 3, highest_tier=1)
FITS = job_yaml("fits", 2, highest_tier=1)


def kinds(record: dict[str, Any]) -> list[list[str]]:
    return [[edit["kind"] for edit in fix["edits"]] for fix in record["fixes"]]


def as_stdin(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(text.encode()), isatty=lambda: False))


class TestTheAnswer:
    def test_the_table_says_cause_fixes_commands_and_who_waits(self, run: Run, made: Made) -> None:
        result = run("fix", made(STUCK), "--job", "default/stuck")
        assert result.status == 0
        told = " ".join(result.out.split())
        assert told.startswith("default/stuck is pending by volcano-1.15: ")
        assert "1. allow tier 2 #" in told
        assert "in its manifest set spec.networkTopology.highestTierAllowed to 2" in told
        assert "kubectl -n default patch jobs.batch.volcano.sh stuck" in told

    def test_a_terminal_gets_every_command_in_one_line(self, on_terminal: Run, made: Made) -> None:
        path = made(STUCK)
        (record,) = on_terminal("fix", path, "-o", "json").json
        lines = [line.strip() for line in on_terminal("fix", path).out.splitlines()]
        commands = [command for fix in record["fixes"] for command in fix["commands"]]
        assert max(map(len, commands)) > 80
        assert [command for command in commands if command not in lines] == []

    def test_the_holders_are_a_table(self, run: Run) -> None:
        result = run("fix", CASES / "rack-half-busy.yaml", "--job", "ml/job")
        (row,) = (line.split() for line in result.out.splitlines() if "HyperNode rack-0" in line)
        assert row[:5] == ["HyperNode", "rack-0", "ml/old", "running", "1"]
        assert row[-2:] == ["8", "nvidia.com/gpu"]

    def test_json_has_the_keys_that_others_rely_on(self, run: Run, made: Made) -> None:
        record = run("fix", made(STUCK), "--job", "default/stuck", "-o", "json").json
        assert {"job", "policy", "headline", "causes", "fixes", "never"} <= set(record)
        assert (record["job"], record["policy"], record["never"]) == ("default/stuck", "volcano-1.15", False)
        first = record["fixes"][0]
        assert first["edits"] == [
            {"kind": "tier", "subject": "job default/stuck", "from": 1, "to": 2, "class": "job", "text": "allow tier 2"}
        ]
        assert (first["verified"], first["others"]) == (True, [])
        assert first["commands"]
        assert first["text"] in record["headline"]
        every = [edit for fix in record["fixes"] for edit in fix["edits"]]
        assert record["causes"] and all(cause in every for cause in record["causes"])

    def test_yaml_says_what_json_says(self, run: Run, made: Made) -> None:
        path = made(STUCK)
        arguments = ("fix", path, "--job", "stuck", "-o")
        assert yaml.safe_load(run(*arguments, "yaml").out) == run(*arguments, "json").json

    def test_what_others_lose_is_told(self, run: Run) -> None:
        record = run("fix", CASES / "one-of-two-victims.yaml", "--job", "ml/job", "-o", "json").json
        assert [fix["others"] for fix in record["fixes"]] == [
            [{"job": "ml/new", "effect": "ends", "pods": 1, "gpus": 8}],
            [{"job": "ml/old", "effect": "ends", "pods": 1, "gpus": 8}],
        ]
        rival = run("fix", CASES / "behind-a-rival.yaml", "--job", "ml/job")
        assert "(then ml/a-rival waits)" in rival.out

    def test_without_job_every_pending_job_has_a_record(self, run: Run, made: Made) -> None:
        path = made(STUCK, job_yaml("wide", 4, highest_tier=1))
        assert [record["job"] for record in run("fix", path, "-o", "json").json] == ["default/stuck", "default/wide"]
        table = run("fix", path)
        assert "default/stuck is pending" in table.out and "default/wide is pending" in table.out

    def test_a_policy_of_choice_answers(self, run: Run, made: Made) -> None:
        record = run("fix", made(STUCK), "--job", "stuck", "--policy", "volcano-1.13", "-o", "json").json
        assert (record["policy"], kinds(record)[0]) == ("volcano-1.13", ["tier"])


class TestWhoIsInQuestion:
    @pytest.mark.parametrize("name", ["stuck", "default/stuck"])
    def test_a_job_is_named_with_or_without_its_namespace(self, run: Run, made: Made, name: str) -> None:
        record = run("fix", made(FITS, STUCK), "--job", name, "-o", "json").json
        assert record["job"] == "default/stuck"

    @pytest.mark.parametrize("command", ["fix", "place", "compare"])
    def test_an_unknown_job_is_bad_input_and_names_the_nearest(self, run: Run, made: Made, command: str) -> None:
        result = run(command, made(STUCK), "--job", "default/stick")
        assert (result.status, result.out) == (2, "")
        assert "default/stick" in result.err and "default/stuck" in result.err

    def test_a_placed_job_has_nothing_to_fix(self, run: Run, made: Made) -> None:
        path = made(FITS)
        table = run("fix", path, "--job", "fits")
        assert (table.status, table.out.strip()) == (0, "default/fits is placed by volcano-1.15: nothing to fix")
        record = run("fix", path, "--job", "fits", "-o", "json").json
        assert (record["job"], record["causes"], record["fixes"], record["never"]) == ("default/fits", [], [], False)
        assert run("fix", path, "-o", "json").json == []
        assert "every job is placed" in run("fix", path).out

    def test_no_job_in_the_input_is_bad_input(self, run: Run, made: Made) -> None:
        result = run("fix", made())
        assert (result.status, "no job to place" in result.err) == (2, True)


class TestTheOrder:
    def test_the_first_class_comes_first(self, run: Run, made: Made) -> None:
        path = made(STUCK)
        for order, first in (("job,shrink", "tier"), ("shrink,job", "replicas")):
            record = run("fix", path, "--job", "stuck", "--order", order, "-o", "json").json
            assert kinds(record)[0] == [first]

    def test_a_class_that_is_left_out_is_not_used(self, run: Run) -> None:
        path = CASES / "rack-half-busy.yaml"
        record = run("fix", path, "--job", "ml/job", "--order", "evict", "-o", "json").json
        assert kinds(record) == [["finish"]]

    def test_an_unknown_class_is_bad_input(self, run: Run, made: Made) -> None:
        result = run("fix", made(STUCK), "--order", "job,evicts")
        assert (result.status, result.out) == (2, "")
        assert "'evicts'" in result.err and "evict" in result.err.replace("'evicts'", "")


class TestTheFile:
    def test_the_changed_input_is_read_and_the_job_placed(self, run: Run, made: Made, tmp_path: Path) -> None:
        out = tmp_path / "fixed.yaml"
        assert run("fix", made(STUCK), "--job", "stuck", "--out", out).status == 0
        placed = run("place", out, "-o", "json")
        (job,) = placed.json["jobs"]
        assert (placed.status, job["outcome"], job["hypernode"]) == (0, "placed", "s2")

    def test_the_report_is_printed_beside_it(self, run: Run, made: Made, tmp_path: Path) -> None:
        path, out = made(STUCK), tmp_path / "fixed.yaml"
        arguments = ("fix", path, "--job", "stuck", "-o", "json")
        assert run(*arguments, "--out", out).out == run(*arguments).out
        assert out.is_file()

    def test_it_needs_a_job(self, run: Run, made: Made, tmp_path: Path) -> None:
        out = tmp_path / "fixed.yaml"
        result = run("fix", made(STUCK, job_yaml("larger", 9)), "--out", out)
        assert (result.status, out.exists()) == (2, False)
        assert (
            "whose fix? 2 jobs are pending" in result.err and "--job with default/larger, default/stuck" in result.err
        )

    def test_the_only_pending_job_need_not_be_named(self, run: Run, made: Made, tmp_path: Path) -> None:
        out = tmp_path / "fixed.yaml"
        assert run("fix", made(STUCK, FITS), "--out", out).status == 0
        assert run("place", out).status == 0
        result = run("fix", out, "--out", tmp_path / "again.yaml")
        assert (result.status, (tmp_path / "again.yaml").exists()) == (0, False)
        assert "again.yaml is not written: every job is placed" in result.err

    def test_it_is_not_written_where_nothing_helps(self, run: Run, tmp_path: Path) -> None:
        out = tmp_path / "fixed.yaml"
        result = run("fix", CASES / "larger-than-any-node.yaml", "--job", "ml/job", "--out", out)
        assert (result.status, out.exists()) == (1, False)
        assert f"{out} is not written: no fix was found" in result.err
        assert "never on this cluster" in result.out

    def test_it_is_not_written_for_a_placed_job(self, run: Run, made: Made, tmp_path: Path) -> None:
        out = tmp_path / "fixed.yaml"
        result = run("fix", made(FITS), "--job", "fits", "--out", out)
        assert (result.status, out.exists()) == (0, False)
        assert "default/fits is placed" in result.err

    def test_a_missing_folder_is_told_before_anything_is_tried(self, run: Run, made: Made, tmp_path: Path) -> None:
        result = run("fix", made(STUCK), "--job", "stuck", "--out", tmp_path / "nowhere" / "fixed.yaml")
        assert (result.status, result.out) == (2, "")


class TestTheInput:
    def test_several_files_become_one(self, run: Run, tmp_path: Path) -> None:
        out = tmp_path / "fixed.yaml"
        files = [TREE / name for name in ("hypernodes.yaml", "nodes.yaml", "job-hard-tier-1.yaml")]
        assert run("fix", *files, "--job", "hard-tier-1", "--out", out).status == 0
        assert run("place", out, "-o", "json").json["jobs"][0]["outcome"] == "placed"

    def test_stdin_is_read_once(self, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        as_stdin(monkeypatch, "---\n".join((cluster_yaml(), STUCK)))
        out = tmp_path / "fixed.yaml"
        record = run("fix", "-", "--job", "stuck", "--out", out, "-o", "json").json
        assert kinds(record)[0] == ["tier"]
        assert run("place", out).status == 0

    def test_a_fabric_file_takes_assumed_gpus(self, run: Run, tmp_path: Path) -> None:
        (tmp_path / "topology.conf").write_text(
            "SwitchName=s0 Nodes=n[0-1]\nSwitchName=s1 Nodes=n[2-3]\nSwitchName=s2 Switches=s[0-1]\n", "utf-8"
        )
        (tmp_path / "job.yaml").write_text(STUCK, "utf-8")
        out = tmp_path / "fixed.yaml"
        inputs = (tmp_path / "topology.conf", tmp_path / "job.yaml", "--gpus-per-node", 8)
        record = run("fix", *inputs, "--job", "stuck", "--out", out, "-o", "json").json
        assert kinds(record)[0] == ["tier"]
        placed = run("place", out, "-o", "json")
        assert (placed.status, placed.json["jobs"][0]["hypernode"]) == (0, "s2")

    def test_a_configuration_holds_for_every_trial(self, run: Run) -> None:
        path, settings = CASES / "queue-about-to-be-full.yaml", "config=datasets/pending/proportion.conf"
        record = run("fix", path, "--job", "ml/job", "--policy", "volcano-1.13", "--set", settings, "-o", "json").json
        assert kinds(record)[0] == ["queue-capability"]
        assert record["fixes"][0]["edits"][0]["to"] == {"nvidia.com/gpu": "12"}


class TestOneJobOfPlaceAndCompare:
    def test_place_shows_the_job_alone_after_the_whole_session(self, run: Run, made: Made) -> None:
        path = made(FITS, STUCK)
        both = run("place", path, "-o", "json")
        assert [job["name"] for job in both.json["jobs"]] == ["fits", "stuck"]
        one = run("place", path, "--job", "stuck", "-o", "json")
        assert [job["name"] for job in one.json["jobs"]] == ["stuck"]
        assert one.json["jobs"][0]["advice"] == both.json["jobs"][1]["advice"]
        assert one.status == 1

    @pytest.mark.parametrize("command", [("place",), ("compare", "--policies", "volcano-1.13,gang")])
    def test_the_exit_status_is_that_of_the_job(self, run: Run, made: Made, command: tuple[str, ...]) -> None:
        path = made(FITS, STUCK)
        result = run(*command, path, "--job", "default/fits")
        assert (result.status, "stuck" in result.out) == (0, False)
        assert run(*command, path, "--job", "stuck").status == 1
        assert run(*command, path).status == 1

    def test_compare_shows_the_job_by_every_policy(self, run: Run, made: Made) -> None:
        path = made(FITS, STUCK)
        policies = ("--policies", "volcano-1.13,volcano-1.15,gang")
        table = run("compare", path, "--job", "stuck", *policies)
        rows = [line.split()[:2] for line in table.out.splitlines() if line.startswith(" ")]
        assert ["volcano-1.13", "pending"] in rows and ["volcano-1.15", "pending"] in rows
        assert "default/fits" not in [row[0] for row in rows]
        record = run("compare", path, "--job", "default/stuck", *policies, "-o", "json").json
        assert record["jobs"] == ["default/stuck"]
        assert [[job["name"] for job in row["jobs"]] for row in record["policies"]] == [["stuck"]] * 3

    def test_compare_says_once_what_two_policies_answer_alike(self, run: Run) -> None:
        result = run("compare", CASES / "cluster-full.yaml", "--job", "job", "--policies", "volcano-1.13,volcano-1.15")
        assert (result.status, result.out.count("would help")) == (1, 1)
        assert "ml/job is pending by volcano-1.13, volcano-1.15: " in result.out


class TestWhen:
    def test_the_end_of_the_holder_is_named(self, run: Run) -> None:
        path = CASES / "cluster-full.yaml"
        result = run("place", path, "--job", "ml/job", "--when", "--run-seconds", "3600")
        assert "ml/job could start in 60 min, when ml/old ends" in result.out
        record = run("place", path, "--when", "--run-seconds", "3600", "-o", "json").json
        assert record["jobs"][0]["when"] == {"seconds": 3600.0, "after": ["ml/old"], "hypernode": None}

    def test_without_run_times_it_never_starts(self, run: Run) -> None:
        path = CASES / "cluster-full.yaml"
        assert "no running gang has a known end" in " ".join(run("place", path, "--when").out.split())
        when = run("place", path, "--when", "-o", "json").json["jobs"][0]["when"]
        assert when == {"seconds": None, "after": [], "hypernode": None}

    def test_placed_jobs_have_no_answer(self, run: Run, made: Made) -> None:
        record = run("place", made(FITS), "--when", "-o", "json").json
        assert "when" not in record["jobs"][0]

    def test_an_annotation_that_is_no_time_is_bad_input(self, run: Run, made: Made) -> None:
        busy = cluster_yaml({"node0": "old"})
        path = made(
            STUCK, cluster=busy.replace("annotations: {", "annotations: {topology-workbench/run-seconds: soon, ")
        )
        result = run("place", path, "--when")
        assert (result.status, result.out) == (2, "")
        assert "'soon'" in result.err and "topology-workbench/run-seconds" in result.err

    def test_run_seconds_without_when_is_bad_input(self, run: Run, made: Made) -> None:
        result = run("place", made(STUCK), "--run-seconds", "5")
        assert (result.status, "--when" in result.err) == (2, True)


def test_a_job_that_admission_refuses_is_no_job_that_is_placed(tmp_path: Path, run: Run) -> None:
    twice = {f"kueue.x-k8s.io/podset-{word}-topology": "rack" for word in ("required", "preferred")}
    container = {"name": "a", "resources": {"requests": {"cpu": "1"}}}
    template = {"metadata": {"annotations": twice}, "spec": {"containers": [container], "restartPolicy": "Never"}}
    queue = {"kueue.x-k8s.io/queue-name": "q"}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "twice", "labels": queue}}
    path = tmp_path / "job.yaml"
    path.write_text(yaml.safe_dump({**job, "spec": {"parallelism": 2, "template": template}}), "utf-8")
    result = run("fix", path)
    assert (result.status, result.out) == (1, "no job to place\n")
    assert "must not contain more than one topology annotation" in result.err
