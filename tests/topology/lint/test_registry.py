from __future__ import annotations

import re

import pytest

from workbench.errors import UnknownNameError
from workbench.topology.lint import RULES, choose_rules


def test_there_are_at_least_twenty_rules_with_distinct_ids_and_codes() -> None:
    assert len(RULES) >= 20
    assert len({rule.id for rule in RULES}) == len({rule.code for rule in RULES}) == len(RULES)
    assert [rule.code for rule in RULES] == sorted(rule.code for rule in RULES)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_every_rule_says_what_why_and_what_to_do(rule) -> None:
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", rule.id) and re.fullmatch(r"T[1-5]\d\d", rule.code)
    assert rule.title and not rule.title.endswith(".")
    for text in (rule.why, rule.todo):
        assert text[0].isupper() and text.endswith(".") and "  " not in text


def test_rules_are_chosen_by_id_or_code() -> None:
    assert [rule.id for rule in choose_rules(["overlap", "T101"])] == ["cycle", "overlap"]
    assert [rule.id for rule in choose_rules(["overlap", "T101"], ["cycle"])] == ["overlap"]
    assert choose_rules() == RULES
    assert len(choose_rules(ignore=["T101"])) == len(RULES) - 1


def test_an_unknown_rule_offers_close_names() -> None:
    with pytest.raises(UnknownNameError, match="did you mean cycle"):
        choose_rules(["cycel"])
