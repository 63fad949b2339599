"""The twin of a scheduler changes three files: a toy with its own kind, extra, reader, policy and page is built so.

The toy follows the recipe in CONTRIBUTING.md on a copy of the sources, and works there in every command.
"""

from __future__ import annotations

import filecmp
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import workbench
from tests.test_site import entries

ROOT = Path(__file__).resolve().parents[2]
TOY = Path(__file__).parent / "toy"

#: Folders of the toy's new files in the repository.
NEW = {
    "model/rack_wish.py": "workbench/model/rack_wish.py",
    "objects/rack_claim.py": "workbench/objects/rack_claim.py",
    "policies/rack_claims.py": "workbench/policies/rack_claims.py",
    "docs/rack-claims.md": "docs/rack-claims.md",
}

#: By existing file: lines after which the toy adds its own.
CHANGES = {
    "workbench/objects/kinds.py": [
        (
            "from workbench.objects.queue import PriorityClass, read_priority_class, read_queue\n",
            "from workbench.objects.rack_claim import read_rack_claim\n",
        ),
        (
            '    ("scheduling.k8s.io", "PriorityClass"): ("priority_classes", read_priority_class),\n',
            '    ("toy.example", "RackClaim"): ("requests", read_rack_claim),\n',
        ),
    ],
    "workbench/policies/built_in.py": [
        (
            '        f"{_VOLCANO} 1.13, allocate action",\n        _VOLCANO_SCHEDULER,\n    ),\n',
            '    Entry(\n        "rack-claims",\n        "node",\n'
            '        Deferred("workbench.policies.rack_claims:RackClaims"),\n'
            '        NoParameters,\n        "in the rack that is claimed",\n        "toy",\n    ),\n',
        ),
    ],
    "docs/index.md": [("koordinator\n", "rack-claims\n")],
}

JOB = """
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: train}
spec:
  schedulerName: volcano
  minAvailable: 2
  tasks:
  - name: worker
    replicas: 2
    template:
      spec:
        restartPolicy: OnFailure
        containers:
        - {name: worker, image: "example.invalid/train:1", resources: {requests: {cpu: 1}, limits: {cpu: 1}}}
"""
CLAIM = """
---
apiVersion: toy.example/v1
kind: RackClaim
metadata: {name: mine}
spec: {job: train, rack: RACK}
"""


