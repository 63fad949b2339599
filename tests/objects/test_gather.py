from __future__ import annotations

import json

import pytest

from workbench.errors import InputError
from workbench.model.extras import Gather
from workbench.objects.gather import GATHER_ANNOTATION, read_gather


def rules(*given: object) -> dict[str, str]:
    return {GATHER_ANNOTATION: json.dumps({"gatherStrategy": list(given)})}


def test_rules_are_read_in_order() -> None:
    found = read_gather(
        rules(
            {"layer": "SpineLayer", "strategy": "MustGather"},
            {"layer": "BlockLayer", "strategy": "PreferGather", "podCountMultiple": 8},
        )
    )
    assert found == (Gather("SpineLayer", True), Gather("BlockLayer", False, 8))


@pytest.mark.parametrize("annotations", [{}, {GATHER_ANNOTATION: ""}, {GATHER_ANNOTATION: "{}"}])
def test_no_rule(annotations: dict[str, str]) -> None:
    assert read_gather(annotations) == ()


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        ({GATHER_ANNOTATION: "invalid"}, "JSON"),
        ({GATHER_ANNOTATION: "[]"}, "JSON"),
        (rules({"strategy": "MustGather"}), "name of a layer"),
        (rules({"layer": "A", "strategy": "Gather"}), "MustGather or PreferGather"),
        (rules({"layer": "A", "strategy": "MustGather", "podCountMultiple": 0}), "at least 1"),
        (rules("A"), "a mapping"),
    ],
)
def test_what_is_no_rule_is_named(annotations: dict[str, str], expected: str) -> None:
    with pytest.raises(InputError) as caught:
        read_gather(annotations)
    assert expected in str(caught.value)
    assert GATHER_ANNOTATION in str(caught.value)
