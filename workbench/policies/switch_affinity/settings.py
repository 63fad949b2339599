"""Which labels of a job exclude it from scheduling by switch affinity.

Source: docs/reference/switch-affinity.md, sections 1, 1.2 and 1.3 (the plugin's code).
"""

from __future__ import annotations

from workbench.model.notice import Notice
from workbench.policies.switch_affinity.job_kind import job_kind

__all__ = ["DEFAULT_MAX_SHARED", "invalid_label"]

DEFAULT_MAX_SHARED = 2


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
