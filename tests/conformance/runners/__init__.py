"""Runners of conformance cases, one module per area."""

from __future__ import annotations

from tests.conformance.registry import Area
from tests.conformance.runners import (
    communication,
    gpu,
    kube_recorded,
    kube_scheduler,
    kueue_recorded,
    kueue_tas,
    switch_affinity,
    volcano_jobs,
    volcano_recorded,
    volcano_topology,
)

_MODULES = (
    communication,
    gpu,
    kube_recorded,
    kube_scheduler,
    kueue_recorded,
    kueue_tas,
    switch_affinity,
    volcano_jobs,
    volcano_recorded,
    volcano_topology,
)

#: Sub-folder of the cases -> its runners.
AREAS: dict[str, Area] = {module.RUNNERS.area: module.RUNNERS for module in _MODULES}
