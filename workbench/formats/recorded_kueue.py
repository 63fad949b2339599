"""`KueueSession`: workloads that waited in the queues of a real Kueue, and what its cycles gave to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any

from workbench.formats.recorded_fields import (
    AMOUNTS,
    COUNT,
    FLAG,
    MAPPING,
    NAME,
    NUMBER,
    QUANTITY,
    SECOND,
    TEXT,
    TEXTS,
    by_name,
    either,
    fields,
    items,
)
from workbench.formats.recorded_moment import (
    Json,
    Record,
    RecordedMoment,
    RecordedSession,
    container,
    created,
    read_items,
)
from workbench.model.counted import name_list
from workbench.model.gang import Gang
from workbench.model.labels import HOSTNAME_LABEL

__all__ = ["KueueSession"]

_NODE = fields(name=NAME, labels=TEXTS, allocatable=AMOUNTS, taints=items(MAPPING), ready=FLAG, unschedulable=FLAG)
_POD = fields(("node",), name=NAME, node=TEXT, phase=TEXT, requests=AMOUNTS)
_FLAVOR = fields(
    ("topology",), name=NAME, topology=TEXT, node_labels=TEXTS, tolerations=items(MAPPING), taints=items(MAPPING)
)
_QUOTA = fields(
    ("borrowing_limit", "lending_limit"), nominal=QUANTITY, borrowing_limit=QUANTITY, lending_limit=QUANTITY
)
_QUEUE = fields(
    ("cohort", "borrow_preempt_max_priority"),
    name=NAME,
    cohort=TEXT,
    groups=items(items(fields(flavor=NAME, quotas=by_name(_QUOTA)), least=1)),
    within_queue=TEXT,
    reclaim_in_cohort=TEXT,
    borrow_preempt_max_priority=NUMBER,
    checks=items(fields(name=NAME, flavors=items(NAME))),
)
_REQUEST = fields(
    ("required", "preferred", "unconstrained"),
    required=TEXT,
    preferred=TEXT,
    unconstrained=FLAG,
    slices=items(fields(level=TEXT, size=NUMBER)),
)
_AFFINITY = fields(required=items(items(MAPPING)), preferred=items(fields(weight=NUMBER, match=items(MAPPING))))
_POD_SET = fields(
    ("topology", "group", "node_affinity", "min_count"),
    name=NAME,
    count=COUNT,
    requests=AMOUNTS,
    topology=_REQUEST,
    group=TEXT,
    node_selector=TEXTS,
    tolerations=items(MAPPING),
    node_affinity=_AFFINITY,
    min_count=COUNT,
)
_WORKLOAD = fields(
    ("created",),
    name=NAME,
    cluster_queue=TEXT,
    priority=NUMBER,
    created=SECOND,
    uid=NAME,
    pod_sets=items(_POD_SET),
)

#: What a session was given.
_GIVEN = fields(
    ("op",),
    op=either("schedule"),
    gates=by_name(FLAG),
    topologies=by_name(items(NAME)),
    nodes=items(_NODE),
    pods=items(_POD),
    flavors=items(_FLAVOR),
    cluster_queues=items(_QUEUE),
    check_kinds=by_name(NAME),
    workloads=items(_WORKLOAD),
)

_ASSIGNMENT = fields(levels=items(NAME), domains=items(fields(values=items(TEXT, least=1), count=COUNT)))
_GIVEN_TO_SET = fields(("assignment",), name=NAME, flavors=TEXTS, count=COUNT, assignment=_ASSIGNMENT)
_ADMISSION = fields(pod_sets=items(_GIVEN_TO_SET))
#: What came out; each admission is looked at once its name is known.
_EXPECTED = fields(cycles=items(fields(admitted=by_name(MAPPING))))

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

    `given`: nodes, pods, topologies, flavors, queues and workloads; ``gates`` are feature gates with other values than
    by default. `cycles`: what each cycle admitted.
    """

    name: str
    given: Json
    cycles: Sequence[Json]
    record: Record

    release = "0.19"

    @classmethod
    def read(cls, name: str, given: Json, expected: Json, record: Record) -> KueueSession:
        """The session of a record, its input `given` and its answers `expected` checked; raises InputError."""
        _GIVEN(given, "input")
        _EXPECTED(expected, "expected")
        _check_given(given, record)
        _check_admitted(given, expected["cycles"], record)
        return cls(name, given, expected["cycles"], record)

    @property
    def twin(self) -> str:
        return "kueue-0.19"

    @property
    def settings(self) -> Mapping[str, Any]:
        gates = self.given["gates"]
        return {name: gates[gate] for gate, name in _SETTINGS.items() if gate in gates}

    def moments(self) -> Iterator[RecordedMoment]:
        scenario = read_items(_objects(self.given), self.record)
        admitted = {key: one for cycle in self.cycles for key, one in cycle["admitted"].items()}
        hosts = {node["labels"].get(HOSTNAME_LABEL, node["name"]): node["name"] for node in self.given["nodes"]}
        nodes = {at: _nodes(gang, admitted.get(gang.key), hosts) for at, gang in enumerate(scenario.gangs)}
        yield RecordedMoment(scenario, nodes)


