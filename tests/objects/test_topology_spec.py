from __future__ import annotations

import pytest

from workbench.errors import InputError
from workbench.model.gang import TopologyConstraint
from workbench.objects.topology_spec import constraint_from_annotations, read_constraint

MODE, TIER = "volcano.sh/network-topology-mode", "volcano.sh/network-topology-highest-tier"


@pytest.mark.parametrize(
    ("annotations", "want"),
    [
        ({}, None),
        ({MODE: "hard", TIER: "2"}, TopologyConstraint("hard", 2)),
        ({MODE: "SOFT"}, TopologyConstraint("soft")),
        ({MODE: "nonsense"}, TopologyConstraint("hard")),
        ({TIER: "1"}, TopologyConstraint("hard", 1)),
        ({TIER: "-1"}, TopologyConstraint("hard", -1)),
        ({TIER: "x"}, TopologyConstraint("hard")),
        ({MODE: "soft", TIER: "1.5"}, TopologyConstraint("soft")),
        ({TIER: " 1"}, TopologyConstraint("hard")),
    ],
)
def test_annotations_of_pods_without_a_job(annotations: dict[str, str], want: TopologyConstraint | None) -> None:
    assert constraint_from_annotations(annotations) == want


@pytest.mark.parametrize(
    ("field", "want"),
    [
        (None, None),
        ({}, TopologyConstraint("")),
        ({"mode": "hard"}, TopologyConstraint("hard")),
        ({"mode": "soft", "highestTierAllowed": 0}, TopologyConstraint("soft", 0)),
        ({"mode": "hard", "highestTierName": "rack"}, TopologyConstraint("hard", None, "rack")),
    ],
)
def test_the_field_is_read_as_written(field: object, want: TopologyConstraint | None) -> None:
    assert read_constraint({"networkTopology": field}, "spec") == want


@pytest.mark.parametrize(
    ("field", "where"),
    [
        ([{"mode": "hard"}], "spec.networkTopology"),
        ({"mode": "strict"}, "spec.networkTopology.mode"),
        ({"mode": "hard", "highestTierAllowed": "2"}, "spec.networkTopology.highestTierAllowed"),
    ],
)
def test_wrong_types_are_named(field: object, where: str) -> None:
    with pytest.raises(InputError) as caught:
        read_constraint({"networkTopology": field}, "spec")
    assert caught.value.where == where


def test_the_mode_of_a_submitted_field_is_hard_where_it_is_absent() -> None:
    fields = ({}, {"highestTierAllowed": 1}, {"mode": None}, {"mode": "soft"})
    read = [read_constraint({"networkTopology": field}, "spec", submitted=True) for field in fields]
    assert [constraint and constraint.mode for constraint in read] == ["hard", "hard", "hard", "soft"]
    assert read_constraint({}, "spec", submitted=True) is None
