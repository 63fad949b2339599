"""`gang`: a gang of equal pods from a few numbers, for notebooks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from workbench.errors import InputError
from workbench.model.gang import Gang, Role, TopologyConstraint

__all__ = ["gang"]


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

    Parameters
    ----------
    name : str
        Name, alone (in the namespace ``default``) or as ``namespace/name``.
    pods : int
        Number of pods.
    gpus : int
        Whole GPUs of each pod.
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
    queue : str
    priority : int
        Jobs of higher priority come first.
    gpu_resource : str
        Name of the resource that counts GPUs.

    Raises
    ------
    InputError
        A number out of range, an unknown mode, or pods that request nothing.

    Examples
    --------
    >>> import workbench as wb
    >>> wb.gang("mine", pods=4, gpus=8, tier=2)
    Gang(default/mine: 4 worker, min_available 4, hard)
    """
    namespace, short = _key(name)
    least = pods if min_available is None else min_available
    whole = {"pods": (pods, 1), "gpus": (gpus, 0), "tier": (0 if tier is None else tier, 0)}
    _check_numbers({**whole, "min_available": (least, 1)})
    if least > pods:
        raise InputError("more than the pods", source="min_available", got=str(least), expected=f"at most {pods}")
    if mode not in ("hard", "soft"):
        raise InputError("no such mode", source="mode", got=repr(mode), expected="hard or soft")
    for argument, amount in (("cpus", cpus), ("memory_gb", memory_gb)):
        if not 0 <= amount < float("inf"):
            raise InputError("out of range", source=argument, got=repr(amount), expected="a number from 0")
    requests = {"cpu": round(cpus * 1000), "memory": round(memory_gb * 1e9), gpu_resource: gpus}
    requests = {resource: amount for resource, amount in requests.items() if amount}
    if not requests:
        raise InputError("pods that request nothing", source="gpus", got="0", expected="gpus, cpus or memory_gb")
    return Gang(
        namespace=namespace,
        name=short,
        roles=(Role("worker", pods, requests, container_gpus=(gpus,) if gpus else ()),),
        min_available=least,
        constraint=TopologyConstraint(mode, tier) if tier is not None or mode == "soft" else None,
        queue=queue,
        priority=priority,
    )


def _check_numbers(smallest: Mapping[str, tuple[object, int]]) -> None:
    """Refuse a number that is not whole or below the smallest that its argument takes."""
    for argument, (number, low) in smallest.items():
        if isinstance(number, bool) or not isinstance(number, int) or number < low:
            raise InputError("out of range", source=argument, got=repr(number), expected=f"a whole number from {low}")


def _key(name: object) -> tuple[str, str]:
    """Namespace and name of a gang, given as ``name`` or ``namespace/name``."""
    namespace, slash, short = name.partition("/") if isinstance(name, str) else ("", "", "")
    if not slash:
        namespace, short = "default", namespace
    if not (namespace and short) or "/" in short:
        raise InputError("no name of a gang", source="name", got=repr(name), expected="'name' or 'namespace/name'")
    return namespace, short
