"""`check_plugins`: find mistakes in a Job's spec.plugins that Volcano only logs or silently ignores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.errors import InputError
from workbench.jobs.frameworks.registry import arguments_of, flags_of
from workbench.objects.fields import get_list, get_map, get_maps, group_kind, wrong
from workbench.objects.metadata import is_stored

__all__ = ["check_plugins", "plugin_fault"]

_WHERE = "spec.plugins"


def check_plugins(spec: Mapping[str, Any]) -> None:
    """Raise an error if a Job names an unknown plugin or gives a plugin an argument without effect.

    `spec` is the Job's.

    Raises InputError: a plugin that does not exist, an argument that its plugin does not know, that lacks its value or
    has an impossible one, or that ends the parsing and is therefore never read; the path is named.
    """
    plugins = get_map(spec, "plugins", "spec")
    for name in plugins:
        given = get_list(plugins, name, _WHERE)
        for position, argument in enumerate(given):
            if type(argument) is not str:
                raise wrong(_path(name, position), argument, "text (in quotes)")
        _check(name, given)


def plugin_fault(data: Mapping[str, Any]) -> InputError | None:
    """The mistake that `check_plugins` finds in a Job, or in a Job of a HyperJob; None: there is none.

    `data` is the parsed manifest. Objects of other kinds, and objects that a cluster stores already, have none.
    """
    group, kind = group_kind(data)
    if (group, kind) not in (("batch.volcano.sh", "Job"), ("training.volcano.sh", "HyperJob")) or is_stored(data):
        return None
    spec = get_map(data, "spec", "")
    try:
        if kind == "Job":
            check_plugins(spec)
        for path, entry in get_maps(spec, "replicatedJobs", "spec") if kind == "HyperJob" else ():
            try:
                check_plugins(get_map(entry, "templateSpec", path))
            except InputError as error:
                tail = (error.where or "").removeprefix("spec.")
                return InputError(
                    error.message, where=f"{path}.templateSpec.{tail}", got=error.got, expected=error.expected
                )
    except InputError as error:
        return error
    return None


def _check(name: str, given: Sequence[str]) -> None:
    flags = flags_of(name)
    arguments = arguments_of(name, given)
    known = ", ".join(f"--{flag.name}" for flag in flags) or "no argument"
    at = arguments.stopped_at
    if arguments.error:
        raise InputError(arguments.error, where=_path(name, at), got=repr(given[at]), expected=known)
    if at < len(given):
        message = "Volcano stops reading arguments here"
        raise InputError(message, where=_path(name, at), got=repr(given[at]), expected=known)
    for flag in flags:
        value = arguments.values[flag.name]
        if flag.within is not None and value not in flag.within:
            numbers = f"a number from {flag.within[0]} to {flag.within[-1]}"
            raise InputError(f"impossible value of --{flag.name}", where=_path(name), got=str(value), expected=numbers)


def _path(name: str, position: int | None = None) -> str:
    return f"{_WHERE}.{name}" + ("" if position is None else f"[{position}]")