def _nodes(gang: Gang, admission: Json | None, hosts: Mapping[str, str]) -> dict[str, str | None]:
    """Node of each pod; of a pod set that Kueue gave domains above the nodes, or none, the name of what it gave."""
    given: dict[str, Iterator[str]] = {}
    for one in admission["pod_sets"] if admission is not None else ():
        assignment = one.get("assignment")
        if assignment is None:
            given[one["name"]] = repeat("flavor " + "/".join(sorted(set(one["flavors"].values()))), one["count"])
            continue
        places = (
            repeat(hosts.get(each["values"][-1], each["values"][-1]), each["count"]) for each in assignment["domains"]
        )
        given[one["name"]] = chain.from_iterable(list(places))
    return {pod.name: next(given.get(pod.role.name, iter(())), None) for pod in gang.pods()}


def _check_given(given: Json, record: Record) -> None:
    """Raise InputError for names that stand twice and quotas that do not match; note names of what is not there."""
    nodes = {node["name"] for node in given["nodes"]}
    flavors = {flavor["name"] for flavor in given["flavors"]}
    queues = {queue["name"] for queue in given["cluster_queues"]}
    for part in ("nodes", "flavors", "cluster_queues", "workloads"):
        record.once((one["name"] for one in given[part]), f"input.{part}")
    for gate in given["gates"]:
        if gate not in _SETTINGS:
            record.note("a feature gate that changes nothing here", f"input.gates[{gate!r}]", gate)
    for i, pod in enumerate(given["pods"]):
        record.refer(pod.get("node"), nodes, "node", f"input.pods[{i}].node")
    for i, flavor in enumerate(given["flavors"]):
        record.refer(flavor.get("topology"), given["topologies"], "topology", f"input.flavors[{i}].topology")
    for i, queue in enumerate(given["cluster_queues"]):
        path = f"input.cluster_queues[{i}]"
        for k, group in enumerate(queue["groups"]):
            for m, each in enumerate(group):
                place = f"{path}.groups[{k}][{m}]"
                record.refer(each["flavor"], flavors, "flavor", f"{place}.flavor")
                if each["quotas"].keys() != group[0]["quotas"].keys():
                    message, names = "other resources than of the first flavor", [*group[0]["quotas"]]
                    got, expected = name_list([*each["quotas"]]), f"quotas for {name_list(names)}"
                    raise record.error(message, f"{place}.quotas", got or "none", expected)
        for k, check in enumerate(queue["checks"]):
            record.refer(check["name"], given["check_kinds"], "admission check", f"{path}.checks[{k}].name")
    for i, workload in enumerate(given["workloads"]):
        path = f"input.workloads[{i}]"
        if not all(workload["name"].partition("/")):
            raise record.error("no namespace", f"{path}.name", repr(workload["name"]), "NAMESPACE/NAME")
        record.refer(workload["cluster_queue"], queues, "ClusterQueue", f"{path}.cluster_queue")
        if workload.get("admission") is not None:
            what = "an admission before the first cycle, which is not replayed"
            record.note(what, f"{path}.admission", workload["name"])


def _check_admitted(given: Json, cycles: Sequence[Json], record: Record) -> None:
    """Raise InputError if Kueue's answer names what was not there, or an admission has another form."""
    sets = {one["name"]: {each["name"] for each in one["pod_sets"]} for one in given["workloads"]}
    hosts = {node["labels"].get(HOSTNAME_LABEL, node["name"]) for node in given["nodes"]}
    flavors = {flavor["name"] for flavor in given["flavors"]}
    for number, cycle in enumerate(cycles):
        for name, admission in cycle["admitted"].items():
            path = f"expected.cycles[{number}].admitted[{name!r}]"
            record.demand(name, sets, "workload", path)
            _ADMISSION(admission, path)
            for i, one in enumerate(admission["pod_sets"]):
                place = f"{path}.pod_sets[{i}]"
                record.demand(one["name"], sets[name], "pod set", f"{place}.name")
                for resource, flavor in one["flavors"].items():
                    record.demand(flavor, flavors, "flavor", f"{place}.flavors[{resource!r}]")
                assignment = one.get("assignment")
                if assignment is None or assignment["levels"][-1:] != [HOSTNAME_LABEL]:
                    continue
                for k, domain in enumerate(assignment["domains"]):
                    record.demand(domain["values"][-1], hosts, "node", f"{place}.assignment.domains[{k}].values")


