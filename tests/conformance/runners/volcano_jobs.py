"""Volcano Jobs: plugins, pods, admission, PodGroups and lifecycle (`cases/volcano-jobs`)."""

from __future__ import annotations

from tests.conformance.registry import Runners
from tests.conformance.runners import (
    volcano_jobs_hyper_job,
    volcano_jobs_lifecycle,
    volcano_jobs_plugins,
    volcano_jobs_pod_groups,
    volcano_jobs_pods,
    volcano_jobs_webhooks,
)

RUNNERS = Runners("volcano-jobs")
volcano_jobs_plugins.register(RUNNERS)
volcano_jobs_pods.register(RUNNERS)
volcano_jobs_lifecycle.register(RUNNERS)
volcano_jobs_pod_groups.register(RUNNERS)
volcano_jobs_webhooks.register(RUNNERS)
volcano_jobs_hyper_job.register(RUNNERS)
