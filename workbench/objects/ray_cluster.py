"""`RayCluster`, also that of a RayJob (ray.io): a Ray head with groups of workers, read from a manifest."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workbench.errors import InputError
from workbench.model.gang import TopologyConstraint
from workbench.model.notice import Notice
from workbench.objects.fields import child, get_bool, get_map, get_maps, get_text, shown, wrong
from workbench.objects.pod import PodTemplate
from workbench.objects.top_owner import OwnedPods, TopOwner, check_total, get_pods, owner_metadata, read_role_template
from workbench.objects.topology_spec import MODE_ANNOTATION

__all__ = ["RayCluster", "WorkerGroup", "read_ray_cluster", "read_ray_job"]

#: Labels of the object that KubeRay follows: the scheduler of the pods, and what it writes into their PodGroup.
_SCHEDULER_LABEL = "ray.io/scheduler-name"
_PRIORITY_LABEL, _QUEUE_LABEL = "ray.io/priority-class-name", "volcano.sh/queue-name"
_TIER_LABEL = "volcano.sh/network-topology-highest-tier-allowed"

_JOB_ENDS = ("SUCCEEDED", "FAILED", "STOPPED")
_DEPLOYMENT_ENDS = ("Complete", "Failed", "ValidationFailed")


@dataclass(frozen=True)
class WorkerGroup:
    """One entry of workerGroupSpecs: a number of equal replicas, each of one or more pods.

    `replicas`: replicas that KubeRay makes: those wanted, but at least minReplicas and at most maxReplicas.
    `min_replicas`: replicas that the autoscaler leaves in any case. `hosts`: pods of a replica (numOfHosts).
    """

    name: str
    replicas: int
    min_replicas: int
    hosts: int
    template: PodTemplate


@dataclass(frozen=True)
class RayCluster(TopOwner):
    """A RayCluster, or a RayJob with its RayCluster, as read from a manifest.

    Attributes
    ----------
    cluster : str
        Name of the RayCluster, with which the names of its pods begin; that of the RayJob before its cluster exists.
    autoscaling : bool
        Ray's autoscaler changes the replicas (enableInTreeAutoscaling).
    submitter : bool
        A Job of Kubernetes submits the RayJob once its cluster runs (submissionMode K8sJobMode).
    constraint : TopologyConstraint, optional
        That of the PodGroup, from two labels of the object; None: without the one that says the mode.
    """

    cluster: str
    head: PodTemplate
    groups: tuple[WorkerGroup, ...]
    autoscaling: bool
    submitter: bool
    constraint: TopologyConstraint | None

    @property
    def queue(self) -> str:
        """Volcano's queue from a label of the object; empty: not given."""
        return self.metadata.labels.get(_QUEUE_LABEL, "")

    @property
    def priority_class(self) -> str:
        """The PriorityClass of the gang from a label of the object; empty: not given."""
        return self.metadata.labels.get(_PRIORITY_LABEL, "")

    @property
    def pods(self) -> tuple[OwnedPods, ...]:
        return (
            OwnedPods("head", 1, self.head),
            *(
                OwnedPods(group.name, group.replicas * group.hosts, group.template, "replicas", group.hosts)
                for group in self.groups
            ),
        )

    @property
    def schedulers(self) -> tuple[str, ...]:
        named = self.metadata.labels.get(_SCHEDULER_LABEL)
        return (named,) if named else super().schedulers


def read_ray_cluster(data: Mapping[str, Any]) -> RayCluster:
    """Read a RayCluster from a parsed manifest.

    Raises InputError: a field of the wrong type, a negative number, maxReplicas below minReplicas, two groups of one
    name, or more than a million pods.
    """
    notes: list[Notice] = []
    metadata = owner_metadata(data, notes)
    spec = get_map(data, "spec", "")
    return RayCluster(
        metadata=metadata,
        kind="RayCluster",
        suspended=get_bool(spec, "suspend", "spec"),
        finished=False,
        cluster=metadata.name,
        head=_head(spec, "spec", notes),
        groups=_groups(spec, "spec", notes),
        autoscaling=get_bool(spec, "enableInTreeAutoscaling", "spec"),
        submitter=False,
        constraint=_constraint(metadata.labels),
        notes=tuple(notes),
    )


