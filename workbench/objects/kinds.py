"""`ClusterObjects`: all objects of one input by kind, and the table of functions that read each Kubernetes kind."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from workbench.errors import CapacityError, InputError
from workbench.model.deferred import Deferred
from workbench.model.extras import Extra
from workbench.model.labels import HOSTNAME_LABEL
from workbench.model.notice import Notice
from workbench.model.snapshot import Queue
from workbench.objects.admission import notes_of, refusal_of
from workbench.objects.cluster_part import ClusterPart, extras_of_parts
from workbench.objects.deployment import Deployment, read_deployment
from workbench.objects.device import Device, read_device
from workbench.objects.device_info import DEVICE_INFO_PREFIX, DeviceInfo, read_device_info
from workbench.objects.fields import wrong
from workbench.objects.gang_request import GangRequest
from workbench.objects.hyper_job import DOCUMENT_GROUP, GROUP, HyperJob, read_hyper_job
from workbench.objects.hypernode import HyperNode, read_hypernode
from workbench.objects.job import Job, read_job
from workbench.objects.node import Node, read_node
from workbench.objects.pod import Pod, read_pod
from workbench.objects.pod_group import KOORDINATOR_GROUPS, PodGroup, read_koordinator_pod_group, read_pod_group
from workbench.objects.queue import PriorityClass, read_priority_class, read_queue
from workbench.objects.top_owner import TOP_OWNERS, TopOwner

if TYPE_CHECKING:
    from workbench.objects.event import Event
    from workbench.objects.kueue.queues import TopologyPart
    from workbench.objects.level_topology import LevelTopology
    from workbench.objects.tor_node import TorNodeConfig
    from workbench.objects.tor_share import TorShareConfig

__all__ = ["MOST_OBJECTS", "TOR_NODE_CONFIG_MAP", "TOR_SHARE_CONFIG_MAP", "ClusterObjects", "kind_label", "meant_kind"]

#: Most objects of one kind in one input: several times the largest cluster; more are refused before they fill the
#: memory.
MOST_OBJECTS = 500_000


@dataclass
class ClusterObjects:
    """The objects of one input, by kind and by key (``namespace/name``, or the name for cluster-scoped kinds).

    `ignored` counts objects of kinds that are not read; a known kind of another API group is listed with its
    apiVersion. `refused` holds admission's text for each object that it refuses, by ``Kind namespace/name``; these
    objects are kept. `notes` holds, by the same names, notices on objects that do not mean what they seem to
    (`workbench.objects.admission.notes_of`). `requests`, `top_owners` and `cluster_parts` hold objects of several
    kinds, under the same names. With `keep_patterns` a HyperNode whose pattern RE2 refuses is read too.
    """

    nodes: dict[str, Node] = field(default_factory=dict)
    hypernodes: dict[str, HyperNode] = field(default_factory=dict)
    devices: dict[str, Device] = field(default_factory=dict)
    device_infos: dict[str, DeviceInfo] = field(default_factory=dict)
    pods: dict[str, Pod] = field(default_factory=dict)
    pod_groups: dict[str, PodGroup] = field(default_factory=dict)
    queues: dict[str, Queue] = field(default_factory=dict)
    priority_classes: dict[str, PriorityClass] = field(default_factory=dict)
    jobs: dict[str, Job] = field(default_factory=dict)
    hyper_jobs: dict[str, HyperJob] = field(default_factory=dict)
    deployments: dict[str, Deployment] = field(default_factory=dict)
    top_owners: dict[str, TopOwner] = field(default_factory=dict)
    tor_nodes: dict[str, TorNodeConfig] = field(default_factory=dict)
    tor_shares: dict[str, TorShareConfig] = field(default_factory=dict)
    level_topologies: dict[str, LevelTopology] = field(default_factory=dict)
    events: dict[str, Event] = field(default_factory=dict)
    requests: dict[str, GangRequest] = field(default_factory=dict)
    cluster_parts: dict[str, ClusterPart] = field(default_factory=dict)
    ignored: Counter[str] = field(default_factory=Counter)
    refused: dict[str, str] = field(default_factory=dict)
    notes: dict[str, tuple[Notice, ...]] = field(default_factory=dict)
    keep_patterns: bool = False
    _places: dict[tuple[str, str], str] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, hypernodes: Iterable[HyperNode], nodes: Iterable[Node]) -> ClusterObjects:
        """The objects of a cluster that has only the given HyperNodes and Nodes."""
        cluster = cls()
        cluster.hypernodes.update((hypernode.name, hypernode) for hypernode in hypernodes)
        cluster.nodes.update((node.name, node) for node in nodes)
        return cluster

    @property
    def extras(self) -> dict[type[Extra], Extra]:
        """What the objects tell single schedulers about the cluster as a whole, by class of extras."""
        parts = [part for name, part in self.cluster_parts.items() if name not in self.refused]
        requests = ((name, one) for name, one in self.requests.items() if name not in self.refused)
        parts += [one for _, one in requests if isinstance(one, ClusterPart)]
        parts += [_topology_part(one) for one in self.accepted_topologies if one.owner == "kueue"]
        return extras_of_parts(parts)

    @property
    def accepted_topologies(self) -> list[LevelTopology]:
        """The level topologies but those that admission refuses."""
        kept = self.level_topologies.items()
        return [one for key, one in kept if f"Topology {key.partition('/')[2]}" not in self.refused]

    def add(self, data: Mapping[str, Any], place: str = "", *, accepted: bool = False) -> None:
        """Read one parsed manifest and add the object.

        `place`: file and document of the manifest, for the error about a second object of that name; empty: unknown.
        `accepted`: whether `workbench.objects.admission.review` has accepted the object, so that nobody needs to look
        again for what it would refuse.

        Raises
        ------
        InputError
            No apiVersion or kind, a field of the wrong type, or an object that was read before.
        CapacityError
            More than `MOST_OBJECTS` of one kind.
        """
        version, kind = data.get("apiVersion"), data.get("kind")
        if type(version) is not str or type(kind) is not str:
            key = "kind" if type(kind) is not str else "apiVersion"
            raise wrong(key, data.get(key), "every Kubernetes object has apiVersion and kind")
        group = version.rpartition("/")[0]
        known = _READERS.get((group, kind)) or _reader_of_config_map(_config_map_name(data, group, kind))
        if known is None:
            self.ignored[kind_label(version, kind)] += 1
            return
        room, read = known
        if self.keep_patterns and room == "hypernodes":
            read = partial(read_hypernode, keep_patterns=True)
        value = read(data)
        key = value.key if room == "top_owners" else value.metadata.key if hasattr(value, "metadata") else value.name
        name = key if room == "top_owners" else f"{kind} {key}"
        if room == "level_topologies":
            # Two owners may each have an object of the same name.
            key = f"{value.owner}/{key}"
        if room in _SEVERAL_KINDS:
            key = f"{kind} {key}"
        objects = getattr(self, room)
        if len(objects) >= MOST_OBJECTS:
            raise CapacityError(f"more than {MOST_OBJECTS:,} objects of the kind {kind}")
        if room == "deployments" and key in objects and objects[key].kind != kind:
            # Both would be one gang: the Deployment is kept.
            self.ignored["StatefulSet"] += 1
            if kind == "StatefulSet":
                return
            del objects[key]
        if room == "pod_groups" and key in objects and _owner_of(objects[key]) != _owner_of(value):
            # Objects of two API groups, which would be one gang: Volcano's is kept.
            kept, left_out = sorted((_owner_of(objects[key]), _owner_of(value)), key=_OWNERS.index)
            self.ignored[f"PodGroup of {left_out} beside {kept}'s"] += 1
            if _owner_of(value) == left_out:
                return
            del objects[key]
        if key in objects:
            if kind in _REPEATED and objects[key] == value:
                return
            first = self._places.get((room, key))
            message = f"the same {kind} twice" + (f", first in {first}" if first else "")
            raise InputError(message, where="metadata.name", got=key, expected="each object once")
        objects[key] = value
        if place:
            self._places[room, key] = place
        if not accepted and (message := refusal_of(data)):
            self.refused[name] = message
        notes = notes_of(data, accepted=accepted)
        if group in _KUEUE_GROUPS:
            notes += _UNMODELLED(data)
        if notes:
            self.notes[name] = tuple(notes)


#: Whose PodGroups there are; of two of one name the first one's counts.
_OWNERS = ("Volcano", "Koordinator", "Kubernetes")


def _owner_of(group: PodGroup) -> str:
    if group.kube is not None:
        return "Kubernetes"
    return "Koordinator" if group.koordinator else "Volcano"


#: API groups of Kueue: of its objects, and of the file that configures it.
_KUEUE_GROUPS = ("kueue.x-k8s.io", "config.kueue.x-k8s.io")

_UNMODELLED = Deferred("workbench.objects.kueue.unmodelled:unmodelled_notes")

#: Kinds that each part of an input may bring along, if all say the same.
_REPEATED = ("Namespace",)

#: Fields of `ClusterObjects` that hold objects of several kinds.
_SEVERAL_KINDS = ("requests", "cluster_parts")

#: The field and the reader of kinds that few inputs have; readers are imported when an object comes.
_RARE = {
    ("", "Namespace"): ("cluster_parts", "workbench.objects.pod_rules:read_namespace"),
    ("", "Event"): ("events", "workbench.objects.event:read_event"),
    ("scheduling.k8s.io", "PodGroup"): ("pod_groups", "workbench.objects.kube_groups:read_kube_pod_group"),
    ("scheduling.k8s.io", "CompositePodGroup"): ("requests", "workbench.objects.kube_groups:read_composite_pod_group"),
    ("scheduling.k8s.io", "Workload"): ("requests", "workbench.objects.kube_groups:read_kube_workload"),
    ("kueue.x-k8s.io", "Topology"): ("level_topologies", "workbench.objects.level_topology:read_kueue_topology"),
    ("kueue.x-k8s.io", "ResourceFlavor"): ("cluster_parts", "workbench.objects.kueue.queues:read_resource_flavor"),
    ("kueue.x-k8s.io", "ClusterQueue"): ("cluster_parts", "workbench.objects.kueue.queues:read_cluster_queue"),
    ("kueue.x-k8s.io", "LocalQueue"): ("cluster_parts", "workbench.objects.kueue.queues:read_local_queue"),
    ("kueue.x-k8s.io", "Cohort"): ("cluster_parts", "workbench.objects.kueue.queues:read_cohort"),
    ("kueue.x-k8s.io", "AdmissionCheck"): ("cluster_parts", "workbench.objects.kueue.queues:read_admission_check"),
    ("kueue.x-k8s.io", "Workload"): ("requests", "workbench.objects.kueue.workload:read_workload_object"),
    ("config.kueue.x-k8s.io", "Configuration"): (
        "cluster_parts",
        "workbench.objects.kueue.unmodelled:read_configuration",
    ),
    ("kai.scheduler", "Topology"): ("level_topologies", "workbench.objects.level_topology:read_kai_topology"),
    ("scheduling.koordinator.sh", "ClusterNetworkTopology"): (
        "level_topologies",
        "workbench.objects.level_topology:read_cluster_network_topology",
    ),
}

#: The field and the reader of each kind.
_READERS: dict[tuple[str, str], tuple[str, Callable[[Mapping[str, Any]], Any]]] = {
    ("", "Node"): ("nodes", read_node),
    ("", "Pod"): ("pods", read_pod),
    ("topology.volcano.sh", "HyperNode"): ("hypernodes", read_hypernode),
    ("scheduling.koordinator.sh", "Device"): ("devices", read_device),
    ("scheduling.volcano.sh", "PodGroup"): ("pod_groups", read_pod_group),
    **{(group, "PodGroup"): ("pod_groups", read_koordinator_pod_group) for group in KOORDINATOR_GROUPS},
    ("scheduling.volcano.sh", "Queue"): ("queues", read_queue),
    ("scheduling.k8s.io", "PriorityClass"): ("priority_classes", read_priority_class),
    ("batch.volcano.sh", "Job"): ("jobs", read_job),
    (GROUP, "HyperJob"): ("hyper_jobs", read_hyper_job),
    (DOCUMENT_GROUP, "HyperJob"): ("hyper_jobs", read_hyper_job),
    ("apps", "Deployment"): ("deployments", read_deployment),
    ("apps", "StatefulSet"): ("deployments", read_deployment),
    **{names: ("top_owners", read) for names, read in TOP_OWNERS.items()},
    **{names: (room, Deferred(reader)) for names, (room, reader) in _RARE.items()},
}

#: Ascend's switch table (`workbench.objects.tor_node`); the namespace, kube-system or volcano-system, is ignored.
TOR_NODE_CONFIG_MAP = "basic-tor-node-cm"
#: The states of its leaf switches (`workbench.objects.tor_share`); the namespace, volcano-system, is ignored.
TOR_SHARE_CONFIG_MAP = "tor-share-cm"

# ConfigMaps are told apart by their names only; those with a name for each node, by its beginning.
_CONFIG_MAPS: dict[str, tuple[str, Callable[[Mapping[str, Any]], Any]]] = {
    TOR_NODE_CONFIG_MAP: ("tor_nodes", Deferred("workbench.objects.tor_node:read_tor_node")),
    TOR_SHARE_CONFIG_MAP: ("tor_shares", Deferred("workbench.objects.tor_share:read_tor_share")),
}

_DEVICE_INFO = ("device_infos", read_device_info)

#: API groups of each kind that is read. The Job of Kubernetes is told apart from Volcano's by its apiVersion.
_GROUPS_OF_KIND: dict[str, list[str]] = {}
for _group, _kind in _READERS:
    if _group != "batch":
        _GROUPS_OF_KIND.setdefault(_kind, []).append(_group)

#: Similarity (difflib's ratio) from which an unknown name counts as a misspelt known one: ``Jobb`` is ``Job``, and
#: ``JobSet`` is not.
_ALIKE = 0.8


def _topology_part(topology: LevelTopology) -> TopologyPart:
    from workbench.objects.kueue.queues import TopologyPart

    hosts = (HOSTNAME_LABEL,) if topology.down_to_hosts else ()
    return TopologyPart(topology.metadata, (*(level.name for level in topology.levels), *hosts))


def kind_label(version: str, kind: str) -> str:
    """The kind of an object in messages; with its apiVersion if the kind is known under another API group only."""
    groups = _GROUPS_OF_KIND.get(kind, ())
    return f"{kind} ({version})" if groups and version.rpartition("/")[0] not in groups else kind


def meant_kind(label: str) -> str:
    """The known kind, or kind with API group, that a `kind_label` of an object that is not read probably means.

    Empty if no known name is close, as for the Job of Kubernetes, whose group is ``batch``.
    """
    kind, _, version = label.removesuffix(")").partition(" (")
    if version:
        close = difflib.get_close_matches(version.rpartition("/")[0], _GROUPS_OF_KIND.get(kind, ()), n=1, cutoff=_ALIKE)
        return f"{kind} of {close[0]}" if close else ""
    known = {name.lower(): name for name in _GROUPS_OF_KIND if name != kind}
    close = difflib.get_close_matches(kind.lower(), known, n=1, cutoff=_ALIKE)
    return known[close[0]] if close and kind not in _GROUPS_OF_KIND else ""


def _reader_of_config_map(name: str) -> tuple[str, Callable[[Mapping[str, Any]], Any]] | None:
    return _DEVICE_INFO if name.startswith(DEVICE_INFO_PREFIX) else _CONFIG_MAPS.get(name)


def _config_map_name(data: Mapping[str, Any], group: str, kind: str) -> str:
    """The name of a ConfigMap; empty if the object is of another kind or has no name."""
    metadata = data.get("metadata") if (group, kind) == ("", "ConfigMap") else None
    name = metadata.get("name") if type(metadata) is dict else None
    return name if type(name) is str else ""
