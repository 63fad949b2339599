"""kube-scheduler 1.37 (`cases/kube-scheduler`)."""

from __future__ import annotations

from tests.conformance.registry import Runners
from tests.conformance.runners import kube_pods

RUNNERS = Runners("kube-scheduler")
kube_pods.register(RUNNERS)
