"""`Observed`: the state of one Volcano Job as its controller sees it: status, pods, PodGroup and volume claims."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.jobs.lifecycle.request import Delayed
from workbench.jobs.membership import ROLE_LABEL
from workbench.jobs.sub_groups import PARTITION_LABEL
from workbench.jobs.task_pods import is_out_of_sync
from workbench.model.number_text import whole_number
from workbench.objects.fields import child, get_bool, get_int, get_map, get_maps, get_text, get_texts
from workbench.objects.job_status import JobStatus, read_job_status

__all__ = ["GroupCondition", "GroupState", "Observed", "PodState", "read_pod_state"]

#: On a pod of a Job: status.version of the Job when the pod was made.
JOB_VERSION_ANNOTATION = "volcano.sh/job-version"


@dataclass(frozen=True, slots=True)
class PodState:
    """The fields of one of a Job's pods that the rules of the Job's life cycle read.

    Attributes
    ----------
    task, partition : str
        Names in the pod's annotation or label; empty: none.
    terminating : bool
        Whether the pod's deletion was requested.
    out_of_sync : bool
        Whether the controller marked the pod as out of sync, which it does before it deletes a pod.
    ready : bool
        Whether every container status is ready; a pod without statuses counts as ready.
    restarts : int
        Restarts of the pod's init containers and containers together.
    exit_code : int
        Exit code in the first container status; 0 if there is none.
    job_uid : str
        uid of the Job that controls the pod; empty: unknown.
    job_version : int, optional
        status.version of the Job when the pod was created; None: unknown.
    """

    name: str
    task: str = ""
    phase: str = "Pending"
    uid: str = ""
    partition: str = ""
    terminating: bool = False
    out_of_sync: bool = False
    ready: bool = True
    restarts: int = 0
    exit_code: int = 0
    job_uid: str = ""
    job_version: int | None = None


@dataclass(frozen=True)
class GroupCondition:
    """A condition of a PodGroup that is true; `at` is the time of its last change as Kubernetes writes it."""

    type: str
    message: str = ""
    at: str = ""


@dataclass(frozen=True)
class GroupState:
    """State of a Job's PodGroup: its phase (empty if it has none yet) and the conditions that are true."""

    phase: str = ""
    conditions: tuple[GroupCondition, ...] = ()

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> GroupState:
        """Read the state from a PodGroup's manifest; raises InputError for a field of the wrong type."""
        status = get_map(data, "status", "")
        return cls(
            get_text(status, "phase", "status"),
            tuple(
                GroupCondition(
                    get_text(item, "type", path),
                    get_text(item, "message", path),
                    get_text(item, "lastTransitionTime", path),
                )
                for path, item in get_maps(status, "conditions", "status")
                if item.get("status") == "True"
            ),
        )

    @property
    def lets_pods_be_created(self) -> bool:
        """Whether the scheduler has admitted the PodGroup: its phase is neither empty nor Pending."""
        return self.phase not in ("", "Pending")


@dataclass(frozen=True)
class Observed:
    """The state of one Volcano Job as its controller sees it: status, pods, PodGroup, claims and delayed actions.

    Attributes
    ----------
    status : JobStatus
        Status as last stored.
    pod_group : GroupState, optional
        State of the Job's PodGroup; None if it does not exist yet.
    claims : frozenset of str
        Names of the volume claims in the Job's namespace.
    delayed : tuple of Delayed
        Delayed actions that are not due yet.
    now : str
        Time to write into conditions; empty: no time is written.
    """

    status: JobStatus = field(default_factory=JobStatus)
    pods: tuple[PodState, ...] = ()
    pod_group: GroupState | None = None
    claims: frozenset[str] = frozenset()
    delayed: tuple[Delayed, ...] = ()
    now: str = ""

    @classmethod
    def of_manifests(
        cls,
        job: Mapping[str, Any],
        pods: Iterable[Mapping[str, Any]] = (),
        pod_group: Mapping[str, Any] | None = None,
        claims: Iterable[str] = (),
    ) -> Observed:
        """Read the state of a Job from manifests as stored in a cluster.

        Raises InputError for a field of the wrong type.

        `pods`: pods in the Job's namespace that the Job controls. `pod_group`: the Job's PodGroup; None: there is none.
        `claims`: names of the PersistentVolumeClaims in the Job's namespace.
        """
        return cls(
            status=read_job_status(job),
            pods=tuple(map(read_pod_state, pods)),
            pod_group=None if pod_group is None else GroupState.read(pod_group),
            claims=frozenset(claims),
        )


def read_pod_state(data: Mapping[str, Any]) -> PodState:
    """Read the fields of a pod's manifest that the Job controller's rules use; raises InputError for a wrong type."""
    metadata, status = get_map(data, "metadata", ""), get_map(data, "status", "")
    annotations = get_texts(metadata, "annotations", "metadata")
    labels = get_texts(metadata, "labels", "metadata")
    containers = list(get_maps(status, "containerStatuses", "status"))
    starting = list(get_maps(status, "initContainerStatuses", "status"))
    owners = get_maps(metadata, "ownerReferences", "metadata")
    exit_code = 0
    if containers:
        path, first = containers[0]
        ended = get_map(get_map(first, "state", path), "terminated", child(path, "state"))
        exit_code = get_int(ended, "exitCode", child(path, "state.terminated")) or 0
    return PodState(
        name=get_text(metadata, "name", "metadata"),
        task=annotations.get(ROLE_LABEL) or labels.get(ROLE_LABEL, ""),
        phase=get_text(status, "phase", "status", "Pending"),
        uid=get_text(metadata, "uid", "metadata"),
        partition=labels.get(PARTITION_LABEL, ""),
        terminating=bool(metadata.get("deletionTimestamp")),
        out_of_sync=is_out_of_sync(data),
        ready=all(get_bool(item, "ready", path) for path, item in containers),
        restarts=sum(get_int(item, "restartCount", path) or 0 for path, item in [*starting, *containers]),
        exit_code=exit_code,
        job_uid=next((get_text(item, "uid", path) for path, item in owners if get_bool(item, "controller", path)), ""),
        job_version=whole_number(annotations.get(JOB_VERSION_ANNOTATION, "")),
    )
