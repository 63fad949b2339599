"""Every export shows an example in its docstring, and each example of an export is true without any file."""

from __future__ import annotations

import doctest
import inspect

import pytest

import workbench as wb
from workbench import report
from workbench.evaluate import metric_table
from workbench.policies import registry
from workbench.simulate import disciplines


@pytest.fixture(autouse=True)
def nothing_stays_registered(monkeypatch):
    """Examples register policies, metrics and disciplines of their own."""
    for table in (disciplines, metric_table, registry):
        monkeypatch.setattr(table, "_registered", dict(table._registered))
    monkeypatch.setattr(registry, "_of_function", {})


FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def examples(name: str) -> list[doctest.DocTest]:
    """The examples of an export: those of its docstring, of a class also those of its methods."""
    value = getattr(wb, name)
    finder = doctest.DocTestFinder(exclude_empty=True, recurse=inspect.isclass(value))
    found = finder.find(value, f"wb.{name}", module=None if inspect.ismodule(value) else inspect.getmodule(value))
    return [each for each in found if each.examples]


def test_every_export_has_an_example() -> None:
    assert [name for name in sorted(wb.__all__) if ">>>" not in (getattr(wb, name).__doc__ or "")] == []


@pytest.mark.parametrize("name", sorted(wb.__all__))
def test_the_examples_are_true(name: str, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    told: list[str] = []
    found = examples(name)
    for each in found:
        assert not any(example.options.get(doctest.SKIP) for example in each.examples), each.name
        runner.run(each, out=told.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(told)
    assert found, "no example"


def test_the_examples_of_packages_are_true(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert all(doctest.testmod(module, optionflags=FLAGS).failed == 0 for module in (wb, report))
