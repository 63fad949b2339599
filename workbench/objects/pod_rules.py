"""Affinity, spreading and preferred nodes of a pod, read from its spec, and Namespaces, whose labels affinity reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from workbench.model.extras import Extra
from workbench.model.labels import Requirement
from workbench.model.pod_counts import NAMESPACE_NAME, Namespaces
from workbench.model.pod_rules import NO_RULES, NodePreference, PodAffinityTerm, PodRules, PodSelector, SpreadConstraint
from workbench.objects.cluster_part import ClusterPart
from workbench.objects.fields import child, get_int, get_map, get_maps, get_text, get_text_list, wrong
from workbench.objects.metadata import Metadata, read_metadata
from workbench.objects.node_terms import PREFERRED, REQUIRED, read_node_term
from workbench.objects.selectors import read_label_selector

__all__ = ["RULES", "Namespace", "read_namespace", "read_pod_rules"]

#: Fields of a pod spec that are read as its rules, by the names that notices have for them.
RULES = (
    "affinity.podAffinity",
    "affinity.podAntiAffinity",
    "preferred affinity.nodeAffinity",
    "topologySpreadConstraints",
)

_HARD, _SOFT = "DoNotSchedule", "ScheduleAnyway"


def read_pod_rules(spec: Mapping[str, Any], where: str) -> PodRules:
    """The rules in a pod's spec, whose path is `where`.

    Raises InputError: a field of the wrong type, a weight or maxSkew out of range, or an unknown policy.
    """
    if spec.get("affinity") is None and spec.get("topologySpreadConstraints") is None:
        return NO_RULES
    affinity, path = get_map(spec, "affinity", where), child(where, "affinity")
    node, near, apart = (get_map(affinity, key, path) for key in ("nodeAffinity", "podAffinity", "podAntiAffinity"))
    rules = PodRules(
        _preferred_nodes(node, child(path, "nodeAffinity")),
        _required(near, child(path, "podAffinity")),
        _required(apart, child(path, "podAntiAffinity")),
        _preferred(near, child(path, "podAffinity")),
        _preferred(apart, child(path, "podAntiAffinity")),
        tuple(_constraint(item, at) for at, item in get_maps(spec, "topologySpreadConstraints", where)),
    )
    return NO_RULES if rules == NO_RULES else rules


def _preferred_nodes(data: Mapping[str, Any], where: str) -> tuple[NodePreference, ...]:
    return tuple(
        NodePreference(_weight(item, at), read_node_term(get_map(item, "preference", at), child(at, "preference")))
        for at, item in get_maps(data, PREFERRED, where)
    )


def _required(data: Mapping[str, Any], where: str) -> tuple[PodAffinityTerm, ...]:
    return tuple(_term(item, at) for at, item in get_maps(data, REQUIRED, where))


def _preferred(data: Mapping[str, Any], where: str) -> tuple[PodAffinityTerm, ...]:
    return tuple(
        _term(get_map(item, "podAffinityTerm", at), child(at, "podAffinityTerm"), _weight(item, at))
        for at, item in get_maps(data, PREFERRED, where)
    )


def _weight(data: Mapping[str, Any], where: str) -> int:
    weight = get_int(data, "weight", where) or 0
    if not 1 <= weight <= 100:
        raise wrong(child(where, "weight"), data.get("weight"), "1 to 100")
    return weight


def _term(data: Mapping[str, Any], where: str, weight: int = 0) -> PodAffinityTerm:
    key = get_text(data, "topologyKey", where)
    if not key:
        raise wrong(child(where, "topologyKey"), data.get("topologyKey"), "a label key of nodes")
    selector = PodSelector(
        _labels(data, "labelSelector", where),
        tuple(sorted(get_text_list(data, "namespaces", where))),
        _labels(data, "namespaceSelector", where),
    )
    keys = (tuple(get_text_list(data, name, where)) for name in ("matchLabelKeys", "mismatchLabelKeys"))
    return PodAffinityTerm(key, selector, weight, *keys)


def _labels(data: Mapping[str, Any], key: str, where: str) -> tuple[Requirement, ...] | None:
    """A label selector's requirements; None if it is absent or cannot be parsed: such a selector selects nothing."""
    if data.get(key) is None:
        return None
    selector = get_map(data, key, where)
    found = read_label_selector(selector, child(where, key))
    return found or (None if selector.get("matchLabels") or selector.get("matchExpressions") else ())


def _constraint(data: Mapping[str, Any], where: str) -> SpreadConstraint:
    key = get_text(data, "topologyKey", where)
    if not key:
        raise wrong(child(where, "topologyKey"), data.get("topologyKey"), "a label key of nodes")
    return SpreadConstraint(
        key,
        _positive(data, "maxSkew", where),
        hard=_one_of(data, "whenUnsatisfiable", where, (_HARD, _SOFT)) == _HARD,
        labels=_labels(data, "labelSelector", where),
        min_domains=_positive(data, "minDomains", where, 1),
        honor_affinity=_one_of(data, "nodeAffinityPolicy", where, ("Honor", "Ignore")) == "Honor",
        honor_taints=_one_of(data, "nodeTaintsPolicy", where, ("Ignore", "Honor")) == "Honor",
        match_keys=tuple(get_text_list(data, "matchLabelKeys", where)),
    )


def _positive(data: Mapping[str, Any], key: str, where: str, default: int = 0) -> int:
    """A number of 1 or more; `default` where it is absent, if that is such a number."""
    number = get_int(data, key, where)
    if number is None and default:
        return default
    if number is None or number < 1:
        raise wrong(child(where, key), data.get(key), "1 or more")
    return number


def _one_of(data: Mapping[str, Any], key: str, where: str, values: tuple[str, str]) -> str:
    """The text of a field that has one of two values; the first where it is absent."""
    text = get_text(data, key, where) or values[0]
    if text not in values:
        raise wrong(child(where, key), text, " or ".join(values))
    return text


@dataclass(frozen=True)
class Namespace(ClusterPart):
    """A Namespace; `metadata` has its name and its labels."""

    metadata: Metadata

    kind: ClassVar[str] = "Namespace"
    adds_to: ClassVar[type[Extra]] = Namespaces

    @property
    def entries(self) -> Mapping[str, Any]:
        name = self.metadata.name
        # The API server writes the label with the name into every namespace.
        return {"labels": {name: {**self.metadata.labels, NAMESPACE_NAME: name}}}


def read_namespace(data: Mapping[str, Any]) -> Namespace:
    """Read a Namespace from a parsed manifest; raises InputError for a field of the wrong type."""
    return Namespace(read_metadata(data, namespaced=False))
