"""Inputs for several tests of formats."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def live_cluster(public_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The objects of a made-up cluster as `kubectl get -o json` prints them: 64 nodes, jobs that run and that wait."""
    program = public_data / "pending-from-life" / "cluster.py"
    if not program.is_file():
        pytest.skip(f"the program of a made-up cluster is not there: {program.parent.name}/{program.name}")
    folder = tmp_path_factory.mktemp("live")
    subprocess.run([sys.executable, str(program)], cwd=folder, check=True, capture_output=True)
    return folder / "cluster.json"
