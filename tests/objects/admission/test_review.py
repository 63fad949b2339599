"""Admission of one object: accepted, filled in, refused, or accepted without effect."""

from __future__ import annotations

from typing import Any

import pytest

from tests.notices import codes, said
from tests.objects.schemas.samples import an_object
from workbench.errors import InputError
from workbench.model.release import Release
from workbench.objects.admission import Known, Verdict, notes_of, refusal_of, review
from workbench.objects.admission.known import KnownQueue

V1_13, V1_15 = Release


TEMPLATE = {"spec": {"containers": [{"name": "c", "image": "busybox"}]}}


def job(*tasks: dict[str, Any], **spec: Any) -> dict[str, Any]:
    whole = [{"template": TEMPLATE, **task} for task in tasks]
    return {"kind": "Job", "metadata": {"name": "j"}, "spec": {"tasks": whole, **spec}}


def pod_group(**spec: Any) -> dict[str, Any]:
    return {"kind": "PodGroup", "metadata": {"name": "g"}, "spec": spec}


def topology(verdict: Verdict) -> dict[str, Any]:
    return {path: value for path, value in verdict.defaults.items() if "networkTopology" in path}


def test_what_is_filled_into_a_job() -> None:
    verdict = review(job({"replicas": 3}, {"name": "b", "replicas": 2, "minAvailable": 1, "maxRetry": 5}))
    assert verdict.allowed
    assert verdict.defaults == {
        "spec.tasks[0].name": "default0",
        "spec.tasks[0].minAvailable": 3,
        "spec.tasks[0].maxRetry": 3,
        "spec.minAvailable": 4,
        "spec.queue": "default",
        "spec.schedulerName": "volcano",
        "spec.maxRetry": 3,
    }


@pytest.mark.parametrize(
    ("release", "want", "warned"),
    [
        (V1_13, {"spec.networkTopology.mode": "hard", "spec.networkTopology.highestTierAllowed": 1}, False),
        (V1_15, {"spec.networkTopology.mode": "hard"}, True),
    ],
)
def test_hard_without_a_tier_is_tier_1_in_1_13_and_nothing_in_1_15(
    release: Release, want: dict[str, Any], warned: bool
) -> None:
    verdict = review(pod_group(networkTopology={}), release)
    assert topology(verdict) == want
    assert ("constraint-without-effect" in codes(verdict.warnings)) == warned


@pytest.mark.parametrize(("names", "warned"), [(None, False), (["rack"], False), (["pod"], True)])
def test_a_tier_name_that_no_hypernode_has(names: list[str] | None, warned: bool) -> None:
    manifest = job({"name": "t"}, networkTopology={"mode": "hard", "highestTierName": "rack"})
    found = review(manifest, known=Known(tier_names=names)).warnings
    assert ("constraint-without-effect" in codes(found)) == warned


def test_1_13_refuses_what_only_newer_releases_know() -> None:
    both = {"mode": "hard", "highestTierAllowed": 1, "highestTierName": "rack"}
    parted = {"name": "t", "replicas": 3, "partitionPolicy": {"totalPartitions": 2, "partitionSize": 2}}
    verdict = review(job(parted, networkTopology=both), V1_13)
    fields = '"spec.tasks[0].partitionPolicy", unknown field "spec.networkTopology.highestTierName"'
    assert verdict == Verdict(f"strict decoding error: unknown field {fields}")
    refused = review(job(parted, networkTopology=both), V1_15)
    assert "simultaneously" in refused.refusal
    assert "'Replicas' are not equal" in refused.refusal
    assert refused.defaults == {}
    group = pod_group(subGroupPolicy=[{"name": "a", "networkTopology": both, "matchLabelKeys": ["k"]}])
    assert review(group, V1_13).refusal == 'strict decoding error: unknown field "spec.subGroupPolicy"'
    named = {**HYPERNODE, "spec": {"tier": 1, "tierName": "rack", "members": [_member({"exactMatch": {"name": "n"}})]}}
    assert review(named, V1_13).refusal == 'strict decoding error: unknown field "spec.tierName"'
    assert review(named, V1_15).allowed
    assert "in subGroupPolicy 'a'" in review(group, V1_15).refusal


