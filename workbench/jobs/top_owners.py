"""`top_mentions`, `top_owner_of`: the JobSet, RayJob or other top owner to which a pod or an object between belongs.

Controllers write the names of their objects into labels of the pods, and the API server keeps the chain of owners. A
label that names the outermost object comes before an owner reference: the objects between need not be in the input.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeVar

from workbench.objects.metadata import Metadata, Owner
from workbench.objects.top_owner import KUBEFLOW_KINDS, TopOwner

__all__ = [
    "GROUP_INDEX_LABEL",
    "JOB_INDEX_LABEL",
    "KUBEFLOW_INDEX_LABEL",
    "POD_INDEX_LABEL",
    "WORKER_INDEX_LABEL",
    "is_owned",
    "outermost",
    "owned_role",
    "top_mentions",
    "top_owner_of",
]

O = TypeVar("O", bound=TopOwner)  # noqa: E741

#: Labels that hold an index: of a pod in an Indexed Job, of a Job in its entry of a JobSet, of a pod of Kubeflow, of a
#: pod in its group of a LeaderWorkerSet, and of that group.
POD_INDEX_LABEL = "batch.kubernetes.io/job-completion-index"
JOB_INDEX_LABEL = "jobset.sigs.k8s.io/job-index"
KUBEFLOW_INDEX_LABEL = "training.kubeflow.org/replica-index"
WORKER_INDEX_LABEL = "leaderworkerset.sigs.k8s.io/worker-index"
GROUP_INDEX_LABEL = "leaderworkerset.sigs.k8s.io/group-index"

#: Labels with the name of the outermost object, by its kind.
_NAMED = {"jobset.sigs.k8s.io/jobset-name": "JobSet", "leaderworkerset.sigs.k8s.io/name": "LeaderWorkerSet"}
_RAY_ORIGIN_KIND, _RAY_ORIGIN_NAME = "ray.io/originated-from-crd", "ray.io/originated-from-cr-name"
_RAY_CLUSTER, _RAY_GROUP = "ray.io/cluster", "ray.io/group"
_KUBEFLOW_NAME, _KUBEFLOW_OPERATOR = "training.kubeflow.org/job-name", "training.kubeflow.org/operator-name"
_KUBEFLOW_TYPE = ("training.kubeflow.org/replica-type", "training.kubeflow.org/job-role")
_BATCH_NAMES = ("batch.kubernetes.io/job-name", "job-name")
_REPLICATED_JOB = "jobset.sigs.k8s.io/replicatedjob-name"

#: Kinds of top owners by the API group and kind of an owner reference.
_CONTROLLERS = {
    ("batch", "Job"): "BatchJob",
    ("jobset.x-k8s.io", "JobSet"): "JobSet",
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): "LeaderWorkerSet",
    ("ray.io", "RayCluster"): "RayCluster",
    ("ray.io", "RayJob"): "RayJob",
    **{("kubeflow.org", kind): kind for kind in KUBEFLOW_KINDS},
}
#: The same by the kind alone, for owner references without an apiVersion.
_KINDS = {kind: name for (_, kind), name in _CONTROLLERS.items()}

#: Operators of Kubeflow by the kind of their jobs.
_OPERATORS = {f"{kind.lower()}-controller": kind for kind in KUBEFLOW_KINDS} | {"mpi-operator": "MPIJob"}


def top_mentions(metadata: Metadata) -> tuple[str, ...]:
    """The top owners that an object names, each as ``Kind namespace/name``, the outermost first; they need not exist.

    `metadata`: metadata of a pod, or of an object between a top owner and its pods, such as a Job of a JobSet.
    """
    labels, controller = metadata.labels, metadata.controller
    found = [(kind, labels[label]) for label, kind in _NAMED.items() if label in labels]
    if _RAY_ORIGIN_NAME in labels:
        found.append((labels.get(_RAY_ORIGIN_KIND, "RayCluster"), labels[_RAY_ORIGIN_NAME]))
    if _RAY_CLUSTER in labels:
        found.append(("RayCluster", labels[_RAY_CLUSTER]))
    if _KUBEFLOW_NAME in labels:
        kind = _OPERATORS.get(labels.get(_KUBEFLOW_OPERATOR, ""), "")
        if not kind and controller is not None and controller.kind in KUBEFLOW_KINDS:
            kind = controller.kind
        found += [(one, labels[_KUBEFLOW_NAME]) for one in ([kind] if kind else KUBEFLOW_KINDS)]
    if controller is not None:
        if kind := _kind_of(controller):
            found.append((kind, controller.name))
    else:
        found += [("BatchJob", labels[label]) for label in _BATCH_NAMES if label in labels]
    return tuple(dict.fromkeys(f"{kind} {metadata.namespace}/{name}" for kind, name in found)) if found else ()


def _kind_of(controller: Owner) -> str:
    """Kind of the top owner that an owner reference may mean; empty if it means none."""
    if not controller.api_version:
        return _KINDS.get(controller.kind, "")
    return _CONTROLLERS.get((controller.api_version.rpartition("/")[0], controller.kind), "")


def top_owner_of(names: tuple[str, ...], owners: Mapping[str, O]) -> str:
    """The top owner (``Kind namespace/name``) of what names the given ones; empty if none of them exists.

    The first of the names that exists is followed to the object that owns it, and so on; a circle of owners is left
    where it closes.

    `names`: as `top_mentions` returns them. `owners`: the objects that exist, by ``Kind namespace/name``.
    """
    found = next((name for name in names if name in owners), "")
    seen = {found}
    while found:
        above = next((name for name in top_mentions(owners[found].metadata) if name in owners and name not in seen), "")
        if not above:
            break
        seen.add(above)
        found = above
    return found


def outermost(owners: Mapping[str, O]) -> Iterator[tuple[str, O]]:
    """The top owners that no other one owns, by ``Kind namespace/name`` and in the order of these names.

    A Job of a JobSet that exists is not among them.
    """
    return ((name, owners[name]) for name in sorted(owners, key=str.encode) if top_owner_of((name,), owners) == name)


def is_owned(metadata: Metadata, owners: Mapping[str, TopOwner]) -> bool:
    """Whether an object stands between a top owner and its pods, such as a StatefulSet of a LeaderWorkerSet.

    `owners`: the top owners that exist, by ``Kind namespace/name``.
    """
    return bool(top_owner_of(top_mentions(metadata), owners))


def owned_role(labels: Mapping[str, str]) -> str:
    """The role that the labels of a pod of a top owner give; empty if they give none.

    It has the name that Kueue gives to the pod set: ``main`` for a Job.
    """
    if _REPLICATED_JOB in labels:
        return labels[_REPLICATED_JOB]
    if _RAY_GROUP in labels:
        return "head" if labels.get("ray.io/node-type") == "head" else labels[_RAY_GROUP]
    if kind := next((labels[label] for label in _KUBEFLOW_TYPE if label in labels), ""):
        return kind.lower()
    if WORKER_INDEX_LABEL in labels:
        return "leader" if labels[WORKER_INDEX_LABEL] == "0" else "worker"
    return "main" if any(label in labels for label in _BATCH_NAMES) else ""
