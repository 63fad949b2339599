"""Promises of the design documents, on inputs that were typed from their text."""

from __future__ import annotations

from pathlib import Path

import pytest

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
