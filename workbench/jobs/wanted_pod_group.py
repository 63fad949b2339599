"""`next_pod_group`: one step of Volcano's PodGroup controllers, from an object and its stored PodGroup to
the new one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.jobs.pod_group_of_job import pod_group_of_job, updated_pod_group
from workbench.jobs.pod_group_of_pods import group_name, pod_group_of_pods, rebuilt_pod_group, wants_group
from workbench.jobs.roles import Priorities
from workbench.objects.deployment import read_replica_owner
from workbench.objects.fields import get_map, get_texts, wrong
from workbench.objects.job import read_job
from workbench.objects.metadata import read_metadata
from workbench.objects.pod import read_pod_as_template
from workbench.objects.pod_group import PodGroup, read_pod_group
from workbench.objects.pod_group_manifest import pod_group_manifest
from workbench.objects.queue import PriorityClass

__all__ = ["GroupStep", "next_pod_group"]

_Manifest = Mapping[str, Any]


@dataclass(frozen=True)
class GroupStep:
    """Result of one step of a PodGroup controller: the PodGroup to write or delete, and the pod that becomes a member.

    `write`: the PodGroup to store; None: nothing is written. `delete`: name of a group to delete; empty: none.
    `member`: name of the pod that becomes a member by the annotation scheduling.k8s.io/group-name; empty: none.
    """

    write: _Manifest | None = None
    delete: str = ""
    member: str = ""


def next_pod_group(
    item: _Manifest,
    stored: _Manifest | None = None,
    *,
    pods: Sequence[_Manifest] = (),
    owner: _Manifest | None = None,
    priority_classes: Mapping[str, PriorityClass] | None = None,
    schedulers: Collection[str] = ("volcano",),
    inherit: bool = True,
) -> GroupStep:
    """Decide what Volcano's controllers do with the PodGroup of an object that was created or changed.

    Raises InputError: another kind, or a field of the wrong type.

    A pure function: nothing is written.

    Parameters
    ----------
    item : mapping
        Parsed manifest of a Job, Pod, ReplicaSet or StatefulSet. A Job as stored, after the defaults of admission.
    stored : mapping, optional
        The object's PodGroup; None: there is none.
    pods : sequence of mapping
        For a ReplicaSet or StatefulSet: the pods of its namespace.
    owner : mapping, optional
        For a Pod: the object that controls it directly.
    priority_classes : mapping of str to PriorityClass, optional
        PriorityClasses by name; their order decides which tasks of a Job count towards minResources.
    schedulers : collection of str
        Values of schedulerName that mean Volcano; a pod without schedulerName also counts as Volcano's.
    inherit : bool
        Whether annotations of the pods' owner are inherited (a flag of Volcano's controller manager).

    Examples
    --------
    >>> from workbench.jobs import next_pod_group
    >>> tasks = [{"name": "worker", "replicas": 2}]
    >>> job = {"kind": "Job", "metadata": {"name": "train", "uid": "u"}, "spec": {"tasks": tasks}}
    >>> next_pod_group(job).write["metadata"]["name"]
    'train-u'
    """
    group = None if stored is None else read_pod_group(stored)
    match item.get("kind"):
        case "Job":
            job, priorities = read_job(item), Priorities(priority_classes or {})
            made = updated_pod_group(group, job, priorities) if group else pod_group_of_job(job, priorities)
            return _step(group, made)
        case "Pod":
            return _of_pod(item, group, owner if inherit else None, schedulers)
        case "ReplicaSet" | "StatefulSet":
            return _of_owner(item, group, pods, schedulers, inherit)
    raise wrong("kind", item.get("kind"), "Job, Pod, ReplicaSet or StatefulSet")


def _of_pod(
    item: _Manifest, stored: PodGroup | None, owner: _Manifest | None, schedulers: Collection[str]
) -> GroupStep:
    pod, template = read_metadata(item, namespaced=True), read_pod_as_template(item)
    if not wants_group(pod, template.spec.scheduler, schedulers):
        return GroupStep()
    inherited = get_texts(get_map(owner, "metadata", ""), "annotations", "metadata") if owner else None
    made = pod_group_of_pods(group_name(pod), pod, template, inherited)
    return _step(stored, rebuilt_pod_group(stored, made) if stored else made, pod.name)


def _of_owner(
    item: _Manifest, stored: PodGroup | None, pods: Sequence[_Manifest], schedulers: Collection[str], inherit: bool
) -> GroupStep:
    """The controller's step for a ReplicaSet or StatefulSet, decided from the first pod that its selector matches."""
    owner = read_replica_owner(item)
    if owner.replicas == 0:
        return GroupStep(delete=f"podgroup-{owner.metadata.uid}")
    first = next((pod for pod in pods if owner.selects(read_metadata(pod, namespaced=True).labels)), None)
    return _of_pod(first, stored, item if inherit else None, schedulers) if first else GroupStep()


def _step(stored: PodGroup | None, made: PodGroup, member: str = "") -> GroupStep:
    return GroupStep(None if made == stored else pod_group_manifest(made), member=member)
