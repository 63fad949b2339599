"""The kinds of objects that a cluster stores: API group, plural name, and whether objects have a namespace.

`check_stored`: the form of an object that another cluster stored, which no admission has looked at; its identity.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from workbench.objects.fields import child, get_map, get_maps, get_text, wrong
from workbench.objects.metadata import read_metadata

__all__ = [
    "Ref",
    "api_path",
    "api_version",
    "check_identity",
    "check_stored",
    "is_known",
    "key_of",
    "kind_of",
    "owner_key",
    "resource_of",
]


class Ref(NamedTuple):
    """Identity of an object in a store.

    `kind`: kind, such as ``Pod``. The API group is added if the kind is not the one that the cluster knows by this
    name: ``Job`` is Volcano's, ``Job.batch`` is the Job of Kubernetes. `namespace`: empty for a cluster-scoped kind.
    """

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


class _Kind(NamedTuple):
    groups: tuple[str, ...]
    plural: str
    namespaced: bool = True
    version: str = "v1"


_KINDS: Mapping[str, _Kind] = {
    "Namespace": _Kind(("",), "namespaces", False),
    "Node": _Kind(("",), "nodes", False),
    "Pod": _Kind(("",), "pods"),
    "Service": _Kind(("",), "services"),
    "ConfigMap": _Kind(("",), "configmaps"),
    "Secret": _Kind(("",), "secrets"),
    "PersistentVolumeClaim": _Kind(("",), "persistentvolumeclaims"),
    "NetworkPolicy": _Kind(("networking.k8s.io",), "networkpolicies"),
    "Deployment": _Kind(("apps",), "deployments"),
    "ReplicaSet": _Kind(("apps",), "replicasets"),
    "StatefulSet": _Kind(("apps",), "statefulsets"),
    "PriorityClass": _Kind(("scheduling.k8s.io",), "priorityclasses", False),
    "Job": _Kind(("batch.volcano.sh",), "jobs", version="v1alpha1"),
    "Command": _Kind(("bus.volcano.sh",), "commands", version="v1alpha1"),
    "PodGroup": _Kind(("scheduling.volcano.sh",), "podgroups", version="v1beta1"),
    "Queue": _Kind(("scheduling.volcano.sh",), "queues", False, "v1beta1"),
    "HyperNode": _Kind(("topology.volcano.sh",), "hypernodes", False, "v1alpha1"),
    "HyperJob": _Kind(("training.volcano.sh", "topology.volcano.sh"), "hyperjobs", version="v1alpha1"),
    "Device": _Kind(("scheduling.koordinator.sh",), "devices", False, "v1alpha1"),
    "MutatingWebhookConfiguration": _Kind(("admissionregistration.k8s.io",), "mutatingwebhookconfigurations", False),
    "Lease": _Kind(("coordination.k8s.io",), "leases"),
    "CustomResourceDefinition": _Kind(("apiextensions.k8s.io",), "customresourcedefinitions", False),
}


def kind_of(data: Mapping[str, Any]) -> str:
    """Kind of a manifest as `Ref.kind` writes it: ``Job`` for Volcano's Job, ``Job.batch`` for that of Kubernetes."""
    kind, group = str(data.get("kind")), str(data.get("apiVersion") or "").rpartition("/")[0]
    known = _KINDS.get(kind)
    return f"{kind}.{group}" if group and (known is None or group not in known.groups) else kind


def key_of(data: Mapping[str, Any]) -> Ref:
    """Identity of a manifest; a namespaced object without a namespace is in ``default``."""
    kind, metadata = kind_of(data), data.get("metadata") or {}
    known = _KINDS.get(kind)
    namespaced = known.namespaced if known is not None else "namespace" in metadata
    return Ref(kind, (metadata.get("namespace") or "default") if namespaced else "", metadata.get("name") or "")


def is_known(kind: str) -> bool:
    """Whether objects of a kind, as in `Ref.kind`, can be asked for by their identity."""
    return kind in _KINDS


def owner_key(owner: Mapping[str, Any], namespace: str) -> Ref:
    """Identity of an entry of metadata.ownerReferences of an object in `namespace`; owners are never in another one."""
    kind = kind_of(owner)
    known = _KINDS.get(kind)
    return Ref(kind, namespace if known is None or known.namespaced else "", str(owner.get("name") or ""))


def resource_of(kind: str) -> str:
    """Name of a kind in the messages of the API server: ``jobs.batch.volcano.sh``, ``pods``."""
    known = _KINDS.get(kind)
    if known is None:
        name, _, group = kind.partition(".")
        return f"{name.lower()}s.{group}" if group else f"{name.lower()}s"
    return f"{known.plural}.{known.groups[0]}" if known.groups[0] else known.plural


def api_version(kind: str) -> str:
    """The field apiVersion of a kind without API group in its `Ref.kind`: ``batch.volcano.sh/v1alpha1``."""
    known = _KINDS[kind]
    return f"{known.groups[0]}/{known.version}" if known.groups[0] else known.version


def api_path(kind: str, namespace: str = "", name: str = "") -> str:
    """Path of a kind, or of one object of it, on an API server.

    `kind`, `namespace`, `name`: as in `Ref`; without a namespace: objects of all namespaces, or a cluster-scoped kind;
    without a name: the list.

    Examples
    --------
    >>> api_path("Job", "default", "train")
    '/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs/train'
    >>> api_path("Pod")
    '/api/v1/pods'
    """
    known, version = _KINDS[kind], api_version(kind)
    root = f"/apis/{version}" if known.groups[0] else f"/api/{version}"
    room = f"/namespaces/{namespace}" if namespace and known.namespaced else ""
    return f"{root}{room}/{known.plural}{f'/{name}' if name else ''}"


#: Kinds that controllers read the spec of.
_WITH_SPEC = frozenset({"Pod", "Job", "PodGroup", "HyperJob", "HyperNode", "Deployment", "ReplicaSet", "StatefulSet"})


def check_identity(data: Mapping[str, Any], where: str = "") -> Mapping[str, Any]:
    """Check that name and namespace are texts, before anything is looked up by them; returns the metadata.

    The `InputError` where one is no text names its path, which begins with `where`.
    """
    metadata = get_map(data, "metadata", where)
    for name in ("name", "namespace"):
        get_text(metadata, name, child(where, "metadata"))
    return metadata


def check_stored(data: Mapping[str, Any], where: str = "") -> None:
    """Check what controllers read of every object, and kubelets of pods; as `check_identity` for their types."""
    metadata = check_identity(data, where)
    for name in ("uid", "resourceVersion"):
        get_text(metadata, name, child(where, "metadata"))
    for name in ("spec", "status"):
        get_map(data, name, where)
    for path, owner in get_maps(metadata, "ownerReferences", child(where, "metadata")):
        for name in ("kind", "name"):
            if not get_text(owner, name, path):
                raise wrong(child(path, name), None, "that of the owner")
        get_text(owner, "uid", path)
    read_metadata(data, namespaced=False)
    kind = key_of(data).kind
    if "spec" not in data and kind in _WITH_SPEC:
        raise wrong(child(where, "spec"), None, f"what a {data['kind']} is to be")
    if kind != "Pod":
        return
    for path, container in get_maps(get_map(data, "spec", where), "containers", child(where, "spec")):
        get_text(container, "name", path)
        for place, variable in get_maps(container, "env", path):
            get_text(variable, "name", place)
            source = get_map(variable, "valueFrom", place)
            for name in ("configMapKeyRef", "fieldRef"):
                get_map(source, name, child(place, "valueFrom"))
