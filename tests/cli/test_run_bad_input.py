"""Bad input of `workbench run`: one line with file, document and field, status 2, and nothing written."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.control.manifests import job, small_cluster, task
from workbench.formats.write_manifests import to_yaml


def _cycle() -> dict[str, Any]:
    return job(tasks=[task("a", dependsOn={"name": ["b"]}), task("b", dependsOn={"name": ["a"]})])


CASES = {
    "unknown plugin": (job(plugins={"nope": []}), "spec.plugins.nope: unable to find job plugin: nope"),
    "unknown argument": (
        job(plugins={"pytorch": ["--nope=1"]}),
        "spec.plugins.pytorch[0]: flag provided but not defined: -nope",
    ),
    "duplicate task": (job(tasks=[task(), task()]), "spec.tasks[1].name: duplicated task name worker"),
    "cycle": (
        _cycle(),
        "spec.tasks: job has dependencies between tasks, but doesn't form a directed acyclic graph(DAG)",
    ),
    "no pods at all": (
        job(tasks=[task(replicas=0)], minAvailable=1),
        "spec.minAvailable: job 'minAvailable' should not be greater than total replicas in tasks",
    ),
    "negative replicas": (job(tasks=[task(replicas=-1)]), "spec.tasks[0].replicas"),
    "a name too long for pods": (job("a" * 62), "spec.tasks[0].name: create pod with name"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_refused_job_is_one_line_with_its_field_and_nothing_is_written(run: Run, tmp_path: Path, name: str) -> None:
    manifest, said = CASES[name]
    path, store = tmp_path / "bad.yaml", tmp_path / "store.json"
    path.write_text(to_yaml([*small_cluster(), job("good"), manifest]), encoding="utf-8")
    result = run("run", path, "--store", store)
    assert result.status == 2 and result.out == ""
    (line,) = result.err.splitlines()
    assert line.startswith(f"workbench: {path}: document 9 ") and said in line
    assert not store.exists()


def test_a_store_file_that_is_cut_off_is_named_and_stays_as_it_is(run: Run, tmp_path: Path) -> None:
    path, store = tmp_path / "cluster.yaml", tmp_path / "store.json"
    path.write_text(to_yaml([*small_cluster(), job()]), encoding="utf-8")
    assert run("run", path, "--store", store).status == 0
    for cut in (0, 10, store.stat().st_size // 2, store.stat().st_size - 3):
        content = store.read_bytes()
        store.write_bytes(content[:cut])
        result = run("run", "--store", store)
        assert result.status == 2 and str(store) in result.err and len(result.err.splitlines()) == 1
        assert store.read_bytes() == content[:cut]
        store.write_bytes(content)


@pytest.mark.slow
def test_a_hyper_job_that_cannot_fit_waits_with_reason_and_nearest_miss(run: Run, tmp_path: Path) -> None:
    made = {
        "apiVersion": "training.volcano.sh/v1alpha1",
        "kind": "HyperJob",
        "metadata": {"name": "llm"},
        "spec": {"replicatedJobs": [{"name": "w", "replicas": 3, "templateSpec": job()["spec"]}]},
    }
    path = tmp_path / "jobs.yaml"
    path.write_text(to_yaml([*small_cluster(), made]), encoding="utf-8")
    result = run("run", path, "-o", "json")
    assert result.status == 1
    assert {row["running"] for row in result.json["jobs"]} == {0}
    reason = "2 of the 3 HyperNodes needed are free and hold 2 pods × 8 GPUs"
    assert all(reason in row["waits_for"] for row in result.json["jobs"])
    placed = run("place", path, "-o", "json")
    (only,) = placed.json["jobs"]
    assert only["nearest_misses"] and reason in json.dumps(only["reasons"], ensure_ascii=False)


def test_one_task_may_have_no_replicas(run: Run, tmp_path: Path) -> None:
    manifest = copy.deepcopy(job(tasks=[task("worker", 1), task("extra", 0)]))
    path = tmp_path / "jobs.yaml"
    path.write_text(to_yaml([*small_cluster(), manifest]), encoding="utf-8")
    assert [pod["name"] for pod in run("run", path, "-o", "json").json["pods"]] == ["train-worker-0"]


@pytest.mark.parametrize(
    ("content", "found"), [(b"", "0 bytes"), (b"\x86\x43\xff\x00", "binary data"), (b'{"a":', "unexpected end of data")]
)
def test_what_a_store_file_has_instead_of_json_is_told(run: Run, tmp_path: Path, content: bytes, found: str) -> None:
    store = tmp_path / "store.json"
    store.write_bytes(content)
    result = run("run", "--store", store)
    assert result.status == 2 and result.err.startswith(f"workbench: {store}: ") and f"(found {found}" in result.err
    assert store.read_bytes() == content