def cluster_text() -> str:
    """Two racks of two nodes each."""
    documents = []
    for rack in "ab":
        names = [f"{rack}{number}" for number in range(2)]
        members = ", ".join(f"{{type: Node, selector: {{exactMatch: {{name: {name}}}}}}}" for name in names)
        documents.append(
            "apiVersion: topology.volcano.sh/v1alpha1\nkind: HyperNode\n"
            f"metadata: {{name: rack-{rack}}}\nspec: {{tier: 1, members: [{members}]}}\n"
        )
        documents += [
            f"apiVersion: v1\nkind: Node\nmetadata: {{name: {name}}}\n"
            "status: {allocatable: {cpu: 8, memory: 8Gi, pods: 110}}\n"
            for name in names
        ]
    racks = ", ".join(f"{{type: HyperNode, selector: {{exactMatch: {{name: rack-{rack}}}}}}}" for rack in "ab")
    documents.append(
        "apiVersion: topology.volcano.sh/v1alpha1\nkind: HyperNode\n"
        f"metadata: {{name: spine}}\nspec: {{tier: 2, members: [{racks}]}}\n"
    )
    return "---\n".join(documents)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources with the toy in it."""
    root = tmp_path_factory.mktemp("twin")
    source = Path(workbench.__file__).resolve().parent
    shutil.copytree(source, root / "workbench", ignore=shutil.ignore_patterns("__pycache__", "js", "static"))
    shutil.copytree(ROOT / "docs", root / "docs", ignore=shutil.ignore_patterns("images"))
    for file, target in NEW.items():
        assert not (root / target).exists()
        shutil.copy(TOY / file, root / target)
    for file, lines in CHANGES.items():
        text = (root / file).read_text("utf-8")
        for after, line in lines:
            assert text.count(after) == 1, (file, after)
            text = text.replace(after, after + line)
        (root / file).write_text(text, "utf-8")
    (root / "cluster.yaml").write_text(cluster_text(), "utf-8")
    (root / "train.yaml").write_text(JOB, "utf-8")
    for rack in "ab":
        (root / f"claim-{rack}.yaml").write_text(CLAIM.replace("RACK", f"rack-{rack}"), "utf-8")
    return root


def python(checkout: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python with the copy's `workbench`, and the tests of the repository."""
    search = os.pathsep.join([str(checkout), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": search, "PYTHONDONTWRITEBYTECODE": "1"}
    line = [sys.executable, "-P", *arguments]
    return subprocess.run(line, cwd=checkout, env=environment, capture_output=True, text=True, check=False)


def command(checkout: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return python(checkout, "-m", "workbench", *arguments)


def placed_nodes(checkout: Path, *files: str) -> set[str]:
    done = command(checkout, "place", *files, "--policy", "rack-claims", "-o", "json")
    assert done.returncode == 0, done.stderr
    (job,) = json.loads(done.stdout)["jobs"]
    return {pod["node"] for pod in job["pods"]}


def test_the_toy_changes_at_most_three_files(checkout: Path) -> None:
    changed, new = [], []
    for folder in ("workbench", "docs"):
        for path in sorted((checkout / folder).rglob("*")):
            name = str(path.relative_to(checkout))
            original = ROOT / name
            if path.is_dir() or name.endswith((".pyc", ".so")):
                continue
            if not original.exists():
                new.append(name)
            elif not filecmp.cmp(path, original, shallow=False):
                changed.append(name)
    assert new == sorted(NEW.values(), key=lambda name: (not name.startswith("workbench"), name))
    assert changed == sorted(CHANGES, key=lambda name: (not name.startswith("workbench"), name))
    assert len(changed) <= 3


@pytest.mark.slow
@pytest.mark.parametrize("rack", ["a", "b"])
def test_the_claim_decides_where_the_pods_go(checkout: Path, rack: str) -> None:
    assert placed_nodes(checkout, "cluster.yaml", "train.yaml", f"claim-{rack}.yaml") <= {f"{rack}0", f"{rack}1"}


@pytest.mark.slow
def test_a_job_without_a_claim_goes_anywhere(checkout: Path) -> None:
    assert placed_nodes(checkout, "cluster.yaml", "train.yaml") == {"a0"}


@pytest.mark.slow
def test_a_claim_for_a_rack_that_is_missing_is_refused_with_its_reason(checkout: Path) -> None:
    (checkout / "claim-c.yaml").write_text(CLAIM.replace("RACK", "rack-c"), "utf-8")
    done = command(checkout, "place", "cluster.yaml", "train.yaml", "claim-c.yaml", "--policy", "rack-claims")
    assert "there is no HyperNode rack-c" in done.stdout


@pytest.mark.slow
def test_a_bad_claim_is_one_error(checkout: Path) -> None:
    (checkout / "bad.yaml").write_text(CLAIM.replace("job: train, ", ""), "utf-8")
    done = command(checkout, "place", "cluster.yaml", "train.yaml", "bad.yaml", "--policy", "rack-claims")
    assert done.returncode == 2
    assert "spec.job" in done.stderr
    assert "bad.yaml" in done.stderr


@pytest.mark.slow
def test_the_policy_is_listed_and_compared(checkout: Path) -> None:
    assert "rack-claims" in command(checkout, "policies").stdout
    files = ("cluster.yaml", "train.yaml", "claim-b.yaml")
    done = command(checkout, "compare", *files, "--policies", "gang,rack-claims", "-o", "json")
    policies = json.loads(done.stdout)["provenance"]["policies"]
    assert [each["policy"] for each in policies] == ["gang", "rack-claims"]


FOLLOWED = """
from workbench.cluster.changes import added, deleted
from workbench.cluster.state import ClusterState
from workbench.formats.load import load_objects
from workbench.model.rack_wish import RackWish
from workbench.objects.metadata import Metadata
from workbench.objects.rack_claim import RackClaim

state = ClusterState(load_objects("cluster.yaml", "train.yaml"))
wish = lambda: state.workload.gangs[0].extra(RackWish).rack
print(repr(wish()))
state.apply([added(RackClaim(Metadata("mine", "default"), "train", "rack-b"))])
print(repr(wish()))
state.apply([deleted("GangRequest", "RackClaim default/mine")])
print(repr(wish()))
"""


@pytest.mark.slow
def test_a_followed_cluster_follows_the_claim(checkout: Path) -> None:
    done = python(checkout, "-c", FOLLOWED)
    assert done.stdout.split() == ["''", "'rack-b'", "''"], done.stderr


@pytest.mark.slow
def test_the_toy_keeps_to_the_arrows(checkout: Path) -> None:
    text = "from tests.test_arrows import forbidden, graph; print(sorted(graph().modules)[-1:], forbidden(graph()))"
    done = python(checkout, "-c", text)
    assert done.stdout.rstrip().endswith("[]"), done.stdout + done.stderr


def test_the_page_is_in_the_site(checkout: Path) -> None:
    pages = [path for _, paths in entries(checkout / "docs/index.md") for path in paths]
    assert checkout / "docs/rack-claims.md" in pages
