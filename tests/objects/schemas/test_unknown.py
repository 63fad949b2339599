"""Unknown fields and keys of a manifest, and the suggested known ones."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.notices import said
from tests.profiles import max_examples
from workbench.model.release import Release
from workbench.objects.schemas import DESCRIBED_KINDS, strict_text, types, unknown_in, unknown_notes
from workbench.objects.schemas.notation import SCALARS, Field
from workbench.objects.schemas.unknown import KIND_TYPES, KNOWN_KEYS, in_domain


def job(task: dict[str, Any] | None = None, metadata: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    tasks = [{"name": "t", "replicas": 1, **(task or {})}]
    return {"kind": "Job", "metadata": {"name": "j", **(metadata or {})}, "spec": {"tasks": tasks, **spec}}


def hypernode(*members: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {"kind": "HyperNode", "metadata": {"name": "h"}, "spec": {"tier": 1, "members": list(members), **spec}}


def container(**fields: Any) -> dict[str, Any]:
    return {"template": {"spec": {"containers": [{"name": "c", **fields}]}}}


UNKNOWN = {
    "a field of the spec": (job(networkTopolgy={}), "spec.networkTopolgy", "networkTopology"),
    "a field of networkTopology": (job(networkTopology={"mod": "hard"}), "spec.networkTopology.mod", "mode"),
    "another case": (job(minavailable=1), "spec.minavailable", "minAvailable"),
    "a field of a task": (job({"replica": 2}), "spec.tasks[0].replica", "replicas"),
    "a field of a container": (job(container(imag="x")), "spec.tasks[0].template.spec.containers[0].imag", "image"),
    "a field of resources": (
        job(container(resources={"request": {"cpu": 1}})),
        "spec.tasks[0].template.spec.containers[0].resources.request",
        "requests",
    ),
    "a field of the metadata": (job(metadata={"lables": {}}), "metadata.lables", "labels"),
    "a field of the object": ({"kind": "Job", "metdata": {}}, "metdata", "metadata"),
    "nothing is close": (job(colour="red"), "spec.colour", ""),
    "the task's own topology": (
        job({"networkTopology": {}}),
        "spec.tasks[0].networkTopology",
        "networkTopology of the spec, or of partitionPolicy",
    ),
    "a member by type and name": (
        hypernode({"type": "Node", "name": "n"}),
        "spec.members[0].name",
        "selector: {exactMatch: {name: …}}",
    ),
    "a selector's name": (
        hypernode({"type": "Node", "selector": {"name": "n"}}),
        "spec.members[0].selector.name",
        "exactMatch: {name: …}",
    ),
    "a queue's weight": ({"kind": "Queue", "spec": {"wieght": 1}}, "spec.wieght", "weight"),
    "a template's time of creation, which Go writes as null": (
        job({"template": {"metadata": {"creationTimestamp": None}}}),
        "spec.tasks[0].template.metadata.creationTimestamp",
        "",
    ),
}


@pytest.mark.parametrize(("manifest", "path", "meant"), UNKNOWN.values(), ids=UNKNOWN.keys())
def test_an_unknown_field_with_the_closest_name(manifest: dict[str, Any], path: str, meant: str) -> None:
    (found,) = unknown_in(manifest)
    assert (found.path, found.meant, found.is_key) == (path, meant, False)
    hint = f" (did you mean {meant}?)" if meant else ""
    assert strict_text([found]) == f'strict decoding error: unknown field "{path}"{hint}'
    assert said(unknown_notes([found])) == (f"{path} is unknown and not read{hint}",)


ONLY_1_15 = {
    "tierName": hypernode(tierName="rack"),
    "highestTierName": job(networkTopology={"highestTierName": "rack"}),
    "partitionPolicy": job({"partitionPolicy": {"totalPartitions": 1, "partitionSize": 1}}),
    "subGroupPolicy": {"kind": "PodGroup", "spec": {"subGroupPolicy": []}},
}


@pytest.mark.parametrize(("field", "manifest"), ONLY_1_15.items(), ids=ONLY_1_15.keys())
def test_1_13_lacks_some_fields(field: str, manifest: dict[str, Any]) -> None:
    assert unknown_in(manifest, Release.V1_15) == []
    (found,) = unknown_in(manifest, Release.V1_13)
    assert (found.name, found.meant) == (field, "")


KEYS = {
    "a misspelt annotation": ("volcano.sh/network-topology-mod", "volcano.sh/network-topology-mode"),
    "another domain": ("volcano.sh/group-min-member", "scheduling.volcano.sh/group-min-member"),
    "a domain below that nobody knows": ("topology.volcano.sh/preemptable", "volcano.sh/preemptable"),
    "nothing is close": ("volcano.sh/zzz", ""),
}


@pytest.mark.parametrize(("key", "meant"), KEYS.values(), ids=KEYS.keys())
@pytest.mark.parametrize("holder", ["labels", "annotations"])
def test_an_unknown_key_in_volcano_s_domain(key: str, meant: str, holder: str) -> None:
    template = {"template": {"metadata": {holder: {key: "x"}}}}
    places = ((job(metadata={holder: {key: "x"}}), "metadata"), (job(template), "spec.tasks[0].template.metadata"))
    for manifest, where in places:
        (found,) = unknown_in(manifest)
        assert (found.where, found.name, found.meant, found.is_key) == (f"{where}.{holder}", key, meant, True)
        assert strict_text([found]).startswith(f'{where}.{holder}: unknown key "{key}"')


def test_keys_of_other_domains_and_of_selectors_are_anybody_s() -> None:
    own = {"example.com/volcano.sh": "x", "notvolcano.sh/x": "x", "app": "x"}
    selector = {"labelMatch": {"matchLabels": {"volcano.sh/my-rack": "r"}}}
    assert unknown_in(job(metadata={"labels": own})) == []
    assert unknown_in(hypernode({"type": "Node", "selector": selector})) == []


def test_fields_come_first_and_are_told_in_the_order_of_the_manifest() -> None:
    manifest = job(metadata={"labels": {"volcano.sh/zzz": ""}}, a=1, b=2)
    assert strict_text(unknown_in(manifest)) == (
        'strict decoding error: unknown field "spec.a", unknown field "spec.b"; '
        'metadata.labels: unknown key "volcano.sh/zzz"'
    )


def test_one_note_for_a_field_in_many_items() -> None:
    members = [{"type": "Node", "name": f"n{i}"} for i in range(300)]
    (note,) = unknown_notes(unknown_in(hypernode(*members)))
    assert note.numbers == {"count": 300}
    assert note.message.startswith("spec.members[0].name (and in 299 more places) is unknown and not read")


@pytest.mark.parametrize("value", [None, [], {}, 3, "x", [None], {"a": 1}])
def test_values_of_the_wrong_type_are_somebody_else_s(value: Any) -> None:
    found = unknown_in({"kind": "Job", "metadata": value, "spec": value})
    assert {one.path for one in found} <= {"spec.a", "metadata.a"}


@pytest.mark.parametrize(
    ("version", "kind"), [("batch/v1", "Job"), ("apps/v1", "StatefulSet"), ("apps/v1", "Deployment")]
)
def test_each_misspelt_field_of_a_job_and_its_pods_is_told_with_the_name_meant(version: str, kind: str) -> None:
    described = types()
    name = "BatchJob" if kind == "Job" else kind
    of_pods = described["PodSpec"]
    for field in described[f"{name}Spec"]:
        assert _told(version, kind, {f"{field}s": None}) == [(f"spec.{field}s", field)]
    for field in {**of_pods}:
        if f"{field}s" not in of_pods:
            spec = {"template": {"spec": {"containers": [], f"{field}s": None}}}
            assert _told(version, kind, spec) == [(f"spec.template.spec.{field}s", field)]


@pytest.mark.parametrize(
    ("version", "kind", "way"),
    [
        ("jobset.x-k8s.io/v1alpha2", "JobSet", ("replicatedJobs", 0, "template", "spec", "template")),
        ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", ("leaderWorkerTemplate", "workerTemplate")),
        ("ray.io/v1", "RayJob", ("rayClusterSpec", "workerGroupSpecs", 0, "template")),
        ("kubeflow.org/v1", "PyTorchJob", ("pytorchReplicaSpecs", "Worker", "template")),
    ],
)
def test_pod_templates_of_other_kinds_are_searched_wherever_they_stand(
    version: str, kind: str, way: tuple[str | int, ...]
) -> None:
    value: Any = {"metadata": {"lables": {}}, "spec": {"containers": [{"imag": "x"}], "nodeSelectors": {}}}
    for step in reversed(way):
        value = [value] if isinstance(step, int) else {step: value, "anything": {"spec": {"else": 1}}}
    where = "spec" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in way)
    assert _told(version, kind, value) == [
        (f"{where}.metadata.lables", "labels"),
        (f"{where}.spec.containers[0].imag", "image"),
        (f"{where}.spec.nodeSelectors", "nodeSelector"),
    ]


def _told(version: str, kind: str, spec: dict[str, Any]) -> list[tuple[str, str]]:
    manifest = {"apiVersion": version, "kind": kind, "metadata": {"name": "j"}, "spec": spec}
    return [(one.path, one.meant) for one in unknown_in(manifest)]


def test_every_type_and_every_kind_is_described() -> None:
    described = types()
    for fields in described.values():
        for name, field in fields.items():
            assert re.fullmatch(r"[a-zA-Z0-9]+", name)
            assert field.base in SCALARS or field.base in described
    assert {kind for _, kind in DESCRIBED_KINDS} <= described.keys()
    used = {field.base for fields in described.values() for field in fields.values()} | {k for _, k in DESCRIBED_KINDS}
    used |= set(KIND_TYPES.values())
    assert set(described) - used == set()
    assert all(in_domain(key) for key in KNOWN_KEYS)


def _value(name: str, depth: int, draw: st.DrawFn) -> Any:
    """A value of a type with some of its fields."""
    if name in SCALARS or depth > 6:
        return {} if name not in SCALARS else draw(st.sampled_from([None, "x", 1, True]))
    fields = types()[name]
    chosen = draw(st.lists(st.sampled_from(sorted(fields)), max_size=3, unique=True))
    return {key: _of_field(fields[key], depth, draw) for key in chosen}


def _of_field(field: Field, depth: int, draw: st.DrawFn) -> Any:
    inner = field.of if isinstance(field.of, str) else None
    value = _value(inner, depth + 1, draw) if inner else _of_field(field.of, depth, draw)  # type: ignore[arg-type]
    return value if field.form == "one" else [value] if field.form == "list" else {"any name": value}


@max_examples(200)
@given(st.data())
def test_a_manifest_of_described_fields_has_none_unknown_until_one_is_added(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(sorted(kind for _, kind in DESCRIBED_KINDS)))
    manifest = {**_value(kind, 0, data.draw), "kind": kind}
    assert unknown_in(manifest) == []
    holders: list[dict[str, Any]] = [manifest]
    spec = manifest.get("spec")
    if isinstance(spec, dict):
        holders.append(spec)
    data.draw(st.sampled_from(holders))["no such field"] = 1
    assert [one.name for one in unknown_in(manifest)] == ["no such field"]
