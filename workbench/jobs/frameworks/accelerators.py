"""Number of accelerators that a pod requests; frameworks start one process for each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.objects.pod import read_pod_spec

__all__ = ["accelerators_of"]


def accelerators_of(spec: Mapping[str, Any]) -> int:
    """Whole GPUs or NPUs that the containers of a pod request together; 1 where they request none."""
    return sum(read_pod_spec(spec, "spec").container_gpus) or 1
