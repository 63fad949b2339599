"""The pending cases of `datasets/pending`: what they are, by the oracle, and that the product answers every one."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.reference.pending import RANK, Case, can_ever, check_report, minimal_sets
from workbench.evaluate.whatif.fix import fix_report
from workbench.formats.scheduler_conf import parse_config
from workbench.policies import get_policy

Json = dict[str, Any]

FOLDER = Path(__file__).parents[3] / "datasets" / "pending"
CASES: list[Json] = json.loads((FOLDER / "cases.json").read_text("utf-8"))
BY_ID = {case["id"]: case for case in CASES}


#: Of the cases, the quick set asks about each one of so many.
QUICK_SHARE = 4
SHARED = [
    pytest.param(name, marks=() if number % QUICK_SHARE == 0 else pytest.mark.slow) for number, name in enumerate(BY_ID)
]


@cache
def load(name: str) -> Case:
    """The case as the oracle takes it; the job is pending."""
    case = BY_ID[name]
    config = case["config"] and parse_config((FOLDER / case["config"]).read_bytes(), case["config"])
    policy = get_policy(case["policy"], **({"config": config} if config else {}))
    scenario = wb.load(FOLDER / case["file"])
    assert not scenario.refused, scenario.refused
    found = Case(policy, scenario.gangs, scenario.snapshot, case["job"])
    assert not any(decision.placed for decision in found.session() if decision.gang.key == case["job"]), "placed"
    return found


@cache
def answer(name: str) -> Json:
    """What the product says about the case."""
    case = load(name)
    return fix_report(case.policy, case.gangs, case.snapshot, case.job).to_dict()


def test_the_zoo_is_large_and_built_after_life() -> None:
    assert len(CASES) >= 100
    assert len({case["origin"] for case in CASES if case["origin"]}) >= 25
    assert {path.name for path in (FOLDER / "cases").iterdir()} == {Path(case["file"]).name for case in CASES}


@pytest.mark.slow
@pytest.mark.parametrize("name", BY_ID)
def test_the_oracle_agrees_with_the_expectation(name: str) -> None:
    case, expected = load(name), BY_ID[name]
    kinds = set(expected["kinds"])
    assert can_ever(case) is not expected["never"]
    sets = minimal_sets(case, size=1) or minimal_sets(case)
    assert bool(sets) is bool(kinds)
    if sets and len(sets[0]) == 1:
        rank = min(RANK[edit["kind"]] for (edit,) in sets)
        best = {edit["kind"] for (edit,) in sets if RANK[edit["kind"]] == rank}
        assert best <= kinds, (best, kinds)
    elif sets:
        assert any({edit["kind"] for edit in one} <= kinds for one in sets), (sets, kinds)


@pytest.mark.parametrize("name", SHARED)
def test_the_product_answers(name: str) -> None:
    case, expected = load(name), BY_ID[name]
    report = answer(name)
    assert check_report(report, case) == []
    assert report["never"] is expected["never"]
    if expected["kinds"]:
        assert {edit["kind"] for edit in report["fixes"][0]["edits"]} <= set(expected["kinds"])


@pytest.mark.parametrize("name", SHARED)
def test_the_headline_names_what_is_in_the_way(name: str) -> None:
    expected, report = BY_ID[name], answer(name)
    missing = [word for word in expected["words"] if word not in report["headline"]]
    assert not missing, report["headline"]