def test_the_first_bad_sub_group_and_the_group_itself_are_told() -> None:
    both = {"mode": "hard", "highestTierAllowed": 1, "highestTierName": "rack"}
    policies = [{"name": name, "networkTopology": both} for name in ("a", "b")]
    text = review(
        pod_group(queue="q", networkTopology=both, subGroupPolicy=policies), known=Known({"q": KnownQueue("Closed")})
    ).refusal
    assert "queue `q` status is `Closed`.; must not specify" in text
    assert "'a'" in text
    assert "'b'" not in text


@pytest.mark.parametrize(
    ("constraint", "want"),
    [
        ({"mode": "firm"}, 'spec.networkTopology.mode: Unsupported value: "firm"'),
        (
            {"mode": "hard", "highestTierAllowed": -1},
            "spec.networkTopology.highestTierAllowed in body should be greater",
        ),
    ],
)
def test_the_schema_of_a_constraint(constraint: dict[str, Any], want: str) -> None:
    assert want in review(job({"name": "t"}, networkTopology=constraint)).refusal


def test_a_queue_that_is_not_in_the_input_is_taken_as_open() -> None:
    verdict = review(pod_group(queue="q"), known=Known({"other": KnownQueue()}))
    assert verdict.allowed
    assert said(verdict.warnings) == ("queue q is not in the input: taken as open",)


def test_a_policy_without_keys_captures_no_pod() -> None:
    assert codes(review(pod_group(subGroupPolicy=[{"name": "a"}])).warnings) == ("captures-no-pod",)


def test_a_hypernode_without_a_name_is_bad_input() -> None:
    with pytest.raises(InputError):
        review({"kind": "HyperNode", "spec": {"tier": 1}})


HYPERNODE = {"apiVersion": "topology.volcano.sh/v1alpha1", "kind": "HyperNode", "metadata": {"name": "h"}}


def _member(selector: dict[str, Any]) -> dict[str, Any]:
    return {"type": "Node", "selector": selector}


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"tier": 1, "members": [_member({"exactMatch": {"name": "n"}})]}, ""),
        ({"tier": 1, "members": []}, "should have at least 1 items"),
        ({"tier": 1, "members": [_member({})]}, "Either ExactMatch or RegexMatch or LabelMatch must be specified"),
        ({"tier": "1", "members": [_member({"exactMatch": {"name": "n"}})]}, ""),
        ({"members": [_member({"exactMatch": {"name": "n"}})]}, ""),
        # 1.13 accepts both, and the input may come from such a cluster.
        ({"tier": -1, "members": [_member({"exactMatch": {"name": "n"}})]}, ""),
        ({"tier": 1, "members": [_member({"regexMatch": {"pattern": r"a\(b"}})]}, ""),
    ],
)
def test_a_hypernode_of_an_input_is_refused_only_where_every_release_would(spec: dict[str, Any], text: str) -> None:
    found = refusal_of({**HYPERNODE, "spec": spec})
    assert text in found and bool(found) == bool(text)


def test_jobs_of_an_input_are_held_to_1_15_and_other_kinds_are_not_reviewed() -> None:
    topology = {"mode": "hard", "highestTierAllowed": -1}
    job = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "j"}}
    assert "greater than or equal to 0" in refusal_of({**job, "spec": {"tasks": [], "networkTopology": topology}})
    assert refusal_of({"apiVersion": "v1", "kind": "Job", "metadata": {}, "spec": {"minAvailable": -1}}) == ""


UNKNOWN = job({"name": "t"}, networkTopolgy={"mode": "hard"})


def test_an_unknown_field_refuses_a_new_object_and_is_a_note_on_one_of_an_input() -> None:
    refusal = 'strict decoding error: unknown field "spec.networkTopolgy" (did you mean networkTopology?)'
    assert review(UNKNOWN) == Verdict(refusal)
    manifest = {"apiVersion": "batch.volcano.sh/v1alpha1", **UNKNOWN}
    assert refusal_of(manifest) == ""
    note = "spec.networkTopolgy is unknown and not read (did you mean networkTopology?)"
    assert said(notes_of(manifest)) == (note,)
    assert "spec.networkTopolgy is unknown and not read" in said(notes_of({**manifest, "apiVersion": "batch/v1"}))


