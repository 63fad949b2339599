from __future__ import annotations

from pathlib import Path

import pytest
import yaml

import workbench
from tests.cli.conftest import Run
from tests.jobs.frameworks.jobs import job_of, task_of
from workbench.formats.write_manifests import to_yaml

TORCH = job_of({"pytorch": []}, task_of("master"), task_of("worker", 2), name="torch")
RAY = job_of({"ray": []}, task_of("head", container="head"), name="ray")
NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}


@pytest.fixture
def manifests(tmp_path: Path) -> Path:
    path = tmp_path / "jobs.yaml"
    path.write_text(to_yaml([TORCH, NODE, RAY]), encoding="utf-8")
    return path


def test_yaml_is_a_document_per_object(run: Run, manifests: Path) -> None:
    result = run("expand", manifests)
    assert result.status == 0
    assert list(yaml.safe_load_all(result.out)) == workbench.jobs.expand_job(TORCH) + workbench.jobs.expand_job(RAY)
    assert result.err == "ignored: Node (1)\n"


def test_json_is_a_list(run: Run, manifests: Path) -> None:
    result = run("expand", manifests, "-o", "json")
    assert result.json["kind"] == "List"
    assert result.json["items"] == workbench.jobs.expand_job(TORCH) + workbench.jobs.expand_job(RAY)


def test_the_pods_can_be_placed(run: Run, manifests: Path, files: Path) -> None:
    expanded = manifests.with_name("expanded.yaml")
    expanded.write_text(run("expand", manifests).out, encoding="utf-8")
    result = run("place", "-f", files / "cluster.yaml", "-f", expanded, "-o", "json")
    assert result.status == 0
    assert sum(len(job["pods"]) for job in result.json["jobs"]) == 4


def test_one_wrong_job_and_nothing_is_written(run: Run, manifests: Path) -> None:
    wrong = job_of({"pytorch": ["--prot=1"]}, task_of("master"), name="wrong")
    manifests.write_text(to_yaml([TORCH, wrong]), encoding="utf-8")
    result = run("expand", manifests)
    assert (result.status, result.out) == (2, "")
    assert "jobs.yaml: document 2 (line" in result.err
    assert "spec.plugins.pytorch[0]: flag provided but not defined: -prot" in result.err


def test_kubernetes_own_job_is_no_job_of_volcano(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(to_yaml([{**TORCH, "apiVersion": "batch/v1"}]), encoding="utf-8")
    result = run("expand", path)
    assert result.status == 2
    assert "no Job to expand (found Job (1), expected a Job (batch.volcano.sh/v1alpha1) or a HyperJob" in result.err


def test_a_job_scaled_to_nothing_has_objects_and_no_pods(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(to_yaml([job_of({"env": []}, task_of("a", 0))]), encoding="utf-8")
    result = run("expand", path, "-o", "json")
    assert (result.status, result.json["items"]) == (0, [])


def test_a_document_without_a_kind_is_bad_input(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("metadata: {name: x}\n")
    result = run("expand", path)
    assert result.status == 2 and "internal error" not in result.err
