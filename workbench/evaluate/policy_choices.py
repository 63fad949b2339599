"""The registered policies and their parameters, for user interfaces that offer a choice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from workbench.errors import InputError
from workbench.evaluate.usual_policies import with_field
from workbench.model.scheduler_config import SchedulerConfig
from workbench.policies import Policy, as_policy, get_policy, list_policies
from workbench.policies.registry import watch

__all__ = ["chosen_policies", "make_policy", "on_new_policy", "policy_choices", "with_config"]


def chosen_policies(given: object) -> list[Policy]:
    """The policies of a list, or of the name ``field`` alone, which stands for the twin of each scheduler.

    `given`: each as for `workbench.policies.as_policy`. Raises InputError: no list, an empty one, or an entry that is
    no policy; UnknownNameError: a policy is not registered.
    """
    several = ["field"] if given == "field" else given
    if isinstance(several, str | Policy) or not isinstance(several, Iterable):
        raise InputError("no list of policies", source="policies", got=repr(given), expected='["gang", …]')
    chosen = [as_policy(policy) for policy in with_field(several)]
    if not chosen:
        raise InputError("no policies to compare", source="policies", got="none", expected='["gang", …]')
    return chosen


def policy_choices() -> list[dict[str, Any]]:
    """Every registered policy as a JSON-ready dict with name, kind, meaning, source and parameters.

    A policy that a notebook cell registers is included at once; registering a name again replaces the policy.
    """
    return [info.to_dict() for info in list_policies()]


def on_new_policy(told: Callable[[str], None]) -> Callable[[], None]:
    """Have the function `told` called with the name of each policy that is registered from now on.

    Returns a function that ends these calls.
    """
    return watch(told)


def make_policy(name: str, parameters: Mapping[str, Any]) -> Policy:
    """Make the policy ``NODE[+GPU]`` with parameters; names of parameters of the GPU part begin with ``gpu.``.

    Raises UnknownNameError, InputError: as `workbench.policies.get_policy`.
    """
    own = {key: value for key, value in parameters.items() if not key.startswith("gpu.")}
    of_gpu = {key.removeprefix("gpu."): value for key, value in parameters.items() if key.startswith("gpu.")}
    return get_policy(name, **own, **({"gpu": of_gpu} if of_gpu else {}))


def with_config(name: str, parameters: Mapping[str, Any], config: SchedulerConfig) -> dict[str, Any]:
    """Add a scheduler configuration to a policy's parameters, if the policy reads one and none is given yet.

    `name`: name of a policy, ``NODE[+GPU]``, such as ``volcano+gpu-bottleneck``. `parameters`: parameters given for the
    policy; they take precedence. Raises UnknownNameError: no policy has this name.
    """
    # Only a configuration has None for its default.
    reads = [key for key, value in get_policy(name).parameters.items() if value is None]
    return {**dict.fromkeys(reads, config), **parameters}
