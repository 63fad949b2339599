"""Inputs as arguments, which `-f` may add to."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Run

COMMANDS = (
    ("place",),
    ("compare", "--policies", "gang"),
    ("validate",),
    ("topology", "show"),
    ("topology", "lint"),
    ("topology", "convert", "--to", "slurm"),
)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_arguments_and_the_option_f_are_the_same(run: Run, files: Path, command: tuple[str, ...]) -> None:
    one, two = files / "cluster.yaml", files / "fits.yaml"
    as_arguments = run(*command, one, two)
    assert as_arguments.status == 0, as_arguments.err
    for given in ((one, "-f", two), ("-f", one, "-f", two)):
        found = run(*command, *given)
        assert (found.status, found.err) == (0, as_arguments.err)
        assert without_time(found.out) == without_time(as_arguments.out)


def without_time(table: str) -> list[list[str]]:
    """The words of each line, without the time that a policy took and the width that its digits give the column."""
    return [line.rstrip("0123456789. ").replace("─", " ").split() for line in table.splitlines()]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_input_is_said(run: Run, command: tuple[str, ...]) -> None:
    result = run(*command)
    assert (result.status, result.out) == (2, "")
    assert result.err == "workbench: PATH: no input given (expected files, folders or -)\n"
