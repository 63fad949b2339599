"""Convert Kubernetes objects (Jobs, PodGroups, Deployments, Pods) to gangs of pending pods and to running pods.

As `workbench.jobs` it offers the pure functions of the Job controller: what a Job becomes, and what it does next.

Examples
--------
>>> import workbench as wb
>>> job = {"kind": "Job", "metadata": {"name": "train"}, "spec": {"tasks": [{"name": "worker", "replicas": 2}]}}
>>> step = wb.jobs.next_pod_group(job)
>>> step.write["spec"]["minMember"]
2
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.model.deferred import deferred_names

if TYPE_CHECKING:
    from workbench.jobs.expand import expand_job as expand_job
    from workbench.jobs.frameworks.contract import SshKeys as SshKeys
    from workbench.jobs.hyper_job.next_step import next_hyper_job as next_hyper_job
    from workbench.jobs.lifecycle.events import job_request as job_request
    from workbench.jobs.lifecycle.next_status import NextStep as NextStep
    from workbench.jobs.lifecycle.next_status import next_status as next_status
    from workbench.jobs.lifecycle.observed import Observed as Observed
    from workbench.jobs.lifecycle.request import JobRequest as JobRequest
    from workbench.jobs.wanted_pod_group import next_pod_group as next_pod_group

# Loaded when first used: the readers of manifests need none of it.
_HOME = {
    "JobRequest": "lifecycle.request",
    "NextStep": "lifecycle.next_status",
    "Observed": "lifecycle.observed",
    "SshKeys": "frameworks.contract",
    "expand_job": "expand",
    "job_request": "lifecycle.events",
    "next_hyper_job": "hyper_job.next_step",
    "next_pod_group": "wanted_pod_group",
    "next_status": "lifecycle.next_status",
}

__all__ = [*_HOME]


__getattr__ = deferred_names(__name__, _HOME)


def __dir__() -> list[str]:
    return sorted(__all__)
