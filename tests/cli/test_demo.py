"""Tests of `workbench demo` and of the data that come with the package."""

from __future__ import annotations

from pathlib import Path

import pytest

import workbench
from tests.examples import commands, examples_of, runnable
from workbench.cli import main
from workbench.cli.app import command
from workbench.errors import UnknownNameError


def test_the_demo_compares_six_policies_in_a_table_and_on_a_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["demo", "--html", "report.html"]) == 0
    said = capsys.readouterr()
    assert [line.split()[0] for line in said.out.splitlines() if line.startswith((" volcano", " gang", " spread"))]
    assert said.out.count("volcano-1.13") == 2 and said.err == "the same with pictures: report.html\n"
    assert "tw-comparison" in (tmp_path / "report.html").read_text("utf-8")


def test_a_page_that_cannot_be_written_is_told_before_the_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["demo", "--html", str(tmp_path / "no" / "report.html")]) == 2
    said = capsys.readouterr()
    assert said.out == "" and "report.html" in said.err


def test_data_are_loaded_by_name() -> None:
    scenario = workbench.datasets.load("demo")
    assert len(scenario.gangs) == 4 and scenario.snapshot.topology.tiers
    with pytest.raises(UnknownNameError, match="did you mean demo"):
        workbench.datasets.load("demmo")


def test_each_command_that_works_offline_has_an_example_that_runs() -> None:
    found = {path: [line for line in examples_of(text) if runnable(line)] for path, text in commands(command())}
    silent = {path for path, lines in found.items() if not lines}
    groups = {f"workbench {name}" for name in ("topology", "topology discover", "live", "study", "kind")}
    services = ("workbench live ", "workbench operator", "workbench kind ", "workbench topology discover")
    assert {path for path in silent - groups if not path.startswith(services)} <= {"workbench calibrate"}
