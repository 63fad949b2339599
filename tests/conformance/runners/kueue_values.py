"""Values of the twin of Kueue, read from the shapes of `cases/kueue-tas`, whose README describes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.conformance.registry import NotUnderstood
from workbench.model.labels import Requirement, Taint, Toleration
from workbench.objects.quantity import to_base_units
from workbench.policies.kueue.query import Gates
from workbench.policies.kueue.values import (
    Assignment,
    DomainUsage,
    Flavor,
    KueueNode,
    Outcome,
    PodSet,
    PreferredTerm,
    SliceLayer,
    TopologyRequest,
)

__all__ = [
    "amounts",
    "assignment",
    "flavor",
    "gates",
    "held_pods",
    "node",
    "outcomes",
    "pod_set",
    "topology_request",
    "usage",
    "written",
]

Json = Mapping[str, Any]

#: Gates of Kueue that change only its speed.
_SPEED = (
    "TASCacheNodeMatchResults",
    "TASCachingRemainingResources",
    "VectorizedResourceRequests",
    "TASCacheTopologyTree",
)


def amounts(given: Json) -> dict[str, int]:
    return {name: to_base_units(name, amount) for name, amount in given.items()}


def gates(given: Mapping[str, bool]) -> Gates:
    known = Gates().__dict__
    unknown = [name for name in given if name not in known and name not in _SPEED]
    if unknown:
        raise NotUnderstood(f"feature gates {', '.join(unknown)}")
    return Gates.of(given)


def node(given: Json) -> KueueNode:
    taints = tuple(Taint(each["key"], each["value"], each["effect"]) for each in given["taints"])
    return KueueNode(
        given["name"], given["labels"], amounts(given["allocatable"]), taints, given["ready"], given["unschedulable"]
    )


def flavor(given: Json) -> Flavor:
    return Flavor("flavor", given["topology"], given["node_labels"], tolerations(given["tolerations"]))


def tolerations(given: list[Json]) -> tuple[Toleration, ...]:
    return tuple(Toleration(t["key"], t["operator"] or "Equal", t["value"], t["effect"]) for t in given)


def held_pods(given: list[Json]) -> list[tuple[str, dict[str, int]]]:
    """Node and requests of the pods that are bound to a node and run."""
    return [
        (pod["node"], amounts(pod["requests"]))
        for pod in given
        if pod["node"] and pod["phase"] not in ("Succeeded", "Failed")
    ]


def assignment(given: Json | None) -> Assignment | None:
    if given is None:
        return None
    return Assignment(tuple(given["levels"]), tuple((tuple(d["values"]), d["count"]) for d in given["domains"]))


def written(found: Assignment | None) -> Json | None:
    if found is None:
        return None
    domains = [{"values": list(values), "count": count} for values, count in found.domains]
    return {"levels": list(found.levels), "domains": domains}


def outcomes(found: Mapping[str, Outcome]) -> Json:
    return {name: {"assignment": written(each.assignment), "reason": each.reason} for name, each in found.items()}


def usage(given: Json) -> DomainUsage:
    return DomainUsage(tuple(given["values"]), amounts(given["requests"]), given["count"])


def pod_set(given: Json) -> PodSet:
    affinity = given["node_affinity"] or {"required": [], "preferred": []}
    return PodSet(
        given["name"],
        given["count"],
        amounts(given["requests"]),
        topology_request(given["topology"], given["group"]),
        given["node_selector"],
        tolerations(given["tolerations"]),
        tuple(_term(term) for term in affinity["required"]),
        tuple(PreferredTerm(each["weight"], _term(each["match"])) for each in affinity["preferred"]),
        assignment(given.get("previous")),
    )


def topology_request(given: Json | None, group: str | None) -> TopologyRequest | None:
    if given is None:
        return TopologyRequest(group=group) if group else None
    layers = tuple(SliceLayer(layer["level"], layer["size"]) for layer in given["slices"])
    return TopologyRequest(given["required"], given["preferred"], given["unconstrained"], layers, group)


def _term(given: list[Json]) -> tuple[Requirement, ...]:
    return tuple(Requirement(each["key"], each["operator"], tuple(each["values"])) for each in given)