@pytest.mark.parametrize(("version", "kind"), [("batch/v1", "Job"), ("apps/v1", "StatefulSet")])
def test_an_unknown_field_of_a_job_of_kubernetes_is_as_one_of_volcano_s(version: str, kind: str) -> None:
    template = {"spec": {"containers": [{"name": "c", "imag": "x"}]}}
    manifest = {"apiVersion": version, "kind": kind, "metadata": {"name": "j"}, "spec": {"template": template}}
    path = "spec.template.spec.containers[0].imag"
    verdict = review(manifest)
    assert [one.path for one in verdict.findings] == [path] and "did you mean image?" in verdict.refusal
    assert refusal_of(manifest) == "" and review(manifest, strict=False).allowed
    note = f"{path} is unknown and not read (did you mean image?)"
    assert said(notes_of(manifest))[0] == said(review(manifest, strict=False).warnings)[0] == note


STORED = [{"uid": "1"}, {"resourceVersion": "7"}]


@pytest.mark.parametrize("stored", STORED)
@pytest.mark.parametrize("kind", ["Job", "PodGroup"])
def test_an_object_read_from_a_cluster_stays_as_stored(kind: str, stored: dict[str, str]) -> None:
    spec: dict[str, Any] = {"networkTopology": {"highestTierAllowed": 1}, "typo": 1}
    group = {"Job": "batch.volcano.sh/v1alpha1", "PodGroup": "scheduling.volcano.sh/v1beta1"}[kind]
    manifest = {"apiVersion": group, "kind": kind, "metadata": {"name": "j"}, "spec": spec}
    told = notes_of(manifest)
    assert set(codes(told)) == {"default-filled-in", "unknown-field"}
    stored_manifest = {**manifest, "metadata": {"name": "j", **stored}}
    # It may have been changed by hand since: a field that nobody knows is told all the same.
    assert codes(notes_of(stored_manifest)) == ("unknown-field",)
    del spec["typo"]
    verdict = review(stored_manifest)
    assert topology(verdict) == {}
    assert "default-not-filled-in" in codes(verdict.warnings)


def test_a_status_alone_does_not_make_an_object_stored() -> None:
    manifest = pod_group(networkTopology={}) | {"apiVersion": "scheduling.volcano.sh/v1beta1", "status": {}}
    assert said(notes_of(manifest)) == ("spec.networkTopology.mode: hard is filled in, as the API server does",)


MODE, TIER = "volcano.sh/network-topology-mode", "volcano.sh/network-topology-highest-tier"
BAD_VALUES = {
    "a mode": ({MODE: "hardd"}, {}, [f"annotation {MODE} is 'hardd', neither hard nor soft: hard is taken"]),
    "a tier": ({TIER: "x"}, {}, [f"annotation {TIER} is 'x', no whole number: no highest tier is taken"]),
    "a minimum": (
        {},
        {"scheduling.volcano.sh/group-min-member": "bogus"},
        [
            "annotation scheduling.volcano.sh/group-min-member is 'bogus', "
            "no whole number from 0 to 2147483647: 1 is taken"
        ],
    ),
    "good ones": ({MODE: "SOFT", TIER: "+2"}, {"scheduling.volcano.sh/group-min-member": "0"}, []),
}


@pytest.mark.parametrize(("pod", "own", "want"), BAD_VALUES.values(), ids=BAD_VALUES.keys())
def test_values_of_annotations_that_are_none(pod: dict[str, str], own: dict[str, str], want: list[str]) -> None:
    template = {"metadata": {"annotations": pod}, "spec": {"containers": []}}
    metadata = {"name": "d", "uid": "read from a cluster", "annotations": own}
    manifest = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": {"template": template}}
    assert list(said(notes_of(manifest))) == want
    verdict = review(manifest)
    assert (verdict.allowed, list(said(verdict.warnings))) == (True, want)
    alone = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "annotations": pod}, "spec": {}}
    assert list(said(notes_of(alone))) == (want if pod else [])
    # A pod of a PodGroup has the group's topology: nobody looks at its own annotations.
    grouped = {**alone, "metadata": {"name": "p", "annotations": {**pod, "scheduling.k8s.io/group-name": "g"}}}
    assert notes_of(grouped) == []


