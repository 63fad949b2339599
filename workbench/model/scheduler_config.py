"""Volcano's scheduler configuration as a value: actions, and plugins in tiers with their switches and arguments.

It is read from a file in `workbench.formats.scheduler_conf`; what the plugins do is in `workbench.policies.volcano`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any

from workbench.model.notice import Notice
from workbench.model.value import Value

__all__ = ["SWITCHES", "PluginOption", "SchedulerConfig"]

#: Switches of a plugin, by the function that they turn off, with the spelling that Volcano reads.
SWITCHES: Mapping[str, str] = MappingProxyType(
    {
        "JobOrder": "enableJobOrder",
        "Hierarchy": "enableHierarchy",
        "JobReady": "enableJobReady",
        "JobPipelined": "enableJobPipelined",
        "TaskOrder": "enableTaskOrder",
        "Preemptable": "enablePreemptable",
        "Reclaimable": "enableReclaimable",
        "Preemptive": "enablePreemptive",
        "QueueOrder": "enableQueueOrder",
        "ClusterOrder": "enabledClusterOrder",
        "Predicate": "enablePredicate",
        "BestNode": "enableBestNode",
        "NodeOrder": "enableNodeOrder",
        "TargetJob": "enableTargetJob",
        "ReservedNodes": "enableReservedNodes",
        "JobEnqueued": "enableJobEnqueued",
        "Victim": "enabledVictim",
        "JobStarving": "enableJobStarving",
        "Overused": "enabledOverused",
        "Allocatable": "enabledAllocatable",
        "HyperNodeOrder": "enabledHyperNodeOrder",
        "SubJobReady": "enabledSubJobReady",
        "SubJobPipelined": "enabledSubJobPipelined",
        "SubJobOrder": "enabledSubJobOrder",
        "HyperNodeGradient": "enabledHyperNodeGradient",
    }
)

# What Go's ParseBool takes.
_TRUE = frozenset({"1", "t", "T", "true", "TRUE", "True"})
_FALSE = frozenset({"0", "f", "F", "false", "FALSE", "False"})


@dataclass(frozen=True)
class PluginOption:
    """One plugin of a tier in ``volcano-scheduler.conf``.

    `switches`: switches written in the configuration, by the names of `SWITCHES`. `arguments`: arguments as written:
    numbers, texts, truth values.
    """

    name: str
    switches: Mapping[str, bool] = field(default_factory=dict)
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def integer(self, key: str, default: int) -> int:
        """The plugin's argument `key` as a whole number.

        `default` if it is missing or no whole number, as in Volcano.
        """
        value = self.arguments.get(key)
        return value if type(value) is int else default

    def weight(self, key: str) -> int:
        """The plugin's argument `key` as a weight: a whole number from 0 on; 1 for anything else, as in Volcano."""
        value = self.integer(key, 1)
        return 1 if value < 0 else value

    def number(self, key: str, default: float) -> float:
        """The plugin's argument `key` as a number; `default` if it is missing or no number, as in Volcano."""
        value = self.arguments.get(key)
        return float(value) if type(value) is int or type(value) is float else default

    def flag(self, key: str, default: bool) -> bool:
        """The plugin's argument `key` as a truth value.

        `default` if it is missing or neither a boolean nor a text that Go reads as one.
        """
        value = self.arguments.get(key)
        if type(value) is str:
            return value in _TRUE if value in _TRUE | _FALSE else default
        return value if type(value) is bool else default

    def text(self, key: str, default: str = "") -> str:
        """The plugin's argument `key` as a text; `default` if it is missing or no text."""
        value = self.arguments.get(key)
        return value if type(value) is str else default

    def names(self, key: str) -> tuple[str, ...]:
        """The names in the plugin's argument `key`, a comma-separated list, without surrounding blanks."""
        return tuple(name for name in (part.strip() for part in self.text(key).split(",")) if name)


@dataclass(frozen=True)
class SchedulerConfig(Value):
    """The contents of a ``volcano-scheduler.conf``.

    Attributes
    ----------
    actions : tuple of str
        Actions in the order in which they run.
    tiers : tuple of tuple of PluginOption
        Plugins tier by tier, in the order in which Volcano calls them; if plugins compare two jobs, the first that
        prefers one decides.
    action_arguments : mapping of str to mapping
        The section ``configurations``, by action.
    notes : tuple of Notice
        Settings that Volcano ignores; part of every decision's warnings.
    source : str
        Name of the file; empty: made by hand.
    text : str
        Text of the file, so that it can be saved elsewhere; empty: made by hand, or not UTF-8.

    Examples
    --------
    >>> import workbench as wb
    >>> config = wb.get_policy("volcano").node.config
    >>> config.actions
    ('allocate', 'backfill')
    """

    actions: tuple[str, ...]
    tiers: tuple[tuple[PluginOption, ...], ...]
    action_arguments: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    notes: tuple[Notice, ...] = ()
    source: str = ""
    text: str = field(default="", repr=False, compare=False)

    @property
    def plugins(self) -> Iterator[PluginOption]:
        """Every configured plugin, tier by tier, in the order in which Volcano calls them."""
        return (option for tier in self.tiers for option in tier)

    def plugin(self, name: str) -> PluginOption | None:
        """The first configured plugin of that name; None if it is not configured."""
        return self._first.get(name)

    @cached_property
    def _first(self) -> dict[str, PluginOption]:
        """The first plugin of each name, by name; cached because every placement looks up several."""
        return {option.name: option for tier in reversed(self.tiers) for option in reversed(tier)}
