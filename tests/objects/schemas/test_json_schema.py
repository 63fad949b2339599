"""JSON Schema, CustomResourceDefinition and admission accept the same objects."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.objects.schemas.samples import (
    BEYOND_A_SCHEMA,
    DAMAGES,
    NULLS,
    an_object,
    by_crd,
    damaged,
    of_the_conformance_cases,
    refused,
    shipped,
    structural,
    validator,
)
from workbench.errors import InputError, UnknownNameError
from workbench.objects.admission import review
from workbench.objects.schemas.json_schema import SCHEMA_KINDS, crd_of, json_schema_of

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


def by_schema(data: dict[str, Any]) -> bool:
    return bool(validator(json_schema_of(data["kind"])).is_valid(data))


def by_admission(data: dict[str, Any]) -> bool:
    try:
        return review(data).allowed
    except InputError:
        return False


def verdicts(data: dict[str, Any]) -> tuple[bool, bool, bool]:
    return by_schema(data), by_crd(data), by_admission(data)


@pytest.mark.parametrize("kind", SCHEMA_KINDS)
def test_all_three_accept_a_plain_object(kind: str) -> None:
    schema = json_schema_of(kind)
    validator(schema).check_schema(schema)
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


@pytest.mark.slow
def test_all_three_agree_on_the_shipped_objects() -> None:
    found = list(shipped())
    assert {one["kind"] for one in found} >= {"HyperJob", "HyperNode", "Job"}
    for one in found:
        assert len(set(verdicts(json.loads(json.dumps(one, default=str))))) == 1, one["metadata"]


def test_no_schema_refuses_an_object_of_the_conformance_cases_that_admission_accepts() -> None:
    accepted = [one for one in of_the_conformance_cases() if by_admission(one)]
    assert len(accepted) >= 16
    for one in accepted:
        assert by_crd(one), (list(refused(structural(one["kind"]), one)), one)
        errors = [error.message for error in validator(json_schema_of(one["kind"])).iter_errors(one)]
        assert errors == [], one


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
