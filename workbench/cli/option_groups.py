"""`grouped`: options of a command as dataclasses, whose fields become its parameters one by one.

A group declares its options once, with their defaults and help texts, and checks what they may not be together;
commands with the same options share the group.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from typing import Any, get_type_hints

__all__ = ["grouped"]


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Make a function for typer that takes the fields of each option group instead of the group.

    Parameters
    ----------
    command : callable
        Some of its parameters are annotated with dataclasses. Their fields, in their order, become options in the
        place of the group; other parameters stay as they are.
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
