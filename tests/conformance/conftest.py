"""The option `--cases` and one parameter per case."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.collect import Item, items
from tests.conformance.expectations import Expectations
from tests.conformance.oracle_rows import ORACLE_ROWS
from tests.conformance.registry import NotUnderstood
from tests.conformance.runners import AREAS

HERE = Path(__file__).parent
COMMITTED = HERE / "cases"
#: Of the recorded cases, the quick set has each one of so many.
QUICK_SHARE = 10
EXPECTED_FAILURES = HERE / "expected_failures.toml"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--cases",
        metavar="DIR",
        default=None,
        help="run the conformance cases of another folder (one sub-folder per area) through the same runners",
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "conformance_item" not in metafunc.fixturenames:
        return
    # The option is unknown to a plain `pytest`, which reads this file after the command line.
    given = metafunc.config.getoption("--cases", default=None)
    folder = metafunc.config.invocation_params.dir / given if given else COMMITTED
    if not folder.is_dir():
        raise pytest.UsageError(f"--cases: {folder} is no folder")
    found = list(items(folder, AREAS))
    if not found:
        raise pytest.UsageError(f"--cases: {folder} has no sub-folder with a *.json or *.jsonl file of cases")
    committed = {item.id for item in (items(COMMITTED, AREAS) if given else found)}
    expectations = Expectations.read(EXPECTED_FAILURES, committed)
    # What was recorded from one scheduler is alike case by case; what somebody wrote stands for something of its own.
    recorded = [item.id for item in found if item.area.endswith("-recorded")]
    slow = set(recorded) - set(recorded[::QUICK_SHARE])
    metafunc.parametrize("conformance_item", [_parameter(item, expectations, item.id in slow) for item in found])


def _parameter(item: Item, expectations: Expectations, slow: bool) -> object:
    marks: list[pytest.MarkDecorator] = [pytest.mark.slow] if slow else []
    if (item.area, item.op) in ORACLE_ROWS:
        # The quick set tests the product, and these rows test an oracle of ours.
        marks = [pytest.mark.oracle, pytest.mark.slow]
    expected = expectations.of(item.id)
    if item.skip:
        marks.append(pytest.mark.skip(reason=item.skip))
    elif expected is not None:
        reason = f"{expected.reason} (issue {expected.issue})"
        # A pattern excuses what its runner does not understand yet, never a wrong answer.
        raises = None if expected.strict else NotUnderstood
        marks.append(pytest.mark.xfail(reason=reason, strict=expected.strict, raises=raises))
    return pytest.param(item, id=item.id, marks=marks)
