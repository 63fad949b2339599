"""Sets of GPUs that are allowed, by options of ``workbench gpus``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Run

DIES = """\
        NPU0 NPU1 NPU2 NPU3 CPU Affinity
NPU0    X    SIO  HCCS_SW HCCS_SW 0-79
NPU1    SIO  X    HCCS_SW HCCS_SW 0-79
NPU2    HCCS_SW HCCS_SW X SIO 80-159
NPU3    HCCS_SW HCCS_SW SIO X 80-159
"""


@pytest.fixture
def dies(tmp_path: Path) -> Path:
    path = tmp_path / "topo.txt"
    path.write_text(DIES)
    return path


def test_dies_of_a_module_are_taken_together(run: Run, dies: Path) -> None:
    odd = run("gpus", dies, "-k", 3)
    assert odd.status == 1
    assert "no set of whole modules has 3 GPUs; modules of 2: {0,1} {2,3}" in odd.err
    assert run("gpus", dies, "-k", 3, "--modules", "none", "-o", "json").json["gpus"] == [0, 1, 2]
    assert run("gpus", dies, "-k", 2, "--avoid", "0", "-o", "json").json["gpus"] == [2, 3]
    assert run("gpus", dies, "-k", 1, "--avoid", "0", "-o", "json").json["gpus"] == [1]
    assert run("gpus", dies, "-k", 2, "--modules", "1,2;0,3", "-o", "json").json["ties"] == [[0, 3], [1, 2]]


def test_allowed_sets_come_from_a_file_or_the_option(run: Run, dies: Path, tmp_path: Path) -> None:
    partitions = tmp_path / "partitions.txt"
    partitions.write_text("1,2\n0,3\n")
    for given in (str(partitions), "1,2;0,3", "NPU1,NPU2;NPU0,NPU3"):
        found = run("gpus", dies, "-k", 2, "--allowed", given, "-o", "json")
        assert (found.status, found.json["ties"]) == (0, [[0, 3], [1, 2]])
    none = run("gpus", dies, "-k", 2, "--allowed", partitions, "--avoid", "1,3", "-o", "json")
    assert (none.status, none.json["gpus"]) == (1, [])
    assert "no allowed set of 2 GPUs is free" in none.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-k", 2, "--allowed", "0,9"), "--allowed"),
        (("-k", 2, "--allowed", "nowhere"), "nowhere"),
        (("-k", 2, "--modules", "0,1;1,2"), "a GPU in two modules"),
        (("--pods", "1,1", "--allowed", "0,1"), "not for several pods"),
        (("--regret", "--modules", "0,1"), "not with --regret"),
    ],
)
def test_what_does_not_fit_is_refused(run: Run, dies: Path, arguments: tuple[object, ...], message: str) -> None:
    result = run("gpus", dies, *arguments)
    assert result.status == 2
    assert message in result.err
