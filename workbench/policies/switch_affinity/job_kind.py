"""Kinds of jobs that switch affinity tells apart, by label tor-affinity and size, and labels that exclude a job.

Source: docs/reference/switch-affinity.md, sections 1, 1.2 and 1.3 (the plugin's code).
"""

from __future__ import annotations

from typing import Literal

from workbench.model.notice import Notice

__all__ = ["DEFAULT_MAX_SHARED", "LABELS", "JobKind", "invalid_label", "job_kind"]

#: Values of the label tor-affinity that a job may carry.
LABELS = ("large-model-schema", "normal-schema", "null")

#: A large-model job with fewer pods is a padding job (MindCluster documents, switch affinity, job kinds).
SMALLEST_FOUNDATION_JOB = 4

DEFAULT_MAX_SHARED = 2

JobKind = Literal["foundation", "padding", "common", "none", "invalid"]


def job_kind(label: str, n_pods: int) -> JobKind:
    """Kind of a job, given its label tor-affinity and its number of pods.

    `label`: value of the label; empty: there is none. `n_pods`: pods of the whole job, running ones included.

    Returns {"foundation", "padding", "common", "none", "invalid"}: ``foundation``: large-model-schema with enough pods.
    ``padding``: that label with fewer pods. ``common``: normal-schema. ``none``: no label or ``null``, so that switch
    affinity is off. ``invalid``: any other value, which the plugin refuses. Source: MindCluster documents.
    """
    if label in ("", "null"):
        return "none"
    if label == "normal-schema":
        return "common"
    if label != "large-model-schema":
        return "invalid"
    return "foundation" if n_pods >= SMALLEST_FOUNDATION_JOB else "padding"


def invalid_label(label: str, has_table: bool) -> Notice | None:
    """The reason why a job's label excludes it from scheduling; None if the label is valid.

    `label`: value of tor-affinity; empty: none. `has_table`: whether the cluster has a switch table.
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
