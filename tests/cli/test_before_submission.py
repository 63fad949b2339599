"""What will go wrong with an accepted Job is told by `validate`, `expand`, `place`, `compare` and `run`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Run

TEMPLATE = "template: {spec: {restartPolicy: OnFailure, containers: [{name: %s, image: i, %s}]}}"
RAY = f"""\
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {{name: serve}}
spec:
  plugins: {{ray: []}}
  tasks:
  - {{name: head, replicas: 1, {TEMPLATE % ("head", "command: [serve]")}}}
"""
DEPENDS = f"""\
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {{name: mpi}}
spec:
  minAvailable: 3
  tasks:
  - {{name: master, replicas: 1, dependsOn: {{name: [worker]}}, {TEMPLATE % ("c", "resources: {requests: {cpu: 1}}")}}}
  - {{name: worker, replicas: 2, {TEMPLATE % ("c", "resources: {requests: {cpu: 1}}")}}}
"""
LONG = f"""\
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {{name: trainer-with-a-long-name}}
spec:
  plugins: {{svc: []}}
  tasks:
  - {{name: worker, replicas: 3000, {TEMPLATE % ("c", "resources: {requests: {cpu: 1}}")}}}
"""

#: A manifest, and words of what is said about it.
CASES = {
    "ray": (RAY, "the plugin ray replaces the command of container head"),
    "depends": (DEPENDS, "task master is created only after worker runs (dependsOn)"),
    "long": (LONG, "VC_WORKER_HOSTS of 184,889 bytes"),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("command", ["validate", "expand", "place", "compare"])
def test_it_is_told_by_each_command(run: Run, files: Path, name: str, command: str) -> None:
    manifest, words = CASES[name]
    (files / "job.yaml").write_text(manifest, encoding="utf-8")
    inputs = [files / "job.yaml"] if command in ("validate", "expand") else [files / "cluster.yaml", files / "job.yaml"]
    result = run(command, *inputs)
    assert words in " ".join((result.out + result.err).split())


def test_run_says_why_beside_what_volcano_says(run: Run, files: Path) -> None:
    (files / "job.yaml").write_text(DEPENDS, encoding="utf-8")
    result = run("run", files / "cluster.yaml", files / "job.yaml", "--until", "60")
    text = " ".join(result.out.split())
    assert result.status == 1
    assert "so only 2 of the 3 pods that minAvailable counts can exist before the job starts" in text
    assert "lower minAvailable to 2 (Volcano: Not enough valid tasks for gang-scheduling, valid: 2, min: 3)" in text


def test_run_tells_it_when_the_job_is_submitted(run: Run, files: Path) -> None:
    (files / "job.yaml").write_text(RAY, encoding="utf-8")
    result = run("run", files / "cluster.yaml", files / "job.yaml", "--until", "5")
    assert CASES["ray"][1] in " ".join(result.err.split())
