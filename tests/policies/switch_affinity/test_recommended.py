"""Tests that our answer is the recommended one where the reference allows several."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.collect import Item, items
from tests.conformance.runners.switch_affinity import RUNNERS
from tests.conformance.runners.switch_affinity_checks import RECOMMENDED_ONLY

CONFORMANCE = Path(__file__).parents[2] / "conformance"
CHOICES = [
    pytest.param(item, id=f"{folder}/{item.id}")
    for folder in ("cases", "own")
    for item in items(CONFORMANCE / folder, {RUNNERS.area: RUNNERS})
    if item.area == RUNNERS.area and "expected_any_of" in str(item.case)
]


@pytest.mark.parametrize("item", CHOICES)
def test_answer_is_the_recommended_one(item: Item) -> None:
    token = RECOMMENDED_ONLY.set(True)
    try:
        RUNNERS.run(item.file, item.case)
    finally:
        RECOMMENDED_ONLY.reset(token)


def test_there_are_such_cases() -> None:
    assert len(CHOICES) > 10
