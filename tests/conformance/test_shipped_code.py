"""The runners run what is shipped: commands, registered policies, and names that a notebook or a page of ours calls.

A rule that only its runner and tests call would pass its cases and serve nobody. Such rules are oracles in
`tests/reference`, and their rows are named in `oracle_rows`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

import pytest

from tests.conformance.oracle_rows import IN_PART, ORACLE_ROWS
from tests.conformance.registry import Runners
from tests.conformance.runners import AREAS
from tests.reach import Reach, modules_imported, names_imported, reach_of, user_roots

ROOT = Path(__file__).resolve().parents[2]


def package() -> Reach:
    return reach_of(ROOT)


@cache
def shipped() -> frozenset[str]:
    return frozenset(package().reached(user_roots(ROOT)))


def called_by(file: Path) -> Iterator[tuple[str, str]]:
    """(place, definition) of what a file takes from the package."""
    for name, line in names_imported(file.read_text("utf-8")):
        defined = package().defined(name)
        if defined in package().definitions:
            yield f"{file.relative_to(ROOT)}:{line}", defined


def files_of_the_runners() -> list[Path]:
    """The runners, and the helpers and oracles that they import."""
    left, seen = sorted((ROOT / "tests" / "conformance").rglob("*.py")), set[Path]()
    while left:
        file = left.pop()
        if file not in seen:
            seen.add(file)
            left += modules_imported(file.read_text("utf-8"), "tests", ROOT)
    return sorted(seen)


def not_shipped(file: Path, known: frozenset[str]) -> list[str]:
    """A complaint for each definition that a file takes from the package and that is not among the known ones."""
    return [
        f"{place}: {name} is reached by no command, no policy, no notebook and no page"
        for place, name in called_by(file)
        if name not in known
    ]


FILES = files_of_the_runners()


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.relative_to(ROOT).as_posix())
def test_a_runner_takes_from_the_package_what_is_shipped(file):
    assert not_shipped(file, shipped()) == []


@pytest.mark.slow
def test_the_walk_saw_runners_helpers_oracles_and_shipped_code():
    names = {file.relative_to(ROOT).as_posix() for file in FILES}
    assert names >= {"tests/conformance/runners/gpu.py", "tests/switch_fabric.py", "tests/reference/cost/nccl.py"}
    assert "workbench.policies.gpu.mapa:GpuMapa" in shipped()
    assert "workbench:_HOME" not in shipped()


@pytest.mark.slow
def test_a_runner_that_calls_a_rule_of_nobody_is_accused():
    file = ROOT / "tests" / "conformance" / "runners" / "gpu.py"
    taken = sorted({name for _, name in called_by(file)})
    assert not_shipped(file, shipped() - set(taken[:1])) == [
        f"{place}: {name} is reached by no command, no policy, no notebook and no page"
        for place, name in called_by(file)
        if name == taken[0]
    ]


def oracles_of(function: FunctionType, seen: set[FunctionType]) -> set[str]:
    """Modules of `tests.reference` whose names a runner uses, itself or by functions of the tests."""
    if function in seen:
        return set()
    seen.add(function)
    used = [function.__globals__.get(name) for name in _names(function.__code__)]
    used += [cell.cell_contents for cell in function.__closure__ or ()]
    found = set()
    for each in used:
        home = each.__name__ if isinstance(each, ModuleType) else getattr(each, "__module__", None) or ""
        if home.startswith("tests.reference"):
            found.add(home)
        elif isinstance(each, FunctionType) and home.startswith("tests."):
            found |= oracles_of(each, seen)
    return found


def _names(code: CodeType) -> set[str]:
    return set(code.co_names).union(*(_names(each) for each in code.co_consts if isinstance(each, CodeType)))


def test_the_rows_that_ask_an_oracle_are_named_with_the_reason():
    asking = {
        (name, op)
        for name, area in AREAS.items()
        if isinstance(area, Runners)
        for ops in area.operations().values()
        for op, runner in ops.items()
        if oracles_of(runner, set())
    }
    assert not ORACLE_ROWS.keys() & IN_PART.keys()
    assert asking == ORACLE_ROWS.keys() | IN_PART.keys()
