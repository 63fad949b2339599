"""The HyperJobs of `datasets/hyperjob`, and the cluster on which 40 Jobs fit and the one on which they do not."""

from __future__ import annotations

from pathlib import Path

import pytest

import workbench
from tests.notices import codes, said
from workbench.model.placement import Placement, Refusal
from workbench.model.snapshot import ClusterSnapshot
from workbench.topology.presets import generate_scenario

DATASETS = Path(__file__).parents[2] / "datasets"
TEMPLATE = "spec.replicatedJobs[0].template"
POLICIES = ["gang", "binpack", "volcano-1.13", "volcano-1.15"]


def cluster(width: int) -> ClusterSnapshot:
    """Nodes of 8 GPUs: 32 in each HyperNode of tier 1, `width` of those in each of two HyperNodes of tier 2."""
    return generate_scenario("balanced", sizes=(32, width, 2), gpus=8).snapshot


def test_the_documents_spelling_is_read_with_a_warning_for_each_slip() -> None:
    scenario = workbench.load(DATASETS / "hyperjob/document.yaml")
    gang = scenario.gang("multi-volcano-job")
    released = workbench.load(DATASETS / "samples/hyperjob.yaml").gang("multi-volcano-job")
    assert (gang.n_pods, len(gang.jobs), gang.constraint) == (1280, 40, released.constraint)
    assert [one.constraint for one in gang.sub_groups] == [one.constraint for one in released.sub_groups]
    assert list(said(gang.notes)) == [
        "apiVersion: read as training.volcano.sh/v1alpha1, the group in which Volcano released the kind",
        f"{TEMPLATE}: read as templateSpec, the name of the released field",
        "spec.networkTopology: a list with one entry; read as the object that the field holds",
        f"{TEMPLATE}.networkTopology: a list with one entry; read as the object that the field holds",
    ]
    assert set(codes(gang.notes)) == {"document-spelling"}
    assert released.notes == ()
    # The resource gpu is taken as the one that device plugins offer.
    assert [gap.code for gap in scenario.snapshot.gaps].count("gpu-without-domain") == 2
    assert isinstance(workbench.place(gang, cluster(width=40)), workbench.Placement)


def test_the_documents_go_type_is_read_with_a_warning_for_each_slip() -> None:
    scenario = workbench.load(DATASETS / "hyperjob/go-type.yaml", DATASETS / "three-level-tree/nodes.yaml")
    (gang,) = scenario.gangs
    assert [(job.name, job.gang and job.gang.n_pods) for job in gang.jobs] == [
        ("two-of-a-kind-trainer-0", 2),
        ("two-of-a-kind-trainer-1", 2),
    ]
    assert [note.subject for note in gang.notes] == [
        "apiVersion",
        "spec.jobs",
        "spec.jobs[0]",
        "spec.jobs[0].networkTopology",
    ]


@pytest.mark.parametrize("policy", POLICIES)
def test_forty_jobs_fit(policy: str) -> None:
    gang = workbench.load(DATASETS / "samples/hyperjob.yaml").gangs[0]
    result = workbench.place(gang, cluster(42), policy)
    assert isinstance(result, Placement)
    assert (result.n_placed, result.tier, len(set(result.exclusive.values()))) == (1280, 2, 40)


@pytest.mark.parametrize("policy", POLICIES)
def test_forty_jobs_do_not_fit_where_a_hypernode_holds_37(policy: str) -> None:
    gang = workbench.load(DATASETS / "samples/hyperjob.yaml").gangs[0]
    result = workbench.place(gang, cluster(37), policy)
    assert isinstance(result, Refusal)
    assert said(result.reasons) == (
        "tier 1: 37 of the 40 HyperNodes needed are free and hold 32 pods × 8 GPUs inside one HyperNode of tier 2 or "
        "below; 74 of 74 are free of accelerator pods; "
        "multi-volcano-job-volcano-job-37..multi-volcano-job-volcano-job-39 wait: s37 holds it and "
        "lies outside s74, where the other Jobs are",
    )
    (miss,) = result.nearest_misses
    assert (miss.tier, miss.holds, miss.needs) == (2, 37 * 32, 40 * 32)


def test_the_small_one() -> None:
    gang = workbench.load(DATASETS / "hyperjob/small.yaml").gangs[0]
    snapshot = generate_scenario("balanced", sizes=(2, 3, 1), gpus=8).snapshot
    result = workbench.place(gang, snapshot, "volcano")
    assert isinstance(result, Placement)
    assert (len(result.exclusive), len(result.unplaced)) == (3, 2)
