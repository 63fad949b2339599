"""Values that commands take as they were typed are those that typer would make of the text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import typer

from tests.cli.test_option_values import commands
from workbench.cli.app import command
from workbench.cli.plain_values import _PlainValue, take_plain_values

#: What is typed for a parameter without a parser, and for one that may be given several times.
TYPED: tuple[tuple[Any, Any], ...] = (("a", ["a", "b c"]), ("", []), ("-", ("-", "")), ("3", ["3"]))


def plain_parameters() -> list[tuple[Any, Any]]:
    found = []
    for _, one in commands(command()):
        for parameter in one.params:
            if isinstance(getattr(parameter, "_runtime_param", None), _PlainValue):
                found.append((one, parameter))
    return found


def test_values_equal_those_of_typer() -> None:
    plain = plain_parameters()
    if not plain:
        pytest.skip("this release of typer does not validate values with pydantic")
    texts = 0
    for one, parameter in plain:
        step, several = parameter._runtime_param, parameter.multiple or parameter.nargs == -1
        described = parameter.type_descriptor
        if described.parameter_info.parser is not None or described.annotation not in (str, Path, list[str]):
            continue
        context = typer.Context(one)
        for single, multiple in TYPED:
            typed = multiple if several else single
            ours = step.coerce(typed, parameter, context)
            assert ours == step._checked_by_typer(typed, context)
            texts += 1
        assert step.coerce(None, parameter, context) == (() if several else None)
        parameter._runtime_param = step
    assert texts > 100


def test_what_is_not_plain_goes_to_typer() -> None:
    app = typer.Typer()

    @app.command()
    def sizes(first: int, rest: list[int], path: Path = Path("x")) -> None:
        typer.echo(f"{first + 1} {sum(rest)} {path}")

    made = typer.main.get_command(app)
    take_plain_values(made)
    assert made(args=["1", "2", "3", "--path", "y"], standalone_mode=False) is None
    with pytest.raises(Exception, match="valid integer"):
        made(args=["one", "2"], standalone_mode=False)
