"""Shell completion of option values: the names of policies, presets, formats and contexts that begin as typed.

Typer asks only where completion is installed and somebody presses Tab. An error is no offer.
"""

from __future__ import annotations

from collections.abc import Iterable

from workbench.errors import WorkbenchError

__all__ = ["context_names", "format_names", "policy_names", "preset_names"]


def _beginning(names: Iterable[str], typed: str) -> list[str]:
    return [name for name in names if name.startswith(typed)]


def policy_names(incomplete: str) -> list[str]:
    """Policies for ``NODE[+GPU]``, or for the last of a list with commas; `incomplete` is what has been typed."""
    from workbench.policies import list_policies

    done, comma, last = incomplete.rpartition(",")
    node, plus, gpu = last.partition("+")
    infos = list_policies()
    wanted, typed = ({"gpu"}, gpu) if plus else ({"node", "whole"}, last)
    before = f"{done}{comma}{node}{plus}" if plus else f"{done}{comma}"
    return [before + name for name in _beginning((one.name for one in infos if one.kind in wanted), typed)]


def preset_names(incomplete: str) -> list[str]:
    """Kinds of generated clusters that begin with `incomplete`."""
    from workbench.topology.presets import PRESETS

    return _beginning(PRESETS, incomplete)


def format_names(incomplete: str) -> list[str]:
    """Formats of topologies that begin with `incomplete`."""
    from workbench.formats.fabric.registry import FORMATS

    return _beginning((one.name for one in FORMATS), incomplete)


def context_names(incomplete: str) -> list[str]:
    """Contexts of the kubeconfig that begin with `incomplete`; none where it cannot be read."""
    from workbench.live import contexts

    try:
        return _beginning(contexts()[0], incomplete)
    except WorkbenchError:
        return []
