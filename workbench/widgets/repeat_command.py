"""`repeat_command`: the shell command that repeats the comparison shown on the page."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from workbench.errors import InputError
from workbench.evaluate.policy_choices import make_policy, policy_choices
from workbench.model.scheduler_config import SchedulerConfig

__all__ = ["repeat_command"]


def repeat_command(files: Sequence[str], chosen: Sequence[tuple[str, Mapping[str, Any]]]) -> str:
    """The shell command ``workbench compare FILES --policies … --set …`` for a comparison.

    Raises InputError: no command repeats the comparison, because it has a policy twice, a parameter with different
    values for two policies, or a policy that is defined in a notebook.

    `files`: files with the cluster and the jobs. `chosen`: names and parameters with which the policies ran.
    """
    names = [name for name, _ in chosen]
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None:
        raise _unsaid(f"{twice} is compared twice", "each policy once")
    here = {choice["name"] for choice in policy_choices() if choice["source"] == "__main__"}
    own = next((name for name in names if here & set(name.split("+"))), None)
    if own is not None:
        raise _unsaid(f"{own} is defined in this notebook", "policies that are installed")
    given = {key: value for _, parameters in chosen for key, value in parameters.items()}
    for name, parameters in chosen:
        wanted = make_policy(name, parameters).parameters
        made = make_policy(name, {key: value for key, value in given.items() if key in wanted}).parameters
        unlike = next((key for key in wanted if made[key] != wanted[key]), None)
        if unlike is not None:
            raise _unsaid(
                f"{unlike} is {_written(wanted[unlike])} for {name}, another value elsewhere",
                "one value for every policy that has the parameter",
            )
    settings = [part for key, value in given.items() for part in ("--set", f"{key}={_written(value)}")]
    return shlex.join(["workbench", "compare", *files, "--policies", ",".join(names), *settings])


def _unsaid(got: str, expected: str) -> InputError:
    return InputError("no command repeats this comparison", source="comparer", got=got, expected=expected)


def _written(value: object) -> str:
    """A parameter value as ``--set`` takes it: a configuration's file name, a table as name=number,…"""
    if isinstance(value, SchedulerConfig):
        return value.source or "volcano-scheduler.conf"
    if isinstance(value, Mapping):
        return ",".join(f"{key}={number}" for key, number in value.items())
    return str(value)
