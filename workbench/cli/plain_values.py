"""Values of options and arguments as they were typed: strings, paths and lists of them, and what a parser returns.

Newer typers validate each value with pydantic, whose import takes longer than most commands. The types that commands
here declare need no validation, so their values are handed on; typer serves everything else, such as a number without
a parser. Releases of typer without pydantic are left as they are.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args, get_origin

import typer

__all__ = ["take_plain_values"]

#: The attribute in which typer keeps, per parameter, what makes a value of the text; None until it is needed.
_STEP = "_runtime_param"


def take_plain_values(command: Any, parent: Any = None) -> None:
    """Let the parameters of a command, and of all commands below it, take their values as they were typed.

    `command`: of click, as typer makes it. `parent`: that of the command above, which says how the option of the help
    is called.
    """
    context = typer.Context(command, parent=parent, **({} if parent else command.context_settings))
    for below in getattr(command, "commands", {}).values():
        take_plain_values(below, context)
    for parameter in command.get_params(context):
        if getattr(parameter, _STEP, command) is None:
            setattr(parameter, _STEP, _PlainValue(parameter))


class _PlainValue:
    """Makes the value of one parameter; stands in for typer's own, which is built where it is needed."""

    def __init__(self, parameter: Any) -> None:
        self._parameter = parameter

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the value for text that was typed, for a default, or for None where the option is not given."""
        several = param.multiple or param.nargs == -1
        if value is None:
            return () if several else None
        described = self._parameter.type_descriptor
        kind, parser = described.annotation, described.parameter_info.parser
        if several and get_origin(kind) is list and isinstance(value, (list, tuple)):
            (kind,) = get_args(kind)
            if all(_is_plain(one, kind, parser) for one in value):
                return [_value_of(one, kind, parser) for one in value]
        elif not several and _is_plain(value, kind, parser):
            return _value_of(value, kind, parser)
        return self._checked_by_typer(value, ctx)

    def _checked_by_typer(self, value: Any, ctx: Any) -> Any:
        setattr(self._parameter, _STEP, None)
        return self._parameter.get_runtime_param().coerce(value, param=self._parameter, ctx=ctx)


def _is_plain(value: Any, kind: Any, parser: Any) -> bool:
    if parser is not None:
        return True
    return (kind is str or kind is Path) and isinstance(value, (str, Path))


def _value_of(value: Any, kind: Any, parser: Any) -> Any:
    return parser(value) if parser is not None else kind(value)
