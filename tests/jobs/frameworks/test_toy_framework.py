"""A framework's job plugin changes three existing files: a toy follows the recipe in CONTRIBUTING.md."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import workbench

ROOT = Path(__file__).resolve().parents[3]
TOY = Path(__file__).parent / "toy" / "paddle.py"

#: By existing file: text after which the toy adds its own.
CHANGES = {
    "workbench/objects/frameworks.py": [
        (
            "FRAMEWORKS: Mapping[str, Framework] = {\n",
            '    "paddle": Framework(\n'
            '        flags=(Flag("trainer", "trainer", "task of the trainers"), Flag("port", 6170, "port", PORTS)),\n'
            '        leader="trainer",\n'
            "        in_volcano=False,\n"
            '        additions=Addition(flags=("trainer", "port"), env={"endpoints": "PADDLE_TRAINER_ENDPOINTS"}),\n'
            "    ),\n",
        )
    ],
    "workbench/jobs/frameworks/registry.py": [
        ("from workbench.jobs.frameworks import mpi", ", paddle"),
        ("*(svc.PLUGIN, ", "paddle.PLUGIN, "),
    ],
    "docs/jobs.md": [
        (
            "`DMLC_ROLE`, `DMLC_USE_KUBERNETES` |\n",
            "| `paddle` | `--trainer`, `--port` (6170) | no such plugin | `PADDLE_TRAINER_ENDPOINTS` |\n",
        )
    ],
}

JOB = """
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: train}
spec:
  schedulerName: volcano
  minAvailable: 2
  plugins: {paddle: [ARGUMENT]}
  tasks:
  - name: trainer
    replicas: 2
    template:
      spec: {restartPolicy: OnFailure, containers: [{name: c, image: "example.invalid/train:1"}]}
"""


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources with the toy in it."""
    root = tmp_path_factory.mktemp("framework")
    source = Path(workbench.__file__).resolve().parent
    shutil.copytree(source, root / "workbench", ignore=shutil.ignore_patterns("__pycache__", "js", "static"))
    (root / "docs").mkdir()
    shutil.copy(TOY, root / "workbench/jobs/frameworks/paddle.py")
    for file, lines in CHANGES.items():
        text = (ROOT / file).read_text("utf-8")
        for after, line in lines:
            assert text.count(after) == 1, (file, after)
            text = text.replace(after, after + line)
        (root / file).write_text(text, "utf-8")
    for name, argument in (("good", "--port=7000"), ("bad", "--ports=7000")):
        (root / f"{name}.yaml").write_text(JOB.replace("ARGUMENT", argument), "utf-8")
    return root


def command(checkout: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(checkout), "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "200"}
    line = [sys.executable, "-P", "-m", "workbench", *arguments]
    return subprocess.run(line, cwd=checkout, env=environment, capture_output=True, text=True, check=False)


def test_no_other_file_names_a_framework_by_its_declaration() -> None:
    assert len(CHANGES) <= 3
    own = {f"workbench/{name}.py" for name in ("jobs/frameworks/variables", "objects/frameworks")}
    named = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "workbench").rglob("*.py")
        if re.search(r"\bmxnet\b", path.read_text("utf-8"))
    }
    assert named == own


@pytest.mark.slow
def test_the_pods_of_the_toy_get_its_variables_and_its_service(checkout: Path) -> None:
    done = command(checkout, "expand", "good.yaml")
    assert done.returncode == 0, done.stderr
    assert "train-trainer-0.train:7000,train-trainer-1.train:7000" in done.stdout
    assert "kind: Service\n" in done.stdout


@pytest.mark.slow
def test_admission_knows_the_toy_as_this_project_s_own(checkout: Path) -> None:
    accepted = command(checkout, "validate", "good.yaml")
    assert accepted.returncode == 0 and "spec.plugins.paddle is this project's own" in accepted.stdout
    assert "task trainer leads the job of the plugin paddle" in accepted.stdout
    assert command(checkout, "validate", "good.yaml", "--release", "1.15").returncode == 1
    refused = command(checkout, "validate", "bad.yaml")
    assert refused.returncode == 1 and "flag provided but not defined: -ports" in refused.stdout
    assert "mxnet, paddle is accepted" in " ".join(command(checkout, "validate", "--help").stdout.split())
