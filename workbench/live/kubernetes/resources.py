"""What is read of a cluster: the lists in their order, single ConfigMaps, and the right that each of them needs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from workbench.model.notice import Notice

__all__ = [
    "CONFIG_MAPS",
    "DEVICE_INFOS",
    "EVENTS",
    "KUEUE_CONFIG",
    "LISTS",
    "OPTIONAL",
    "OWNERS",
    "QUEUEING",
    "NamedConfigMap",
    "Resource",
    "is_kueue_there",
]


class Resource(NamedTuple):
    """A kind that is listed in all namespaces, or in one.

    Attributes
    ----------
    group, version, plural, kind : str
        The group is empty for Kubernetes' core.
    needed : bool
        Without this kind there is no snapshot; otherwise its absence is a gap.
    selector : str
        Field selector of the list; empty: all objects are read.
    namespace : str
        The one namespace whose objects are read; empty: all namespaces.
    older : tuple of str
        Further versions, asked for in this order where `version` is not served.
    """

    group: str
    version: str
    plural: str
    kind: str
    needed: bool = False
    selector: str = ""
    namespace: str = ""
    older: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The plural name with the group, as kubectl and RBAC write it: ``jobs.batch``."""
        return f"{self.plural}.{self.group}".rstrip(".")

    @property
    def kind_of_refs(self) -> str:
        """The kind as `workbench.control.kinds.Ref` writes it where it is none of those that the cluster knows."""
        return f"{self.kind}.{self.group}"

    @property
    def versions(self) -> tuple[Resource, ...]:
        """The kind in each of its versions, in the order in which they are asked for."""
        return tuple(self._replace(version=version) for version in (self.version, *self.older))

    @property
    def path(self) -> str:
        """Path of the list on the API server."""
        start = f"/apis/{self.group}/{self.version}" if self.group else "/api/v1"
        return f"{start}/namespaces/{self.namespace}/{self.plural}" if self.namespace else f"{start}/{self.plural}"

    @property
    def api_version(self) -> str:
        """The field apiVersion of the objects."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def rule(self) -> str:
        """The RBAC rule that allows to read the kind, as it stands in a ClusterRole, or a Role of the namespace."""
        return f'{{apiGroups: ["{self.group}"], resources: ["{self.plural}"], verbs: ["get", "list", "watch"]}}'


class NamedConfigMap(NamedTuple):
    """One ConfigMap that is read by name; `verbs`: what is asked for it, more where views follow it."""

    namespace: str
    name: str
    verbs: tuple[str, ...] = ("get",)

    @property
    def path(self) -> str:
        """Path of the object on the API server."""
        return f"/api/v1/namespaces/{self.namespace}/configmaps/{self.name}"

    @property
    def rule(self) -> str:
        """The RBAC rule that allows to read the ConfigMap, as it stands in a Role of its namespace."""
        verbs = ", ".join(f'"{verb}"' for verb in self.verbs)
        return f'{{apiGroups: [""], resources: ["configmaps"], resourceNames: ["{self.name}"], verbs: [{verbs}]}}'

    @property
    def followed(self) -> Resource:
        """The list that holds this ConfigMap alone."""
        selector = f"metadata.name={self.name}"
        return Resource("", "v1", "configmaps", "ConfigMap", selector=selector, namespace=self.namespace)

    @property
    def missing(self) -> Notice:
        """The notice that a cluster has no such ConfigMap."""
        name = f"ConfigMap {self.namespace}/{self.name}"
        return Notice("object-not-read", f"the cluster has no {name}: give its content as a file beside it", name)


#: Groups come before the pods that name them, and nodes before the pods on them: what is read later is younger, so a
#: pod may be missing where it was created while the lists were read, but no pod lacks its group or its node.
LISTS = (
    Resource("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass"),
    Resource("scheduling.volcano.sh", "v1beta1", "queues", "Queue"),
    Resource("training.volcano.sh", "v1alpha1", "hyperjobs", "HyperJob"),
    Resource("batch.volcano.sh", "v1alpha1", "jobs", "Job"),
    Resource("scheduling.volcano.sh", "v1beta1", "podgroups", "PodGroup"),
    Resource("topology.volcano.sh", "v1alpha1", "hypernodes", "HyperNode"),
    Resource("scheduling.koordinator.sh", "v1alpha1", "devices", "Device"),
    Resource("", "v1", "nodes", "Node", needed=True),
    Resource("", "v1", "pods", "Pod", needed=True),
)

#: Kinds of Kueue and of kube-scheduler's groups, asked for where one of their versions is served. Older releases of
#: Kueue have some kinds in older versions only; of the groups of scheduling.k8s.io those of Kubernetes 1.37 are read.
QUEUEING = (
    Resource("kueue.x-k8s.io", "v1beta2", "topologies", "Topology", older=("v1beta1", "v1alpha1")),
    Resource("kueue.x-k8s.io", "v1beta2", "resourceflavors", "ResourceFlavor", older=("v1beta1",)),
    Resource("kueue.x-k8s.io", "v1beta2", "cohorts", "Cohort", older=("v1beta1", "v1alpha1")),
    Resource("kueue.x-k8s.io", "v1beta2", "clusterqueues", "ClusterQueue", older=("v1beta1",)),
    Resource("kueue.x-k8s.io", "v1beta2", "localqueues", "LocalQueue", older=("v1beta1",)),
    Resource("kueue.x-k8s.io", "v1beta2", "admissionchecks", "AdmissionCheck", older=("v1beta1",)),
    Resource("kueue.x-k8s.io", "v1beta2", "workloads", "Workload", older=("v1beta1",)),
    Resource("scheduling.k8s.io", "v1beta1", "workloads", "Workload"),
    Resource("scheduling.k8s.io", "v1alpha3", "compositepodgroups", "CompositePodGroup"),
    Resource("scheduling.k8s.io", "v1beta1", "podgroups", "PodGroup"),
)

#: Kinds whose controllers make pods of gangs. Many clusters have few of them, so they are asked for only where their
#: API group is served, and their absence is no gap.
OWNERS = (
    Resource("batch", "v1", "jobs", "Job"),
    Resource("jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet"),
    Resource("leaderworkerset.x-k8s.io", "v1", "leaderworkersets", "LeaderWorkerSet"),
    Resource("ray.io", "v1", "rayjobs", "RayJob"),
    Resource("ray.io", "v1", "rayclusters", "RayCluster"),
    Resource("kubeflow.org", "v1", "pytorchjobs", "PyTorchJob"),
    Resource("kubeflow.org", "v1", "tfjobs", "TFJob"),
    Resource("kubeflow.org", "v1", "xgboostjobs", "XGBoostJob"),
    Resource("kubeflow.org", "v1", "paddlejobs", "PaddleJob"),
    Resource("kubeflow.org", "v1", "jaxjobs", "JAXJob"),
    Resource("kubeflow.org", "v1", "mxjobs", "MXJob"),
    Resource("kubeflow.org", "v2beta1", "mpijobs", "MPIJob", older=("v1",)),
)

#: Kinds that many clusters do not have.
OPTIONAL = (*QUEUEING, *OWNERS)

#: Warnings, of which a snapshot keeps those about what waits; read last, once it is known what does.
EVENTS = Resource("", "v1", "events", "Event", selector="type=Warning")

#: The tables of leaf switches of Ascend's scheduler plugin, and the configuration of Volcano's scheduler.
CONFIG_MAPS = (
    NamedConfigMap("kube-system", "basic-tor-node-cm"),
    NamedConfigMap("volcano-system", "basic-tor-node-cm"),
    NamedConfigMap("volcano-system", "tor-share-cm"),
    NamedConfigMap("volcano-system", "volcano-scheduler-configmap"),
)

#: Kueue's Configuration, read and followed where the cluster has Kueue.
KUEUE_CONFIG = NamedConfigMap("kueue-system", "kueue-manager-config", ("get", "list", "watch"))

#: Read where a node has NPUs, for those in which Ascend's device plugin tells faulty NPUs; the others are left out.
DEVICE_INFOS = Resource("", "v1", "configmaps", "ConfigMap", namespace="kube-system")


def is_kueue_there(names: Iterable[str]) -> bool:
    """Whether one of the names of kinds that a cluster has, plural or not, is of Kueue's group."""
    return any(name.endswith(".kueue.x-k8s.io") for name in names)