def _objects(given: Json) -> Iterator[tuple[str, Json]]:
    """The manifests of what a session was given, each with the path of its field."""
    for i, node in enumerate(given["nodes"]):
        ready = {"type": "Ready", "status": "True" if node["ready"] else "False"}
        spec = {"taints": node["taints"], "unschedulable": node["unschedulable"]}
        status = {"allocatable": node["allocatable"], "conditions": [ready]}
        made = _made("v1", "Node", node["name"], spec, labels=node["labels"]) | {"status": status}
        yield f"input.nodes[{i}]", made
    for i, pod in enumerate(given["pods"]):
        spec = {"nodeName": pod.get("node") or "", "containers": [container("c", pod["requests"])]}
        made = _made("v1", "Pod", pod["name"].rpartition("/")[2], spec, namespace="recorded")
        yield f"input.pods[{i}]", made | {"status": {"phase": pod["phase"]}}
    for name, levels in given["topologies"].items():
        spec = {"levels": [{"nodeLabel": level} for level in levels]}
        yield f"input.topologies[{name!r}]", _made(_VERSION, "Topology", name, spec)
    for i, flavor in enumerate(given["flavors"]):
        spec = {
            "nodeLabels": flavor["node_labels"],
            "tolerations": flavor["tolerations"],
            "nodeTaints": flavor["taints"],
            "topologyName": flavor.get("topology") or "",
        }
        yield f"input.flavors[{i}]", _made(_VERSION, "ResourceFlavor", flavor["name"], spec)
    for name, kind in given["check_kinds"].items():
        controller = "kueue.x-k8s.io/provisioning-request" if kind == "provisioning" else kind
        yield f"input.check_kinds[{name!r}]", _made(_VERSION, "AdmissionCheck", name, {"controllerName": controller})
    namespaces = sorted({one["name"].partition("/")[0] for one in given["workloads"]})
    for i, queue in enumerate(given["cluster_queues"]):
        path, name = f"input.cluster_queues[{i}]", queue["name"]
        yield path, _made(_VERSION, "ClusterQueue", name, _queue(queue))
        for namespace in namespaces:
            yield path, _made(_VERSION, "LocalQueue", name, {"clusterQueue": name}, namespace=namespace)
    for i, workload in enumerate(given["workloads"]):
        yield f"input.workloads[{i}]", _workload(workload)


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
    threshold = queue.get("borrow_preempt_max_priority")
    if threshold is not None:
        preemption["borrowWithinCohort"] = {"policy": "LowerPriority", "maxPriorityThreshold": threshold}
    checks = [{"name": each["name"], "onFlavors": each["flavors"]} for each in queue["checks"]]
    return {
        "cohortName": queue.get("cohort") or "",
        "resourceGroups": groups,
        "preemption": preemption,
        "admissionChecksStrategy": {"admissionChecks": checks},
    }


def _quota(name: str, quota: Json) -> Json:
    limits = {"borrowingLimit": quota.get("borrowing_limit"), "lendingLimit": quota.get("lending_limit")}
    given = {key: value for key, value in limits.items() if value is not None}
    return {"name": name, "nominalQuota": quota["nominal"], **given}


def _workload(workload: Json) -> Json:
    namespace, _, name = workload["name"].partition("/")
    made = created(workload.get("created") or 0)
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
    if given.get("node_affinity"):
        spec["affinity"] = {"nodeAffinity": _affinity(given["node_affinity"])}
    made = {"name": given["name"], "count": given["count"], "template": {"spec": spec}}
    if given.get("min_count") is not None:
        made["minCount"] = given["min_count"]
    asked = given.get("topology")
    request: dict[str, Any] = {"podSetGroupName": given["group"]} if given.get("group") else {}
    if asked is not None:
        request |= {key: asked[key] for key in ("required", "preferred", "unconstrained") if asked.get(key) is not None}
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
