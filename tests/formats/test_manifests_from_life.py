"""Manifests of gang jobs from the documents of other projects: how many gangs, roles and pods each becomes."""

from __future__ import annotations

from pathlib import Path

import pytest

import workbench as wb
from workbench.errors import InputError

FOLDER = "manifests-from-life"


@pytest.fixture
def folder(public_data: Path) -> Path:
    if not (public_data / FOLDER).is_dir():
        pytest.skip(f"{FOLDER} is not among the public data")
    return public_data / FOLDER


#: By file: gangs, pods of each role of the first one, its minimum, and codes of its notices.
WANT = {
    "aws-raycluster": (1, {"head": 1, "gpu-workers": 1}, 2, {"start-order-not-followed"}),
    "jobset-exclusive-placement": (1, {"workers": 9}, 9, {"exclusive-topology"}),
    "kai-job-required-preferred": (1, {"main": 3}, 3, {"no-containers"}),
    "kai-pytorchjob-segments": (1, {"master": 1, "worker": 16}, 17, set()),
    "kai-rayjob-gang": (1, {"head": 1, "gpu-workers": 2}, 2, {"start-order-not-followed"}),
    "kai-tfjob-segments-design": (1, {"chief": 1, "ps": 2, "worker": 16}, 19, set()),
    "kueue-job-preferred": (1, {"main": 40}, 40, {"generated-name"}),
    "kueue-job-required": (1, {"main": 10}, 10, {"generated-name"}),
    "kueue-job-unconstrained": (1, {"main": 6}, 6, {"generated-name"}),
    "kueue-jobset-required": (1, {"workers": 4}, 4, set()),
    "kueue-jobset-sliced": (1, {"workers": 8}, 8, set()),
    "kueue-jobset-slices-kep": (1, {"leader": 1, "workers": 8}, 9, set()),
    "kueue-lws-kep": (2, {"leader": 1, "worker": 2}, 3, set()),
    "kueue-mpijob-kep": (1, {"launcher": 1, "worker": 2}, 3, set()),
    "lws-exclusive-placement": (3, {"main": 4}, 4, {"exclusive-topology"}),
    "lws-exclusive-placement-docs": (3, {"main": 4}, 4, {"exclusive-topology"}),
}

#: By file: why it cannot be read, with the field.
SKETCHES = {
    "aws-pytorchjob-fsdp": r"spec\.pytorchReplicaSpecs\.Worker\.replicas: a placeholder .*\$NUM_NODES",
    "kueue-job-multi-layer-slices": r"metadata\.name: the field is missing",
}


@pytest.mark.parametrize("name", WANT)
def test_a_manifest_becomes_its_gangs(folder: Path, name: str) -> None:
    scenario = wb.load(folder / f"{name}.yaml", any_scheduler=True)
    gangs, roles, minimum, codes = WANT[name]
    first = scenario.gangs[0]
    assert (len(scenario.gangs), scenario.ignored) == (gangs, {})
    assert {role.name: role.count for role in first.roles} == roles
    assert first.min_available == minimum
    assert {note.code for note in first.notes} - {"field-not-read", "pod-rules-not-read"} == codes


@pytest.mark.parametrize("name", SKETCHES)
def test_a_sketch_says_what_is_missing(folder: Path, name: str) -> None:
    with pytest.raises(InputError, match=SKETCHES[name]):
        wb.load(folder / f"{name}.yaml")
