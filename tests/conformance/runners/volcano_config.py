"""Arguments of the plugin network-topology-aware: `plugin-config`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from tests.conformance.registry import Runners
from workbench.model.release import Release
from workbench.model.scheduler_config import PluginOption, TopologyArguments

__all__ = ["register"]


def register(runners: Runners) -> None:
    """Add the runner of plugin-config."""
    want = TopologyArguments.__dataclass_fields__
    runners.op("plugin-config", "plugin-config", given=("arguments",), want=want, per_release=True)(plugin_config)


def plugin_config(given: dict[str, Any], want: dict[str, Any], release: Release) -> None:
    option = PluginOption("network-topology-aware", {}, given["arguments"])
    found = asdict(TopologyArguments.of(option, release))
    pinned = {name: value for name, value in want.items() if value is not None}
    assert {name: found[name] for name in pinned} == pinned
