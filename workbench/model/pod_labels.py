"""Labels that the controller of a job writes on each of its pods, beside those of the pod template."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.model.gang import Gang, Role

__all__ = ["JOB_LABEL", "ROLE_LABEL", "pod_labels"]

#: Label of a pod that names its Volcano Job.
JOB_LABEL = "volcano.sh/job-name"
#: Label of a pod that names its role (task).
ROLE_LABEL = "volcano.sh/task-spec"

#: By the kind of object: labels with the name of the object, and labels with the name of the role.
_WRITTEN: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "Job": ((JOB_LABEL,), (ROLE_LABEL,)),
    "BatchJob": (("batch.kubernetes.io/job-name", "job-name"), ()),
    "JobSet": (("jobset.sigs.k8s.io/jobset-name",), ("jobset.sigs.k8s.io/replicatedjob-name",)),
    "RayCluster": (("ray.io/cluster",), ("ray.io/group",)),
}


def pod_labels(gang: Gang, role: Role) -> Mapping[str, str]:
    """Labels that every pod of a role carries: those of its template and those of its controller.

    Affinity to the pods of a job usually selects by the latter. Labels that differ from pod to pod, such as an index,
    are left out, and so are those of kinds whose objects are not named like their gang.
    """
    of_object, of_role = _WRITTEN.get(gang.kind, ((), ()))
    if not of_object:
        return role.labels
    written = dict.fromkeys(of_object, gang.name) | dict.fromkeys(of_role, role.name)
    if gang.kind == "Job":
        written |= {"volcano.sh/job-namespace": gang.namespace, "volcano.sh/queue-name": gang.queue}
    return {**role.labels, **written}
