"""The name ``field``: one policy for each scheduler that has a twin."""

from __future__ import annotations

import pytest

import workbench as wb
from workbench.cli import main
from workbench.evaluate.usual_policies import FIELD, with_field
from workbench.policies import list_policies


def test_every_policy_of_the_field_is_registered():
    assert set(FIELD) <= {info.name for info in list_policies()}


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (["gang"], ["gang"]),
        (["field"], [*FIELD]),
        (["gang", "field", "binpack"], ["gang", *FIELD, "binpack"]),
        (["field", "kueue-0.19"], [*(name for name in FIELD if name != "kueue-0.19"), "kueue-0.19"]),
    ],
)
def test_the_name_stands_for_policies_that_are_not_named_themselves(given, found):
    assert with_field(given) == found


def test_all_of_them_place_the_same_jobs(capsys):
    compared = wb.compare(wb.load("datasets/demo"), ["field"])
    assert [row.policy for row in compared.rows] == [*FIELD]
    assert all(row.error is None and row.metrics["placed"] == 4 for row in compared.rows)
    assert main(["compare", "datasets/demo", "--policies", "field", "-o", "csv"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [*dict.fromkeys(line.partition(",")[0] for line in lines[1:])] == [*FIELD]


def test_the_name_alone_is_enough_and_nothing_is_refused():
    scenario = wb.load("datasets/demo")
    assert [row.policy for row in scenario.compare("field").rows] == [*FIELD]
    for given, message in (([], "no policies to compare"), ("gang", "no list of policies")):
        with pytest.raises(wb.InputError, match=message):
            scenario.compare(given)
