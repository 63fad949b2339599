"""Kinds of jobs that switch affinity tells apart, by their label tor-affinity and their size."""

from __future__ import annotations

from typing import Literal

__all__ = ["LABELS", "JobKind", "job_kind"]

#: Values of the label tor-affinity that a job may carry.
LABELS = ("large-model-schema", "normal-schema", "null")

#: A large-model job with fewer pods is a padding job (MindCluster documents, switch affinity, job kinds).
SMALLEST_FOUNDATION_JOB = 4

JobKind = Literal["foundation", "padding", "common", "none", "invalid"]


def job_kind(label: str, n_pods: int) -> JobKind:
    """Kind of a job, given its label tor-affinity and its number of pods.

    Parameters
    ----------
    label : str
        Value of the label; empty: there is none.
    n_pods : int
        Pods of the whole job, running ones included.

    Returns
    -------
    {"foundation", "padding", "common", "none", "invalid"}
        ``foundation``: large-model-schema with enough pods. ``padding``: that label with fewer pods. ``common``:
        normal-schema. ``none``: no label or ``null``, so that switch affinity is off. ``invalid``: any other value,
        which the plugin refuses.

    Notes
    -----
    Source: MindCluster documents.
    """
    if label in ("", "null"):
        return "none"
    if label == "normal-schema":
        return "common"
    if label != "large-model-schema":
        return "invalid"
    return "foundation" if n_pods >= SMALLEST_FOUNDATION_JOB else "padding"
