"""Our own cases through the runners of the shared cases; see `own/README.md`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.conformance.collect import Item, items
from tests.conformance.own_sessions import SESSIONS
from tests.conformance.runners import AREAS

OWN: dict[str, list[Item]] = {}
for one in items(Path(__file__).parent / "own", AREAS):
    OWN.setdefault(f"own/{one.area}/{one.file}", []).append(one)


def failures(cases: Iterable[Item]) -> dict[str, str]:
    """What is wrong with each case that does not pass, by its id."""
    found = {}
    for item in cases:
        try:
            assert not item.problem and not item.skip, item.problem or item.skip
            AREAS[item.area].run(item.file, item.case)
        except Exception as error:
            found[item.id] = f"{type(error).__name__}: {error}"
    return found


# One test per file: a case takes less time than a report. The option `--cases` runs this folder case by case.
@pytest.mark.parametrize("file", OWN)
def test_own(file):
    assert failures(OWN[file]) == {}


def test_every_case_that_fails_is_named():
    case = OWN["own/volcano-topology/lca"][0]
    wrong = replace(case, id="wrong", case={**case.case, "expected": {"lca": "nowhere"}})
    unread = replace(case, id="unread", problem="the case has no id")
    assert list(failures([case, wrong, unread])) == ["wrong", "unread"]


@pytest.mark.parametrize(
    ("file", "case"),
    [(file, case) for file, _, case in SESSIONS],
    ids=[f"{file}: {name}" for file, name, _ in SESSIONS],
)
def test_session(file, case):
    AREAS["volcano-topology"].run(file, case)
