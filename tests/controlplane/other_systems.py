"""CustomResourceDefinitions of Kueue and JobSet, as far as tests need them, and objects of these kinds."""

from __future__ import annotations

from typing import Any

__all__ = ["HOST", "KINDS", "RACK", "crd", "kueue", "kueue_cluster", "node", "path_of", "workload"]

RACK, HOST = "example.com/rack", "kubernetes.io/hostname"

#: Plural, kind, group, versions (the first is stored), and whether the kind has namespaces.
KINDS = (
    ("topologies", "Topology", "kueue.x-k8s.io", ("v1beta2", "v1beta1"), False),
    ("resourceflavors", "ResourceFlavor", "kueue.x-k8s.io", ("v1beta2", "v1beta1"), False),
    # As in an older release: only in a version that the others do not have.
    ("cohorts", "Cohort", "kueue.x-k8s.io", ("v1alpha1",), False),
    ("clusterqueues", "ClusterQueue", "kueue.x-k8s.io", ("v1beta2",), False),
    ("localqueues", "LocalQueue", "kueue.x-k8s.io", ("v1beta2",), True),
    ("workloads", "Workload", "kueue.x-k8s.io", ("v1beta2",), True),
    ("jobsets", "JobSet", "jobset.x-k8s.io", ("v1alpha2",), True),
)


def crd(plural: str, kind: str, group: str, versions: tuple[str, ...], namespaced: bool) -> dict[str, Any]:
    """A definition that takes any fields."""
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    rows = [
        {"name": name, "served": True, "storage": not i, "schema": schema, "subresources": {"status": {}}}
        for i, name in enumerate(versions)
    ]
    names = {"plural": plural, "kind": kind, "singular": kind.lower(), "listKind": f"{kind}List"}
    # The API server asks for it for groups below k8s.io.
    annotations = {"api-approved.kubernetes.io": "unapproved, for tests"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}", "annotations": annotations},
        "spec": {
            "group": group,
            "scope": "Namespaced" if namespaced else "Cluster",
            "names": names,
            "versions": rows,
        },
    }


def path_of(data: dict[str, Any], name: str = "") -> str:
    """Path of the list to which an object belongs, or of the object itself."""
    version, kind = data["apiVersion"], data["kind"]
    if "/" not in version:
        plural, namespaced, root = f"{kind.lower()}s", kind == "Pod", "/api/v1"
    else:
        row = next((one for one in KINDS if (one[1], one[2]) == (kind, version.partition("/")[0])), None)
        plural, namespaced = (row[0], row[4]) if row else (f"{kind.lower()}s", True)
        root = f"/apis/{version}"
    inside = f"/namespaces/{data['metadata'].get('namespace', 'default')}" if namespaced else ""
    return f"{root}{inside}/{plural}{f'/{name}' if name else ''}"


def kueue(kind: str, name: str, spec: Any = None, version: str = "v1beta2", **parts: Any) -> dict[str, Any]:
    metadata = {"name": name, **parts.pop("metadata", {})}
    return {
        "apiVersion": f"kueue.x-k8s.io/{version}",
        "kind": kind,
        "metadata": metadata,
        "spec": spec or {},
        **parts,
    }


def node(name: str, rack: str, gpus: int = 4) -> dict[str, Any]:
    amounts = {"cpu": "8", "memory": "8Gi", "pods": "20", "nvidia.com/gpu": str(gpus)}
    labels = {RACK: rack, HOST: name, "pool": "gpu"}
    status = {"allocatable": amounts, "capacity": amounts, "conditions": [{"type": "Ready", "status": "True"}]}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}, "status": status}


def kueue_cluster(gpus: int = 16) -> list[dict[str, Any]]:
    """Two racks of two nodes with four GPUs each, one queue with a quota, and its topology."""
    resources = [{"name": "nvidia.com/gpu", "nominalQuota": gpus}, {"name": "cpu", "nominalQuota": 32}]
    flavors = [{"name": "gpu", "resources": resources}]
    group = {"coveredResources": ["nvidia.com/gpu", "cpu"], "flavors": flavors}
    return [
        *(node(f"n{i}", f"r{i // 2}") for i in range(4)),
        kueue("Topology", "default", {"levels": [{"nodeLabel": RACK}, {"nodeLabel": HOST}]}),
        kueue("ResourceFlavor", "gpu", {"nodeLabels": {"pool": "gpu"}, "topologyName": "default"}),
        kueue("Cohort", "all", version="v1alpha1"),
        kueue("ClusterQueue", "team", {"cohortName": "all", "resourceGroups": [group], "namespaceSelector": {}}),
        kueue("LocalQueue", "lq", {"clusterQueue": "team"}, metadata={"namespace": "default"}),
    ]


def workload(name: str, pods: int, owner: dict[str, Any] | None = None, **status: Any) -> dict[str, Any]:
    """A Workload of pods with two GPUs that want to be in one rack."""
    amounts = {"cpu": "1", "nvidia.com/gpu": "2"}
    container = {"name": "c", "image": "i", "resources": {"requests": amounts, "limits": {"nvidia.com/gpu": "2"}}}
    pod_set = {
        "name": "main",
        "count": pods,
        "template": {"spec": {"containers": [container], "restartPolicy": "Never"}},
        "topologyRequest": {"required": RACK},
    }
    owners = {"ownerReferences": [{**owner, "controller": True, "uid": "u"}]} if owner else {}
    spec = {"queueName": "lq", "podSets": [pod_set]}
    metadata = {"namespace": "default", **owners}
    return kueue("Workload", name, spec, metadata=metadata, **({"status": status} if status else {}))
