"""HyperNodes before admission; upstream's own rows are in the conformance cases."""

from __future__ import annotations

from typing import Any

import pytest

from workbench.errors import InputError
from workbench.model.release import Release
from workbench.objects.admission.hypernode import (
    hypernode_policy,
    hypernode_schema,
    hypernode_webhook,
    refuse_hypernode,
)

V1_13, V1_15 = Release


def exact(name: str, kind: str = "Node") -> dict[str, Any]:
    return {"type": kind, "selector": {"exactMatch": {"name": name}}}


def regex(pattern: str) -> dict[str, Any]:
    return {"type": "Node", "selector": {"regexMatch": {"pattern": pattern}}}


def hypernode(*members: dict[str, Any], tier: object = 1, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "h"}, "spec": {"tier": tier, "members": list(members), **spec}}


@pytest.mark.parametrize("release", list(Release))
@pytest.mark.parametrize(
    "member",
    [
        exact("n0"),
        exact("rack-1.example", "HyperNode"),
        regex("^n[0-9]+$"),
        {"type": "Node", "selector": {"labelMatch": {}}},
    ],
)
def test_what_both_accept(release: Release, member: dict[str, Any]) -> None:
    assert refuse_hypernode(hypernode(member), release) == ""


@pytest.mark.parametrize(
    ("manifest", "old", "new"),
    [
        pytest.param(hypernode(exact("n0"), tier=-1), "", "spec.tier in body should be greater", id="negative tier"),
        pytest.param(
            hypernode(exact("n0"), tier="1"), "must be of type integer", "must be of type integer", id="tier as text"
        ),
        pytest.param(
            hypernode(exact("n0"), tier=None), "spec.tier: Required value", "spec.tier: Required value", id="no tier"
        ),
        pytest.param(hypernode(), "must have at least one member", "should have at least 1 items", id="an empty list"),
        pytest.param(
            hypernode(members=None), "must have at least one member", "must have at least one member", id="no list"
        ),
        pytest.param(hypernode(exact("N_0")), "", "should match", id="a name in capitals"),
        pytest.param(
            hypernode(exact("-n")),
            "member exactMatch validate failed [name part must consist",
            "should match",
            id="a name that starts with a hyphen",
        ),
        pytest.param(hypernode(exact("a" * 64)), "no more than 63 characters", "", id="a long name"),
        pytest.param(hypernode(exact("")), "member exactMatch name is required", "at least 1 chars long", id="no name"),
        pytest.param(
            hypernode(regex("")), "member regexMatch pattern is required", "at least 1 chars long", id="no pattern"
        ),
        pytest.param(hypernode(regex(r"a\(b")), "", "unmatched parentheses", id="an escaped bracket"),
        pytest.param(hypernode(regex("a[(]b")), "", "unmatched parentheses", id="a bracket in a class"),
        pytest.param(
            hypernode(regex("ab)")),
            "pattern is invalid: error parsing",
            "pattern is invalid: error parsing",
            id="a lone closing one",
        ),
        pytest.param(hypernode(regex("a{2")), "", "unmatched curly braces", id="curly braces"),
        pytest.param(hypernode(regex(r"\C")), "pattern is invalid", "pattern is invalid", id="what Go does not know"),
        pytest.param(
            hypernode({"type": "Rack", "selector": {"exactMatch": {"name": "n"}}}),
            'Unsupported value: "Rack"',
            'Unsupported value: "Rack"',
            id="a member type",
        ),
        pytest.param(
            hypernode({"type": "Node", "selector": {}}),
            "Either ExactMatch",
            "Either ExactMatch",
            id="an empty selector",
        ),
        pytest.param(
            hypernode({"type": "Node"}),
            "member selector must have one of",
            "member selector must have one of",
            id="no selector",
        ),
    ],
)
def test_where_the_releases_differ(manifest: dict[str, Any], old: str, new: str) -> None:
    for release, want in ((V1_13, old), (V1_15, new)):
        found = refuse_hypernode(manifest, release)
        assert want in found
        assert bool(want) == bool(found), found


def test_1_13_reports_every_member_at_once() -> None:
    found = hypernode_webhook(hypernode(exact(""), regex("("), exact("n0"), exact("a/b/c")), V1_13)
    assert found.startswith("[spec.members[0].selector.exactMatch.name: Invalid value: ")
    assert [f"members[{i}]" in found for i in range(4)] == [True, True, False, True]


def test_the_webhook_of_1_15_leaves_the_rest_to_the_layers_before_it() -> None:
    broken = hypernode({"type": "Node"}, exact(""))
    assert hypernode_webhook(broken, V1_15) == ""
    assert hypernode_policy(broken, V1_15)
    assert hypernode_policy(broken, V1_13) == ""


def test_the_first_layer_that_refuses_is_the_answer() -> None:
    broken = hypernode(regex("(["), tier=-1)
    assert refuse_hypernode(broken, V1_15) == hypernode_schema(broken, V1_15)


def test_a_selector_that_is_null_is_not_there() -> None:
    member = {"type": "Node", "selector": {"exactMatch": {"name": "n"}, "regexMatch": None}}
    assert refuse_hypernode(hypernode(member), V1_15) == ""


@pytest.mark.parametrize("spec", [{"members": {}}, {"tier": 1.5}, {"members": [3]}, {"tierName": 1}])
def test_a_field_of_the_wrong_type_is_bad_input(spec: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        refuse_hypernode({"metadata": {"name": "h"}, "spec": {"tier": 1, "members": [], **spec}}, V1_15)
