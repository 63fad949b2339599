"""Framework plugins, Jobs and their pods: the files of `cases/volcano-jobs` that have a runner."""

from __future__ import annotations

from tests.conformance.registry import Runners
from tests.conformance.runners import volcano_jobs_plugins, volcano_jobs_pods

RUNNERS = Runners("volcano-jobs")
volcano_jobs_plugins.register(RUNNERS)
volcano_jobs_pods.register(RUNNERS)
