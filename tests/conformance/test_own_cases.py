"""Our own cases through the runners of the shared cases; see `own/README.md`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.collect import items
from tests.conformance.own_sessions import SESSIONS
from tests.conformance.runners import AREAS

OWN = list(items(Path(__file__).parent / "own", AREAS))


# The name `test_case` and bare ids belong to the folder of the option `--cases`.
@pytest.mark.parametrize("item", OWN, ids=[f"own/{item.id}" for item in OWN])
def test_own(item):
    assert not item.problem and not item.skip
    AREAS[item.area].run(item.file, item.case)


@pytest.mark.parametrize(
    ("file", "case"),
    [(file, case) for file, _, case in SESSIONS],
    ids=[f"{file}: {name}" for file, name, _ in SESSIONS],
)
def test_session(file, case):
    AREAS["volcano-topology"].run(file, case)
