"""`accelerators_of`: number of accelerators that a pod requests; training frameworks start one process for each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.objects.pod import read_pod_spec

__all__ = ["accelerators_of"]


def accelerators_of(spec: Mapping[str, Any]) -> int:
    """Number of whole GPUs or NPUs that a pod's containers request together; 1 if they request none.

    `spec` is the pod's.
    """
    return sum(read_pod_spec(spec, "spec").container_gpus) or 1
