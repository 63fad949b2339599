"""`KueueSession`: workloads that waited in the queues of a real Kueue, and what its cycles gave to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any

from workbench.formats.recorded_moment import Json, RecordedMoment, RecordedSession, container, created, read_items
from workbench.model.gang import Gang
from workbench.model.labels import HOSTNAME_LABEL

__all__ = ["KUEUE_PARTS", "KueueSession"]

#: What a session was given, with the types of its parts.
KUEUE_PARTS = {
    **dict.fromkeys(("gates", "topologies", "check_kinds"), dict),
    **dict.fromkeys(("nodes", "pods", "flavors", "cluster_queues", "workloads"), list),
}

_VERSION = "kueue.x-k8s.io/v1beta2"

#: Feature gates of Kueue that are parameters of its twin.
_SETTINGS = {
    "TASBalancedPlacement": "balanced",
    "TASProfileMixed": "profile_mixed",
    "TASRespectNodeAffinityPreferred": "affinity_preferred",
    "TASRecomputeAssignmentWithinSchedulingCycle": "recompute",
}


@dataclass(frozen=True)
class KueueSession(RecordedSession):
    """Workloads that were there when Kueue began, and the cycles that followed; nobody came or finished meanwhile.

    Attributes
    ----------
    given : mapping
        Nodes, pods, topologies, flavors, queues and workloads; ``gates`` are feature gates with other values than by
        default.
    cycles : sequence of mapping
        What each cycle admitted.
    """

    name: str
    given: Json
    cycles: Sequence[Json]

    release = "0.19"

    @property
    def twin(self) -> str:
        return "kueue-0.19"

    @property
    def settings(self) -> Mapping[str, Any]:
        gates = self.given["gates"]
        return {name: gates[gate] for gate, name in _SETTINGS.items() if gate in gates}

    def _moments(self) -> Iterator[RecordedMoment]:
        scenario = read_items(_objects(self.given))
        admitted = {key: one for cycle in self.cycles for key, one in cycle["admitted"].items()}
        hosts = {node["labels"].get(HOSTNAME_LABEL, node["name"]): node["name"] for node in self.given["nodes"]}
        nodes = {at: _nodes(gang, admitted.get(gang.key), hosts) for at, gang in enumerate(scenario.gangs)}
        yield RecordedMoment(scenario, nodes)


def _nodes(gang: Gang, admission: Json | None, hosts: Mapping[str, str]) -> dict[str, str | None]:
    """Node of each pod; of a pod set that Kueue gave domains above the nodes, or none, the name of what it gave."""
    given: dict[str, Iterator[str]] = {}
    for one in admission["pod_sets"] if admission is not None else ():
        assignment = one["assignment"]
        if assignment is None:
            given[one["name"]] = repeat("flavor " + "/".join(sorted(set(one["flavors"].values()))), one["count"])
            continue
        places = (
            repeat(hosts.get(each["values"][-1], each["values"][-1]), each["count"]) for each in assignment["domains"]
        )
        given[one["name"]] = chain.from_iterable(list(places))
    return {pod.name: next(given.get(pod.role.name, iter(())), None) for pod in gang.pods()}


def _objects(given: Json) -> Iterator[Json]:
    for node in given["nodes"]:
        ready = {"type": "Ready", "status": "True" if node["ready"] else "False"}
        spec = {"taints": node["taints"], "unschedulable": node["unschedulable"]}
        status = {"allocatable": node["allocatable"], "conditions": [ready]}
        yield _made("v1", "Node", node["name"], spec, labels=node["labels"]) | {"status": status}
    for pod in given["pods"]:
        spec = {"nodeName": pod["node"], "containers": [container("c", pod["requests"])]}
        metadata = {"name": pod["name"].rpartition("/")[2], "namespace": "recorded"}
        yield {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": pod["phase"]}}
    for name, levels in given["topologies"].items():
        yield _made(_VERSION, "Topology", name, {"levels": [{"nodeLabel": level} for level in levels]})
    for flavor in given["flavors"]:
        spec = {
            "nodeLabels": flavor["node_labels"],
            "tolerations": flavor["tolerations"],
            "nodeTaints": flavor["taints"],
        }
        yield _made(_VERSION, "ResourceFlavor", flavor["name"], {**spec, "topologyName": flavor["topology"] or ""})
    for name, kind in given["check_kinds"].items():
        controller = "kueue.x-k8s.io/provisioning-request" if kind == "provisioning" else kind
        yield _made(_VERSION, "AdmissionCheck", name, {"controllerName": controller})
    for queue in given["cluster_queues"]:
        yield _made(_VERSION, "ClusterQueue", queue["name"], _queue(queue))
        for namespace in sorted({one["name"].partition("/")[0] for one in given["workloads"]}):
            local = _made(_VERSION, "LocalQueue", queue["name"], {"clusterQueue": queue["name"]})
            yield local | {"metadata": {"name": queue["name"], "namespace": namespace}}
    for workload in given["workloads"]:
        yield _workload(workload)


def _made(version: str, kind: str, name: str, spec: Json, **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, **metadata}, "spec": spec}


def _queue(queue: Json) -> Json:
    groups = []
    for group in queue["groups"]:
        names = list(group[0]["quotas"])
        flavors = [
            {"name": each["flavor"], "resources": [_quota(name, each["quotas"][name]) for name in names]}
            for each in group
        ]
        groups.append({"coveredResources": names, "flavors": flavors})
    preemption: dict[str, Any] = {
        "withinClusterQueue": queue["within_queue"],
        "reclaimWithinCohort": queue["reclaim_in_cohort"],
    }
    if queue["borrow_preempt_max_priority"] is not None:
        threshold = queue["borrow_preempt_max_priority"]
        preemption["borrowWithinCohort"] = {"policy": "LowerPriority", "maxPriorityThreshold": threshold}
    checks = [{"name": each["name"], "onFlavors": each["flavors"]} for each in queue["checks"]]
    return {
        "cohortName": queue["cohort"] or "",
        "resourceGroups": groups,
        "preemption": preemption,
        "admissionChecksStrategy": {"admissionChecks": checks},
    }


def _quota(name: str, quota: Json) -> Json:
    limits = {"borrowingLimit": quota["borrowing_limit"], "lendingLimit": quota["lending_limit"]}
    given = {key: value for key, value in limits.items() if value is not None}
    return {"name": name, "nominalQuota": quota["nominal"], **given}


def _workload(workload: Json) -> Json:
    namespace, _, name = workload["name"].partition("/")
    made = created(int(workload["created"]))
    metadata = {"name": name, "namespace": namespace, "creationTimestamp": made, "uid": workload["uid"]}
    spec = {
        "queueName": workload["cluster_queue"],
        "priority": workload["priority"],
        "podSets": [_pod_set(each) for each in workload["pod_sets"]],
    }
    return {"apiVersion": _VERSION, "kind": "Workload", "metadata": metadata, "spec": spec}


def _pod_set(given: Json) -> Json:
    spec: dict[str, Any] = {
        "containers": [container("c", given["requests"])],
        "nodeSelector": given["node_selector"],
        "tolerations": given["tolerations"],
    }
    if given["node_affinity"]:
        spec["affinity"] = {"nodeAffinity": _affinity(given["node_affinity"])}
    made = {"name": given["name"], "count": given["count"], "template": {"spec": spec}}
    if given["min_count"] is not None:
        made["minCount"] = given["min_count"]
    asked = given["topology"]
    request: dict[str, Any] = {"podSetGroupName": given["group"]} if given["group"] else {}
    if asked is not None:
        request |= {key: asked[key] for key in ("required", "preferred", "unconstrained") if asked[key] is not None}
        layers = [{"topology": layer["level"], "size": layer["size"]} for layer in asked["slices"]]
        request |= {"podsetSliceRequiredTopologyConstraints": layers} if layers else {}
    return made | ({"topologyRequest": request} if asked is not None or request else {})


def _affinity(given: Json) -> Json:
    required = [{"matchExpressions": term} for term in given["required"]]
    preferred = [
        {"weight": each["weight"], "preference": {"matchExpressions": each["match"]}} for each in given["preferred"]
    ]
    found: dict[str, Any] = {"preferredDuringSchedulingIgnoredDuringExecution": preferred}
    if required:
        found["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": required}
    return found
