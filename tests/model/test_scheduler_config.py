"""The scheduler configuration as a value: its switches and arguments."""

from __future__ import annotations

from workbench.model.scheduler_config import PluginOption, SchedulerConfig

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
    assert first is not None and first.switches == {"JobOrder": False}
    assert CONFIG.plugin("binpack") is None


def test_an_argument_of_another_type_counts_as_not_written() -> None:
    option = PluginOption("x", {}, {"i": "3", "f": "0.5", "b": "true", "t": 7, "on": True, "n": 2.0})
    assert option.integer("i", 1) == option.integer("on", 1) == option.integer("n", 1) == 1
    assert option.number("f", 0.8) == option.number("on", 0.8) == 0.8
    assert option.flag("b", False) is True
    assert option.flag("i", True) is option.flag("missing", True) is True
    assert option.text("t") == ""
    assert PluginOption("x", {}, {"names": " a, ,b "}).names("names") == ("a", "b")
