from __future__ import annotations

from typing import Any

import pytest

from workbench.errors import InputError
from workbench.objects.hypernode import Member, read_hypernode
from workbench.objects.selectors import Selector


def manifest(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "s0"}, "spec": {"tier": 1, **spec}}


def member(kind: object = "Node", **selector: Any) -> dict[str, Any]:
    return {"type": kind, "selector": selector}


def test_all_fields() -> None:
    h = read_hypernode(
        manifest(
            tier="3",
            tierName="spine",
            members=[
                member(exactMatch={"name": "n0"}),
                member("HyperNode", exactMatch={"name": "s1"}),
                member(regexMatch={"pattern": "^n"}),
                member(labelMatch={}),
                {"type": "Node"},
            ],
        )
    )
    assert (h.name, h.tier, h.tier_name) == ("s0", 3, "spine")
    assert h.members == (
        Member("Node", Selector(exact="n0")),
        Member("HyperNode", Selector(exact="s1")),
        Member("Node", Selector(pattern="^n")),
        Member("Node", Selector(labels=())),
        Member("Node", Selector()),
    )


@pytest.mark.parametrize(("tier", "want"), [(None, 0), (0, 0), ("0", 0), (-1, -1), ("12", 12)])
def test_tiers_are_integers_or_their_text(tier: object, want: int) -> None:
    assert read_hypernode(manifest(tier=tier)).tier == want


@pytest.mark.parametrize(
    "tier", ["one", "", 1.5, True, [1], {"a": 1}, "1.0", 2**31, "９", "--3", str(2**31), "-" + "9" * 5000]
)
def test_a_tier_of_the_wrong_type_is_bad_input(tier: object) -> None:
    with pytest.raises(InputError) as caught:
        read_hypernode(manifest(tier=tier))
    assert caught.value.where == "spec.tier"
    assert "whole number" in (caught.value.expected or "")


@pytest.mark.parametrize("kind", ["Pod", "node", "", None, 1])
def test_an_unknown_member_type_is_bad_input(kind: object) -> None:
    with pytest.raises(InputError) as caught:
        read_hypernode(manifest(members=[member(exactMatch={"name": "n"}), member(kind)]))
    assert caught.value.where == "spec.members[1].type"


def test_a_pattern_that_re2_refuses_is_bad_input() -> None:
    with pytest.raises(InputError) as caught:
        read_hypernode(manifest(members=[member(regexMatch={"pattern": "node-["})]))
    assert caught.value.where == "spec.members[0].selector.regexMatch.pattern"
    assert "missing ]" in caught.value.message
    assert caught.value.got == "'node-['"


def test_a_member_that_is_no_mapping_is_bad_input() -> None:
    with pytest.raises(InputError, match=r"spec.members\[0\]"):
        read_hypernode(manifest(members=["n0"]))
