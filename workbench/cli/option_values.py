"""Command-line options for numbers and for one of a few words, their completion, and `grouped`: options as dataclasses.

Errors name the option, the value and what is allowed. A group declares its options once, with their defaults and help
texts, and checks what they may not be together; commands with the same options share the group.

Typer asks what completes a word only where completion is installed and somebody presses Tab. An error is no offer.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import MISSING, fields, is_dataclass
from enum import StrEnum
from functools import wraps
from typing import Any, TypeVar, get_type_hints

import typer

from workbench.cli.output import tell
from workbench.errors import InputError, UnknownNameError, WorkbenchError
from workbench.model.number_text import whole_number

__all__ = [
    "OptionError",
    "context_names",
    "format_names",
    "grouped",
    "name_from",
    "one_of",
    "policy_names",
    "preset_names",
    "seconds",
    "whole",
]

E = TypeVar("E", bound=StrEnum)

_VARIABLE = "WORKBENCH_OUTPUT"

#: Every form of a result that some command has; the variable with any other word is an error for every command.
_FORMS = frozenset(
    ("table", "wide", "json", "yaml", "csv", "svg", "png", "html", "pyvis", "sarif", "snapshot", "jobs", "arrivals")
)


class OptionError(WorkbenchError):
    """An option of the command line has a wrong value.

    Not an `InputError`, because typer rewords every ValueError of a parser, differently in each of its releases.
    """


def whole(*names: str, least: int = 0, most: int | None = None, metavar: str, help: str) -> Any:
    """Make a typer option that takes a whole number.

    `names`: names of the option; the first one is used in errors. `least`, `most`: smallest and largest number allowed;
    without `most` there is no largest. `metavar`, `help`: as for `typer.Option`.
    """

    def parse(text: str | int) -> int:
        # typer hands in the default value as it is.
        number = text if isinstance(text, int) else whole_number(text)
        if number is None or number < least or (most is not None and number > most):
            allowed = f"from {least} on" if most is None else f"from {least} to {most:,}"
            raise _refused(names[0], "not a value of this option", str(text), f"a whole number {allowed}")
        return number

    return typer.Option(*names, parser=parse, metavar=metavar, help=help)


def seconds(*names: str, least: float, most: float, help: str) -> Any:
    """Make a typer option that takes a number of seconds, with or without decimals.

    `names`, `help`: as for `whole`. `least`, `most`: shortest and longest time allowed.
    """

    def parse(text: str | float) -> float:
        # typer hands in the default value as it is.
        try:
            number = float(text) if str(text).isascii() and "_" not in str(text) else None
        except ValueError:
            number = None
        if number is None or not least <= number <= most:  # NaN is not, either
            raise _refused(names[0], "not a value of this option", str(text), f"{least:g} to {most:,.15g} seconds")
        return number

    return typer.Option(*names, parser=parse, metavar="SECONDS", help=help)


def one_of(kind: type[E], *names: str, help: str) -> Any:
    """Make a typer option that takes one value of the enumeration `kind`; `names` and `help` are as in `whole`.

    For ``--output`` the environment variable ``WORKBENCH_OUTPUT`` is the value where the option is not given. It is
    meant for all commands: one without that form of result says so, and takes its default.
    """

    def refused(source: str, text: str) -> OptionError:
        return _refused(source, "not a value of this option", text, " or ".join(kind))

    def parse(text: str) -> E | str:
        try:
            return kind(text)
        except ValueError:
            if variable and os.environ.get(variable) == text:
                return text  # for `usable`, which knows whether the text was typed
            raise refused(names[0], text) from None

    def usable(context: typer.Context, option: typer.CallbackParam, value: Any) -> Any:
        if value is None or isinstance(value, kind):
            return value
        source = context.get_parameter_source(str(option.name))
        if source is None or source.name != "ENVIRONMENT":
            raise refused(names[0], value)
        if value not in _FORMS:
            raise refused(_VARIABLE, value)
        default = option.get_default(context)
        if not context.resilient_parsing:
            instead = "its usual form" if default is None else kind(default).value
            tell(f"note: {_VARIABLE}: {context.command_path} has no {value}; {instead} is used")
        return None if default is None else kind(default)

    metavar = f"[{'|'.join(kind)}]"
    variable = _VARIABLE if "--output" in names else None
    called = usable if variable else None
    return typer.Option(*names, parser=parse, metavar=metavar, help=help, envvar=variable, callback=called)


@contextmanager
def name_from(source: str) -> Iterator[None]:
    """Let an error about a name that is unknown tell the option or argument that the name comes from."""
    try:
        yield
    except UnknownNameError as error:
        raise error.of(source) from None


def _refused(option: str, message: str, text: str, expected: str) -> OptionError:
    return OptionError(str(InputError(message, source=option, got=repr(text), expected=expected)))


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Make a function for typer that takes the fields of each option group instead of the group.

    `command`: some of its parameters are annotated with dataclasses. Their fields, in their order, become options in
    the place of the group; other parameters stay as they are.
    """
    hints = get_type_hints(command, include_extras=True)
    parameters: list[inspect.Parameter] = []
    groups: dict[str, tuple[Any, list[str]]] = {}
    for parameter in inspect.signature(command).parameters.values():
        kind = hints[parameter.name]
        if is_dataclass(kind):
            options = _options(kind)
            groups[parameter.name] = kind, [option.name for option in options]
            parameters += options
        else:
            keyword = inspect.Parameter.KEYWORD_ONLY
            parameters.append(parameter.replace(annotation=kind, kind=keyword))

    @wraps(command)
    def flat(**given: Any) -> None:
        made = {name: kind(**{one: given.pop(one) for one in names}) for name, (kind, names) in groups.items()}
        command(**made, **given)

    del flat.__wrapped__
    flat.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    flat.__annotations__ = {one.name: one.annotation for one in parameters}
    return flat


def _options(group: Any) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    found = []
    for field in fields(group):
        default = field.default if field.default_factory is MISSING else field.default_factory()
        default = inspect.Parameter.empty if default is MISSING else default
        keyword = inspect.Parameter.KEYWORD_ONLY
        found.append(inspect.Parameter(field.name, keyword, default=default, annotation=hints[field.name]))
    return found


def _beginning(names: Iterable[str], typed: str) -> list[str]:
    return [name for name in names if name.startswith(typed)]


def policy_names(incomplete: str) -> list[str]:
    """Policies for ``NODE[+GPU]``, or for the last of a list with commas; `incomplete` is what has been typed."""
    from workbench.policies import list_policies

    done, comma, last = incomplete.rpartition(",")
    node, plus, gpu = last.partition("+")
    infos = list_policies()
    wanted, typed = ({"gpu"}, gpu) if plus else ({"node", "whole"}, last)
    before = f"{done}{comma}{node}{plus}" if plus else f"{done}{comma}"
    return [before + name for name in _beginning((one.name for one in infos if one.kind in wanted), typed)]


def preset_names(incomplete: str) -> list[str]:
    """Kinds of generated clusters that begin with `incomplete`."""
    from workbench.topology.presets import PRESETS

    return _beginning(PRESETS, incomplete)


def format_names(incomplete: str) -> list[str]:
    """Formats of topologies that begin with `incomplete`."""
    from workbench.formats.fabric.registry import FORMATS

    return _beginning((one.name for one in FORMATS), incomplete)


def context_names(incomplete: str) -> list[str]:
    """Contexts of the kubeconfig that begin with `incomplete`; none where it cannot be read."""
    from workbench.live import contexts

    try:
        return _beginning(contexts()[0], incomplete)
    except WorkbenchError:
        return []
