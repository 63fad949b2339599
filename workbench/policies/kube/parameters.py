"""Parameters of the policies that follow kube-scheduler, and the `KubeSettings` that they mean."""

from __future__ import annotations

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
    curve: Mapping[str, int] = parameter(
        {"0": 0, "100": 10},
        "score, 0 to 10, by utilization in percent, for RequestedToCapacityRatio",
        low=0,
        high=10,
        source=_FIT,
    )
    ties: str = parameter(
        "name",
        "node among equals: smallest name, or the one that the heap of kube-scheduler gives for nodes in order of names",
        choices=("name", "heap"),
    )
    percentage: int = parameter(
        100,
        "share of the nodes, in percent, after which no more feasible ones are sought; 0: kube-scheduler's adaptive one",
        low=0,
        high=100,
        source="kube-scheduler, percentageOfNodesToScore, there 0",
    )


def settings_of(parameters: KubeParameters, owner: str) -> KubeSettings:
    """The settings that parameters mean; `owner` is the policy's name, for errors.

    Raises
    ------
    InputError
        No resource, or a curve without points or with utilizations that are no percentages.
    """
    if not parameters.resources:
        raise InputError("no resource to score", source=owner, where="resources", expected="such as cpu=1,memory=1")
    points = []
    for text, score in parameters.curve.items():
        if not (text.isdecimal() and text.isascii() and int(text) <= 100):
            raise InputError("not a utilization", source=owner, where="curve", got=text, expected="0 to 100")
        points.append((int(text), score))
    if not points:
        raise InputError("no points", source=owner, where="curve", expected="such as 0=0,100=10")
    return KubeSettings(
        strategy=cast("Strategy", parameters.strategy),
        resources=tuple(parameters.resources.items()),
        curve=tuple(sorted(dict(points).items())),
        ties="heap" if parameters.ties == "heap" else "name",
        percentage=None if parameters.percentage == 100 else parameters.percentage,
    )
