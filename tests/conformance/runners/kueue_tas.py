"""Runner of Kueue's topology-aware placement: `cases/kueue-tas`."""

from __future__ import annotations

from tests.conformance.registry import Runners
from tests.conformance.runners import (
    kueue_annotations,
    kueue_assignments,
    kueue_cycle,
    kueue_placement,
    kueue_steps,
    kueue_tree,
    kueue_ungate,
    kueue_usage,
)

RUNNERS = Runners("kueue-tas")
kueue_tree.register(RUNNERS)
kueue_placement.register(RUNNERS)
kueue_steps.register(RUNNERS)
kueue_assignments.register(RUNNERS)
kueue_cycle.register(RUNNERS)
kueue_annotations.register(RUNNERS)
kueue_usage.register(RUNNERS)
kueue_ungate.register(RUNNERS)
