"""Nodes that are not ready: what a pending job lacks, and what would help."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Run
from tests.control.manifests import job, node, task
from workbench.formats.write_manifests import to_yaml


def test_a_job_that_lacks_ready_nodes_is_told_to_bring_them_back(run: Run, tmp_path: Path) -> None:
    nodes = [node(f"n{i}") for i in range(2)]
    for one in nodes:
        one["status"]["conditions"] = [{"type": "Ready", "status": "Unknown"}]
    (tmp_path / "in.yaml").write_text(to_yaml([*nodes, job(tasks=[task(replicas=2)])]), encoding="utf-8")
    found = run("fix", tmp_path / "in.yaml", "--job", "default/train", "-o", "json").json
    assert "not ready" in found["headline"]
    assert found["fixes"][0]["edits"][0]["kind"] == "ready" and found["fixes"][0]["verified"]


def test_nodes_that_are_added_to_such_a_cluster_are_ready(run: Run, tmp_path: Path) -> None:
    nodes = [node(f"n{i}") for i in range(2)]
    nodes[0]["status"]["conditions"] = [{"type": "Ready", "status": "False"}]
    (tmp_path / "in.yaml").write_text(to_yaml([*nodes, job(tasks=[task(replicas=4)])]), encoding="utf-8")
    result = run("place", tmp_path / "in.yaml", "-o", "json")
    assert result.status == 1 and result.json["jobs"][0]["outcome"] == "pending"
