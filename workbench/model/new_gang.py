"""`gang`: a gang of equal pods from a few numbers, for notebooks."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from numbers import Real
from typing import Literal

from workbench.errors import InputError, named_arguments
from workbench.model.bandwidth import MAX_GPUS
from workbench.model.gang import Gang, Role, TopologyConstraint

__all__ = ["gang"]

#: Limits of what a manifest may say, too: pods of an object, a tier, a priority (32 bits).
_MOST_PODS, _HIGHEST_TIER, _PRIORITY = 1_000_000, 1_000_000, 2**31 - 1
#: Cores, and GB, of one pod: in base units they stay below 63 bits.
_MOST_AMOUNT = 1_000_000_000


@named_arguments
def gang(
    name: str,
    pods: int = 1,
    gpus: int = 0,
    tier: int | None = None,
    *,
    mode: Literal["hard", "soft"] = "hard",
    cpus: float = 0,
    memory_gb: float = 0,
    min_available: int | None = None,
    queue: str = "default",
    priority: int = 0,
    gpu_resource: str = "nvidia.com/gpu",
) -> Gang:
    """Make a gang of equal pods, of the role ``worker``.

    Raises InputError: a number out of range, an unknown mode, or pods that request nothing.

    Parameters
    ----------
    name : str
        Name, alone (in the namespace ``default``) or as ``namespace/name``.
    pods : int
        Number of pods, up to a million.
    gpus : int
        Whole GPUs of each pod, up to 1,024.
    tier : int, optional
        Highest tier of a HyperNode that may hold the gang. None: no topology constraint with the mode ``hard``, a
        constraint without a highest tier with ``soft``.
    mode : {"hard", "soft"}
        Mode of the topology constraint.
    cpus : float
        CPU cores of each pod.
    memory_gb : float
        Memory of each pod in GB (1e9 bytes).
    min_available : int, optional
        Pods that must be placed together; None: all of them.
    priority : int
        Jobs of higher priority come first.
    gpu_resource : str
        Name of the resource that counts GPUs.

    Examples
    --------
    >>> import workbench as wb
    >>> wb.gang("mine", pods=4, gpus=8, tier=2)
    Gang(default/mine: 4 worker, min_available 4, hard)
    """
    namespace, short = _key(name)
    least = pods if min_available is None else min_available
    _check_numbers(
        {
            "pods": (pods, 1, _MOST_PODS),
            "gpus": (gpus, 0, MAX_GPUS),
            "tier": (0 if tier is None else tier, 0, _HIGHEST_TIER),
            "min_available": (least, 1, None),
            "priority": (priority, -_PRIORITY, _PRIORITY),
        }
    )
    if least > pods:
        raise InputError(
            "more than the pods", source="min_available", got=reprlib.repr(least), expected=f"at most {pods}"
        )
    if mode not in ("hard", "soft"):
        raise InputError("no such mode", source="mode", got=repr(mode), expected="hard or soft")
    _check_amounts({"cpus": cpus, "memory_gb": memory_gb})
    requests = _requests({"cpu": round(cpus * 1000), "memory": round(memory_gb * 1e9), gpu_resource: gpus})
    return Gang(
        namespace=namespace,
        name=short,
        roles=(Role("worker", pods, requests, container_gpus=(gpus,) if gpus else ()),),
        min_available=least,
        constraint=TopologyConstraint(mode, tier) if tier is not None or mode == "soft" else None,
        queue=queue,
        priority=priority,
    )


def _requests(amounts: Mapping[str, int]) -> dict[str, int]:
    """The resources of which a pod asks for some; raises InputError if there is none."""
    requests = {resource: amount for resource, amount in amounts.items() if amount}
    if not requests:
        raise InputError("pods that request nothing", source="gpus", got="0", expected="gpus, cpus or memory_gb")
    return requests


def _check_amounts(amounts: Mapping[str, float]) -> None:
    """Raise InputError for an amount that is no number or out of range."""
    for argument, amount in amounts.items():
        if isinstance(amount, bool) or not isinstance(amount, Real) or not 0 <= amount <= _MOST_AMOUNT:
            raise InputError(
                "out of range",
                source=argument,
                got=reprlib.repr(amount),
                expected=f"a number from 0 to {_MOST_AMOUNT:,}",
            )


def _check_numbers(limits: Mapping[str, tuple[object, int, int | None]]) -> None:
    """Refuse a number that is not whole or outside of the limits of its argument; None: there is no upper one."""
    for argument, (number, low, high) in limits.items():
        if (
            isinstance(number, bool)
            or not isinstance(number, int)
            or number < low
            or (high is not None and number > high)
        ):
            expected = f"a whole number from {low:,}{'' if high is None else f' to {high:,}'}"
            raise InputError("out of range", source=argument, got=reprlib.repr(number), expected=expected)


def _key(name: object) -> tuple[str, str]:
    """Namespace and name of a gang, given as ``name`` or ``namespace/name``."""
    namespace, slash, short = name.partition("/") if isinstance(name, str) else ("", "", "")
    if not slash:
        namespace, short = "default", namespace
    if not (namespace and short) or "/" in short:
        raise InputError("no name of a gang", source="name", got=repr(name), expected="'name' or 'namespace/name'")
    return namespace, short
