"""Cases of public reports, from the folder of public data: what `place` and the commands beside it say of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Run

FOLDER = "from-life-3"


@pytest.fixture
def case(public_data: Path) -> Path:
    if not (public_data / FOLDER).is_dir():
        pytest.skip(f"{FOLDER} is not among the public data")
    return public_data / FOLDER


def test_a_deadlock_of_depends_on(run: Run, case: Path) -> None:
    folder = case / "13-depends-on-deadlock"
    for command in ("place", "compare", "validate"):
        inputs = [folder / "job.yaml"] if command == "validate" else [folder / "cluster.yaml", folder / "job.yaml"]
        assert "lower minAvailable to 8" in " ".join(run(command, *inputs).out.split()), command


@pytest.mark.parametrize("policy", ["koordinator-network", "koordinator-gpu"])
def test_gang_groups(run: Run, case: Path, policy: str) -> None:
    result = run("place", case / "14-gang-groups" / "pods.yaml", "--policy", policy, "-o", "json")
    outcome = {one["name"]: one["outcome"] for one in result.json["jobs"]}
    assert {name.rpartition("/")[2]: one for name, one in outcome.items()} == {
        "g1": "placed",
        "g2": "pending",
        "g3": "placed",
        "g4": "pending",
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("folder", "words"),
    [
        ("16-ray-command-replaced", "or name another container by --headContainer"),
        ("17-svc-env-too-long", 'svc: ["--inject-hosts-env=false"]'),
    ],
)
def test_what_plugins_do(run: Run, case: Path, folder: str, words: str) -> None:
    for command in ("validate", "expand"):
        result = run(command, case / folder / "job.yaml")
        assert words in " ".join((result.out + result.err).split()), command
