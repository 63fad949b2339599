"""How a PyTorchJob, TFJob, MPIJob or another job of Kubeflow becomes a gang: a role for each type of replicas."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.jobs.owned.plan import KAI_SCHEDULER, PlannedGang, PlannedRole, order_notice
from workbench.jobs.role_template import RoleTemplate
from workbench.jobs.top_owners import KUBEFLOW_INDEX_LABEL
from workbench.objects.kubeflow_job import KubeflowJob, ReplicaSpec

__all__ = ["planned_kubeflow_job"]


def planned_kubeflow_job(job: KubeflowJob, succeeded: Mapping[str, int]) -> PlannedGang:
    """The gang of a job of Kubeflow: its pods start together, or as many as schedulingPolicy.minAvailable says.

    Pods are called ``<job>-<type>-<index>``, the launcher of an MPIJob ``<job>-launcher``. For KAI minReplicas of an
    elastic PyTorchJob is the minimum where minAvailable is absent.

    `succeeded`: pods in the input that have succeeded, by role.
    """
    roles = tuple(_role(job, one, succeeded.get(one.type, 0)) for one in job.replicas)
    minimum = job.min_available
    if minimum is None and KAI_SCHEDULER in job.schedulers:
        minimum = job.elastic_minimum
    notes = [order_notice("the launcher is made once the workers are ready")] if job.launcher_waits else []
    return PlannedGang(
        job.metadata.name, roles, minimum, job.queue, job.priority_class, notes=tuple(notes)
    )  # fmt: skip


def _role(job: KubeflowJob, one: ReplicaSpec, succeeded: int) -> PlannedRole:
    stem = f"{job.metadata.name}-{one.type}"
    names = [f"{stem}-{i}" for i in range(one.replicas)]
    if job.kind == "MPIJob" and one.type == "launcher" and one.replicas == 1:
        names = [stem]
    of = RoleTemplate(one.type, one.replicas, one.template, KUBEFLOW_INDEX_LABEL)
    return PlannedRole(of, tuple(names[max(one.succeeded, succeeded) :]))
