"""`anonymized`: the objects of a snapshot without the names that somebody chose, for a bug report."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from ipaddress import ip_address
from typing import Any, NamedTuple

import orjson

from workbench.errors import InputError
from workbench.formats.manifests import read_text
from workbench.formats.scheduler_conf import CONFIG_KEY
from workbench.live.kubernetes.pseudonyms import Pseudonyms
from workbench.live.kubernetes.resources import CONFIG_MAPS, KUEUE_CONFIG
from workbench.live.kubernetes.shapes import mapping
from workbench.model.kueue_names import PREFERRED, REQUIRED, SLICE_REQUIRED
from workbench.objects.device_info import DEVICE_INFO_PREFIX, lists_faulty_npus
from workbench.objects.gather import GANG_GROUPS_ANNOTATION
from workbench.objects.kueue.assignment import read_assignment
from workbench.objects.selectors import NameIndex

__all__ = ["ANYBODY", "Anonymous", "anonymized"]

#: Stands for the user, the context and the server that a snapshot was read with.
ANYBODY = "anonymous"

#: Names that every cluster has, and names of tasks that the plugins of Volcano Jobs know.
_COMMON = frozenset(
    {"default", "kube-system", "kube-public", "kube-node-lease", "volcano-system", "kueue-system", "root"}
    | {"master", "worker", "ps", "chief", "launcher", "evaluator", "head", "scheduler", "server", "main", "leader"}
    | {one.name for one in (*CONFIG_MAPS, KUEUE_CONFIG)}
)
#: Prefixes of names that come with Kubernetes.
_OF_KUBERNETES = ("system-", "system:")

#: Domains of projects whose keys tell nothing about an owner.
_PUBLIC = (
    *("kubernetes.io", "k8s.io", "volcano.sh", "koordinator.sh", "nvidia.com", "amd.com", "intel.com", "huawei.com"),
    *("topograph.run", "kai.scheduler", "run.ai", "karmada.io", "amazonaws.com", "google.com", "azure.com"),
    *("ray.io", "kubeflow.org", "x-k8s.io", "projectcalico.org", "topology-workbench"),
)
#: Keys without a domain that a scheduler reads.
_PUBLIC_KEYS = frozenset(
    {"tor-affinity", "accelerator", "accelerator-type", "host-arch", "nodeDEnable", "servertype", "fault-scheduling"}
    | {"isSharedTor", "isHealthy", "distributed-job"}
)
#: Keys of labels and annotations whose values are words of an API, models or systems.
_WORDS_OF = frozenset(
    {"volcano.sh/network-topology-mode", "volcano.sh/preemptable", "volcano.sh/numa-topology-policy"}
    | {"volcano.sh/network-topology-source", "nvidia.com/gpu.product", "node.kubernetes.io/instance-type"}
    | {"kubernetes.io/arch", "kubernetes.io/os", *_PUBLIC_KEYS}
    | {"ray.io/node-type", "ray.io/originated-from-crd", "training.kubeflow.org/operator-name"}
)
#: Fields whose texts are words of an API, times or quantities.
_WORDS = frozenset(
    {"apiVersion", "kind", "phase", "type", "status", "mode", "operator", "effect", "restartPolicy", "dnsPolicy"}
    | {"preemptionPolicy", "policy", "action", "event", "resourceVersion", "schedulerName", "state", "protocol"}
    | {"completionPolicy", "lastPhase", "strategy", "jobType", "labelPolicy", "source", "health", "tier"}
    | {"whenUnsatisfiable", "concurrencyPolicy", "networkTopologyMode", "partitionPolicy"}
    | {"completionMode", "startupPolicy", "startupPolicyOrder", "submissionMode", "launcherCreationPolicy"}
    | {"jobStatus", "jobDeploymentStatus", "disruptionMode", "delayedTopologyRequest", "controllerName"}
    | {"withinClusterQueue", "reclaimWithinCohort", "queueingStrategy", "stopPolicy", "whenCanBorrow", "whenCanPreempt"}
    | {"preference", "admissionMode", "preemptionStrategies"}
)
#: Fields whose texts are keys of labels: of Kueue's Topology, assignments and requests, too.
_LABEL_KEYS = frozenset(
    {"key", "topologyKey", "nodeLabel", "levels", "required", "preferred", "topology", "podSetSliceRequiredTopology"}
    | {"podIndexLabel", "subGroupIndexLabel"}
)
#: Of these fields those that hold anything in the JSON of an annotation, and what stands for its kind.
_FREE = frozenset({"source", "status", "state", "phase", "event", "action", "health", "tier", "kind"})
_ANNOTATION = "annotation"
_TIME = re.compile(r"(Timestamp|Time|Duration)$")
#: A number, a quantity, a list of numbers, a truth value or nothing.
_PLAIN = re.compile(r"([-+]?\d+(\.\d+)?([eE][-+]?\d+|[numkKMGTPE]i?)?|\d+([,-]\d+)+|[tT]rue|[fF]alse|)")
#: Fields whose keys are resources, labels, or tasks; fields whose texts are sentences.
_RESOURCES = frozenset(
    {"requests", "limits", "allocatable", "capacity", "minResources", "capability", "deserved", "guarantee"}
    | {"allocated", "resource", "resources", "resourceMapping", "resourceUsage"}
)
_LABELS = frozenset({"labels", "matchLabels", "nodeSelector", "nodeLabels"})
_BY_TASK = frozenset({"minTaskMember", "taskStatusCount"})
_TEXTS = frozenset({"message", "reason"})
#: Classes of names: of objects by their kind, of others by the list that they stand in.
_KINDS = {
    "Node": "node", "HyperNode": "hypernode", "Pod": "pod", "PodGroup": "podgroup", "Job": "job",
    "HyperJob": "hyperjob", "Queue": "queue", "PriorityClass": "priority",
}  # fmt: skip
_LISTED = {"tasks": "task", "replicatedJobs": "task", "containers": "container", "initContainers": "container"}
#: The stand-in for a name of a class.
_StandIn = Callable[[str, str], str]


class Anonymous(NamedTuple):
    """Objects without the names that somebody chose, and the stand-ins.

    `objects`: one line of JSON for each object, in the order given. `names`: for other texts about the same cluster.
    """

    objects: tuple[bytes, ...]
    names: Pseudonyms


def anonymized(objects: Iterable[bytes]) -> Anonymous:
    """Replace names, keys and values that somebody chose, the same by the same everywhere.

    `objects`: JSON objects of a snapshot.

    Returns
    -------
    Anonymous
        Names of objects, namespaces, tasks and containers, values of labels, keys of labels and resources outside of
        public projects, addresses and uids have stand-ins whose byte order is that of the names, so schedulers decide
        alike. Members of HyperNodes that a pattern selects are listed by name. Annotations with keys outside of public
        projects, descriptions, finalizers and the resources of plugins are left out, and so is the text of a ConfigMap
        that is neither YAML nor JSON. Texts of conditions and events, and the configuration of Volcano's scheduler,
        keep their other words. Quantities, times, models of GPUs, names of schedulers and namespaces such as
        ``default`` stay.
    """
    read = [orjson.loads(one) for one in objects]
    index = _index_of(read)
    for one in read:
        if one.get("kind") == "HyperNode":
            _list_members(one, index)
        if one.get("kind") == "Workload":
            _list_domains(one)
    names: dict[str, set[str]] = {}
    addresses: set[str] = set()

    def collect(name: str, called: str) -> str:
        if _is_address(name):
            addresses.add(name)
        else:
            names.setdefault(called, set()).add(name)
        return name

    for one in read:
        _Hiding(collect, str).value(one)
    # What a label or annotation refers to is called by what it is.
    names["value"] = names.pop("value", set()).difference(*names.values())
    found = Pseudonyms(names, _COMMON, addresses)
    hiding = _Hiding(lambda name, called: found.get(name, name), found.in_text)
    return Anonymous(tuple(orjson.dumps(hiding.value(one), option=orjson.OPT_SORT_KEYS) for one in read), found)


def _index_of(objects: Sequence[Mapping[str, Any]]) -> NameIndex:
    """The nodes by name and label, for the patterns of HyperNodes."""
    nodes = [one["metadata"] for one in objects if one.get("kind") == "Node"]
    return NameIndex([one["name"] for one in nodes], [one.get("labels") or {} for one in nodes])


def _list_members(hypernode: dict[str, Any], index: NameIndex) -> None:
    """Replace each pattern by the nodes that it selects: their stand-ins would not match it."""
    listed: list[Any] = []
    for member in hypernode["spec"].get("members") or ():
        pattern = ((member.get("selector") or {}).get("regexMatch") or {}).get("pattern")
        if pattern is None:
            listed.append(member)
        elif member.get("type") != "HyperNode":  # of HyperNodes a pattern selects none
            names = (index.names[at] for at in index.matching(pattern))
            listed += [{"type": "Node", "selector": {"exactMatch": {"name": name}}} for name in names]
    hypernode["spec"]["members"] = listed


def _list_domains(workload: dict[str, Any]) -> None:
    """Write the domains in the assignments of a Workload of Kueue one by one: parts of names have no stand-ins."""
    admission = mapping(mapping(workload.get("status")).get("admission"))
    for one in admission.get("podSetAssignments") or ():
        if "topologyAssignment" in one:
            try:
                read = read_assignment(one.pop("topologyAssignment"), "topologyAssignment")
            except InputError:
                continue
            domains = [{"values": list(values), "count": count} for values, count in read.domains]
            one["topologyAssignment"] = {"levels": list(read.levels), "domains": domains}


def _public(key: str) -> bool:
    """Whether the key of a label, annotation or resource belongs to a public project."""
    domain = key.partition("/")[0] if "/" in key else ""
    return key in _PUBLIC_KEYS or any(domain == one or domain.endswith(f".{one}") for one in _PUBLIC)


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _parsed(text: str) -> Any:
    """The value of a text that is a JSON object or list; else None."""
    if text[:1] not in ("{", "["):
        return None
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None


def _parsed_yaml(text: str) -> Any:
    """The value of a text that is a mapping or list in YAML or JSON; else None."""
    try:
        documents = read_text(text.encode(), "a ConfigMap")
    except (InputError, UnicodeEncodeError):
        return None
    value = documents[0][0] if len(documents) == 1 else None
    return value if isinstance(value, dict | list) else None


class _Hiding:
    """Writes values anew: `stand_in` replaces a name of a class, `in_text` the names within a text."""

    def __init__(self, stand_in: _StandIn, in_text: Callable[[str], str]) -> None:
        self._stand_in = stand_in
        self._in_text = in_text

    def value(self, value: Any, key: str = "", inside: str = "", kind: str = "") -> Any:
        """A value anew; `key` is the field it stands in, `inside` the field around that, `kind` that of the object."""
        if isinstance(value, Mapping):
            return dict(self._fields(value, key, str(value.get("kind", kind))))
        if isinstance(value, list):
            return [self.value(each, key, inside, kind) for each in value]
        return self._text(value, key, inside, kind) if isinstance(value, str) else value

    def _fields(self, value: Mapping[str, Any], key: str, kind: str) -> Iterator[tuple[str, Any]]:
        for name, each in value.items():
            if key in _LABELS:
                yield self._key(name, "label"), self._value_of(name, each)
            elif key == "annotations":
                if _public(name):
                    yield name, self._value_of(name, each)
            elif key in _RESOURCES and name == "name" and isinstance(each, str):
                # The quota of one resource in a ClusterQueue.
                yield name, self._resource(each)
            elif key == "flavors":
                yield self._resource(name), self.value(each, name, key, kind)
            elif key in _RESOURCES and not isinstance(each, Mapping | list):
                yield self._resource(name), each
            elif key in _BY_TASK or _is_address(name):
                yield self._name(name, "task"), self.value(each, name, key, kind)
            elif name not in ("description", "finalizers", "controlledResources"):
                yield name, self.value(each, name, key, kind)

    def _key(self, key: str, called: str) -> str:
        return key if _public(key) else self._stand_in(key, f"example.com/{called}" if "/" in key else called)

    def _resource(self, name: str) -> str:
        """The name of a resource, in quotas with a prefix; those of Kubernetes have no domain."""
        prefix = next((one for one in ("requests.", "limits.", "count/") if name.startswith(one)), "")
        plain = name.removeprefix(prefix)
        return prefix + self._key(plain, "resource") if "/" in plain else name

    def _value_of(self, key: str, value: Any) -> Any:
        """The value of a label or annotation."""
        if key in (REQUIRED, PREFERRED, SLICE_REQUIRED) and isinstance(value, str):
            return self._key(value, "label")
        if key in _WORDS_OF or lists_faulty_npus(key) or not isinstance(value, str):
            return value
        parsed = _parsed(value)
        if key == GANG_GROUPS_ANNOTATION and isinstance(parsed, list):
            return orjson.dumps([self._gang(one) for one in parsed]).decode()
        if parsed is None:
            return self._name(value, "value")
        return orjson.dumps(self.value(parsed, kind=_ANNOTATION)).decode()

    def _gang(self, value: Any) -> Any:
        """A gang that another one names: ``namespace/name``."""
        if not isinstance(value, str) or "/" not in value:
            return self.value(value)
        namespace, _, name = value.partition("/")
        return f"{self._name(namespace, 'namespace')}/{self._name(name, 'value')}"

    def _text(self, value: str, key: str, inside: str, kind: str) -> str:
        if inside == "data":
            if key == CONFIG_KEY:
                return self._in_text(value)
            parsed = _parsed_yaml(value)
            return "" if parsed is None else orjson.dumps(self.value(parsed)).decode()
        if key in _TEXTS:
            return self._in_text(value)
        if (
            (key in _WORDS and not (kind == _ANNOTATION and key in _FREE))
            or _TIME.search(key)
            or lists_faulty_npus(key)
        ):
            return value
        if key == "coveredResources":
            return self._resource(value)
        if key in _LABEL_KEYS:
            return self._key(value, "label")
        if kind == "ConfigMap" and key == "name" and value.startswith(DEVICE_INFO_PREFIX):
            return DEVICE_INFO_PREFIX + self._name(value.removeprefix(DEVICE_INFO_PREFIX), "node")
        if key == "name":
            of_object = inside in ("metadata", "ownerReferences", "involvedObject")
            return self._name(value, _KINDS.get(kind, "object") if of_object else _LISTED.get(inside, "value"))
        return self._name(value, key if key in ("namespace", "uid") else "value")

    def _name(self, value: str, called: str) -> str:
        common = value in _COMMON or value.startswith(_OF_KUBERNETES) or _PLAIN.fullmatch(value)
        return value if common else self._stand_in(value, called)
