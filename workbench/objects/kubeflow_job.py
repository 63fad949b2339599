"""`KubeflowJob`: PyTorchJob, TFJob, MPIJob and their like (kubeflow.org), read from a manifest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workbench.errors import InputError
from workbench.model.notice import Notice
from workbench.objects.fields import child, get_bool, get_int, get_map, get_text, shown, wrong
from workbench.objects.pod import PodTemplate
from workbench.objects.top_owner import (
    KUBEFLOW_KINDS,
    OwnedPods,
    TopOwner,
    check_total,
    get_pods,
    has_condition,
    owner_metadata,
    read_role_template,
)

__all__ = ["KubeflowJob", "ReplicaSpec", "read_kubeflow_job"]

#: Types of replicas that come first, in lower case; the others follow by name.
_FIRST = ("launcher", "scheduler", "chief", "master", "ps", "server", "worker", "evaluator")


@dataclass(frozen=True)
class ReplicaSpec:
    """The replicas of one type.

    `type`: in lower case, as in the names of the pods: ``master``, ``worker``. `succeeded`: pods that have succeeded
    according to the status of the job.
    """

    type: str
    replicas: int
    template: PodTemplate
    succeeded: int = 0


@dataclass(frozen=True)
class KubeflowJob(TopOwner):
    """A job of Kubeflow's training operator or MPI operator as read from a manifest.

    Attributes
    ----------
    replicas : tuple of ReplicaSpec
        Those that lead first, then the workers.
    min_available : int, optional
        Pods that must start together (schedulingPolicy.minAvailable); None: all.
    elastic_minimum : int, optional
        Fewest workers with which an elastic PyTorchJob runs (elasticPolicy.minReplicas); None: it is not elastic.
    queue, priority_class : str
        Those of the PodGroup (schedulingPolicy); empty: not given.
    launcher_waits : bool
        The launcher of an MPIJob is made once its workers are ready (launcherCreationPolicy WaitForWorkersReady).
    """

    replicas: tuple[ReplicaSpec, ...]
    min_available: int | None
    elastic_minimum: int | None
    queue: str
    priority_class: str
    launcher_waits: bool

    @property
    def pods(self) -> tuple[OwnedPods, ...]:
        return tuple(OwnedPods(one.type, one.replicas, one.template, "replicas") for one in self.replicas)


def read_kubeflow_job(data: Mapping[str, Any]) -> KubeflowJob:
    """Read a job of one of `KUBEFLOW_KINDS` from a parsed manifest; replicas are 1 if absent.

    Raises InputError: a field of the wrong type, a negative number, no replicas at all, two types that differ in
    capitals only, or more than a million pods.
    """
    notes: list[Notice] = []
    kind = get_text(data, "kind", "")
    spec = get_map(data, "spec", "")
    metadata = owner_metadata(data, notes)
    name = KUBEFLOW_KINDS[kind]
    # The first API of MPIJob has the fields of runPolicy in the spec itself.
    policy = get_map(spec, "runPolicy", "spec")
    scheduling = get_map(policy, "schedulingPolicy", "spec.runPolicy")
    elastic = get_map(spec, "elasticPolicy", "spec")
    where = "spec.runPolicy.schedulingPolicy"
    return KubeflowJob(
        metadata=metadata,
        kind=kind,
        suspended=get_bool(policy, "suspend", "spec.runPolicy"),
        finished=has_condition(data, ("Succeeded", "Failed")),
        replicas=_replicas(data, spec, name, notes),
        min_available=_optional(scheduling, "minAvailable", where),
        elastic_minimum=_optional(elastic, "minReplicas", "spec.elasticPolicy"),
        queue=get_text(scheduling, "queue", where),
        priority_class=get_text(scheduling, "priorityClass", where),
        launcher_waits=get_text(spec, "launcherCreationPolicy", "spec") == "WaitForWorkersReady",
        notes=tuple(notes),
    )


def _replicas(
    data: Mapping[str, Any], spec: Mapping[str, Any], field: str, notes: list[Notice]
) -> tuple[ReplicaSpec, ...]:
    where = child("spec", field)
    status = get_map(get_map(data, "status", ""), "replicaStatuses", "status")
    found: dict[str, ReplicaSpec] = {}
    for written in get_map(spec, field, "spec"):
        path, item = child(where, written), get_map(get_map(spec, field, "spec"), written, where)
        name = written.lower()
        if name in found:
            text = "two types of replicas that differ in capitals only"
            raise InputError(text, where=path, got=shown(written), expected="each type once")
        so_far = get_map(status, written, "status.replicaStatuses")
        found[name] = ReplicaSpec(
            type=name,
            replicas=get_pods(item, "replicas", path, default=1),
            template=read_role_template(item, path, notes),
            succeeded=get_pods(so_far, "succeeded", f"status.replicaStatuses.{written}", default=0),
        )
    if not found:
        raise wrong(where, spec.get(field), "replicas of at least one type")
    check_total(sum(one.replicas for one in found.values()), where)
    return tuple(sorted(found.values(), key=_place))


def _place(one: ReplicaSpec) -> tuple[int, bytes]:
    return _FIRST.index(one.type) if one.type in _FIRST else len(_FIRST), one.type.encode()


def _optional(data: Mapping[str, Any], key: str, where: str) -> int | None:
    number = get_int(data, key, where)
    if number is not None and number < 0:
        raise wrong(child(where, key), number, "0 or more")
    return number
