"""The switches of a plugin and what counts where the configuration has none."""

from __future__ import annotations

from workbench.model.scheduler_config import SWITCHES, PluginOption
from workbench.policies.volcano.parts.plugins import enabled


def test_a_switch_is_on_unless_written_and_only_hierarchy_is_off() -> None:
    option = PluginOption("drf")
    assert {switch for switch in SWITCHES if not enabled(option, switch)} == {"Hierarchy"}
    assert enabled(PluginOption("drf", {"Hierarchy": True}), "Hierarchy")
    assert not enabled(PluginOption("gang", {"JobOrder": False}), "JobOrder")
