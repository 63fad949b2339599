"""`PodGroup`, `CompositePodGroup` and `Workload` of scheduling.k8s.io (Kubernetes 1.37), read from manifests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from workbench.model.extras import Extra
from workbench.model.gang import Gang
from workbench.model.kube_group import KubeGroup, KubeParent
from workbench.objects.fields import child, get_int, get_list, get_map, get_maps, get_text, wrong
from workbench.objects.gang_request import GangRequest
from workbench.objects.metadata import read_metadata, read_status_conditions
from workbench.objects.pod_group import PodGroup

__all__ = ["CompositePodGroup", "KubeWorkload", "read_composite_pod_group", "read_kube_pod_group", "read_kube_workload"]

#: Most templates of a Workload, and most levels of a tree of groups.
_MOST_TEMPLATES, _MOST_LEVELS = 8, 4


@dataclass(frozen=True)
class CompositePodGroup(GangRequest):
    """A group of groups: what it says reaches the gangs of the PodGroups under it."""

    group: KubeParent

    @property
    def gang(self) -> str:
        """Empty: it is about several gangs."""
        return ""

    @property
    def extra(self) -> Extra:
        return KubeGroup()

    @classmethod
    def extras_by_gang(cls, gangs: Sequence[Gang], requests: Iterable[Self]) -> Iterator[tuple[str, Extra]]:
        """The PodGroup of each gang with the composites above it, as far as they are in the input, each once."""
        known = {request.metadata.key: request for request in requests}
        for gang in gangs:
            wish = gang.extra(KubeGroup)
            above: list[KubeParent] = []
            name = wish.parent
            while name and len(above) < _MOST_LEVELS and (found := known.get(f"{gang.namespace}/{name}")):
                if found.group in above:
                    break
                above.append(found.group)
                name = found.group.parent
            if above:
                yield gang.key, replace(wish, parents=tuple(above))


@dataclass(frozen=True)
class KubeWorkload(GangRequest):
    """A Workload: templates of PodGroups. Controllers make PodGroups of it, and no scheduler reads it."""

    @property
    def gang(self) -> str:
        """Empty: it is about no gang."""
        return ""

    @property
    def extra(self) -> Extra:
        return KubeGroup()


def read_kube_pod_group(data: Mapping[str, Any]) -> PodGroup:
    """Read a PodGroup of scheduling.k8s.io from a parsed manifest.

    Raises InputError: a field of the wrong type, not exactly one scheduling policy, more than one topology constraint.
    """
    spec = get_map(data, "spec", "")
    minimum = _minimum(spec, "minCount")
    conditions = read_status_conditions(data)
    wish = KubeGroup(
        given=True,
        basic=minimum is None,
        topology_key=_topology_key(spec),
        parent=get_text(spec, "parentCompositePodGroupName", "spec"),
        priority=get_int(spec, "priority", "spec"),
        preemption_policy=_preemption_policy(spec),
        falls_whole=_falls_whole(spec),
        scheduled=any((one.type, one.status) == ("PodGroupInitiallyScheduled", "True") for one in conditions),
    )
    return PodGroup(
        metadata=read_metadata(data, namespaced=True),
        min_member=1 if minimum is None else minimum,
        min_task_member={},
        queue="default",
        priority_class=get_text(spec, "priorityClassName", "spec"),
        constraint=None,
        conditions=conditions,
        kube=wish,
    )


def read_composite_pod_group(data: Mapping[str, Any]) -> CompositePodGroup:
    """Read a CompositePodGroup of scheduling.k8s.io from a parsed manifest; raises as `read_kube_pod_group` does."""
    spec = get_map(data, "spec", "")
    metadata = read_metadata(data, namespaced=True)
    group = KubeParent(
        metadata.name,
        _minimum(spec, "minGroupCount"),
        _topology_key(spec),
        get_int(spec, "priority", "spec"),
        _preemption_policy(spec),
        _falls_whole(spec),
        metadata.created,
        get_text(spec, "parentCompositePodGroupName", "spec"),
    )
    return CompositePodGroup(metadata, group)


def read_kube_workload(data: Mapping[str, Any]) -> KubeWorkload:
    """Check a Workload of scheduling.k8s.io, a parsed manifest.

    Raises InputError: a field of the wrong type, no templates or both kinds of them, or more than eight.
    """
    spec = get_map(data, "spec", "")
    kinds = [name for name in ("podGroupTemplates", "compositePodGroupTemplates") if get_list(spec, name, "spec")]
    if len(kinds) != 1:
        found = " and ".join(kinds) or None
        raise wrong("spec", found, "podGroupTemplates or compositePodGroupTemplates, one of the two")
    (kind,) = kinds
    if len(get_list(spec, kind, "spec")) > _MOST_TEMPLATES:
        raise wrong(child("spec", kind), f"{len(spec[kind])} templates", f"at most {_MOST_TEMPLATES}")
    for path, template in get_maps(spec, kind, "spec"):
        if not get_text(template, "name", path):
            raise wrong(child(path, "name"), None, "a name")
    return KubeWorkload(read_metadata(data, namespaced=True))


def _minimum(spec: Mapping[str, Any], key: str) -> int | None:
    """The minimum of a gang; None for a basic group."""
    where = child("spec", "schedulingPolicy")
    policy = get_map(spec, "schedulingPolicy", "spec")
    given = [name for name in ("basic", "gang") if policy.get(name) is not None]
    if len(given) != 1:
        raise wrong(where, " and ".join(given) or None, "basic or gang, one of the two")
    if given == ["basic"]:
        get_map(policy, "basic", where)
        return None
    gang = get_map(policy, "gang", where)
    minimum = get_int(gang, key, child(where, "gang"))
    if minimum is None or minimum < 1:
        raise wrong(child(child(where, "gang"), key), minimum, "1 or more")
    return minimum


def _topology_key(spec: Mapping[str, Any]) -> str:
    where = child("spec", "schedulingConstraints")
    found = list(get_maps(get_map(spec, "schedulingConstraints", "spec"), "topology", where))
    if len(found) > 1:
        raise wrong(child(where, "topology"), f"{len(found)} constraints", "at most one")
    for path, item in found:
        key = get_text(item, "key", path)
        if not key:
            raise wrong(child(path, "key"), None, "a label key of nodes")
        return key
    return ""


def _preemption_policy(spec: Mapping[str, Any]) -> str:
    policy = get_text(spec, "preemptionPolicy", "spec")
    if policy not in ("", "Never", "PreemptLowerPriority"):
        raise wrong("spec.preemptionPolicy", policy, "Never or PreemptLowerPriority")
    return policy


def _falls_whole(spec: Mapping[str, Any]) -> bool:
    """Whether disruptionMode is all, written as a text or as the one key of a mapping."""
    mode = spec.get("disruptionMode")
    if isinstance(mode, dict) and len(mode) == 1:
        (mode,) = mode
    if mode not in (None, "single", "all"):
        raise wrong("spec.disruptionMode", spec["disruptionMode"], "single or all")
    return mode == "all"
