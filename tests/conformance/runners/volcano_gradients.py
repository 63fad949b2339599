"""Runner of the cases on gradients, records and the score cache: `gradient`, `allocated-hypernode`, `score-cache`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tests.conformance.registry import NotUnderstood, Runners, assert_pinned
from tests.conformance.runners.volcano_sessions import domains
from tests.reference.eviction_order import reverse_and_cap
from workbench.kernels.domains import NO_RECORD
from workbench.model.gang import TopologyConstraint
from workbench.model.release import Release
from workbench.model.scheduler_config import PluginOption
from workbench.model.topology import VIRTUAL_TOP, DomainSpec, Topology
from workbench.policies.volcano.parts.gradients import Gradients, large_enough
from workbench.policies.volcano.parts.topology_arguments import TopologyArguments
from workbench.policies.volcano.v1_15.constraints import hard_tier
from workbench.policies.volcano.v1_15.search_query import join, recover

Json = Mapping[str, Any]


def register(runners: Runners) -> None:
    """Add the operations of these files to the area's runners."""
    asked = ("topology", "node_allocatable", "start", "allocated_hypernode", "purpose", "level")
    asked += ("highest_tier_allowed", "min_resource", "cache_override")
    runners.op("gradient", "gradients", asked, ("contains", "tiers_ascending"))(gradients)
    asked = ("topology", "node_allocatable", "pending_tasks", "network_topology", "start", "purpose")
    runners.op("gradient", "sub-job-gradients", (*asked, "plugin_arguments"), ("gradients",))(sub_job_gradients)
    runners.op("gradient", "reverse-and-cap", ("gradients", "max"), ("gradients",))(reversed_and_capped)
    asked = ("tree", "job_allocated", "job_decision", "sub_jobs", "decision_for_unknown_sub_job")
    runners.op("allocated-hypernode", "commit-record", asked, ("job_allocated", "sub_jobs_allocated"))(commit)
    asked = ("tree", "running_pod_nodes", "allocated_before")
    runners.op("allocated-hypernode", "session-open-record", asked, ("allocated_after",))(opened)
    asked = ("topology", "node_allocatable", "node_used")
    runners.op("score-cache", "resource-cache", asked, ("every_hypernode_of_tier",))(totals)


def topology_of(given: Json) -> Topology:
    """The topology of a case without pods: generated from rules, or written down as for a session."""
    if "generated" in given:
        return generated(given["generated"])
    names = sorted({node for nodes in given["real_nodes"].values() for node in nodes})
    return Topology.build(names, domains(given, dict.fromkeys(names), Release.V1_15))


def generated(rules: Json) -> Topology:
    """A large topology from its rules: see the README of the cases."""
    n = rules["node_count"]
    names = [rules["node_name"].replace("{i}", str(i)) for i in range(n)]
    tiers = sorted(rules["tiers"], key=lambda tier: tier["tier"])

    def number(tier: Json, node: int) -> int:
        if rules["assign"] not in ("blocks", "modulo"):
            raise NotUnderstood(f"assign {rules['assign']!r}")
        return node * tier["count"] // n if rules["assign"] == "blocks" else node % tier["count"]

    specs = []
    for level, tier in enumerate(tiers):
        members: dict[int, list[int]] = {}
        for node in range(n):
            members.setdefault(number(tier, node), []).append(node)
        for i, nodes in members.items():
            above = tiers[level + 1] if level + 1 < len(tiers) else None
            parent = above["name"].replace("{i}", str(number(above, nodes[0]))) if above else ""
            specs.append(DomainSpec(tier["name"].replace("{i}", str(i)), tier["tier"], nodes, parent=parent))
    return Topology.build(names, specs)


def tree(entries: Sequence[Json]) -> Topology:
    """HyperNodes given one by one; the virtual top is always there and left out."""
    names = sorted({node for entry in entries for node in entry.get("real_nodes", ())})
    at = {name: i for i, name in enumerate(names)}
    specs = [
        DomainSpec(
            entry["name"],
            entry.get("tier", 0),
            [at[node] for node in entry.get("real_nodes", ())],
            parent="" if entry["parent"] == VIRTUAL_TOP else entry["parent"],
        )
        for entry in entries
        if entry["name"] != VIRTUAL_TOP
    ]
    return Topology.build(names, specs)


def amounts(*rows: Json) -> np.ndarray:
    """Rows of amounts with one column for every name in any of them."""
    names = sorted({name for row in rows for name in row})
    return np.array([[row.get(name, 0) for name in names] for row in rows], dtype=np.int64)


