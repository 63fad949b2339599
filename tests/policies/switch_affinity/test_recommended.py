"""Where several answers are legal, ours is the one that the reference recommends."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.collect import Item, items
from tests.conformance.runners.switch_affinity import RUNNERS
from tests.conformance.runners.switch_affinity_checks import RECOMMENDED_ONLY

CASES = Path(__file__).parents[2] / "conformance" / "cases"
CHOICES = [item for item in items(CASES, {RUNNERS.area: RUNNERS}) if "expected_any_of" in str(item.case)]


@pytest.mark.parametrize("item", CHOICES, ids=[item.id for item in CHOICES])
def test_answer_is_the_recommended_one(item: Item) -> None:
    token = RECOMMENDED_ONLY.set(True)
    try:
        RUNNERS.run(item.file, item.case)
    finally:
        RECOMMENDED_ONLY.reset(token)


def test_there_are_such_cases() -> None:
    assert len(CHOICES) > 10
