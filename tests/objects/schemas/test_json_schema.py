"""JSON Schema, CustomResourceDefinition and admission accept the same objects."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from workbench.errors import InputError, UnknownNameError
from workbench.objects.admission import review
from workbench.objects.schemas.json_schema import SCHEMA_KINDS, crd_of, json_schema_of

ROOT = Path(__file__).resolve().parents[3]

TEMPLATE = {"spec": {"containers": [{"name": "main", "image": "train"}]}}
TASK = {"name": "worker", "replicas": 2, "template": TEMPLATE}
BASES: dict[str, dict[str, Any]] = {
    "HyperJob": {"replicatedJobs": [{"name": "a", "replicas": 1, "templateSpec": {"tasks": [TASK]}}]},
    "HyperNode": {"tier": 1, "members": [{"type": "Node", "selector": {"exactMatch": {"name": "n"}}}]},
    "Job": {"minAvailable": 1, "networkTopology": {"mode": "hard", "highestTierAllowed": 1}, "tasks": [TASK]},
    "PodGroup": {"minMember": 1, "networkTopology": {"mode": "soft"}},
    "Queue": {"weight": 1, "capability": {"cpu": "4"}},
}

#: Damages by kind: path below spec, new value. Schema, CRD and admission refuse each of them.
DAMAGES: list[tuple[str, tuple[str | int, ...], Any]] = [
    ("HyperJob", ("replicatedJobs", 0, "name"), ""),
    ("HyperJob", ("replicatedJobs", 0, "replicas"), -1),
    ("HyperJob", ("replicatedJobs", 0, "templateSpec"), []),
    ("HyperJob", ("minAvailable",), -1),
    ("HyperJob", ("networkTopology",), {"mode": "firm"}),
    ("HyperNode", ("tier",), "1"),
    ("HyperNode", ("tier",), -1),
    ("HyperNode", ("tierName",), "t" * 254),
    ("HyperNode", ("members",), []),
    ("HyperNode", ("members", 0, "type"), "Rack"),
    ("HyperNode", ("members", 0, "selector"), {}),
    ("HyperNode", ("members", 0, "selector"), {"exactMatch": {"name": "n"}, "regexMatch": {"pattern": "n"}}),
    ("HyperNode", ("members", 0, "selector", "exactMatch", "name"), "N_1"),
    ("HyperNode", ("members", 0, "selector"), {"regexMatch": {"pattern": ""}}),
    ("Job", ("tasks",), []),
    ("Job", ("minAvailable",), "1"),
    ("Job", ("minAvailable",), 2**31),
    ("Job", ("tasks", 0, "replicas"), -1),
    ("Job", ("tasks", 0, "name"), 7),
    ("Job", ("networkTopology", "mode"), "firm"),
    ("Job", ("networkTopology", "highestTierAllowed"), -1),
    ("Job", ("queue",), 1),
    ("Job", ("plugins",), []),
    ("PodGroup", ("minMember",), "1"),
    ("PodGroup", ("networkTopology", "mode"), "firm"),
    ("PodGroup", ("minResources",), []),
    ("Queue", ("weight",), -1),
    ("Queue", ("weight",), "1"),
    ("Queue", ("capability",), {"cpu": True}),
    # Fields that nobody in this package reads.
    ("Queue", ("reclaimable",), "yes"),
    ("Queue", ("parent",), 1),
    ("Queue", ("affinity",), []),
    ("Queue", ("capability",), {"cpu": 0.5}),
    ("Job", ("ttlSecondsAfterFinished",), "60"),
    ("Job", ("runningEstimate",), 60),
    ("HyperJob", ("maxDomains",), "2"),
    ("HyperJob", ("plugins",), {"svc": "none"}),
]

#: What admission refuses and no schema says: rules across fields, and the meaning of texts.
BEYOND_A_SCHEMA: list[tuple[str, tuple[str | int, ...], Any]] = [
    ("Job", ("minAvailable",), 3),
    ("Job", ("tasks",), [TASK, TASK]),
    ("Job", ("networkTopology", "highestTierName"), "rack"),
    ("Job", ("plugins",), {"nothing": []}),
    ("Job", ("policies",), [{"event": "Nothing", "action": "AbortJob"}]),
    ("HyperJob", ("minAvailable",), 2),
    ("HyperNode", ("members", 0, "selector"), {"regexMatch": {"pattern": "("}}),
    ("Queue", ("deserved",), {"cpu": "5"}),
]

#: What the API server drops before it validates, and an editor marks all the same: fields that are null.
NULLS: list[tuple[str, tuple[str | int, ...]]] = [("Job", ("queue",)), ("PodGroup", ("networkTopology",))]

#: Keywords that a structural schema of Kubernetes may have and that we use.
STRUCTURAL = {
    "type",
    "format",
    "properties",
    "additionalProperties",
    "items",
    "required",
    "enum",
    "default",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "minItems",
    "minProperties",
    "maxProperties",
    "pattern",
    "description",
    "anyOf",
    "x-kubernetes-int-or-string",
    "x-kubernetes-preserve-unknown-fields",
}


def an_object(kind: str) -> dict[str, Any]:
    version = json_schema_of(kind)["properties"]["apiVersion"]["const"]
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "x"}, "spec": copy.deepcopy(BASES[kind])}


def damaged(kind: str, path: tuple[str | int, ...], value: Any) -> dict[str, Any]:
    data = an_object(kind)
    place: Any = data["spec"]
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return data


def by_schema(data: dict[str, Any]) -> bool:
    return bool(Draft202012Validator(json_schema_of(data["kind"])).is_valid(data))


def by_crd(data: dict[str, Any]) -> bool:
    """Whether a CRD accepts an object; keywords of Kubernetes are read as its documentation says."""
    return not list(refused(crd_of(data["kind"])["spec"]["versions"][0]["schema"]["openAPIV3Schema"], data))


def refused(schema: dict[str, Any], value: Any) -> Iterator[str]:
    if type(value) is dict:
        value = {key: item for key, item in value.items() if item is not None}
    known = schema.get("properties")
    if type(value) is dict and known is not None and not schema.get("x-kubernetes-preserve-unknown-fields"):
        yield from (key for key in value if key not in known)
    if schema.get("x-kubernetes-int-or-string") and type(value) not in (int, str):
        yield "neither a number nor text"
    if schema.get("format") == "int32" and type(value) is int and not -(2**31) <= value < 2**31:
        yield "more than 32 bits"
    own = {key: one for key, one in schema.items() if key not in ("properties", "items", "additionalProperties")}
    yield from (error.message for error in Draft202012Validator(own).iter_errors(value))
    if type(value) is dict:
        for key, item in value.items():
            if key in (known or {}):
                yield from refused(known[key], item)  # type: ignore[index]
            elif "additionalProperties" in schema:
                yield from refused(schema["additionalProperties"], item)
    if type(value) is list and "items" in schema:
        for item in value:
            yield from refused(schema["items"], item)


def by_admission(data: dict[str, Any]) -> bool:
    try:
        return review(data).allowed
    except InputError:
        return False


def verdicts(data: dict[str, Any]) -> tuple[bool, bool, bool]:
    return by_schema(data), by_crd(data), by_admission(data)


@pytest.mark.parametrize("kind", SCHEMA_KINDS)
def test_all_three_accept_a_plain_object(kind: str) -> None:
    Draft202012Validator.check_schema(json_schema_of(kind))
    assert verdicts(an_object(kind)) == (True, True, True)


@pytest.mark.parametrize(("kind", "path", "value"), DAMAGES)
def test_all_three_refuse_a_damaged_object(kind: str, path: tuple[str | int, ...], value: Any) -> None:
    assert verdicts(damaged(kind, path, value)) == (False, False, False)


@pytest.mark.parametrize(("kind", "path", "value"), BEYOND_A_SCHEMA)
def test_only_admission_knows_rules_beyond_a_schema(kind: str, path: tuple[str | int, ...], value: Any) -> None:
    assert verdicts(damaged(kind, path, value)) == (True, True, False)


@pytest.mark.parametrize(("kind", "path"), NULLS)
def test_a_field_that_is_null_is_absent_for_the_api_server(kind: str, path: tuple[str | int, ...]) -> None:
    assert verdicts(damaged(kind, path, None)) == (False, True, True)


def test_generated_manifests_may_have_no_time_of_creation() -> None:
    data = an_object("Job")
    data["metadata"]["creationTimestamp"] = None
    assert verdicts(data) == (True, True, True)


@pytest.mark.parametrize("quantity", ["4kk", "1e", "..", "4Kii", ""])
def test_all_three_refuse_what_is_no_quantity(quantity: str) -> None:
    assert verdicts(damaged("Queue", ("capability",), {"cpu": quantity})) == (False, False, False)


@pytest.mark.parametrize("quantity", ["4", 4, "0.5", "100m", "1.5Gi", "1e3", "3k", "+1", ".5"])
def test_all_three_accept_a_quantity(quantity: Any) -> None:
    assert verdicts(damaged("Queue", ("capability",), {"cpu": quantity})) == (True, True, True)


@given(kind=st.sampled_from(SCHEMA_KINDS), name=st.from_regex(r"[a-z]{1,8}Zz", fullmatch=True))
def test_all_three_refuse_an_unknown_field(kind: str, name: str) -> None:
    assert verdicts(damaged(kind, (name,), 1)) == (False, False, False)


@given(tier=st.integers(-3, 2**31 + 3) | st.text(max_size=2) | st.booleans())
def test_all_three_agree_on_any_tier(tier: Any) -> None:
    assert len(set(verdicts(damaged("HyperNode", ("tier",), tier)))) == 1


def shipped() -> Iterator[dict[str, Any]]:
    for path in sorted((ROOT / "datasets").rglob("*.yaml")):
        try:
            documents = list(yaml.safe_load_all(path.read_text("utf-8")))
        except yaml.YAMLError:
            continue
        for one in documents:
            if type(one) is dict and one.get("kind") in SCHEMA_KINDS:
                yield one


def test_all_three_agree_on_the_shipped_objects() -> None:
    found = list(shipped())
    assert {one["kind"] for one in found} >= {"HyperJob", "HyperNode", "Job"}
    for one in found:
        assert len(set(verdicts(json.loads(json.dumps(one, default=str))))) == 1, one["metadata"]


def objects_in(value: Any) -> Iterator[dict[str, Any]]:
    """All objects of our kinds and their released API version inside a parsed case."""
    if type(value) is dict:
        kind = value.get("kind")
        if kind in SCHEMA_KINDS and type(value.get("spec")) is dict:
            released = an_object(str(kind))["apiVersion"]
            if value.get("apiVersion", released) == released:
                yield {"metadata": {"name": "x"}, **value, "apiVersion": released}
        value = list(value.values())
    for item in value if type(value) is list else ():
        yield from objects_in(item)


def test_no_schema_refuses_an_object_of_the_conformance_cases_that_admission_accepts() -> None:
    texts = {
        json.dumps(one, sort_keys=True)
        for path in sorted((ROOT / "tests" / "conformance" / "cases").rglob("*.json"))
        for one in objects_in(json.loads(path.read_text("utf-8")))
    }
    accepted = [one for one in map(json.loads, sorted(texts)) if by_admission(one)]
    assert len(accepted) >= 16
    for one in accepted:
        assert by_crd(one), (list(refused(_structural(one["kind"]), one)), one)
        errors = [error.message for error in Draft202012Validator(json_schema_of(one["kind"])).iter_errors(one)]
        assert errors == [], one


def _structural(kind: str) -> dict[str, Any]:
    schema: dict[str, Any] = crd_of(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema


def keywords(schema: dict[str, Any]) -> Iterator[str]:
    yield from schema
    assert not ("properties" in schema and "additionalProperties" in schema)
    loose = schema.get("x-kubernetes-preserve-unknown-fields") or schema.get("x-kubernetes-int-or-string")
    assert "type" in schema or loose
    children = [*schema.get("properties", {}).values(), schema.get("items"), schema.get("additionalProperties")]
    for child in children:
        if child is not None:
            yield from keywords(child)


@pytest.mark.parametrize("kind", SCHEMA_KINDS)
def test_a_crd_is_structural(kind: str) -> None:
    crd = crd_of(kind)
    (version,) = crd["spec"]["versions"]
    assert set(keywords(version["schema"]["openAPIV3Schema"])) <= STRUCTURAL
    assert crd["metadata"]["name"] == f"{crd['spec']['names']['plural']}.{crd['spec']['group']}"
    assert version["subresources"] == {"status": {}}


def test_the_crd_of_hypernodes() -> None:
    spec = crd_of("HyperNode")["spec"]
    assert (spec["scope"], spec["names"]["shortNames"]) == ("Cluster", ["hn"])
    columns = [one["name"] for one in spec["versions"][0]["additionalPrinterColumns"]]
    assert columns == ["Tier", "NodeCount", "Age"]


def test_an_unknown_kind_is_told_with_the_closest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean HyperNode"):
        json_schema_of("Hypernode")
