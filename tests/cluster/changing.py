"""Random changes of a small cluster's manifests, and the comparison of a followed state with a rebuild."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from tests.survival import differences
from workbench.cluster.assemble import assemble
from workbench.cluster.changes import ObjectChange, read_change
from workbench.cluster.state import ClusterState
from workbench.errors import InputError
from workbench.model.bandwidth import BandwidthMatrix
from workbench.model.running_index import RunningIndex
from workbench.objects.admission.gpu_group import GPU_GROUP_NAME_LABEL, GPU_GROUP_REPLICA_LABEL
from workbench.objects.device import device_manifest

# Names sort otherwise than their numbers, and "a-b" comes before "a/".
NODES = ["n0", "n1", "n10", "n2", "n3", "z"]
HYPERNODES = ["h0", "h1", "h2", "top"]
NAMESPACES = ["a", "a-b"]
OWNERS = ["x", "y", "x-0-0-0-0-1"]
PODS = ["p0", "p1", "p10", "p2", "x", "x-t-0", "x-t-1"]
MATRIX = BandwidthMatrix([[0, 1, 2, 3], [1, 0, 4, 5], [2, 4, 0, 6], [3, 5, 6, 0]], source="m")

AMOUNTS = [
    {},
    {"cpu": "8", "memory": "1Gi", "pods": "10", "nvidia.com/gpu": "4"},
    {"cpu": "16", "memory": "1Gi", "pods": "10", "nvidia.com/gpu": "4"},
    {"cpu": "8", "memory": "1Gi", "nvidia.com/gpu": "8"},
    {"cpu": "8", "example.com/nic": "2", "amd.com/gpu": "70"},
]

_node = st.sampled_from(NODES)
_owner = st.sampled_from(OWNERS)
_faulty = st.sampled_from(
    [
        {},
        {},
        {"huawei.com/npu-Unhealthy": ""},
        {"huawei.com/npu-Unhealthy": "npu-1", "huawei.com/npu-NetworkUnhealthy": "9"},
    ]
)


def _maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy


def _labels(**entries: list[str]) -> st.SearchStrategy[dict[str, str]]:
    return st.dictionaries(st.sampled_from(sorted(entries)), st.integers(0, 1), max_size=2).map(
        lambda chosen: {key: entries[key][i % len(entries[key])] for key, i in chosen.items()}
    )


def _manifest(version: str, kind: str, metadata: dict[str, Any], **parts: Any) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **parts}


@st.composite
def nodes(draw: st.DrawFn) -> dict[str, Any]:
    spec = {
        "unschedulable": draw(st.booleans()),
        "taints": draw(st.sampled_from([[], [{"key": "k", "effect": "NoSchedule"}]])),
    }
    status = {
        "allocatable": draw(st.sampled_from(AMOUNTS)),
        "addresses": draw(st.sampled_from([[], [{"type": "InternalIP", "address": "10.0.0.1"}]])),
    }
    status["conditions"] = [{"type": "Ready", "status": draw(st.sampled_from(["True", "True", "False", "Unknown"]))}]
    if draw(st.integers(0, 3)) == 0:
        status["capacity"] = {"nvidia.com/gpu": "8"}
    labels = draw(_labels(rack=["r0", "r1"], zone=["z0", "z1"], arch=["x", "y"]))
    metadata = {"name": draw(_node), "labels": labels, "annotations": draw(_faulty)}
    return _manifest("v1", "Node", metadata, spec=spec, status=status)


@st.composite
def device_infos(draw: st.DrawFn) -> dict[str, Any]:
    metadata = {"name": f"mindx-dl-deviceinfo-{draw(_node)}", "namespace": "kube-system"}
    text = json.dumps({"DeviceInfo": {"DeviceList": draw(_faulty)}})
    return _manifest("v1", "ConfigMap", metadata, data={"DeviceInfoCfg": text})


_selectors = st.one_of(
    _node.map(lambda name: ("Node", {"exactMatch": {"name": name}})),
    st.sampled_from(["n[01]", "n", "2$"]).map(lambda p: ("Node", {"regexMatch": {"pattern": p}})),
    st.sampled_from(["r0", "r1"]).map(lambda r: ("Node", {"labelMatch": {"matchLabels": {"rack": r}}})),
    st.sampled_from(HYPERNODES).map(lambda name: ("HyperNode", {"exactMatch": {"name": name}})),
)


@st.composite
def hypernodes(draw: st.DrawFn) -> dict[str, Any]:
    members = [{"type": kind, "selector": selector} for kind, selector in draw(st.lists(_selectors, max_size=3))]
    labels = draw(_labels(note=["1", "2"]))
    metadata = {"name": draw(st.sampled_from(HYPERNODES)), "labels": labels}
    spec = {"tier": draw(st.integers(1, 3)), "members": members}
    return _manifest("topology.volcano.sh/v1alpha1", "HyperNode", metadata, spec=spec)


@st.composite
def devices(draw: st.DrawFn) -> dict[str, Any]:
    matrix = draw(_maybe(st.just(MATRIX)))
    return device_manifest(draw(_node), range(4), matrix, unhealthy=draw(st.sampled_from([(), (1,), (0, 1, 2, 3)])))


#: Owner references of what top owners make, and labels that their controllers write.
_OWNERS = [
    ("Job", "x", "batch/v1"),
    ("Job", "y", "batch/v1"),
    ("StatefulSet", "y", "apps/v1"),
    ("RayCluster", "y", "ray.io/v1"),
]
_OWNED: list[dict[str, str]] = [
    {"jobset.sigs.k8s.io/jobset-name": "x", "jobset.sigs.k8s.io/replicatedjob-name": "w"},
    {"leaderworkerset.sigs.k8s.io/name": "x", "leaderworkerset.sigs.k8s.io/group-index": "0"},
    {"leaderworkerset.sigs.k8s.io/name": "x", "leaderworkerset.sigs.k8s.io/group-index": "7"},
    {"training.kubeflow.org/job-name": "x", "training.kubeflow.org/replica-type": "worker"},
    {"ray.io/cluster": "y", "ray.io/group": "g"},
]


@st.composite
def top_owners(draw: st.DrawFn) -> dict[str, Any]:
    count = draw(st.integers(0, 2))
    template = _template(draw)
    job = {"parallelism": count, "completions": 2, "template": template}
    ray = {"headGroupSpec": {"template": template}, "workerGroupSpecs": [{"groupName": "g", "replicas": count}]}
    ray["workerGroupSpecs"][0]["template"] = template
    version, kind, spec = draw(
        st.sampled_from(
            [
                ("batch/v1", "Job", job),
                ("batch/v1", "Job", job),
                (
                    "jobset.x-k8s.io/v1alpha2",
                    "JobSet",
                    {"replicatedJobs": [{"name": "w", "replicas": count, "template": {"spec": job}}]},
                ),
                (
                    "leaderworkerset.x-k8s.io/v1",
                    "LeaderWorkerSet",
                    {"replicas": count, "leaderWorkerTemplate": {"size": 2, "workerTemplate": template}},
                ),
                ("ray.io/v1", "RayCluster", ray),
                ("ray.io/v1", "RayJob", {"rayClusterSpec": ray}),
                (
                    "kubeflow.org/v1",
                    "PyTorchJob",
                    {"pytorchReplicaSpecs": {"Worker": {"replicas": count, "template": template}}},
                ),
            ]
        )
    )
    metadata = {"name": draw(st.sampled_from(["x", "y"])), "namespace": draw(st.sampled_from(NAMESPACES))}
    owner = draw(_maybe(st.sampled_from([("JobSet", "x", "jobset.x-k8s.io/v1alpha2"), ("RayJob", "x", "ray.io/v1")])))
    if owner:
        reference = {"kind": owner[0], "name": owner[1], "apiVersion": owner[2], "controller": True}
        metadata["ownerReferences"] = [reference]
    status = draw(st.sampled_from([{}, {}, {"conditions": [{"type": "Failed", "status": "True"}]}]))
    return _manifest(version, kind, metadata, spec=spec, status=status)


@st.composite
def stateful_sets(draw: st.DrawFn) -> dict[str, Any]:
    labels = draw(st.sampled_from([{}, {"leaderworkerset.sigs.k8s.io/name": "x"}]))
    metadata = {"name": "y", "namespace": draw(st.sampled_from(NAMESPACES)), "labels": labels}
    spec = {"replicas": draw(st.integers(0, 2)), "selector": {}, "template": _template(draw)}
    return _manifest("apps/v1", "StatefulSet", metadata, spec=spec)


@st.composite
def pods(draw: st.DrawFn) -> dict[str, Any]:
    labels = draw(
        _labels(
            **{
                "volcano.sh/job-name": ["x", "h-m-0"],
                "volcano.sh/task-spec": ["t", "u"],
                "pod-group.scheduling.sigs.k8s.io": ["x", "g"],
                "tor-affinity": ["large-model-schema", "normal-schema"],
                "kueue.x-k8s.io/queue-name": ["q"],
                "kueue.x-k8s.io/podset": ["main"],
            }
        )
    )
    if draw(st.integers(0, 3)) == 0:
        labels |= {GPU_GROUP_NAME_LABEL: "x", GPU_GROUP_REPLICA_LABEL: draw(st.sampled_from(["2", "3"]))}
    annotations = draw(
        _labels(
            **{
                "scheduling.k8s.io/group-name": ["x", "y"],
                "gang.scheduling.koordinator.sh/name": ["x", "g"],
                "topology.scheduling.koordinator.sh/gpu": [
                    '{"allocatedGPUs": {"c": [0, 1]}}',
                    '{"allocatedGPUs": {"c": [1, 9]}}',
                ],
                "volcano.sh/task-spec": ["t"],
                "kueue.x-k8s.io/workload": ["q", "x"],
            }
        )
    )
    metadata: dict[str, Any] = {
        "name": draw(st.sampled_from(PODS)),
        "namespace": draw(st.sampled_from(NAMESPACES)),
        "labels": labels,
        "annotations": annotations,
    }
    owner = draw(_maybe(st.sampled_from([("Job", "x"), ("ReplicaSet", "x-1"), ("ReplicaSet", "y-1"), *_OWNERS])))
    if owner:
        kind, name, *version = owner
        metadata["ownerReferences"] = [{"kind": kind, "name": name, "controller": True}]
        metadata["ownerReferences"][0] |= {"apiVersion": version[0]} if version else {}
    labels |= draw(st.sampled_from([{}, {}, *_OWNED]))
    if draw(st.integers(0, 3)) == 0:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    requests = draw(st.sampled_from([{}, {"cpu": "1"}, {"cpu": "2", "nvidia.com/gpu": "2"}, {"nvidia.com/gpu": "3"}]))
    spec: dict[str, Any] = {"containers": [{"name": "c", "resources": {"requests": requests, "limits": requests}}]}
    node = draw(_maybe(st.sampled_from([*NODES, "elsewhere"])))
    if node:
        spec["nodeName"] = node
    spec |= draw(
        st.sampled_from(
            [
                {},
                {},
                {"schedulerName": "other"},
                {"schedulerName": "other", "schedulingGroup": {"podGroupName": "k"}},
                {"schedulingGroup": {"podGroupName": "x"}},
                {"schedulingGates": [{"name": "example.com/wait"}]},
                {"schedulingGates": [{"name": "kueue.x-k8s.io/topology"}]},
                {"priorityClassName": "high"},
                {"hostname": "not a name"},
            ]
        )
    )
    phase = draw(st.sampled_from(["Pending", "Running", "Running", "Succeeded", "Failed"]))
    return _manifest("v1", "Pod", metadata, spec=spec, status={"phase": phase})


@st.composite
def pod_groups(draw: st.DrawFn) -> dict[str, Any]:
    if draw(st.integers(0, 2)) == 0:
        named = {"name": draw(st.sampled_from(["x", "g"])), "namespace": draw(st.sampled_from(NAMESPACES))}
        minimum = {"minMember": draw(st.integers(0, 3))}
        return _manifest("scheduling.sigs.k8s.io/v1alpha1", "PodGroup", named, spec=minimum)
    metadata: dict[str, Any] = {"name": draw(_owner), "namespace": draw(st.sampled_from(NAMESPACES))}
    owner = draw(_maybe(_owner))
    if owner:
        metadata["ownerReferences"] = [{"kind": "Job", "name": owner, "controller": True}]
    spec: dict[str, Any] = {"minMember": draw(st.integers(0, 3)), "queue": draw(st.sampled_from(["q", "default"]))}
    if draw(st.booleans()):
        spec["networkTopology"] = {"mode": "hard", "highestTierAllowed": draw(st.integers(1, 2))}
    phase = draw(st.sampled_from(["Pending", "Inqueue", "Running"]))
    return _manifest("scheduling.volcano.sh/v1beta1", "PodGroup", metadata, spec=spec, status={"phase": phase})


def _template(draw: st.DrawFn) -> dict[str, Any]:
    container = {"name": "c", "image": "i", "resources": {"limits": {"nvidia.com/gpu": draw(st.integers(1, 2))}}}
    spec: dict[str, Any] = {"containers": [container]}
    scheduler = draw(_maybe(st.just("other")))
    if scheduler:
        spec["schedulerName"] = scheduler
    return {
        "metadata": {"labels": draw(_labels(**{"tor-affinity": ["large-model-schema"], "framework": ["Mpi"]}))},
        "spec": spec,
    }


@st.composite
def jobs(draw: st.DrawFn) -> dict[str, Any]:
    metadata = {
        "name": draw(st.sampled_from(["x", "y", "h-m-0"])),
        "namespace": draw(st.sampled_from(NAMESPACES)),
        "labels": draw(_labels(**{"volcano.sh/hyperjob-name": ["h"]})),
        "uid": draw(st.sampled_from(["0-0-0-0-1", "0-0-0-0-2"])),
    }
    tasks = [{"name": "t", "replicas": draw(st.integers(0, 3)), "template": _template(draw)}]
    spec = {"tasks": tasks, "queue": draw(st.sampled_from(["q", "r"])), "minAvailable": draw(st.integers(0, 4))}
    return _manifest("batch.volcano.sh/v1alpha1", "Job", metadata, spec=spec)


@st.composite
def hyper_jobs(draw: st.DrawFn) -> dict[str, Any]:
    tasks = [{"name": "t", "replicas": draw(st.integers(0, 2)), "template": _template(draw)}]
    replicas = draw(st.integers(0, 2))
    members = [{"name": "m", "replicas": replicas, "templateSpec": {"tasks": tasks}}]
    spec: dict[str, Any] = {"replicatedJobs": members, "minAvailable": draw(st.integers(0, 2))}
    if draw(st.booleans()):
        spec["networkTopology"] = {"mode": "soft"}
    metadata = {"name": "h", "namespace": draw(st.sampled_from(NAMESPACES))}
    status = draw(st.sampled_from([{}, {}, {"conditions": [{"type": "Completed", "status": "True"}]}]))
    return _manifest("training.volcano.sh/v1alpha1", "HyperJob", metadata, spec=spec, status=status)


@st.composite
def deployments(draw: st.DrawFn) -> dict[str, Any]:
    annotations = draw(_labels(**{"scheduling.volcano.sh/group-min-member": ["2", "two"]}))
    metadata = {
        "name": draw(_owner),
        "namespace": draw(st.sampled_from(NAMESPACES)),
        "annotations": annotations,
    }
    spec = {"replicas": draw(st.integers(0, 2)), "selector": {}, "template": _template(draw)}
    return _manifest("apps/v1", "Deployment", metadata, spec=spec)


@st.composite
def settings_of_cluster(draw: st.DrawFn) -> dict[str, Any]:
    if draw(st.booleans()):
        spec = {"weight": draw(st.integers(1, 2))}
        name = draw(st.sampled_from(["q", "default"]))
        return _manifest("scheduling.volcano.sh/v1beta1", "Queue", {"name": name}, spec=spec)
    name, value = draw(st.sampled_from(["high", "low"])), draw(st.integers(0, 2))
    return _manifest(
        "scheduling.k8s.io/v1", "PriorityClass", {"name": name}, value=value, globalDefault=draw(st.booleans())
    )


@st.composite
def of_kueue(draw: st.DrawFn) -> dict[str, Any]:
    """Parts of a cluster with Kueue, and Workloads that wait or hold quota."""
    name, namespace = draw(st.sampled_from(["q", "x"])), draw(st.sampled_from(NAMESPACES))
    levels = [
        {"nodeLabel": key} for key in draw(st.sampled_from([["zone"], ["rack"], ["zone", "rack"], ["zone", "zone"]]))
    ]
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    pod_set = {"name": "main", "count": draw(st.integers(1, 2)), "template": {"spec": {"containers": [container]}}}
    admission = {
        "clusterQueue": "q",
        "podSetAssignments": [
            {
                "name": "main",
                "count": 1,
                "flavors": {"cpu": "x"},
                "topologyAssignment": {
                    "levels": ["kubernetes.io/hostname"],
                    "domains": [{"values": [draw(_node)], "count": 1}],
                },
            }
        ],
    }
    holds = [{"type": kind, "status": "True"} for kind in ("QuotaReserved", "Admitted")]
    kind, version, spec = draw(
        st.sampled_from(
            [
                ("Topology", "kueue.x-k8s.io/v1beta2", {"levels": [one for one in levels if levels.count(one) == 1]}),
                ("Topology", "kai.scheduler/v1alpha1", {"levels": levels[:1]}),
                ("ResourceFlavor", "kueue.x-k8s.io/v1beta2", {"topologyName": name, "nodeLabels": {"zone": "z0"}}),
                ("LocalQueue", "kueue.x-k8s.io/v1beta2", {"clusterQueue": name}),
                ("Cohort", "kueue.x-k8s.io/v1beta2", {"parentName": name}),
                ("Workload", "kueue.x-k8s.io/v1beta2", {"queueName": name, "podSets": [pod_set]}),
            ]
        )
    )
    metadata = {"name": name}
    parts: dict[str, Any] = {}
    if kind in ("LocalQueue", "Workload"):
        metadata["namespace"] = namespace
    if kind == "Workload":
        parts["status"] = draw(st.sampled_from([{}, {"admission": admission, "conditions": holds}]))
    if kind == "Topology" and not spec["levels"]:
        spec = {"levels": levels[:1]}
    return _manifest(version, kind, metadata, spec=spec, **parts)


@st.composite
def kube_groups(draw: st.DrawFn) -> dict[str, Any]:
    metadata = {"name": draw(st.sampled_from(["x", "k"])), "namespace": draw(st.sampled_from(NAMESPACES))}
    spec: dict[str, Any] = {"parentCompositePodGroupName": draw(st.sampled_from(["", "x"]))}
    if draw(st.integers(0, 2)) == 0:
        spec["schedulingPolicy"] = {"gang": {"minGroupCount": draw(st.integers(1, 2))}}
        return _manifest("scheduling.k8s.io/v1alpha3", "CompositePodGroup", metadata, spec=spec)
    spec["schedulingPolicy"] = draw(st.sampled_from([{"basic": {}}, {"gang": {"minCount": 2}}]))
    return _manifest("scheduling.k8s.io/v1beta1", "PodGroup", metadata, spec=spec)


_MANIFESTS = st.one_of(
    of_kueue(),
    kube_groups(),
    nodes(),
    nodes(),
    hypernodes(),
    devices(),
    device_infos(),
    pods(),
    pods(),
    pods(),
    pod_groups(),
    jobs(),
    hyper_jobs(),
    deployments(),
    stateful_sets(),
    top_owners(),
    top_owners(),
    settings_of_cluster(),
)


def _change(manifest: dict[str, Any], gone: bool, identity: dict[str, str]) -> ObjectChange:
    change = read_change({**manifest, "metadata": {**identity, **manifest["metadata"]}}, gone=gone)
    assert change is not None
    return change


#: One change; a third of them delete.
changes = st.builds(
    _change,
    _MANIFESTS,
    st.sampled_from([False, False, True]),
    st.sampled_from([{}, {"uid": "u1", "resourceVersion": "1"}, {"uid": "u2", "resourceVersion": "2"}]),
)


_INDEX = ("gangs", "queues", "terminating", "assuming")


def compare_with_rebuild(state: ClusterState, matrices: Any = (), **settings: Any) -> list[str]:
    """Where the snapshot and the workload of a state differ from those of its objects, read as a whole."""
    try:
        snapshot, workload = assemble(state.objects, matrices, state.source, **settings)
    except InputError as error:
        try:
            _ = state.snapshot
        except InputError as again:
            return [] if str(again) == str(error) else [f"{again} and {error}"]
        return [f"no error, but {error}"]
    ours = state.workload
    found = list(differences(state.snapshot, snapshot, "snapshot"))
    for name in ("gangs", "refused", "holding", "gated", "notes"):
        found += differences(getattr(ours, name), getattr(workload, name), name)
    kept, anew = state.snapshot.running_index, RunningIndex.read(snapshot.running)
    found += [f"index.{name}" for name in _INDEX if getattr(kept, name) != getattr(anew, name)]
    # The order of these two says nothing.
    found += [name for name in ("queues", "labels") if getattr(ours, name) != getattr(workload, name)]
    return found
