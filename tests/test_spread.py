"""How tests are spread over processes: what shares a server stays together, and what takes long goes alone."""

from __future__ import annotations

from tests.conftest import lots_of

NAMES = [
    *(f"tests/browser/test_{file}.py::test_{number}" for file in "ab" for number in range(20)),
    *(f"tests/controlplane/test_c.py::test_{number}" for number in range(20)),
    *(f"tests/core/test_d.py::test_it[{number}]" for number in range(20)),
    *(f"tests/notebooks/test_notebooks.py::test_it[{number}]" for number in range(3)),
    "tests/core/test_e.py::TestClass::test_it",
]


def test_each_test_is_in_one_lot() -> None:
    assert list(lots_of(NAMES)) == NAMES


def test_tests_that_share_a_server_are_one_lot() -> None:
    lots = lots_of(NAMES)
    for folder in ("browser", "controlplane"):
        mine = {name for name in NAMES if f"/{folder}/" in name}
        (lot,) = {lots[name] for name in mine}
        assert {name for name in NAMES if lots[name] == lot} == mine


def test_other_tests_go_by_a_few_of_one_file() -> None:
    lots = lots_of(NAMES)
    names = [name for name in NAMES if "test_d.py" in name]
    assert len({lots[name] for name in names}) == 3
    assert lots[names[0]] == lots[names[7]] != lots[names[8]]
    assert lots["tests/core/test_e.py::TestClass::test_it"] not in {lots[name] for name in names}


def test_notebooks_go_alone() -> None:
    lots = lots_of(NAMES)
    assert len({lots[name] for name in NAMES if "/notebooks/" in name}) == 3
