"""One pending job, `default/train`, in every form in which a job may be written or stored.

Roles `master` (1 pod) and `worker` (3 pods), or one role of 4 pods; each pod asks for 2 GPUs. The job needs all of its
pods, in HyperNodes of tier 1 at most. It selects `disk=fast`, requires `zone` a or b, and is the only one in its form.
"""

from collections.abc import Callable
from typing import Any

Manifest = dict[str, Any]

UID = "11111111-0000-4000-8000-000000000001"
HARD = {"mode": "hard", "highestTierAllowed": 1}
VOLCANO = "scheduling.volcano.sh/v1beta1"


def nodes(n: int = 4, rack_size: int = 2) -> list[Manifest]:
    """Nodes n0, n1, ... of 8 GPUs in racks of tier 1 under one spine."""
    names = [f"n{i}" for i in range(n)]
    amounts = {"cpu": "64", "memory": "512Gi", "pods": "110", "nvidia.com/gpu": "8"}
    made: list[Manifest] = [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, "disk": "fast", "zone": "a"}},
            "status": {"allocatable": dict(amounts), "conditions": [{"type": "Ready", "status": "True"}]},
        }
        for name in names
    ]
    racks = [names[i : i + rack_size] for i in range(0, n, rack_size)]
    made += [hypernode(f"rack-{i}", 1, "Node", rack) for i, rack in enumerate(racks)]
    return [*made, hypernode("spine", 2, "HyperNode", [f"rack-{i}" for i in range(len(racks))])]


def hypernode(name: str, tier: int, kind: str, members: list[str]) -> Manifest:
    listed = [{"type": kind, "selector": {"exactMatch": {"name": member}}} for member in members]
    return {
        "apiVersion": "topology.volcano.sh/v1alpha1",
        "kind": "HyperNode",
        "metadata": {"name": name},
        "spec": {"tier": tier, "tierName": f"tier-{tier}", "members": listed},
    }


def pod_spec(**more: Any) -> Manifest:
    term = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "b"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    return {
        "schedulerName": "volcano",
        "nodeSelector": {"disk": "fast"},
        "affinity": {"nodeAffinity": required},
        "containers": [{"name": "main", "resources": {"requests": {"cpu": "1", "nvidia.com/gpu": "2"}}}],
        **more,
    }


def task(name: str, replicas: int, **more: Any) -> Manifest:
    return {"name": name, "replicas": replicas, "template": {"spec": pod_spec()}, **more}


def job_spec() -> Manifest:
    return {
        "schedulerName": "volcano",
        "minAvailable": 4,
        "queue": "default",
        "networkTopology": dict(HARD),
        "tasks": [
            task("master", 1, minAvailable=1),
            task("worker", 3, minAvailable=3, dependsOn={"name": ["master"]}),
        ],
    }


def job(name: str = "train", uid: str = "", spec: Manifest | None = None, **metadata: Any) -> Manifest:
    found = {"name": name, "namespace": "default", **({"uid": uid} if uid else {}), **metadata}
    return {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": found, "spec": spec or job_spec()}


def pod(name: str, labels: Manifest | None = None, annotations: Manifest | None = None, **more: Any) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"pod-{name}",
            **({"labels": labels} if labels else {}),
            **({"annotations": annotations} if annotations else {}),
            **more,
        },
        "spec": pod_spec(),
        "status": {"phase": "Pending"},
    }


def with_objects(owner: Manifest) -> list[Manifest]:
    """A Job as a cluster stores it: with its PodGroup and its pods."""
    name, uid, spec = owner["metadata"]["name"], owner["metadata"]["uid"], owner["spec"]
    reference = {"apiVersion": owner["apiVersion"], "kind": "Job", "name": name, "uid": uid, "controller": True}
    group = f"{name}-{uid}"
    made = [
        owner,
        {
            "apiVersion": VOLCANO,
            "kind": "PodGroup",
            "metadata": {"name": group, "namespace": "default", "uid": f"pg-{name}", "ownerReferences": [reference]},
            "spec": {
                "minMember": 4,
                "queue": "default",
                "minTaskMember": {"master": 1, "worker": 3},
                "minResources": {"cpu": "4", "nvidia.com/gpu": "8"},
                "networkTopology": dict(spec["networkTopology"]),
            },
            "status": {"phase": "Inqueue"},
        },
    ]
    for one in spec["tasks"]:
        for i in range(one["replicas"]):
            labels = {"volcano.sh/job-name": name, "volcano.sh/task-spec": one["name"]}
            annotations = {"scheduling.k8s.io/group-name": group}
            made.append(pod(f"{name}-{one['name']}-{i}", labels, annotations, ownerReferences=[reference]))
    return made


def hyper_job() -> Manifest:
    spec = {"minAvailable": 2, "networkTopology": dict(HARD), "replicatedJobs": []}
    spec["replicatedJobs"] = [{"name": "a", "replicas": 2, "templateSpec": job_spec()}]
    metadata = {"name": "train", "namespace": "default", "uid": "hyper"}
    return {"apiVersion": "training.volcano.sh/v1alpha1", "kind": "HyperJob", "metadata": metadata, "spec": spec}


