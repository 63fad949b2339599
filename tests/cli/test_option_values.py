"""Wrong values of options: one line that names the option, the value and the values allowed, for every command."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Any, get_args, get_type_hints

import pytest
import typer

from tests.cli.conftest import Run
from workbench.cli.app import command

#: Options that take a number or one of a few words, with values that none of them accepts.
NUMBERS = {"-k": "a whole number from 0 on", "--depth": "a whole number from 1 on"}
NUMBERS |= {"--gpus-per-node": "a whole number from 1 to 1,024", "--timeout": "0.1 to 3,600 seconds"}
NUMBERS |= {"--load": "a whole number from 1 to 1,000", "--faults": "a whole number from 0 on"}
NUMBERS |= {"--seed": "a whole number from 0 on"}
NUMBERS |= {"--rails": "a whole number from 1 to 64", "--jobs": "a whole number from 1 to 100,000"}
NUMBERS |= {"--workers": "a whole number from 1 to 1,024"}
#: Where an option means something else: processes of compare, jobs to draw of simulate.
OF_COMMANDS = {("compare", "--jobs"): "a whole number from 1 to 1,024"}
FROM_ZERO = ("--until", "--restart", "--cycle", "--run-seconds", "--start-seconds", "--for")
NUMBERS |= dict.fromkeys(FROM_ZERO, "0 to 1,000,000,000 seconds")
WRONG_NUMBERS = ("x", "", "-1", "1_0", "١", "nan", "1e99", "9" * 5000)
#: Options whose values are names of a registry, which other packages add to: the metavar lists those of the workbench.
REGISTERED = ("--discipline",)
WRONG_WORDS = ("", "no-such-word")


def commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command that is no group, with the words that call it."""
    for name, one in group.commands.items():
        if hasattr(one, "commands"):
            yield from commands(one, (*path, name))
        else:
            yield (*path, name), one


def valued_options() -> list[tuple[tuple[str, ...], str, str]]:
    """Command, option and values allowed, of every option with a number or with one of a few words."""
    found = []
    for path, one in commands(command()):
        for option in one.params:
            words = str(option.metavar or "").removeprefix("[").removesuffix("]").split("|")
            known = [OF_COMMANDS.get((path[-1], name), NUMBERS[name]) for name in option.opts if name in NUMBERS]
            if option.opts[0] in REGISTERED:
                continue
            if known or (len(words) > 1 and not option.opts[0].isalpha()):
                found.append((path, option.opts[0], known[0] if known else " or ".join(words)))
    return found


def test_every_option_with_a_range_or_a_choice_is_one_of_ours() -> None:
    """typer's own types would answer in the words of click or pydantic, which change with their releases."""
    own = {(path, option) for path, option, _ in valued_options()}
    assert {option for _, option in own} >= {*NUMBERS, "-o", "--release", "--symmetric", "--objective"}
    for path, one in commands(command()):
        hints = get_type_hints(inspect.unwrap(one.callback))
        for option in one.params:
            kinds = {*get_args(hints[option.name]), hints[option.name]}
            if kinds & {int, float} or any(isinstance(kind, type) and issubclass(kind, StrEnum) for kind in kinds):
                assert (path, option.opts[0]) in own


@pytest.mark.parametrize(("path", "option", "expected"), valued_options(), ids=str)
def test_a_wrong_value_is_one_line_that_names_the_option(
    run: Run, path: tuple[str, ...], option: str, expected: str
) -> None:
    zero = (
        () if option in ("-k", "--faults", "--seed", *FROM_ZERO) else ("0",)
    )  # of -k 0 the machine says how many GPUs it has
    for value in (*WRONG_NUMBERS, *zero) if option in NUMBERS else WRONG_WORDS:
        result = run(*path, option, value)
        assert (result.status, result.out) == (2, "")
        (line,) = result.err.splitlines()
        assert line.startswith(f"workbench: {option}: not a ")
        assert line.endswith(f"expected {expected})")
        assert len(value) > 1000 or f"(found {value!r}, " in line


@pytest.mark.parametrize("word", WRONG_WORDS)
def test_an_unknown_discipline_is_one_line_with_the_known_ones(run: Run, word: str) -> None:
    result = run("simulate", "--discipline", word)
    assert (result.status, result.out) == (2, "")
    (line,) = result.err.splitlines()
    assert line.startswith(f"workbench: --discipline: unknown discipline {word!r}; known: backfill, best-effort, fifo")


@pytest.mark.parametrize("sizes", ["0,2", "2,x", "2,,2", "-1", "9" * 5000])
def test_wrong_sizes_of_pods_name_the_option(run: Run, files: Any, sizes: str) -> None:
    result = run("gpus", files / "matrix.csv", "--pods", sizes)
    assert result.status == 2 and result.err.startswith("workbench: --pods: not sizes of pods (found ")
    assert result.err.endswith("expected whole numbers from 1, such as 4,4,2)\n")


def test_the_help_names_arguments_without_python_types() -> None:
    for path, one in commands(command()):
        text = one.get_help(typer.Context(one, info_name=path[-1]))
        assert not re.search(r"<(list|str|path|int|float|tuple)\b", text), (path, text)
        assert not re.search(r"[{}]|\[\[|….*\.\.\.", text.splitlines()[0]), text
