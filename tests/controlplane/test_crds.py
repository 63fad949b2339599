"""What `workbench schema --crd` writes, on a real API server: it is accepted, and refuses what the generator says."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.controlplane.server import ControlPlane
from tests.objects.schemas.samples import (
    BEYOND_A_SCHEMA,
    DAMAGES,
    NULLS,
    an_object,
    by_crd,
    damaged,
    of_the_conformance_cases,
    shipped,
)
from workbench.objects.schemas.json_schema import SCHEMA_KINDS, crd_of

pytestmark = pytest.mark.slow

CREATED, OK = 201, 200


@pytest.fixture(scope="module")
def server(control_plane: ControlPlane) -> ControlPlane:
    """The API server with the CRDs of all kinds."""
    for kind in SCHEMA_KINDS:
        control_plane.apply_crd(crd_of(kind))
    return control_plane


def path_of(data: dict[str, Any]) -> str:
    spec = crd_of(data["kind"])["spec"]
    inside = "/namespaces/default" if spec["scope"] == "Namespaced" else ""
    return f"/apis/{data['apiVersion']}{inside}/{spec['names']['plural']}"


def tried(server: ControlPlane, data: dict[str, Any]) -> tuple[bool, Any]:
    """Whether the server would store an object, and its answer. Unknown fields are refused, not dropped."""
    data = copy.deepcopy(data)
    # The server asks for a namespace that exists and for a new object; neither is a matter of the schema.
    data["metadata"] = {"name": data["metadata"].get("name", "x")}
    status, answer = server.ask("POST", path_of(data), data, dryRun="All", fieldValidation="Strict")
    assert status in (CREATED, 400, 422), answer
    return status == CREATED, answer


@pytest.mark.parametrize("kind", SCHEMA_KINDS)
def test_a_crd_is_established_without_a_warning(server: ControlPlane, kind: str) -> None:
    name = crd_of(kind)["metadata"]["name"]
    _, found = server.ask("GET", f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}")
    conditions = {one["type"]: one["status"] for one in found["status"]["conditions"]}
    assert conditions == {"NamesAccepted": "True", "Established": "True"}


@pytest.mark.parametrize("kind", SCHEMA_KINDS)
def test_a_plain_object_is_stored_and_read_back(server: ControlPlane, kind: str) -> None:
    data = an_object(kind)
    status, stored = server.ask("POST", path_of(data), data, fieldValidation="Strict")
    assert status == CREATED, stored
    try:
        status, read = server.ask("GET", f"{path_of(data)}/x")
        assert status == OK
        assert all(read["spec"][key] == value for key, value in data["spec"].items())
    finally:
        server.ask("DELETE", f"{path_of(data)}/x")


@pytest.mark.parametrize(("kind", "path", "value"), DAMAGES)
def test_the_server_refuses_a_damaged_object(
    server: ControlPlane, kind: str, path: tuple[str | int, ...], value: Any
) -> None:
    accepted, answer = tried(server, damaged(kind, path, value))
    assert not accepted, answer


@pytest.mark.parametrize(("kind", "path", "value"), BEYOND_A_SCHEMA)
def test_the_server_stores_what_only_admission_refuses(
    server: ControlPlane, kind: str, path: tuple[str | int, ...], value: Any
) -> None:
    accepted, answer = tried(server, damaged(kind, path, value))
    assert accepted, answer


@pytest.mark.parametrize(("kind", "path"), NULLS)
def test_the_server_drops_fields_that_are_null(server: ControlPlane, kind: str, path: tuple[str | int, ...]) -> None:
    accepted, answer = tried(server, damaged(kind, path, None))
    assert accepted, answer


@pytest.mark.parametrize("quantity", ["4kk", "1e", "..", "4Kii", "", "4", 4, "0.5", "1.5Gi", "1e3", "+1", ".5", 0.5])
def test_the_server_reads_quantities_as_the_crd_test_does(server: ControlPlane, quantity: Any) -> None:
    data = damaged("Queue", ("capability",), {"cpu": quantity})
    assert tried(server, data)[0] == by_crd(data)


def test_the_server_and_the_crd_test_agree_on_the_shipped_objects(server: ControlPlane) -> None:
    served = [one for one in shipped() if one["apiVersion"] == an_object(one["kind"])["apiVersion"]]
    assert {one["kind"] for one in served} >= {"HyperNode", "Job"}
    for one in served:
        accepted, answer = tried(server, one)
        assert accepted == by_crd(one), (one["metadata"], answer)


def test_the_server_and_the_crd_test_agree_on_the_conformance_cases(server: ControlPlane) -> None:
    for one in of_the_conformance_cases():
        accepted, answer = tried(server, one)
        assert accepted == by_crd(one), (one, answer)


def test_hypernodes_are_printed_with_tier_count_and_age(server: ControlPlane) -> None:
    data = an_object("HyperNode")
    server.ask("POST", path_of(data), data)
    try:
        _, patched = server.ask(
            "PATCH",
            f"{path_of(data)}/x/status",
            {"status": {"nodeCount": 3}},
            kind="application/merge-patch+json",
        )
        assert patched["status"] == {"nodeCount": 3}
        table = server.ask_as_table(path_of(data))
        assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Tier", "NodeCount", "Age"]
        assert [row["cells"][:3] for row in table["rows"]] == [["x", "1", 3]]
    finally:
        server.ask("DELETE", f"{path_of(data)}/x")


def test_short_names_are_served(server: ControlPlane) -> None:
    for kind in SCHEMA_KINDS:
        crd = crd_of(kind)["spec"]
        _, served = server.ask("GET", f"/apis/{crd['group']}/{crd['versions'][0]['name']}")
        (resource,) = [one for one in served["resources"] if one["name"] == crd["names"]["plural"]]
        assert resource["shortNames"] == crd["names"]["shortNames"]
        assert any(one["name"] == f"{crd['names']['plural']}/status" for one in served["resources"])
