"""Write the rules of a pod as fields of a pod spec; reading the fields gives equal rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.model.labels import NODE_NAME_FIELD, Requirement
from workbench.model.pod_rules import PodAffinityTerm, PodRules, SpreadConstraint
from workbench.objects.node_terms import PREFERRED, REQUIRED

__all__ = ["pod_rules_manifest"]


def pod_rules_manifest(rules: PodRules) -> dict[str, Any]:
    """The fields ``affinity`` (without required node affinity) and ``topologySpreadConstraints`` of a pod spec."""
    nodes = [{"weight": one.weight, "preference": _node_term(one.requirements)} for one in rules.preferred_nodes]
    affinity = {
        "nodeAffinity": {PREFERRED: nodes} if nodes else {},
        "podAffinity": _terms(rules.affinity, rules.preferred_affinity),
        "podAntiAffinity": _terms(rules.anti_affinity, rules.preferred_anti_affinity),
    }
    found = {"affinity": _filled(affinity), "topologySpreadConstraints": [_constraint(one) for one in rules.spread]}
    return _filled(found)


def _filled(fields: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value}


def _node_term(requirements: Sequence[Requirement]) -> dict[str, Any]:
    labels = [_expression(one, one.key) for one in requirements if one.key != NODE_NAME_FIELD]
    names = [_expression(one, "metadata.name") for one in requirements if one.key == NODE_NAME_FIELD]
    return _filled({"matchExpressions": labels, "matchFields": names})


def _expression(requirement: Requirement, key: str) -> dict[str, Any]:
    return {"key": key, "operator": requirement.operator, **_filled({"values": list(requirement.values)})}


def _terms(required: Sequence[PodAffinityTerm], preferred: Sequence[PodAffinityTerm]) -> dict[str, Any]:
    weighed = [{"weight": term.weight, "podAffinityTerm": _term(term)} for term in preferred]
    return _filled({REQUIRED: [_term(term) for term in required], PREFERRED: weighed})


def _term(term: PodAffinityTerm) -> dict[str, Any]:
    selector = term.selector
    optional = {
        "namespaces": list(selector.namespaces),
        "matchLabelKeys": list(term.match_keys),
        "mismatchLabelKeys": list(term.mismatch_keys),
    }
    found = {"topologyKey": term.topology_key, **_filled(optional)}
    for key, labels in (("labelSelector", selector.labels), ("namespaceSelector", selector.namespace_labels)):
        if labels is not None:
            found[key] = _selector(labels)
    return found


def _selector(labels: Sequence[Requirement]) -> dict[str, Any]:
    return _filled({"matchExpressions": [_expression(one, one.key) for one in labels]})


def _constraint(one: SpreadConstraint) -> dict[str, Any]:
    found: dict[str, Any] = {
        "topologyKey": one.topology_key,
        "maxSkew": one.max_skew,
        "whenUnsatisfiable": "DoNotSchedule" if one.hard else "ScheduleAnyway",
        "nodeAffinityPolicy": "Honor" if one.honor_affinity else "Ignore",
        "nodeTaintsPolicy": "Honor" if one.honor_taints else "Ignore",
        **_filled({"matchLabelKeys": list(one.match_keys)}),
    }
    if one.labels is not None:
        found["labelSelector"] = _selector(one.labels)
    # Only hard constraints may have it; 1 is the default.
    return found | ({"minDomains": one.min_domains} if one.min_domains != 1 else {})
