"""How tests are spread over processes: what shares a server stays together, and what takes long goes alone."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace

import pytest

from tests.spread import lots_of, rank_of, say_less

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
    for part in ("/controlplane/", "/browser/test_a", "/browser/test_b"):
        mine = {name for name in NAMES if part in name}
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


def test_what_shares_a_server_comes_first_and_then_what_goes_alone() -> None:
    lots = lots_of(NAMES)
    sizes = Counter(lots.values())
    order = sorted(sizes, key=lambda lot: rank_of(lot, sizes[lot]))
    assert order[:3] == ["tests/controlplane/", "tests/browser/test_a.py", "tests/browser/test_b.py"]
    assert {lot.partition("::")[0] for lot in order[3:6]} == {"tests/notebooks/test_notebooks.py"}
    assert [sizes[lot] for lot in order[6:]] == [8, 8, 4, 1]


class WorkerInteractor:
    """As pytest-xdist has one in each of its processes."""

    def __init__(self) -> None:
        self.told: list[object] = []

    @pytest.hookimpl
    def pytest_runtest_logreport(self, report: object) -> None:
        self.told.append(report)


@pytest.mark.parametrize(
    ("when", "outcome", "seconds", "printed", "told"),
    [
        ("setup", "passed", 0.001, [], False),
        ("teardown", "passed", 0.001, [], False),
        ("call", "passed", 0.001, [], True),
        ("setup", "passed", 3.0, [], True),
        ("setup", "skipped", 0.001, [], True),
        ("setup", "failed", 0.001, [], True),
        ("teardown", "failed", 0.001, [], True),
        ("setup", "passed", 0.001, [("stdout", "here")], True),
    ],
)
def test_only_a_set_up_or_tear_down_that_went_well_is_not_told(
    when: str, outcome: str, seconds: float, printed: list[tuple[str, str]], told: bool
) -> None:
    plugins, process = pytest.PytestPluginManager(), WorkerInteractor()
    plugins.register(process)
    say_less(SimpleNamespace(pluginmanager=plugins))  # type: ignore[arg-type]
    report = SimpleNamespace(
        when=when, passed=outcome == "passed", failed=outcome == "failed", duration=seconds, sections=printed
    )
    plugins.hook.pytest_runtest_logreport(report=report)
    assert process.told == [report] * told
