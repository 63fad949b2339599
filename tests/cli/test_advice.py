"""Advice on pending jobs is told alike by `place`, `fix`, `run`, `compare` and `live compare`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

import workbench.cli.advice
import workbench.cli.fix
from tests.cli.conftest import Run, cluster_yaml, job_yaml
from tests.cli.test_live_compare import waiting_cluster
from workbench.evaluate.whatif import advice

pytestmark = pytest.mark.slow

NOTE = "advice left out for "
#: Commands that advise on the jobs of a file, with the words that stand before the note.
COMMANDS = [
    (("place",), ""),
    (("fix",), ""),
    (("run",), ""),
    (("compare", "--policies", "volcano-1.13"), "volcano-1.13: "),
]


@pytest.fixture
def stuck(tmp_path: Path) -> Path:
    """Six jobs that no HyperNode of tier 1 holds."""
    path = tmp_path / "stuck.yaml"
    path.write_text("---\n".join((cluster_yaml(), *(job_yaml(f"j{i}", 3, highest_tier=1) for i in range(6)))), "utf-8")
    return path


@pytest.fixture
def little_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """A budget that is spent on the first jobs."""
    monkeypatch.setattr(advice, "MOST_WORK", 3_000)
    monkeypatch.setattr(advice, "FEWEST_SESSIONS", 0)


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int, str]]:
    """Collect the steps that the progress bars of advice are told."""
    found: list[tuple[int, int, str]] = []

    @contextmanager
    def bar(verb: str) -> Iterator[Any]:
        assert verb == "looking for fixes of"
        yield lambda *step: found.append(step)

    monkeypatch.setattr(workbench.cli.advice, "progress_bar", bar)
    return found


@pytest.mark.usefixtures("little_work")
@pytest.mark.parametrize(("command", "named"), COMMANDS)
def test_jobs_without_advice_are_counted_in_a_note(run: Run, stuck: Path, command: Any, named: str) -> None:
    assert f"note: {named}{NOTE}" in run(*command, stuck).err


@pytest.mark.usefixtures("little_work")
def test_the_note_is_in_the_records_and_on_the_page(run: Run, stuck: Path) -> None:
    assert run("place", stuck, "-o", "json").json["advice_note"].startswith(NOTE)
    (row,) = run("compare", stuck, "--policies", "volcano-1.13", "-o", "json").json["policies"]
    assert row["advice_note"].startswith(NOTE)
    page = run("compare", stuck, "--policies", "volcano-1.13", "-o", "html").out
    assert f"volcano-1.13: {NOTE}" in " ".join(page.split())


@pytest.mark.parametrize(("command", "named"), COMMANDS[:3])
def test_the_bar_moves_from_job_to_job(run: Run, stuck: Path, steps: list[Any], command: Any, named: str) -> None:
    run(*command, stuck)
    assert steps == [(i, 6, f"default/j{i}") for i in range(6)]


@pytest.mark.parametrize("name", ["j4", "default/j4"])
@pytest.mark.parametrize("command", [("place",), ("fix",), ("run",)])
def test_one_job_is_asked_about(run: Run, stuck: Path, steps: list[Any], command: Any, name: str) -> None:
    result = run(*command, stuck, "--job", name, "-o", "json")
    assert steps == [(0, 1, "default/j4")] and NOTE not in result.err
    rows = [result.json] if command == ("fix",) else result.json["jobs"]
    advised = [row for row in rows if "advice" in row or "fixes" in row]
    assert [row.get("name", row.get("job")) for row in advised] == ["default/j4" if command == ("fix",) else "j4"]


def test_compare_advises_on_the_job_that_is_named(run: Run, stuck: Path) -> None:
    record = run("compare", stuck, "--policies", "volcano-1.13", "--job", "j5", "-o", "json").json
    (row,) = record["policies"]
    assert [job["name"] for job in row["jobs"]] == ["j5"] and row["jobs"][0]["advice"]["fixes"]


@pytest.mark.parametrize("command", [("place",), ("fix",), ("run",), ("compare",), ("live", "compare")])
def test_a_name_that_two_namespaces_have_is_said_to_be_ambiguous(run: Run, tmp_path: Path, command: Any) -> None:
    other = job_yaml("a", 3).replace("namespace: default", "namespace: other")
    path = tmp_path / "two.yaml"
    path.write_text("---\n".join((cluster_yaml(), job_yaml("a", 3), other)), "utf-8")
    result = run(*command, path, "--job", "a")
    text = "--job: several jobs have this name (found 'a', expected one of default/a, other/a)"
    assert (result.status, result.out, result.err.splitlines()[-1]) == (2, "", f"workbench: {text}")
    assert run(*command, path, "--job", "other/a").status in (0, 1)
    result = run(*command, path, "--job", "other/b")
    assert result.status == 2 and "--job: unknown job 'other/b'" in result.err


def test_live_compare_advises_on_the_job_that_is_named(run: Run, tmp_path: Path, steps: list[Any]) -> None:
    first, second = waiting_cluster(6), json.loads(json.dumps(waiting_cluster(6)[2:]).replace("big", "huge"))
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [*first, *second]}), "utf-8")
    for name in ("huge", "default/huge"):
        result = run("live", "compare", path, "--job", name, "-o", "json")
        assert [(one["job"], one["advice"]["job"]) for one in result.json] == [("default/huge", "default/huge")]
    assert steps == [(0, 1, "default/huge")] * 2
    both = run("live", "compare", path, "-o", "json").json
    assert both[1]["advice"] == result.json[0]["advice"]


def batch_job(pods: int, **annotations: str) -> dict[str, Any]:
    """A Job of Kubernetes whose pods fill a node of `cluster_yaml` each."""
    named = {f"kueue.x-k8s.io/podset-{key.replace('_', '-')}": value for key, value in annotations.items()}
    amounts = {"cpu": "1", "nvidia.com/gpu": "8"}
    container = {"name": "a", "image": "i", "resources": {"requests": amounts, "limits": amounts}}
    template = {"metadata": {"annotations": named}, "spec": {"containers": [container], "restartPolicy": "Never"}}
    spec = {"parallelism": pods, "completions": pods, "template": template}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "b", "namespace": "default"}, "spec": spec}


def test_the_priority_of_a_job_of_kubernetes_is_left_alone(run: Run, tmp_path: Path) -> None:
    """Its pods' priority is part of a template that no command changes; a Volcano Job in its place gets one."""
    path = tmp_path / "all.yaml"
    path.write_text("---\n".join((cluster_yaml(), job_yaml("a", 4), yaml.safe_dump(batch_job(4)))), "utf-8")
    record = run("fix", path, "--job", "b", "--policy", "gang", "-o", "json").json
    kinds = {edit["kind"] for fix in record["fixes"] for edit in fix["edits"]}
    assert kinds and "priority" not in kinds
    path.write_text("---\n".join((cluster_yaml(), job_yaml("a", 4), job_yaml("b", 4))), "utf-8")
    record = run("fix", path, "--job", "b", "--policy", "gang", "-o", "json").json
    assert "priority" in {edit["kind"] for fix in record["fixes"] for edit in fix["edits"]}


