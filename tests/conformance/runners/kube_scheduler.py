"""kube-scheduler 1.37 (`cases/kube-scheduler`)."""

from __future__ import annotations

from tests.conformance.registry import Runners
from tests.conformance.runners import kube_group_cycles, kube_groups, kube_pods, kube_scenarios

RUNNERS = Runners("kube-scheduler")
kube_pods.register(RUNNERS)
kube_groups.register(RUNNERS)
kube_group_cycles.register(RUNNERS)
kube_scenarios.register(RUNNERS)
