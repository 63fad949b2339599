"""Which rules of switch affinity apply to a job, by plugin arguments, the job's label and the network's levels.

Source: docs/reference/switch-affinity.md, sections 1, 1.2 and 1.3 (the plugin's code).
"""

from __future__ import annotations

from typing import Literal

from workbench.model.notice import Notice
from workbench.policies.switch_affinity.job_kind import job_kind

__all__ = ["DEFAULT_MAX_SHARED", "Version", "handler_of", "invalid_label", "max_shared_of", "version_of"]

Version = Literal["1.0", "2.0"]

DEFAULT_MAX_SHARED = 2


def version_of(nslb_version: str | None) -> Version:
    """Version of switch affinity for the plugin argument ``nslb-version``: "2.0" if that is written, else "1.0"."""
    return "2.0" if nslb_version == "2.0" else "1.0"


def max_shared_of(shared_tor_num: str | None) -> int:
    """Most shared switches that a job may use, by the plugin argument ``shared-tor-num``: 1 or 2.

    Any other value means 2.
    """
    return int(shared_tor_num) if shared_tor_num in ("1", "2") else DEFAULT_MAX_SHARED


def invalid_label(label: str, has_table: bool) -> Notice | None:
    """The reason why a job's label excludes it from scheduling; None if the label is valid.

    Parameters
    ----------
    label : str
        Value of tor-affinity; empty: none.
    has_table : bool
        Whether the cluster has a switch table.
    """
    kind = job_kind(label, 1)
    if kind == "none":
        return None
    if not has_table:
        text = "job tor affinity check failed, cluster basic-tor-node-cm is not imported"
        return Notice("no-switch-table", text)
    if kind == "invalid":
        text = f"job tor affinity label check failed,tor-affinity label value is {label}"
        return Notice("invalid-label", text)
    return None


def handler_of(
    label: str, level: str, version: Version, has_table: bool
) -> Literal["none", "invalid", "single_layer", "1.0", "2.0"]:
    """Name of the rules that apply to a job.

    Parameters
    ----------
    label : str
        The job's tor-affinity label.
    level : str
        Levels of the network, from the switch table; in a ``single_layer`` network the rules of a single layer apply to
        both versions.
    version : {"1.0", "2.0"}
    has_table : bool
        Whether the cluster has a switch table.

    Returns
    -------
    {"none", "invalid", "single_layer", "1.0", "2.0"}
        "none" for a job without the label, "invalid" for a label that the rules refuse.
    """
    if job_kind(label, 1) == "none":
        return "none"
    if invalid_label(label, has_table) is not None:
        return "invalid"
    return "single_layer" if level == "single_layer" else version