def read_ray_job(data: Mapping[str, Any]) -> RayCluster:
    """Read a RayJob with the RayCluster that it makes from a parsed manifest.

    Raises InputError: as `read_ray_cluster`; no rayClusterSpec, as in a RayJob that runs on a cluster which exists
    already.
    """
    notes: list[Notice] = []
    metadata = owner_metadata(data, notes)
    job, status = get_map(data, "spec", ""), get_map(data, "status", "")
    where = "spec.rayClusterSpec"
    selects = bool(get_map(job, "clusterSelector", "spec"))
    if job.get("rayClusterSpec") is None and not selects:
        raise wrong(where, None, "the RayCluster of the job, or spec.clusterSelector")
    spec = get_map(job, "rayClusterSpec", "spec")
    state, deployed = (get_text(status, key, "status") for key in ("jobStatus", "jobDeploymentStatus"))
    return RayCluster(
        metadata=metadata,
        kind="RayJob",
        suspended=get_bool(job, "suspend", "spec"),
        # On a cluster that exists already the job makes no pods but the one that submits it.
        finished=selects or state in _JOB_ENDS or deployed in _DEPLOYMENT_ENDS,
        cluster=get_text(status, "rayClusterName", "status") or metadata.name,
        head=_head(spec, where, [] if selects else notes),
        groups=_groups(spec, where, notes),
        autoscaling=get_bool(spec, "enableInTreeAutoscaling", where),
        submitter=get_text(job, "submissionMode", "spec") in ("", "K8sJobMode"),
        constraint=_constraint(metadata.labels),
        notes=tuple(notes),
    )


def _constraint(labels: Mapping[str, str]) -> TopologyConstraint | None:
    mode, tier = labels.get(MODE_ANNOTATION), labels.get(_TIER_LABEL)
    if mode is None:
        return None
    if mode not in ("hard", "soft"):
        raise wrong(f"metadata.labels[{MODE_ANNOTATION!r}]", mode, "hard or soft")
    if tier is not None and not re.fullmatch(r"[0-9]{1,9}", tier, re.ASCII):
        raise wrong(f"metadata.labels[{_TIER_LABEL!r}]", tier, "a whole number in quotes")
    return TopologyConstraint(mode, None if tier is None else int(tier))  # type: ignore[arg-type]


def _head(spec: Mapping[str, Any], where: str, notes: list[Notice]) -> PodTemplate:
    return read_role_template(get_map(spec, "headGroupSpec", where), child(where, "headGroupSpec"), notes)


def _groups(spec: Mapping[str, Any], where: str, notes: list[Notice]) -> tuple[WorkerGroup, ...]:
    groups: dict[str, WorkerGroup] = {}
    for number, (path, item) in enumerate(get_maps(spec, "workerGroupSpecs", where)):
        name = get_text(item, "groupName", path) or f"worker-group-{number}"
        if name in groups or name == "head":
            text = "two groups of this name" if name in groups else "the name of the head's group"
            raise InputError(text, where=child(path, "groupName"), got=shown(name), expected="each name once")
        least = get_pods(item, "minReplicas", path, default=0)
        most = item.get("maxReplicas")
        if most is not None and get_pods(item, "maxReplicas", path, default=0) < least:
            raise wrong(child(path, "maxReplicas"), most, f"at least the minReplicas {least}")
        wanted = max(get_pods(item, "replicas", path, default=least), least)
        wanted = wanted if most is None else min(wanted, most)
        off = get_bool(item, "suspend", path)
        groups[name] = WorkerGroup(
            name=name,
            replicas=0 if off else wanted,
            min_replicas=0 if off else least,
            hosts=get_pods(item, "numOfHosts", path, default=1, least=1),
            template=read_role_template(item, path, notes),
        )
    check_total(1 + sum(group.replicas * group.hosts for group in groups.values()), child(where, "workerGroupSpecs"))
    return tuple(groups.values())
