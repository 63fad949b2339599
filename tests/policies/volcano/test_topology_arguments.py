"""What a release makes of the arguments of network-topology-aware."""

from __future__ import annotations

import pytest

from workbench.model.release import Release
from workbench.model.scheduler_config import PluginOption
from workbench.policies.volcano.parts.topology_arguments import TopologyArguments

INVALID = {
    "negative weights are 1": ({"weight": -2, "hypernode.binpack.cpu": -1}, TopologyArguments()),
    "zero weights stay": (
        {"weight": 0, "hypernode.binpack.cpu": 0, "hypernode.binpack.memory": 0},
        TopologyArguments(0, 0, 0),
    ),
    "a negative fading is 0.8": ({"hypernode.binpack.normal-pod.fading": -0.1}, TopologyArguments()),
    "a fading that is text is 0.8": ({"hypernode.binpack.normal-pod.fading": "x"}, TopologyArguments()),
    "an enable that is text is true": ({"hypernode.binpack.normal-pod.enable": "no"}, TopologyArguments()),
    "no HyperNode for eviction is 8": ({"hypernode.gradient.evict.max-hypernodes": 0}, TopologyArguments()),
    "a negative weight of a listed resource is 1": (
        {"hypernode.binpack.resources": "a,b", "hypernode.binpack.resources.a": -1, "hypernode.binpack.resources.c": 9},
        TopologyArguments(resources={"a": 1, "b": 1}),
    ),
}


@pytest.mark.parametrize(("arguments", "want"), INVALID.values(), ids=INVALID.keys())
def test_invalid_arguments_of_the_newest_release(arguments: dict[str, object], want: TopologyArguments) -> None:
    assert TopologyArguments.of(PluginOption("n", {}, arguments), Release.V1_15) == want


def test_1_13_reads_the_weight_alone_and_takes_it_as_it_is() -> None:
    option = PluginOption("n", {}, {"weight": -2, "hypernode.binpack.cpu": 5})
    assert TopologyArguments.of(option, Release.V1_13) == TopologyArguments(weight=-2)
