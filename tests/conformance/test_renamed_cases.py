"""Sessions with renamed nodes and HyperNodes: upstream's expectations hold for every choice among equals.

Upstream takes one of equals at random, and its tests hold all the same. Here the smaller name decides, so that an
answer can be right by the names that a case happens to have.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.collect import Item, items
from tests.conformance.expectations import Expectations
from tests.conformance.runners import AREAS

HERE = Path(__file__).parent
CASES = [item for item in items(HERE / "cases", AREAS) if item.file in ("allocate", "e2e-allocate")]
LISTED = Expectations.read(HERE / "expected_failures.toml", [item.id for item in CASES])
SEEDS = range(3)


def renamed(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {renamed(key, names): renamed(entry, names) for key, entry in value.items()}
    if isinstance(value, list):
        return [renamed(entry, names) for entry in value]
    return names.get(value, value) if isinstance(value, str) else value


def other_names(given: dict[str, Any], rng: random.Random) -> dict[str, str]:
    topology = given["topology"]
    hypernodes = {entry["name"] for entry in topology["hypernodes"]}
    hypernodes.update(*topology.get("tiers", {}).values())
    found: dict[str, str] = {}
    for letter, names in (("n", [node["name"] for node in given["nodes"]]), ("h", sorted(hypernodes))):
        numbers = list(range(len(names)))
        rng.shuffle(numbers)
        found |= {name: f"{letter}{number}" for name, number in zip(names, numbers, strict=True)}
    return found


@pytest.mark.parametrize("item", [i for i in CASES if LISTED.of(i.id) is None], ids=lambda item: item.id)
def test_other_names(item: Item) -> None:
    for seed in SEEDS:
        names = other_names(item.case["input"], random.Random(seed))
        AREAS[item.area].run(item.file, renamed(item.case, names))