def test_a_hyperjob_came_after_1_13() -> None:
    manifest = {"apiVersion": "training.volcano.sh/v1alpha1", "kind": "HyperJob", "metadata": {"name": "h"}, "spec": {}}
    assert review(manifest, V1_15).allowed
    assert review(manifest, V1_13).refusal == 'no matches for kind "HyperJob" in version "training.volcano.sh/v1alpha1"'


#: Manifest with an annotation that nobody reads there, its place, and what counts instead.
WITHOUT_EFFECT = {
    "a Job": ("Job", {"metadata": {MODE: "hard", TIER: "1"}}, "metadata.annotations", "spec.networkTopology"),
    "a template of a Job": (
        "Job",
        {"spec": {"tasks": [{"name": "t", "template": {"metadata": {"annotations": {MODE: "hard", TIER: "1"}}}}]}},
        "spec.tasks[0].template.metadata.annotations",
        "spec.networkTopology",
    ),
    "a PodGroup": ("PodGroup", {"metadata": {MODE: "hard", TIER: "1"}}, "metadata.annotations", "spec.networkTopology"),
    "a Deployment": (
        "Deployment",
        {"metadata": {MODE: "hard", TIER: "1"}},
        "metadata.annotations",
        "the annotation in spec.template.metadata",
    ),
}
GROUPS = {"Job": "batch.volcano.sh/v1alpha1", "PodGroup": "scheduling.volcano.sh/v1beta1", "Deployment": "apps/v1"}


@pytest.mark.parametrize(("kind", "parts", "where", "instead"), WITHOUT_EFFECT.values(), ids=WITHOUT_EFFECT.keys())
def test_topology_annotations_where_nobody_reads_them_are_told(
    kind: str, parts: dict[str, Any], where: str, instead: str
) -> None:
    spec = {"template": {"spec": {"containers": []}}} if kind == "Deployment" else parts.get("spec", {})
    metadata = {"name": "j", "annotations": parts.get("metadata", {})}
    manifest = {"apiVersion": GROUPS[kind], "kind": kind, "metadata": metadata, "spec": spec}
    want = (f"{where}: {MODE} and {TIER} without effect here: {instead} counts",)
    for notes in (notes_of(manifest), review(manifest).warnings):
        found = [note for note in notes if note.code == "annotation-without-effect"]
        assert said(found) == want
    other = {**manifest, "metadata": {"name": "j", "annotations": {"example.com/mode": "hard"}}}
    if kind == "PodGroup":
        assert "annotation-without-effect" not in codes(notes_of(other))
        # The annotations of a group that a controller made are copies.
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "1", "controller": True}
        owned = {**manifest, "metadata": {**metadata, "ownerReferences": [owner]}}
        assert "annotation-without-effect" not in codes(notes_of(owned))


@pytest.mark.parametrize("name", ["a_b", "A", "a.", "x" * 254])
@pytest.mark.parametrize("kind", ["HyperNode", "Queue"])
def test_a_name_that_the_api_server_refuses(kind: str, name: str) -> None:
    manifest = an_object(kind)
    manifest["metadata"]["name"] = name
    verdict = review(manifest)
    assert verdict.refusal.startswith(f'metadata.name: Invalid value: "{name}": ')
    assert [one.path for one in verdict.findings] == ["metadata.name"]


@pytest.mark.parametrize("version", ["topology.volcano.sh/v1alpha1", "batch.volcano.sh/v1"])
def test_a_kind_in_a_group_or_version_that_has_none_such(version: str) -> None:
    verdict = review({**an_object("Job"), "apiVersion": version})
    assert verdict.refusal == (
        f'no matches for kind "Job" in version "{version}" (did you mean batch.volcano.sh/v1alpha1?)'
    )
