"""The scheduler configuration as a value: switches, arguments and the rules of network-topology-aware."""

from __future__ import annotations

import pytest

from workbench.model.release import Release
from workbench.model.scheduler_config import SWITCHES, PluginOption, SchedulerConfig, TopologyArguments, switch_of

CONFIG = SchedulerConfig(
    ("allocate",),
    (
        (PluginOption("priority"), PluginOption("gang", {"JobOrder": False})),
        (PluginOption("drf"), PluginOption("gang")),
    ),
)


def test_a_plugin_is_found_by_name_and_the_first_of_a_name_counts() -> None:
    assert [option.name for option in CONFIG.plugins] == ["priority", "gang", "drf", "gang"]
    first = CONFIG.plugin("gang")
    assert first is not None and not first.enabled("JobOrder")
    assert CONFIG.plugin("binpack") is None


def test_a_switch_is_on_unless_written_and_only_hierarchy_is_off() -> None:
    option = PluginOption("drf")
    assert {switch for switch in SWITCHES if not option.enabled(switch)} == {"Hierarchy"}
    assert PluginOption("drf", {"Hierarchy": True}).enabled("Hierarchy")


@pytest.mark.parametrize("switch", SWITCHES)
def test_both_spellings_name_a_switch(switch: str) -> None:
    assert switch_of(f"enable{switch}") == switch_of(f"enabled{switch}") == switch == switch_of(SWITCHES[switch])


@pytest.mark.parametrize("key", ["enable", "enabledX", "name", "enable_job_order", "disableJobOrder"])
def test_other_keys_name_none(key: str) -> None:
    assert switch_of(key) is None


def test_an_argument_of_another_type_counts_as_not_written() -> None:
    option = PluginOption("x", {}, {"i": "3", "f": "0.5", "b": "true", "t": 7, "on": True, "n": 2.0})
    assert option.integer("i", 1) == option.integer("on", 1) == option.integer("n", 1) == 1
    assert option.number("f", 0.8) == option.number("on", 0.8) == 0.8
    assert option.flag("b", False) is True
    assert option.flag("i", True) is option.flag("missing", True) is True
    assert option.text("t") == ""
    assert PluginOption("x", {}, {"names": " a, ,b "}).names("names") == ("a", "b")


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
    assert TopologyArguments.of(PluginOption("n", {}, arguments), Release.NEWEST) == want


def test_1_13_reads_the_weight_alone_and_takes_it_as_it_is() -> None:
    option = PluginOption("n", {}, {"weight": -2, "hypernode.binpack.cpu": 5})
    assert TopologyArguments.of(option, Release.V1_13) == TopologyArguments(weight=-2)