def record_of(name: str, topology: Topology) -> int:
    return topology.domain(name) if name else NO_RECORD


def gradients(given: dict[str, Any], want: dict[str, Any]) -> None:
    topology = topology_of(given["topology"])
    override = given["cache_override"] or {}
    rows = [given["node_allocatable"], given["min_resource"]]
    rows += [amount for one in override.values() for amount in (one["idle"], one["future_idle"])]
    table = amounts(*rows)
    idle = topology.domain_sums(np.tile(table[0], (topology.n_nodes, 1)))
    future = idle.copy()
    if given["purpose"] == "allocate":
        for i, name in enumerate(override):
            idle[topology.domain(name)], future[topology.domain(name)] = table[2 + 2 * i], table[3 + 2 * i]
    elif given["purpose"] != "evict":
        raise NotUnderstood(f"purpose {given['purpose']!r}")
    large = large_enough(idle, table[1]) | large_enough(future, table[1])
    found = Gradients(topology).of(
        topology.domain(given["start"]),
        record_of(given["allocated_hypernode"], topology),
        given["highest_tier_allowed"],
        large,
    )
    names = {topology.domain_name(domain) for _, domains in found for domain in domains.tolist()}
    tiers = [tier for tier, _ in found]
    contains = {name: name in names for name in want["contains"]}
    assert_pinned({"contains": contains, "tiers_ascending": tiers == sorted(tiers)}, want)


def sub_job_gradients(given: dict[str, Any], want: dict[str, Any]) -> None:
    topology = tree(given["topology"]["hypernodes"])
    wish = given["network_topology"] or {}
    limit = hard_tier(TopologyConstraint(wish.get("mode", ""), wish.get("highestTierAllowed")))
    table = amounts(given["node_allocatable"], *given["pending_tasks"])
    large = large_enough(topology.domain_sums(np.tile(table[0], (topology.n_nodes, 1))), table[1:].sum(axis=0))
    found = Gradients(topology).of(topology.domain(given["start"]), NO_RECORD, limit, large)
    names = [[topology.domain_name(domain) for domain in domains.tolist()] for _, domains in found]
    if given["purpose"] == "evict":
        option = PluginOption("network-topology-aware", {}, given["plugin_arguments"])
        names = reverse_and_cap(names, TopologyArguments.of(option, Release.V1_15).max_hypernodes_for_eviction)
    assert [set(gradient) for gradient in names] == [set(gradient) for gradient in want["gradients"]]


def reversed_and_capped(given: dict[str, Any], want: dict[str, Any]) -> None:
    assert reverse_and_cap(given["gradients"], given["max"]) == want["gradients"]


def commit(given: dict[str, Any], want: dict[str, Any]) -> None:
    """A decision for a sub-job that does not exist changes nothing: here such a thing cannot be said."""
    topology = tree(given["tree"])
    has_top = any(entry["name"] == VIRTUAL_TOP for entry in given["tree"])

    def after(allocated: str | None, decision: str | None) -> str:
        found = join(record_of(allocated or "", topology), record_of(decision or "", topology), topology)
        if found == NO_RECORD or (found < 0 and not has_top):
            return ""
        return topology.domain_name(found)

    job = after(given["job_allocated"], given["job_decision"])
    found = {name: after(sub["allocated"], sub["decision"]) for name, sub in given["sub_jobs"].items()}
    assert_pinned({"job_allocated": job, "sub_jobs_allocated": found}, want)


def opened(given: dict[str, Any], want: dict[str, Any]) -> None:
    topology = tree(given["tree"])
    before = given["allocated_before"]
    known = before == VIRTUAL_TOP or topology.has_domain(before)
    nodes = [topology.node(name) if topology.has_node(name) else -1 for name in given["running_pod_nodes"]]
    found = recover(np.array(nodes, dtype=np.int32), topology, record_of(before if known else "", topology))
    assert ("" if found == NO_RECORD else topology.domain_name(found)) == want["allocated_after"]


def totals(given: dict[str, Any], want: dict[str, Any]) -> None:
    topology = topology_of(given["topology"])
    for kind in ("allocatable", "used"):
        for wanted in want["every_hypernode_of_tier"]:
            if wanted[kind] is None:
                continue
            table = amounts(given[f"node_{kind}"] or {}, wanted[kind])
            sums = topology.domain_sums(np.tile(table[0], (topology.n_nodes, 1)))
            # The last row is the virtual top's.
            rows = sums[-1:] if wanted["tier"] == topology.top_tier else sums[topology.domains_at(wanted["tier"])]
            assert len(rows)
            assert (rows == table[1]).all()