SLICED = {"slice_required_topology": "kubernetes.io/hostname", "slice_size": "2"}


def test_no_role_gets_fewer_pods_than_its_slices(run: Run, tmp_path: Path) -> None:
    """Pods are asked for two by two: four nodes hold four of the six, and one node none."""
    path = tmp_path / "all.yaml"
    path.write_text("---\n".join((cluster_yaml(), yaml.safe_dump(batch_job(6, **SLICED)))), "utf-8")
    record = run("fix", path, "--policy", "gang", "--order", "shrink", "-o", "json").json
    (fix,) = record[0]["fixes"]
    assert fix["edits"][0]["to"] >= 2
    full = cluster_yaml({f"node{i}": f"old{i}" for i in range(3)})
    path.write_text("---\n".join((full, yaml.safe_dump(batch_job(6, **SLICED)))), "utf-8")
    assert not run("fix", path, "--policy", "gang", "--order", "shrink", "-o", "json").json[0]["fixes"]


def test_a_fix_that_admission_refuses_is_left_out_with_its_words(run: Run, tmp_path: Path, monkeypatch: Any) -> None:
    path = tmp_path / "all.yaml"
    path.write_text("---\n".join((cluster_yaml(), yaml.safe_dump(batch_job(6, **SLICED)))), "utf-8")
    changed = workbench.cli.fix._changed
    monkeypatch.setattr(workbench.cli.fix, "_changed", lambda *given: changed(*given).replace('size: "2"', 'size: "9"'))
    result = run("fix", path, "--policy", "gang", "--order", "shrink")
    assert result.status == 1
    said = " ".join(result.err.split())
    assert "note: default/b: left out, because admission refuses the changed BatchJob default/b (" in said
    assert "must not be greater than pod set count" in said
