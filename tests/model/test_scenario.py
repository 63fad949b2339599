"""Methods of `Scenario` that ask a policy: what they say where they are asked wrongly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import workbench as wb

TREE = wb.generate_scenario("three-level-tree").with_gangs(
    wb.gang("one", pods=2, gpus=8), wb.gang("two", pods=9, gpus=8)
)
ONE = wb.generate_scenario("three-level-tree").with_gangs(wb.gang("wide", pods=3, gpus=8, tier=1))


@pytest.mark.parametrize("ask", [wb.Scenario.place, wb.Scenario.explain, wb.Scenario.fix])
def test_a_policy_where_the_job_belongs_is_told_with_a_job(ask: Callable[..., Any]) -> None:
    with pytest.raises(wb.InputError) as caught:
        ask(TREE, "volcano-1.15")
    said = "job: the name of a policy where the job belongs (found 'volcano-1.15', expected a job such as 'default/one'"
    assert str(caught.value) == f"{said}, and policy='volcano-1.15' after it)"
    with pytest.raises(wb.UnknownNameError, match="did you mean default/one"):
        ask(TREE, "ones")
    with pytest.raises(wb.InputError, match=r"job: no job named .*expected one of default/one, default/two"):
        ask(TREE)


def test_the_only_job_need_not_be_named() -> None:
    assert ONE.fix().fixes[0].text == "allow tier 2"
    assert ONE.place().reasons[0].code == "no-domain"
    assert not ONE.explain().decision.placed


def test_an_argument_that_nobody_has_is_told() -> None:
    with pytest.raises(wb.UnknownNameError, match=r"unknown argument of compare 'nope'; known: .*policies"):
        TREE.compare(nope=1)
    with pytest.raises(wb.UnknownNameError, match=r"unknown parameter of volcano-1.15 'nope'"):
        TREE.place("one", "volcano-1.15", nope=1)
    with pytest.raises(wb.UnknownNameError, match="unknown job '3'"):
        wb.fix_report("volcano-1.15", TREE, TREE, 3)  # type: ignore[arg-type]


def test_no_explanation_holds_more_pods_than_it_counts() -> None:
    for gang in (wb.gang("few", pods=6, gpus=8, min_available=2, mode="soft"), wb.gang("small", gpus=8, tier=2)):
        for policy in ("volcano-1.13", "volcano-1.15", "kueue-0.19"):
            for candidate in wb.explain(gang, TREE, policy).candidates:
                words = candidate.why.split()
                if words[0] == "holds" and words[2] == "of":
                    assert int(words[1]) <= int(words[3]), (policy, candidate.why)
    assert "holds 2 pods, 1 needed" in {one.why for one in wb.explain(gang, TREE, "kueue-0.19").candidates}
