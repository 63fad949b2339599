"""Option groups become single options, in the place of the group, and reach the command as one value."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import Annotated, Any

import typer

from workbench.cli.option_values import grouped


@dataclass(frozen=True)
class _Both:
    number: Annotated[int, typer.Option("--number")] = 3
    names: Annotated[list[str], typer.Option("--name")] = field(default_factory=list)


def test_a_group_is_given_field_by_field() -> None:
    seen: list[Any] = []

    @grouped
    def command(*, first: Annotated[str, typer.Option("--first")] = "a", both: _Both, last: bool = False) -> None:
        """What the command does."""
        seen.append((first, both, last))

    parameters = inspect.signature(command).parameters
    assert list(parameters) == ["first", "number", "names", "last"]
    assert parameters["number"].default == 3 and parameters["names"].default == []
    assert command.__doc__ == "What the command does."
    command(first="b", number=4, names=["x"], last=True)
    assert seen == [("b", _Both(4, ["x"]), True)]
