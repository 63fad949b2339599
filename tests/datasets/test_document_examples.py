"""The examples of the design documents, corrected and as written, through `place`, `compare` and `run`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.conftest import run as run  # a fixture
from workbench.formats.write_manifests import to_yaml
from workbench.topology.presets import generate

DATASETS = Path(__file__).parents[2] / "datasets"
TREE = ("three-level-tree/nodes.yaml", "three-level-tree/hypernodes.yaml")

#: Inputs, and whether all their jobs are placed: only the third job on the tree finds no room.
EXAMPLES = {
    "spine-leaf tree, soft": ((*TREE, "three-level-tree/job-soft.yaml"), True),
    "spine-leaf tree, hard at tier 2": ((*TREE, "three-level-tree/job-hard-tier-2.yaml"), True),
    "spine-leaf tree, all jobs": (("three-level-tree",), False),
    "two RoCE networks": (("two-roce-networks",), True),
    "PyTorch job": (("demo/cluster.yaml", "samples/pytorch-job.yaml"), True),
    "use case 1": (("use-case-1/small.yaml",), True),
    "use case 2": (("use-case-2/small.yaml",), True),
    "Koordinator's devices": (("demo",), True),
}
#: The HyperJob of 40 x 32 pods x 8 GPUs, as released and as the document spells it.
HYPER_JOBS = ("samples/hyperjob.yaml", "hyperjob/document.yaml")


def paths(names: tuple[str, ...]) -> list[str]:
    return [str(DATASETS / name) for name in names]


@pytest.mark.slow
@pytest.mark.parametrize("command", [("place",), ("compare", "--policies", "volcano-1.13,volcano-1.15"), ("run",)])
@pytest.mark.parametrize(("names", "placed"), EXAMPLES.values(), ids=EXAMPLES)
def test_an_example_goes_through_a_command(
    run: Run, command: tuple[str, ...], names: tuple[str, ...], placed: bool
) -> None:
    result = run(*command, *paths(names), "-o", "json")
    assert result.status == (0 if placed else 1), result.err
    assert result.json


@pytest.mark.slow
@pytest.mark.parametrize("command", ["place", "run"])
@pytest.mark.parametrize("name", HYPER_JOBS)
def test_the_hyperjob_where_it_fits_and_where_it_does_not(run: Run, tmp_path: Path, command: str, name: str) -> None:
    for width, status in ((42, 0), (37, 1)):
        cluster = tmp_path / f"{width}.yaml"
        cluster.write_text(to_yaml(generate("balanced", sizes=(32, width, 2), gpus=8)))
        result = run(command, str(cluster), str(DATASETS / name))
        assert result.status == status, result.err
        told = " ".join((result.out + result.err).split())
        assert ("37 of the 40 HyperNodes needed are free" in told) == bool(status)
        assert ("read as" in told) == (name == HYPER_JOBS[1])