def _pod_group() -> list[Manifest]:
    spec = {
        "minMember": 4,
        "queue": "default",
        "minTaskMember": {"master": 1, "worker": 3},
        "minResources": {"cpu": "4", "nvidia.com/gpu": "8"},
        "networkTopology": dict(HARD),
    }
    group = {"apiVersion": VOLCANO, "kind": "PodGroup", "metadata": {"name": "train", "uid": "pg"}, "spec": spec}
    annotations = {"scheduling.k8s.io/group-name": "train"}
    pods = [pod("train-master-0", {"volcano.sh/task-spec": "master"}, annotations)]
    pods += [pod(f"train-worker-{i}", {"volcano.sh/task-spec": "worker"}, annotations) for i in range(3)]
    return [group, *pods]


TOPOLOGY = {"volcano.sh/network-topology-mode": "hard", "volcano.sh/network-topology-highest-tier": "1"}


def _gang() -> list[Manifest]:
    annotations = {
        "gang.scheduling.koordinator.sh/name": "train",
        "gang.scheduling.koordinator.sh/min-available": "4",
        **TOPOLOGY,
    }
    return [pod(f"train-pod-{i}", annotations=dict(annotations)) for i in range(4)]


def _group_of_koordinator() -> list[Manifest]:
    """A PodGroup of Koordinator with pods that name it by its label."""
    group: Manifest = {
        "apiVersion": "scheduling.sigs.k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": "train", "namespace": "default"},
        "spec": {"minMember": 4},
    }
    labels = {"pod-group.scheduling.sigs.k8s.io": "train"}
    pods = [pod(f"train-pod-{i}", annotations=dict(TOPOLOGY)) for i in range(4)]
    return [group, *({**one, "metadata": {**one["metadata"], "labels": dict(labels)}} for one in pods)]


def _gpu_group() -> list[Manifest]:
    prefix = "gputopology.scheduling.koordinator.sh"
    labels = {f"{prefix}/name": "train", f"{prefix}/replica": "4"}
    return [{**one, "metadata": {**one["metadata"], "labels": dict(labels)}} for one in _gang()]


def deployment() -> Manifest:
    annotations = {"scheduling.volcano.sh/group-min-member": "4"}
    template = {"metadata": {"annotations": dict(TOPOLOGY)}, "spec": pod_spec()}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "train", "namespace": "default", "uid": "deploy", "annotations": annotations},
        "spec": {"replicas": 4, "template": template},
    }


def deployed(name: str = "train") -> list[Manifest]:
    """A Deployment with its ReplicaSet and its pods."""
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"{name}-7c9", "uid": "rs", "controller": True}
    replica_set = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": f"{name}-7c9", "namespace": "default", "uid": "rs"},
        "spec": {"replicas": 4},
    }
    pods = [pod(f"{name}-7c9-x{i}", annotations=dict(TOPOLOGY), ownerReferences=[owner]) for i in range(4)]
    return [deployment(), replica_set, *pods]


def _hyper_job_with_jobs() -> list[Manifest]:
    made = []
    for i in range(2):
        labels = {"volcano.sh/hyperjob-name": "train"}
        made += with_objects(job(f"train-a-{i}", f"{UID[:-1]}{i}", labels=labels))
    return [hyper_job(), *made]


def _hyper_job_of_the_document() -> list[Manifest]:
    """In the spelling of the design document, which a cluster does not store."""
    entry: Manifest = {
        "name": "a",
        "replicas": 2,
        "template": {"spec": {**job_spec(), "networkTopology": [dict(HARD)]}},
    }
    spec = {"minAvailable": 2, "networkTopology": [dict(HARD)], "jobs": [entry]}
    metadata = {"name": "train", "namespace": "default"}
    return [{"apiVersion": "topology.volcano.sh/v1alpha1", "kind": "HyperJob", "metadata": metadata, "spec": spec}]


FORMS: dict[str, Callable[[], list[Manifest]]] = {
    "Job": lambda: [job()],
    "Job with PodGroup and pods": lambda: with_objects(job(uid=UID)),
    "PodGroup": _pod_group,
    "Gang": _gang,
    "PodGroup of Koordinator": _group_of_koordinator,
    "GpuGroup": _gpu_group,
    "Deployment": lambda: [deployment()],
    "Deployment with pods": deployed,
    "Pod": lambda: [pod("train", annotations=dict(TOPOLOGY))],
    "HyperJob": lambda: [hyper_job()],
    "HyperJob with Jobs": _hyper_job_with_jobs,
    "HyperJob of the document": _hyper_job_of_the_document,
    "List": lambda: [{"apiVersion": "v1", "kind": "List", "items": with_objects(job(uid=UID))}],
}


def started(manifests: list[Manifest], where: dict[str, str] | None = None) -> list[Manifest]:
    """The manifests with their pods on nodes: pod by pod on n0, n1, ... or where `where` says."""
    count = 0
    for one in manifests:
        if one["kind"] == "Pod":
            name = one["metadata"]["name"]
            one["spec"] = {**one["spec"], "nodeName": where[name] if where else f"n{count % 4}"}
            one["status"] = {"phase": "Running"}
            count += 1
    return manifests
