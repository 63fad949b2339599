"""Parameters of the policies that follow kube-scheduler, and the `KubeSettings` that they mean."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast, get_args

from workbench.errors import InputError
from workbench.policies.kube.settings import KubeSettings, Strategy
from workbench.policies.parameters import parameter

__all__ = ["KubeParameters", "settings_of"]

_FIT = "kube-scheduler, NodeResourcesFitArgs"


@dataclass(frozen=True)
class KubeParameters:
    """Parameters of the policies that follow kube-scheduler; the defaults are upstream's, but for `percentage`."""

    strategy: str = parameter(
        "LeastAllocated", "scoring strategy of NodeResourcesFit", choices=get_args(Strategy), source=_FIT
    )
    resources: Mapping[str, int] = parameter(
        {"cpu": 1, "memory": 1}, "resources of that strategy with their weights", low=1, high=100, source=_FIT
    )
    curve: str = parameter(
        "0=0,100=10", "score, 0 to 10, by utilization in percent, for RequestedToCapacityRatio", source=_FIT
    )
    ties: str = parameter(
        "name",
        "node among equals: smallest name, or the one that kube-scheduler's heap gives for nodes in order of names",
        choices=("name", "heap"),
    )
    percentage: int = parameter(
        100,
        "share of the nodes, in percent, after which no more feasible ones are sought; 0: falls with their number",
        low=0,
        high=100,
        source="kube-scheduler, percentageOfNodesToScore, there 0",
    )


def settings_of(parameters: KubeParameters, owner: str) -> KubeSettings:
    """The settings that parameters mean; `owner` is the policy's name, for errors.

    Raises InputError: no resource, or a curve that is none.
    """
    if not parameters.resources:
        raise InputError("no resource to score", source=owner, where="resources", expected="such as cpu=1,memory=1")
    return KubeSettings(
        strategy=cast("Strategy", parameters.strategy),
        resources=tuple(parameters.resources.items()),
        curve=_curve(parameters.curve, owner),
        ties="heap" if parameters.ties == "heap" else "name",
        percentage=None if parameters.percentage == 100 else parameters.percentage,
    )


def _curve(text: str, owner: str) -> tuple[tuple[int, int], ...]:
    """The points (utilization, score) of a curve that is written as ``0=0,100=10``, by rising utilization."""
    points: dict[int, int] = {}
    for part in text.split(","):
        utilization, _, score = part.partition("=")
        numbers = [int(number) for number in (utilization, score) if re.fullmatch(r" *[0-9]{1,3} *", number)]
        if len(numbers) < 2 or numbers[0] > 100 or numbers[1] > 10 or numbers[0] in points:
            expected = "utilizations of 0 to 100 with a score of 0 to 10 each, such as 0=0,100=10"
            raise InputError("not a curve", source=owner, where="curve", got=repr(text), expected=expected)
        points[numbers[0]] = numbers[1]
    return tuple(sorted(points.items()))
