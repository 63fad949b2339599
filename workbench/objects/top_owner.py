"""`TopOwner`: an object whose controllers make the pods of gangs, such as a JobSet, and readers that its kinds share.

It stands at the top of a chain of owners: a JobSet owns Jobs, which own pods. `TOP_OWNERS` is the table of readers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from workbench.model.deferred import Deferred
from workbench.model.notice import Notice
from workbench.objects.fields import MOST_PODS, child, get_count, get_map, get_text, group_kind, wrong
from workbench.objects.metadata import Metadata, read_metadata, read_status_conditions
from workbench.objects.pod import PodTemplate, read_template

__all__ = [
    "KUBEFLOW_KINDS",
    "KUEUE_QUEUE_LABEL",
    "TOP_OWNERS",
    "OwnedPods",
    "TopOwner",
    "check_total",
    "get_pods",
    "has_condition",
    "owner_metadata",
    "read_role_template",
    "top_kind",
    "top_owner_reader",
]

#: Kinds of Kubeflow with the field that holds their replicas.
KUBEFLOW_KINDS: Mapping[str, str] = {
    "JAXJob": "jaxReplicaSpecs",
    "MPIJob": "mpiReplicaSpecs",
    "MXJob": "mxReplicaSpecs",
    "PaddleJob": "paddleReplicaSpecs",
    "PyTorchJob": "pytorchReplicaSpecs",
    "TFJob": "tfReplicaSpecs",
    "XGBoostJob": "xgbReplicaSpecs",
}
#: Label of an object that waits until Kueue admits it: its LocalQueue.
KUEUE_QUEUE_LABEL = "kueue.x-k8s.io/queue-name"


@dataclass(frozen=True)
class OwnedPods:
    """Pods that the controllers of an object make of one template, which are a pod set for Kueue.

    `name`: name of the role, as Kueue calls the pod set. `count`: pods of one gang at its start. `field`: the field
    that says how many pods there are; empty: none does, as for the head of a RayCluster. `unit`, `beside`: as in
    `RoleSize`.
    """

    name: str
    count: int
    template: PodTemplate
    field: str = ""
    unit: int = 1
    beside: int = 0


@dataclass(frozen=True)
class TopOwner(ABC):
    """Base class of the kinds whose controllers make the pods of gangs: a frozen dataclass for each kind.

    A kind is read once it has a row in `workbench.objects.top_owner`, and becomes gangs by its row in
    `workbench.jobs.owned.rules`.

    `kind`: kind in keys and answers: that of the manifest, but ``BatchJob`` for the Job of Kubernetes, since ``Job`` is
    Volcano's. `suspended`: the object asks its controller for no pods (spec.suspend). `finished`: the object has
    succeeded or failed: no pod is made any more. `notes`: what the manifest leaves out, and what stands for it.
    """

    metadata: Metadata
    kind: str
    suspended: bool
    finished: bool
    notes: tuple[Notice, ...]

    @property
    def key(self) -> str:
        """The object's name among the objects of all kinds: ``Kind namespace/name``."""
        return f"{self.kind} {self.metadata.key}"

    @property
    @abstractmethod
    def pods(self) -> tuple[OwnedPods, ...]:
        """The pods of one gang of the object, template by template, in the order of the object."""

    @property
    def templates(self) -> tuple[PodTemplate, ...]:
        """The pod templates, in the order of the object."""
        return tuple(each.template for each in self.pods)

    @property
    def schedulers(self) -> tuple[str, ...]:
        """The schedulers that the pods ask for; an empty text for pods that name none."""
        return tuple(template.spec.scheduler for template in self.templates)

    @property
    def held(self) -> bool:
        """Whether nobody waits for pods: the object is suspended in a cluster, and not for Kueue to admit it.

        A suspended manifest that no cluster has stored is read as it will be once it is resumed.
        """
        return self.suspended and self.metadata.stored and KUEUE_QUEUE_LABEL not in self.metadata.labels


def owner_metadata(data: Mapping[str, Any], notes: list[Notice]) -> Metadata:
    """Metadata of an object that may have metadata.generateName instead of a name.

    The beginning of the name then stands for the name, and a notice is appended to `notes`.

    Raises InputError: neither a name nor its beginning, or a field of the wrong type.
    """
    metadata = get_map(data, "metadata", "")
    prefix = get_text(metadata, "generateName", "metadata")
    if metadata.get("name") or not prefix:
        return read_metadata(data, namespaced=True)
    name = prefix.rstrip("-.") or prefix
    text = f"metadata.name is missing: the cluster will make it of generateName {prefix!r}; {name!r} stands for it"
    notes.append(Notice("generated-name", text, "metadata.generateName"))
    return read_metadata({**data, "metadata": {**metadata, "name": name}}, namespaced=True)


def read_role_template(data: Mapping[str, Any], where: str, notes: list[Notice], key: str = "template") -> PodTemplate:
    """Read the pod template of a role; without containers, as in a sketch, a notice is appended to `notes`.

    Raises InputError: a field of the wrong type.

    `data`: the mapping that has the template. `where`: path of `data`. `key`: name of the field.
    """
    written = get_map(data, key, where)
    if not get_map(written, "spec", child(where, key)).get("containers"):
        path = child(where, f"{key}.spec.containers")
        notes.append(Notice("no-containers", f"{path} is missing: the requests of these pods count as none", path))
    return read_template(data, where, key)


def get_pods(data: Mapping[str, Any], key: str, where: str, default: int, least: int = 0) -> int:
    """Read a number of pods, replicas or hosts of at least `least`.

    Raises InputError: another type, fewer than `least` or more than a million.

    `key`, `where`: as in `read_role_template`.

    `data`: the mapping that has the field. `default`: value where absent.
    """
    number = get_count(data, key, where, default)
    if number < least:
        raise wrong(child(where, key), number, f"{least} or more")
    return number


def check_total(pods: int, where: str) -> None:
    """Raise InputError for the field at `where` if an object asks for more than a million pods in all."""
    if pods > MOST_PODS:
        raise wrong(where, pods, f"at most {MOST_PODS} pods in all")


def has_condition(data: Mapping[str, Any], types: Collection[str]) -> bool:
    """Whether a condition of one of these types holds in the status of a parsed manifest."""
    return any(one.type in types and one.status == "True" for one in read_status_conditions(data))


_Read = Callable[[Mapping[str, Any]], TopOwner]

TOP_OWNERS: Mapping[tuple[str, str], _Read] = {
    ("batch", "Job"): Deferred("workbench.objects.batch_job:read_batch_job"),
    ("jobset.x-k8s.io", "JobSet"): Deferred("workbench.objects.job_set:read_job_set"),
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): Deferred(
        "workbench.objects.leader_worker_set:read_leader_worker_set"
    ),
    ("ray.io", "RayCluster"): Deferred("workbench.objects.ray_cluster:read_ray_cluster"),
    ("ray.io", "RayJob"): Deferred("workbench.objects.ray_cluster:read_ray_job"),
    **{("kubeflow.org", kind): Deferred("workbench.objects.kubeflow_job:read_kubeflow_job") for kind in KUBEFLOW_KINDS},
}


def top_kind(group: str, kind: str) -> str:
    """Kind of an object by its API group, where ``Job`` is Volcano's and ``BatchJob`` the Job of Kubernetes."""
    return "BatchJob" if (group, kind) == ("batch", "Job") else kind


def top_owner_reader(data: Mapping[str, Any]) -> _Read | None:
    """The function that reads a parsed manifest as a top owner; None if it is an object of another kind."""
    return TOP_OWNERS.get(group_kind(data))
