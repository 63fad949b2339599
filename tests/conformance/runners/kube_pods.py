"""Runner of the cases of kube-scheduler about one pod: filters, scores, and the choice of a node."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from tests.conformance.registry import NotUnderstood, Runners
from tests.conformance.runners.kube_objects import cluster_of, nodes_of, shape_of, spec_of
from workbench.model.labels import Requirement
from workbench.policies.kube.choose import heap_order, nodes_to_find, nominated_node, walk
from workbench.policies.kube.node_rules import normalized
from workbench.policies.kube.one_pod import FILTERS, SCORES
from workbench.policies.kube.resources import broken_line
from workbench.policies.kube.settings import KubeSettings
from workbench.policies.kube.status import NodeStatuses

Json = dict[str, Any]

_SCORE_FILES = ("score-resources", "score-node", "score-spread", "score-affinity")
_FILTER_FILES = ("filter-resources", "filter-node", "filter-spread", "filter-affinity")


def _added(settings: KubeSettings, affinity: Json) -> KubeSettings:
    spec = spec_of({"affinity": {"nodeAffinity": affinity}})
    return replace(settings, added_affinity=spec.filter.any_of, added_preferences=spec.rules.preferred_nodes)


#: Argument of a plugin -> the settings with it.
_ARGS: dict[str, Callable[[KubeSettings, Any], KubeSettings]] = {
    "strategy": lambda settings, value: replace(settings, strategy=value),
    "shape": lambda settings, value: replace(settings, curve=tuple(map(tuple, value))),
    "addedAffinity": _added,
    "hardPodAffinityWeight": lambda settings, value: replace(settings, hard_affinity_weight=value),
    "ignorePreferredTermsOfExistingPods": lambda settings, value: replace(settings, ignore_preferred_of_others=value),
    "ignoredResources": lambda settings, value: replace(settings, ignored=tuple(value)),
    "ignoredResourceGroups": lambda settings, value: replace(settings, ignored_groups=tuple(value)),
    "resources": lambda settings, value: replace(
        settings, resources=tuple(map(tuple, value)), balanced=tuple(map(tuple, value))
    ),
}


def settings_of(args: Json) -> KubeSettings:
    settings = KubeSettings()
    for name, value in args.items():
        if name in ("node_inclusion_policy", "match_label_keys"):
            continue
        if name not in _ARGS:
            raise NotUnderstood(f"argument {name!r}")
        settings = _ARGS[name](settings, value)
    return settings


def _before_gates(pod: Json, args: Json) -> Json:
    """The pod as a scheduler reads it that does not know inclusion policies or matchLabelKeys yet."""
    unread = []
    if args.get("node_inclusion_policy") is False:
        unread += ["nodeAffinityPolicy", "nodeTaintsPolicy"]
    if args.get("match_label_keys") is False:
        unread += ["matchLabelKeys"]
    constraints = pod.get("topologySpreadConstraints")
    if not unread or not constraints:
        return pod
    kept = [{key: value for key, value in each.items() if key not in unread} for each in constraints]
    return pod | {"topologySpreadConstraints": kept}


def score_nodes(given: Json, want: Json) -> None:
    args = given.get("args", {})
    settings = settings_of(args)
    services = tuple(
        tuple(Requirement(key, "In", (value,)) for key, value in selector.items())
        for selector in given.get("services", ())
    )
    settings = replace(settings, services=services)
    every = [*given["nodes"], *given.get("failed_nodes", ())]
    cluster = cluster_of(every, given.get("running", ()), given.get("namespaces", ()))
    feasible = np.arange(len(given["nodes"]), dtype=np.int32)
    shape = shape_of(_before_gates(given["pod"], args))
    found = SCORES[given["plugin"]][1](cluster, shape, settings, feasible)
    if want.get("skip"):
        assert found is None
        return
    assert found is not None
    names = [node["name"] for node in given["nodes"]]
    assert [[name, score] for name, score in zip(names, found.tolist(), strict=True)] == want["scores"]


def filter_nodes(given: Json, want: Json) -> None:
    args = given.get("args", {})
    cluster = cluster_of(given["nodes"], given.get("running", ()), given.get("namespaces", ()))
    statuses = NodeStatuses(np.arange(len(given["nodes"]), dtype=np.int32))
    FILTERS[given["plugin"]](cluster, shape_of(_before_gates(given["pod"], args)), settings_of(args), statuses)
    for i, node in enumerate(given["nodes"]):
        pinned = want["nodes"].get(node["name"])
        if pinned is None:
            continue
        status = statuses.of(i)
        found = {"code": status.code.value, "reasons": list(status.reasons)}
        assert {key: found[key] for key in pinned} == pinned, node["name"]


def pod_request(given: Json, want: Json) -> None:
    spec = spec_of(given["pod"])
    found = dict(spec.requests)
    for name, amount in spec.assumed.items() if given["non_zero_default"] else ():
        found[name] = found.get(name, 0) + amount
    expected = {name: amount for name, amount in want["requests"].items() if amount is not None}
    assert {name: found.get(name, 0) for name in expected} == expected


def broken_linear(given: Json, want: Json) -> None:
    points = [(x, y) for x, y in given["shape"]]
    assert broken_line(points, np.array(given["at"], dtype=np.int64)).tolist() == want["values"]


def normalize(given: Json, want: Json) -> None:
    scores = np.array(given["scores"], dtype=np.int64)
    assert normalized(scores, reverse=given["reverse"]).tolist() == want["scores"]


def to_find(given: Json, want: Json) -> None:
    assert nodes_to_find(given["nodes"], given["percentage"]) == want["count"]


def pop_order(given: Json, want: Json) -> None:
    order = heap_order([(total, chance) for _, total, chance in given["list"]])
    assert [given["list"][i][0] for i in order] == want["order"]


def node_order(given: Json, want: Json) -> None:
    nodes = nodes_of(given["nodes"])
    order = walk(nodes, np.arange(nodes.n, dtype=np.int32))
    assert [nodes.names[i] for i in order] == want["order"]


def nominated(given: Json, want: Json) -> None:
    nodes = nodes_of([{"name": name} for name in given["nodes"]])
    placement = np.array([given["nodes"].index(name) for name in given["placement"]], dtype=np.int32)
    found = nominated_node(nodes, placement, given["nominated"])
    assert ([] if found is None else [nodes.names[found]]) == want["nodes"]
    # Upstream's error is only logged.
    assert (given["nominated"] not in nodes.names) == want["error"]


def register(runners: Runners) -> None:
    """Add the operations to the area's runners."""
    given = ("plugin", "args", "pod", "nodes", "running", "failed_nodes", "services", "namespaces")
    for file in _SCORE_FILES:
        runners.op(file, "score-nodes", given, ("scores", "skip"))(score_nodes)
    for file in _FILTER_FILES:
        runners.op(file, "filter-nodes", ("plugin", "args", "pod", "nodes", "running", "namespaces"), ("nodes",))(
            filter_nodes
        )
    for file, op, keys, want, run in (
        ("score-resources", "pod-request", ("pod", "non_zero_default", "pod_level"), ("requests",), pod_request),
        ("score-resources", "broken-linear", ("shape", "at"), ("values",), broken_linear),
        ("choose-node", "normalize", ("scores", "reverse"), ("scores",), normalize),
        ("choose-node", "nodes-to-find", ("nodes", "percentage"), ("count",), to_find),
        ("choose-node", "pop-order", ("list",), ("order",), pop_order),
        ("choose-node", "node-order", ("nodes",), ("order",), node_order),
        ("choose-node", "nominated-node", ("nodes", "placement", "nominated"), ("nodes", "error"), nominated),
    ):
        runners.op(file, op, keys, want)(run)
