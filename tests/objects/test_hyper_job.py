"""Reading HyperJobs in the released spelling and in that of the design document."""

from __future__ import annotations

from typing import Any

import pytest

from tests.notices import codes, said
from workbench.errors import InputError
from workbench.model.gang import TopologyConstraint
from workbench.objects.admission import notes_of, refusal_of, review
from workbench.objects.hyper_job import read_hyper_job, released_form
from workbench.objects.kinds import ClusterObjects

RELEASED, DOCUMENT = "training.volcano.sh/v1alpha1", "topology.volcano.sh/v1alpha1"
TASKS = [{"name": "w", "replicas": 2, "template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}}]
HARD = {"mode": "hard", "highestTierAllowed": 1}


def hyper_job(version: str = RELEASED, **spec: Any) -> dict[str, Any]:
    metadata = {"name": "h", "namespace": "ml"}
    return {"apiVersion": version, "kind": "HyperJob", "metadata": metadata, "spec": spec}


def members(replicas: int | None = 3, **template: Any) -> list[dict[str, Any]]:
    counted = {} if replicas is None else {"replicas": replicas}
    return [{"name": "m", **counted, "templateSpec": {"tasks": TASKS, **template}}]


def test_the_released_spelling() -> None:
    read = read_hyper_job(hyper_job(replicatedJobs=members(), networkTopology=HARD, minAvailable=2))
    assert [name for name, _ in read.jobs()] == ["h-m-0", "h-m-1", "h-m-2"]
    assert (read.min_available, read.n_jobs, read.constraint) == (2, 3, TopologyConstraint("hard", 1))
    assert notes_of(hyper_job(replicatedJobs=members())) == []


def test_defaults_of_counts() -> None:
    assert read_hyper_job(hyper_job(replicatedJobs=members(None))).min_available == 1
    assert read_hyper_job(hyper_job(replicatedJobs=members(5))).min_available == 5
    assert read_hyper_job(hyper_job(replicatedJobs=members(5))).constraint is None


JOB_SPEC = {"tasks": TASKS, "networkTopology": HARD}
SPELLINGS = {
    "a template": (
        {"replicatedJobs": [{"name": "m", "replicas": 3, "template": JOB_SPEC}]},
        ["spec.replicatedJobs[0].template: read as templateSpec, the name of the released field"],
    ),
    "a template with spec": (
        {"replicatedJobs": [{"name": "m", "replicas": 3, "template": {"spec": JOB_SPEC}}]},
        [
            "spec.replicatedJobs[0].template.spec: read as templateSpec, the name of the released field "
            "(a Job's spec, without metadata)"
        ],
    ),
    "jobs": (
        {"jobs": [{"name": "m", "replicas": 3, **JOB_SPEC}]},
        [
            "spec.jobs: read as replicatedJobs, the name of the released field",
            "spec.jobs[0]: read as templateSpec, the released field that holds a Job's spec",
        ],
    ),
    "lists": (
        {
            "networkTopology": [HARD],
            "replicatedJobs": [
                {"name": "m", "replicas": 3, "templateSpec": {"tasks": TASKS, "networkTopology": [HARD]}}
            ],
        },
        [
            "spec.networkTopology: a list with one entry; read as the object that the field holds",
            "spec.replicatedJobs[0].templateSpec.networkTopology: a list with one entry; read as the object that the "
            "field holds",
        ],
    ),
}


@pytest.mark.parametrize(("spec", "want"), SPELLINGS.values(), ids=SPELLINGS.keys())
def test_each_spelling_is_read_alike_and_told(spec: dict[str, Any], want: list[str]) -> None:
    manifest = hyper_job(**spec)
    notes = [note for note in notes_of(manifest) if note.code == "document-spelling"]
    assert list(said(notes)) == want
    assert {note.subject for note in notes} == {text.partition(": ")[0] for text in want}
    stored = released_form(manifest)
    assert stored["spec"]["replicatedJobs"] == [{"name": "m", "replicas": 3, "templateSpec": JOB_SPEC}]
    (member,) = read_hyper_job(manifest).members
    assert (member.name, member.replicas, member.template) == ("m", 3, JOB_SPEC)
    assert "unknown-field" not in codes(notes_of(manifest))


def test_the_group_of_the_document_is_read_with_a_warning_and_refused_by_a_cluster() -> None:
    manifest = hyper_job(DOCUMENT, replicatedJobs=members())
    cluster = ClusterObjects()
    cluster.add(manifest)
    assert list(cluster.hyper_jobs) == ["ml/h"]
    assert list(said(cluster.notes["HyperJob ml/h"])) == [
        "apiVersion: read as training.volcano.sh/v1alpha1, the group in which Volcano released the kind"
    ]
    assert refusal_of(manifest) == ""
    assert review(manifest).refusal == 'no matches for kind "HyperJob" in version "topology.volcano.sh/v1alpha1"'
    assert codes(review(manifest).warnings) == ("document-spelling",)


def test_the_released_form_of_the_document_is_accepted() -> None:
    spec = {"networkTopology": [HARD], "jobs": [{"name": "m", "replicas": 3, "template": {"spec": JOB_SPEC}}]}
    stored = released_form(hyper_job(DOCUMENT, **spec))
    assert notes_of(stored) == [] and review(stored).allowed
    assert released_form(stored) == stored


@pytest.mark.parametrize(
    ("spec", "where"),
    [
        ({"networkTopology": []}, "spec.networkTopology"),
        ({"networkTopology": [HARD, HARD]}, "spec.networkTopology"),
        ({"replicatedJobs": {}}, "spec.replicatedJobs"),
        ({"replicatedJobs": members("3")}, r"spec.replicatedJobs\[0\].replicas"),
        ({"replicatedJobs": members(queue=1)}, r"spec.replicatedJobs\[0\].templateSpec.queue"),
        ({"replicatedJobs": [{"name": "m", "template": {"spec": {"queue": 1}}}]}, r"\[0\].template.spec.queue"),
        ({"minAvailable": "1"}, "spec.minAvailable"),
    ],
)
def test_a_field_of_the_wrong_type_is_named(spec: dict[str, Any], where: str) -> None:
    with pytest.raises(InputError, match=where):
        ClusterObjects().add(hyper_job(**spec))


def test_a_gpu_without_a_domain_is_told() -> None:
    resources = {"requests": {"gpu": 8}, "limits": {"gpu": 8}}
    task = {"name": "w", "template": {"spec": {"containers": [{"name": "c", "image": "i", "resources": resources}]}}}
    notes = notes_of(hyper_job(replicatedJobs=members(tasks=[task])))
    assert list(said(notes)) == [
        "spec.replicatedJobs[0].templateSpec.tasks[0].template.spec.containers[0].resources: device plugins name GPUs "
        "with a domain, such as nvidia.com/gpu"
    ]
