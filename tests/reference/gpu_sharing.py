"""The rules of GPU sharing, written down one pod and one node at a time: slow, and without any memory of scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass
class Machine:
    """A node: free CPU, other resources, free thousandths of its GPUs, model, pods by kind (0: a share)."""

    cpu: int
    others: list[int]
    free: list[int]
    model: int
    kinds: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Wish:
    """A pod: CPU, other resources, thousandths of each GPU, GPUs, nodes that accept it."""

    cpu: int
    others: tuple[int, ...]
    milli: int
    count: int
    accepts: tuple[bool, ...]


@dataclass(frozen=True)
class Usual:
    """A typical shape: CPU, thousandths, GPUs, models that it accepts, frequency."""

    cpu: int
    milli: int
    count: int
    models: frozenset[int]
    frequency: float


@dataclass(frozen=True)
class Constants:
    """Constants of headroom."""

    scale: float = 1000.0
    steps: float = 1.0
    idle: float = 0.0
    reserve: float = 0.0
    limit: float = 0.0


def fragments(machine: Machine, cpu: int, free: Sequence[int], usual: Sequence[Usual]) -> float:
    """Idle thousandths that the usual shapes cannot use; the reasons are summed one by one."""
    idle = sum(free)
    sums = dict.fromkeys(("neither", "gpu", "cpu", "fed", "starved", "model"), 0.0)
    for shape in usual:
        enough = cpu >= shape.cpu
        fitting = sum(one >= shape.milli for one in free)
        small = sum(one for one in free if one < shape.milli)
        if shape.count == 0:
            sums["fed" if enough else "starved"] += shape.frequency * idle
        elif machine.model not in shape.models:
            sums["model"] += shape.frequency * idle
        elif fitting < shape.count:
            sums["gpu" if enough else "neither"] += shape.frequency * idle
        elif enough:
            sums["gpu"] += shape.frequency * small
        else:
            sums["cpu"] += shape.frequency * idle
    return sum(sums.values())


def fits(machine: Machine, wish: Wish, node: int) -> bool:
    """Whether a node has room for a pod and accepts it."""
    return (
        wish.accepts[node]
        and machine.cpu >= wish.cpu
        and all(has >= wants for has, wants in zip(machine.others, wish.others, strict=True))
        and sum(one >= wish.milli for one in machine.free) >= wish.count
    )


def choices(machine: Machine, wish: Wish) -> list[tuple[int, ...]]:
    """Sets of GPUs that a pod may get: each one with room for a share, or the lowest free ones."""
    if not wish.count:
        return [()]
    if wish.milli == 1000:
        return [tuple([g for g, one in enumerate(machine.free) if one == 1000][: wish.count])]
    return [(g,) for g, one in enumerate(machine.free) if one >= wish.milli]


def least_free(machine: Machine, wish: Wish) -> tuple[int, ...]:
    """The GPU with the least left that suffices."""
    return min(choices(machine, wish), key=lambda gpus: [machine.free[g] for g in gpus])


def score(
    rule: str, machine: Machine, wish: Wish, usual: Sequence[Usual], constants: Constants
) -> tuple[float, tuple[int, ...], float]:
    """Score of a node that fits, the GPUs that the pod gets there, and how much fragmentation grows."""
    idle, asked = sum(machine.free), wish.milli * wish.count
    entirely = sum(one == 1000 for one in machine.free)
    n = len(machine.free)
    if rule in ("fgd", "headroom"):
        best: tuple[float, tuple[int, ...], float] | None = None
        before = fragments(machine, machine.cpu, machine.free, usual)
        for gpus in choices(machine, wish):
            after = [one - wish.milli if g in gpus else one for g, one in enumerate(machine.free)]
            grown = fragments(machine, machine.cpu - wish.cpu, after, usual) - before
            if rule == "fgd":
                points = math.floor(100 * (1 / (1 + math.exp(grown / 1000))))
            else:
                less = 0.0 if wish.count else constants.idle * idle / 8000.0
                points = math.floor(
                    0.5 + constants.steps * (100 * (1 / (1 + math.exp(grown / constants.scale))) - 50 - less)
                )
            if best is None or points > best[0]:
                best = (points, gpus, grown)
        assert best is not None
        return best
    gpus = least_free(machine, wish)
    points = 0
    if rule == "dot-product":
        points = math.floor(
            100 * (1 - 0.5 * (machine.cpu / 128000.0 * (wish.cpu / 128000.0) + idle / 8000.0 * (asked / 8000.0)))
        )
    elif rule == "best-fit":
        points = math.floor(100 * (1 - 0.5 * ((machine.cpu - wish.cpu) / 128000.0) - 0.5 * ((idle - asked) / 8000.0)))
    elif rule == "clustering" and wish.count:
        own = 0 if wish.milli < 1000 else wish.count
        there = {kind for kind, pods in enumerate(machine.kinds) if pods}
        alike = 75 if there == {own} else 50 if own in there else 0 if there else 25
        points = max(0, 25 * (8000 - idle) // 8000) + alike
    elif rule == "packing" and wish.count:
        if entirely == n:
            points = max(33 - n, n)
        else:
            looked = sorted((one, g) for g, one in enumerate(machine.free) if one >= wish.milli)[: wish.count]
            whole = sum(one == 1000 for one, _ in looked)
            part = sum(100 * one // 1000 for one, _ in looked)
            points = max(50 - whole, 33) if whole else max(100 - part // 10, 50)
    return points, gpus, 0.0


def place(
    rule: str,
    machines: Sequence[Machine],
    order: Sequence[int],
    wish: Wish,
    usual: Sequence[Usual],
    constants: Constants,
    drawn: tuple[float, float],
    fresh: bool = False,
) -> tuple[int, tuple[int, ...]] | None:
    """Choose node and GPUs for a pod, and take them."""
    able = [node for node in order if fits(machines[node], wish, node)]
    if not able:
        return None
    if rule == "random":
        node = able[int(drawn[0] * len(able))]
        options = choices(machines[node], wish)
        gpus = options[int(drawn[1] * len(options))]
    else:
        judged = {node: score(rule, machines[node], wish, usual, constants) for node in able}
        total = sum(1000 * len(machine.free) for machine in machines)
        if rule == "headroom" and sum(sum(m.free) for m in machines) < constants.reserve * total:
            judged = {node: found for node, found in judged.items() if found[2] <= constants.limit}
        if not judged:
            return None
        best = max(found[0] for found in judged.values())
        equals = [node for node in order if node in judged and judged[node][0] == best]
        node = equals[int(drawn[0] * len(equals)) if fresh else 0]
        gpus = judged[node][1]
    change(machines[node], wish, gpus, 1)
    return node, gpus


def change(machine: Machine, wish: Wish, gpus: Sequence[int], sign: int) -> None:
    """Take what a pod asks for from a node (1), or give it back (-1)."""
    machine.cpu -= sign * wish.cpu
    machine.others = [has - sign * wants for has, wants in zip(machine.others, wish.others, strict=True)]
    for g in gpus:
        machine.free[g] -= sign * wish.milli
    if wish.count:
        machine.kinds[0 if wish.milli < 1000 else wish.count] += sign
