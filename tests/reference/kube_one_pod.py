"""Filters and scores of kube-scheduler's default profile, node by node and pod by pod: the oracle of `policies/kube`.

Nodes and pods are written as in the cases of `cases/kube-scheduler`: plain mappings, amounts as whole numbers.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

Json = dict[str, Any]

HOSTNAME = "kubernetes.io/hostname"
MINIMUM = {"cpu": 100, "memory": 200 << 20}


def meets(requirements: list[Json], labels: Json) -> bool:
    for each in requirements:
        value, values = labels.get(each["key"]), each.get("values", [])
        if each["operator"] == "In":
            good = value in values
        elif each["operator"] == "NotIn":
            good = value not in values
        else:
            good = (value is not None) == (each["operator"] == "Exists")
        if not good:
            return False
    return True


def selects(selector: Json | None, labels: Json) -> bool:
    if selector is None:
        return False
    equal = all(labels.get(key) == value for key, value in selector.get("matchLabels", {}).items())
    return equal and meets(selector.get("matchExpressions", []), labels)


def tolerated(taint: Json, pod: Json) -> bool:
    for each in pod.get("tolerations", []):
        about = each.get("effect") in (None, taint["effect"]) and each.get("key") in (None, taint["key"])
        if about and (each.get("operator") == "Exists" or each.get("value") == taint["value"]):
            return True
    return False


def affinity(pod: Json, kind: str, required: bool) -> list[Any]:
    key = (
        "requiredDuringSchedulingIgnoredDuringExecution"
        if required
        else "preferredDuringSchedulingIgnoredDuringExecution"
    )
    return pod.get("affinity", {}).get(kind, {}).get(key, [])


def term_selects(term: Json, owner: Json, other: Json) -> bool:
    namespaces = term.get("namespaces") or [owner["namespace"]]
    return other["namespace"] in namespaces and selects(term.get("labelSelector"), other["labels"])


def request(pod: Json, name: str, assumed: bool = False) -> int:
    if assumed and name in MINIMUM:
        return pod["requests"].get(name, MINIMUM[name])
    return pod["requests"].get(name, 0)


class Oracle:
    """A cluster in plain mappings: ``pods`` are all with a node."""

    def __init__(self, nodes: list[Json], pods: list[Json]) -> None:
        self.nodes = nodes
        self.pods = pods

    def on(self, node: Json) -> list[Json]:
        return [pod for pod in self.pods if pod["node"] == node["name"]]

    def used(self, node: Json, name: str, assumed: bool = False) -> int:
        return sum(request(pod, name, assumed) for pod in self.on(node))

    def fits(self, pod: Json, node: Json) -> list[str]:
        """Reasons why a node does not take a pod: those of the first filter that fails it."""
        for plugin in (self._taints, self._node_affinity, self._resources, self._spread, self._pods):
            if reasons := plugin(pod, node):
                return reasons
        return []

    def _taints(self, pod: Json, node: Json) -> list[str]:
        bad = [t for t in node["taints"] if t["effect"] != "PreferNoSchedule" and not tolerated(t, pod)]
        return ["node(s) had untolerated taint(s)"] if bad else []

    def _accepts(self, pod: Json, node: Json) -> bool:
        if any(node["labels"].get(key) != value for key, value in pod.get("nodeSelector", {}).items()):
            return False
        terms = affinity(pod, "nodeAffinity", True)
        return not terms or any(
            term["matchExpressions"] and meets(term["matchExpressions"], node["labels"])
            for term in terms["nodeSelectorTerms"]
        )

    def _node_affinity(self, pod: Json, node: Json) -> list[str]:
        return [] if self._accepts(pod, node) else ["node(s) didn't match Pod's node affinity/selector"]

    def _resources(self, pod: Json, node: Json) -> list[str]:
        reasons = ["Too many pods"] if len(self.on(node)) + 1 > node["allocatable"]["pods"] else []
        for name in sorted(pod["requests"], key=lambda name: (name not in MINIMUM, name)):
            left = node["allocatable"].get(name, 0) - self.used(node, name)
            if 0 < request(pod, name) > left:
                reasons.append(f"Insufficient {name}")
        return reasons

    def _counted(self, pod: Json, constraint: Json, keys: list[str]) -> list[Json]:
        """Nodes that a spread constraint counts."""
        found = []
        for node in self.nodes:
            if any(key not in node["labels"] for key in keys):
                continue
            if constraint.get("nodeAffinityPolicy", "Honor") == "Honor" and not self._accepts(pod, node):
                continue
            if constraint.get("nodeTaintsPolicy", "Ignore") == "Honor" and self._taints(pod, node):
                continue
            found.append(node)
        return found

    def _matching(self, pod: Json, constraint: Json, node: Json) -> int:
        return sum(
            other["namespace"] == pod["namespace"] and selects(constraint["labelSelector"], other["labels"])
            for other in self.on(node)
        )

    def _spread(self, pod: Json, node: Json) -> list[str]:
        text = "node(s) didn't match pod topology spread constraints"
        hard = [c for c in pod.get("topologySpreadConstraints", []) if c["whenUnsatisfiable"] == "DoNotSchedule"]
        for constraint in hard:
            key = constraint["topologyKey"]
            counts: Counter[str] = Counter()
            for each in self._counted(pod, constraint, [c["topologyKey"] for c in hard]):
                counts[each["labels"][key]] += self._matching(pod, constraint, each)
            low = min(counts.values()) if len(counts) >= constraint.get("minDomains", 1) else 0
            if key not in node["labels"]:
                return [f"{text} (missing required label)"]
            itself = selects(constraint["labelSelector"], pod["labels"])
            if counts[node["labels"][key]] + itself - low > constraint["maxSkew"]:
                return [text]
        return []

    def _same_domain(self, key: str, node: Json) -> list[Json]:
        value = node["labels"].get(key)
        if value is None:
            return []
        return [pod for each in self.nodes if each["labels"].get(key) == value for pod in self.on(each)]

    def _pods(self, pod: Json, node: Json) -> list[str]:
        terms = affinity(pod, "podAffinity", True)

        def fit_all(other: Json) -> bool:
            return all(term_selects(term, pod, other) for term in terms)

        near = all(any(map(fit_all, self._same_domain(term["topologyKey"], node))) for term in terms)
        labelled = all(term["topologyKey"] in node["labels"] for term in terms)
        if terms and not (near and labelled):
            keys = [term["topologyKey"] for term in terms]
            somewhere = any(
                fit_all(other) for each in self.nodes if set(keys) & set(each["labels"]) for other in self.on(each)
            )
            if not (labelled and not somewhere and fit_all(pod)):
                return ["node(s) didn't match pod affinity rules"]
        for term in affinity(pod, "podAntiAffinity", True):
            if any(term_selects(term, pod, other) for other in self._same_domain(term["topologyKey"], node)):
                return ["node(s) didn't match pod anti-affinity rules"]
        for other in self.pods:
            home = next(each for each in self.nodes if each["name"] == other["node"])
            for term in affinity(other, "podAntiAffinity", True):
                value = home["labels"].get(term["topologyKey"])
                same = value is not None and value == node["labels"].get(term["topologyKey"])
                if same and term_selects(term, other, pod):
                    return ["node(s) didn't satisfy existing pods anti-affinity rules"]
        return []

    def totals(self, pod: Json, feasible: list[Json]) -> list[int]:
        """Weighted sum of all scores on each feasible node."""
        parts = [
            (3, scaled([sum(soft(t, pod) for t in node["taints"]) for node in feasible], reverse=True)),
            (2, self._preferred(pod, feasible)),
            (1, [self._least(pod, node) for node in feasible]),
            (2, self._soft_spread(pod, feasible)),
            (2, self._closeness(pod, feasible)),
            (1, [self._balance(pod, node) for node in feasible]),
        ]
        return [sum(weight * scores[i] for weight, scores in parts) for i in range(len(feasible))]

    def _preferred(self, pod: Json, feasible: list[Json]) -> list[int]:
        terms = affinity(pod, "nodeAffinity", False)
        return scaled(
            [
                sum(t["weight"] for t in terms if meets(t["preference"]["matchExpressions"], node["labels"]))
                for node in feasible
            ]
        )

    def _least(self, pod: Json, node: Json) -> int:
        scores = []
        for name in MINIMUM:
            capacity = node["allocatable"].get(name, 0)
            wanted = self.used(node, name, True) + request(pod, name, True)
            if capacity:
                scores.append(0 if wanted > capacity else (capacity - wanted) * 100 // capacity)
        return sum(scores) // len(scores) if scores else 0

    def _balance(self, pod: Json, node: Json) -> int:
        if not any(request(pod, name) for name in MINIMUM):
            return 0

        def even(more: int) -> int:
            shares = [
                min(1.0, (self.used(node, name) + more * request(pod, name)) / node["allocatable"][name])
                for name in MINIMUM
                if node["allocatable"].get(name)
            ]
            return int((1 - (abs(shares[0] - shares[1]) / 2 if len(shares) == 2 else 0.0)) * 100)

        return 50 + (50 + even(1) - even(0)) // 2

    def _soft_spread(self, pod: Json, feasible: list[Json]) -> list[int]:
        soft_ones = [c for c in pod.get("topologySpreadConstraints", []) if c["whenUnsatisfiable"] == "ScheduleAnyway"]
        if not soft_ones:
            return [0] * len(feasible)
        keys = [c["topologyKey"] for c in soft_ones]
        scored = [node for node in feasible if all(key in node["labels"] for key in keys)]
        raw = {}
        for node in scored:
            total = 0.0
            for constraint in soft_ones:
                key = constraint["topologyKey"]
                size = len(scored) if key == HOSTNAME else len({each["labels"][key] for each in scored})
                there = (
                    [node]
                    if key == HOSTNAME
                    else [
                        each
                        for each in self._counted(pod, constraint, keys)
                        if each["labels"][key] == node["labels"][key]
                    ]
                )
                count = sum(self._matching(pod, constraint, each) for each in there)
                total += float(count) * math.log(size + 2) + (constraint["maxSkew"] - 1)
            raw[node["name"]] = math.floor(total + 0.5)
        most, least = max(raw.values(), default=0), min(raw.values(), default=0)
        full = {name: 100 if most == 0 else 100 * (most + least - score) // most for name, score in raw.items()}
        return [full.get(node["name"], 0) for node in feasible]

    def _closeness(self, pod: Json, feasible: list[Json]) -> list[int]:
        weights: Counter[tuple[str, str]] = Counter()
        for other in self.pods:
            home = next(each for each in self.nodes if each["name"] == other["node"])["labels"]
            for sign, kind in ((1, "podAffinity"), (-1, "podAntiAffinity")):
                found = [(t["podAffinityTerm"], sign * t["weight"], pod, other) for t in affinity(pod, kind, False)]
                found += [(t["podAffinityTerm"], sign * t["weight"], other, pod) for t in affinity(other, kind, False)]
                if sign == 1:
                    found += [(term, 1, other, pod) for term in affinity(other, kind, True)]
                for term, weight, owner, target in found:
                    if term["topologyKey"] in home and term_selects(term, owner, target):
                        weights[term["topologyKey"], home[term["topologyKey"]]] += weight
        raw = [sum(weights[pair] for pair in node["labels"].items()) for node in feasible]
        if not raw or max(raw) == min(raw):
            return [0] * len(raw)
        return [int(100.0 * ((score - min(raw)) / (max(raw) - min(raw)))) for score in raw]


def soft(taint: Json, pod: Json) -> bool:
    tolerations = [t for t in pod.get("tolerations", []) if t.get("effect") in (None, "PreferNoSchedule")]
    return taint["effect"] == "PreferNoSchedule" and not tolerated(taint, {"tolerations": tolerations})


def scaled(scores: list[int], *, reverse: bool = False) -> list[int]:
    most = max(scores, default=0)
    found = [score * 100 // most for score in scores] if most else list(scores)
    return [100 - score for score in found] if reverse else found
