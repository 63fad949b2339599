"""Manifests that projects publish, and our own, have no field that their kinds lack."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench.errors import InputError
from workbench.formats.manifests import read_manifests
from workbench.objects.schemas import DESCRIBED_KINDS, unknown_in

DATASETS = Path(__file__).parents[3] / "datasets"

# What the design document asks for and the released HyperJob lacks (datasets/samples/README.md).
KNOWN = {("hyperjob.yaml", "spec.networkTopology"), ("small.yaml", "spec.networkTopology")}


def described(folder: Path) -> tuple[int, set[tuple[str, str]]]:
    """How many objects of described kinds are below a folder, and which unknown fields they have."""
    number, found = 0, set()
    for path in sorted(folder.rglob("*.yaml")):
        try:
            documents = read_manifests([path]).documents
        except InputError:
            continue  # a sketch, or another format
        for document in documents:
            kind = (str(document.data.get("apiVersion")).rpartition("/")[0], document.data.get("kind"))
            if kind in DESCRIBED_KINDS:
                number += 1
                found |= {(path.name, unknown.path) for unknown in unknown_in(document.data)}
    return number, found


def test_our_datasets() -> None:
    number, found = described(DATASETS)
    assert number > 50 and found == KNOWN


@pytest.mark.parametrize(("folder", "least"), [("manifests-from-life", 5), ("lint-from-life", 10)])
def test_manifests_and_faults_from_life(folder: str, least: int, public_data: Path) -> None:
    number, found = described(public_data / folder)
    assert number >= least and found == set()
