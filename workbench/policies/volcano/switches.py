"""Which functions of a plugin are on: the switches of the configuration, and what Volcano assumes if not written."""

from __future__ import annotations

from workbench.model.scheduler_config import PluginOption

__all__ = ["enabled"]

# Volcano's framework turns on every switch that the configuration leaves out but this one.
_OFF = "Hierarchy"


def enabled(option: PluginOption, switch: str) -> bool:
    """Whether a function of a plugin is on; a function whose switch is not written is on, except ``Hierarchy``.

    Parameters
    ----------
    option : PluginOption
    switch : str
        A name of `workbench.model.scheduler_config.SWITCHES`.
    """
    return option.switches.get(switch, switch != _OFF)
