"""Functions that plant each defect that the linter knows into a good topology, in one way or several.

A defect is a function that damages the cluster and names where: a finding must be at one of these HyperNodes or nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from tests.topology.lint.good import RACK, Cluster, labelled, member, pattern

Draw = Callable[..., Any]
Defect = Callable[[Cluster, Draw], set[str]]

DEFECTS: dict[str, Defect] = {}


def plants(rule: str) -> Callable[[Defect], Defect]:
    """Register the defect of a rule."""

    def register(defect: Defect) -> Defect:
        DEFECTS[rule] = defect
        return defect

    return register


def pick(draw: Draw, names: list[str]) -> str:
    return draw(st.sampled_from(sorted(names)))


def pick_child(cluster: Cluster, draw: Draw) -> str:
    """A HyperNode that has a parent."""
    return pick(draw, [name for name in cluster.hypernodes if cluster.parent(name)])


@plants("cycle")
def cycle(cluster: Cluster, draw: Draw) -> set[str]:
    low = pick_child(cluster, draw)
    ring = {low}
    name = low
    while above := cluster.parent(name):
        ring.add(above)
        name = above
    cluster.members(low).append(member(name, "HyperNode"))
    return ring


@plants("two-parents")
def two_parents(cluster: Cluster, draw: Draw) -> set[str]:
    child = pick_child(cluster, draw)
    first = cluster.parent(child)
    second = cluster.add_hypernode("zz-second", cluster.tier(child) + 1, [member(child, "HyperNode")])
    return {str(first), second}


@plants("tier-order")
def tier_order(cluster: Cluster, draw: Draw) -> set[str]:
    child = pick_child(cluster, draw)
    cluster.hypernodes[child]["spec"]["tier"] = cluster.tier(str(cluster.parent(child))) + draw(st.integers(0, 2))
    return {child}


@plants("tier-skipped")
def tier_skipped(cluster: Cluster, draw: Draw) -> set[str]:
    top = cluster.top
    if top > 2 and draw(st.booleans()):
        leaf = pick(draw, cluster.of_tier(1))
        root = cluster.root(leaf)
        cluster.detach(leaf)
        cluster.members(root).append(member(leaf, "HyperNode"))
        return {leaf}
    roots = cluster.of_tier(top)
    for root in roots:
        cluster.hypernodes[root]["spec"]["tier"] += draw(st.just(1))
    return set(roots)


@plants("no-tier-one")
def no_tier_one(cluster: Cluster, draw: Draw) -> set[str]:
    leaves = set(cluster.of_tier(1))
    for name in cluster.hypernodes:
        cluster.hypernodes[name]["spec"]["tier"] += 1
    return leaves


@plants("tier-zero")
def tier_zero(cluster: Cluster, draw: Draw) -> set[str]:
    leaf = pick(draw, cluster.of_tier(1))
    if draw(st.booleans()):
        cluster.hypernodes[leaf]["spec"]["tier"] = 0
    else:
        del cluster.hypernodes[leaf]["spec"]["tier"]
    return {leaf}


@plants("mixed-depth")
def mixed_depth(cluster: Cluster, draw: Draw) -> set[str]:
    leaf = pick(draw, cluster.of_tier(1))
    root = cluster.root(leaf)
    cluster.detach(leaf)
    if cluster.top > 2:
        cluster.members(root).append(member(leaf, "HyperNode"))
    return {leaf}


@plants("stray-root")
def stray_root(cluster: Cluster, draw: Draw) -> set[str]:
    child = pick(draw, cluster.of_tier(1))
    cluster.detach(child)
    return {child}


@plants("redundant-level")
def redundant_level(cluster: Cluster, draw: Draw) -> set[str]:
    top = cluster.top
    return {cluster.add_hypernode(f"over-{r}", top + 1, [member(r, "HyperNode")]) for r in cluster.of_tier(top)}


@plants("leaf-id-reused")
def leaf_id_reused(cluster: Cluster, draw: Draw) -> set[str]:
    leaf = pick(draw, cluster.of_tier(1))
    if draw(st.booleans()):
        cluster.add_hypernode("zz-second", 2, [member(leaf, "HyperNode")])
        return {leaf, str(cluster.parent(leaf)), "zz-second"}
    for one in cluster.of_tier(1):
        for node in cluster.rack_nodes(one):
            labels = cluster.nodes[node]["metadata"]["labels"]
            labels |= {"volcano.sh/tor": one, "volcano.sh/hypercluster": str(cluster.parent(one))}
    moved = pick(draw, cluster.rack_nodes(leaf))
    cluster.nodes[moved]["metadata"]["labels"]["volcano.sh/hypercluster"] = "elsewhere"
    return {leaf}


@plants("dangling-member")
def dangling_member(cluster: Cluster, draw: Draw) -> set[str]:
    if draw(st.booleans()):
        name = pick(draw, cluster.upper)
        cluster.members(name).append(member("ghost", "HyperNode"))
    else:
        name = pick(draw, cluster.of_tier(1))
        node = pick(draw, cluster.rack_nodes(name))
        cluster.members(name).append(member(draw(st.sampled_from(("ghost", node.upper(), f" {node}")))))
    return {name}


@plants("empty-member")
def empty_member(cluster: Cluster, draw: Draw) -> set[str]:
    leaf = pick(draw, cluster.of_tier(1))
    cluster.members(leaf)[:] = draw(st.sampled_from(([], [pattern("^ghost-")], [labelled(RACK, "ghost")])))
    return {leaf}


@plants("member-matches-nothing")
def matches_nothing(cluster: Cluster, draw: Draw) -> set[str]:
    leaf = pick(draw, cluster.of_tier(1))
    cluster.members(leaf).append(draw(st.sampled_from((pattern("^ghost-"), labelled(RACK, "ghost")))))
    return {leaf}


@plants("bad-pattern")
def bad_pattern(cluster: Cluster, draw: Draw) -> set[str]:
    leaf = pick(draw, cluster.of_tier(1))
    cluster.members(leaf).append(pattern(draw(st.sampled_from(("node-[", "(", "(?=x)", "a\\C")))))
    return {leaf}


@plants("unknown-field")
def unknown_field(cluster: Cluster, draw: Draw) -> set[str]:
    name = pick(draw, list(cluster.hypernodes))
    if draw(st.booleans()):
        cluster.hypernodes[name]["spec"]["tierNam"] = "rack"
    else:
        kind = "Node" if name in cluster.of_tier(1) else "HyperNode"
        cluster.members(name).append({"type": kind, "name": "other"})
    return {name}


@plants("duplicate-member")
def duplicate_member(cluster: Cluster, draw: Draw) -> set[str]:
    name = pick(draw, list(cluster.hypernodes))
    members = cluster.members(name)
    members.insert(draw(st.integers(0, len(members))), draw(st.sampled_from(members)))
    return {name}


@plants("covered-member")
def covered_member(cluster: Cluster, draw: Draw) -> set[str]:
    leaf = pick(draw, cluster.of_tier(1))
    above = draw(st.sampled_from((str(cluster.parent(leaf)), cluster.root(leaf))))
    cluster.members(above).append(member(pick(draw, cluster.rack_nodes(leaf))))
    return {above}


@plants("overlap")
def overlap(cluster: Cluster, draw: Draw) -> set[str]:
    a, b = draw(st.permutations(cluster.of_tier(1)))[:2]
    cluster.members(a).append(member(pick(draw, cluster.rack_nodes(b))))
    return {a, b}


@plants("ignored-member")
def ignored_member(cluster: Cluster, draw: Draw) -> set[str]:
    name = pick(draw, cluster.upper)
    cluster.members(name).append({**draw(st.sampled_from((pattern("^t1-"), labelled("a", "b")))), "type": "HyperNode"})
    return {name}


@plants("mixed-members")
def mixed_members(cluster: Cluster, draw: Draw) -> set[str]:
    name = pick(draw, cluster.upper)
    cluster.members(name).append(member(cluster.add_node("direct-0")))
    return {name}


@plants("selector-above-leaf")
def selector_above_leaf(cluster: Cluster, draw: Draw) -> set[str]:
    name = pick(draw, cluster.upper)
    cluster.add_node("direct-0", {"direct": "yes"})
    cluster.members(name).append(draw(st.sampled_from((pattern("^direct-"), labelled("direct", "yes")))))
    return {name}


@plants("refused-by-admission")
def refused(cluster: Cluster, draw: Draw) -> set[str]:
    leaf = pick(draw, cluster.of_tier(1))
    odd = draw(st.sampled_from((member("Bad_Name"), {"type": "Node", "selector": {}}, pattern("a\\(b"))))
    cluster.members(leaf).append(odd)
    return {leaf}


@plants("stale-node-count")
def stale_node_count(cluster: Cluster, draw: Draw) -> set[str]:
    leaf = pick(draw, cluster.of_tier(1))
    right = len(cluster.rack_nodes(leaf))
    cluster.hypernodes[leaf]["status"] = {"nodeCount": draw(st.integers(0, 40).filter(lambda n: n != right))}
    return {leaf}


@plants("pattern-reaches-other-rack")
def pattern_reaches(cluster: Cluster, draw: Draw) -> set[str]:
    a, b = draw(st.permutations(cluster.of_tier(1)))[:2]
    mine = cluster.rack_nodes(a)[0].partition("-")[0]
    theirs = draw(st.sampled_from((cluster.rack_nodes(b)[0], cluster.rack_nodes(b)[0].partition("-")[0])))
    cluster.members(a)[:] = [pattern(f"{mine}-|{theirs}")]
    return {a}


@plants("pattern-in-part")
def pattern_in_part(cluster: Cluster, draw: Draw) -> set[str]:
    leaf = pick(draw, cluster.of_tier(1))
    first = cluster.rack_nodes(leaf)[0]
    for name in (f"{first}-x1", f"{first}-x12"):
        cluster.add_node(name, {RACK: leaf})
    cluster.members(leaf).append(pattern(f"{first}-x1"))
    return {leaf}


@plants("open-pattern")
def open_pattern(cluster: Cluster, draw: Draw) -> set[str]:
    leaf = pick(draw, cluster.of_tier(1))
    for i in range(1, 4):
        cluster.add_node(f"gpu-{i}", {RACK: leaf})
    written = draw(st.sampled_from(("^gpu-[1-3]", "gpu-(1|2|3)", r"^gpu-[1-3]\b", "gpu-[123]$")))
    cluster.members(leaf).append(pattern(written))
    return {leaf}


@plants("sees-every-node")
def sees_every_node(cluster: Cluster, draw: Draw) -> set[str]:
    inside = [n for leaf in cluster.of_tier(1) for n in cluster.rack_nodes(leaf)]
    missing = draw(st.integers(0, len(inside) // 20))
    members = draw(st.sampled_from(([member(n) for n in inside[missing:]], [pattern("^r")])))
    return {cluster.add_hypernode(draw(st.sampled_from(("aa-storage", "zz-storage"))), 1, members)}


@plants("unequal-leaves")
def unequal_leaves(cluster: Cluster, draw: Draw) -> set[str]:
    leaf = pick(draw, cluster.of_tier(1))
    for i in range(16 - len(cluster.rack_nodes(leaf)) + draw(st.integers(0, 5))):
        cluster.members(leaf).append(member(cluster.add_node(f"more-{leaf}-{i}", {RACK: leaf})))
    return {leaf}


@plants("single-node-leaf")
def single_node_leaf(cluster: Cluster, draw: Draw) -> set[str]:
    leaf = pick(draw, cluster.of_tier(1))
    cluster.members(leaf)[:] = [member(pick(draw, cluster.rack_nodes(leaf)))]
    return {leaf}


@plants("tier-name-reused")
def tier_name_reused(cluster: Cluster, draw: Draw) -> set[str]:
    cluster.name_tiers()
    name = pick(draw, cluster.upper)
    cluster.hypernodes[name]["spec"]["tierName"] = "level1"
    return {name}


@plants("tier-named-twice")
def tier_named_twice(cluster: Cluster, draw: Draw) -> set[str]:
    cluster.name_tiers()
    name = pick(draw, cluster.of_tier(1))
    cluster.hypernodes[name]["spec"]["tierName"] = "other"
    return {name}


@plants("tier-name-missing")
def tier_name_missing(cluster: Cluster, draw: Draw) -> set[str]:
    cluster.name_tiers()
    name = pick(draw, cluster.of_tier(1))
    del cluster.hypernodes[name]["spec"]["tierName"]
    return {name}


@plants("names-differ-by-case")
def names_differ(cluster: Cluster, draw: Draw) -> set[str]:
    if draw(st.booleans()):
        name = pick(draw, list(cluster.hypernodes))
        return {name, cluster.add_hypernode(name.upper(), 1, [member(cluster.add_node("direct-0"))])}
    name = pick(draw, list(cluster.nodes))
    return {name, cluster.add_node(name.upper())}


@plants("node-named-like-domain")
def node_named_like_domain(cluster: Cluster, draw: Draw) -> set[str]:
    name = pick(draw, list(cluster.hypernodes))
    root = cluster.root(name)
    if draw(st.booleans()):
        return {cluster.add_node(name)}
    cluster.hypernodes[root]["metadata"]["labels"] = {"example.com/zone": cluster.rack_nodes(cluster.of_tier(1)[0])[0]}
    return {root}


@plants("shifting-name")
def shifting_name(cluster: Cluster, draw: Draw) -> set[str]:
    a, b = draw(st.permutations(cluster.of_tier(1)))[:2]
    way = draw(st.sampled_from(("gap", "labels", "tier", "twice")))
    source = "volcano.sh/network-topology-source"
    if way == "gap":
        cluster.rename(a, "leaf-hn-0")
        return {cluster.rename(b, "leaf-hn-2")}
    found = cluster.rename(a, f"hypernode-rdma-tier{2 if way == 'tier' else 1}-x7k2p")
    if way != "labels":
        cluster.hypernodes[found]["metadata"]["labels"] = {source: "label", RACK: a}
    if way == "twice":
        second = cluster.rename(b, "hypernode-rdma-tier1-zz9q4")
        cluster.hypernodes[second]["metadata"]["labels"] = {source: "label", RACK: a}
        return {second}
    return {found}


@plants("node-outside")
def node_outside(cluster: Cluster, draw: Draw) -> set[str]:
    return {cluster.add_node("lost-0")}


@plants("label-disagrees")
def label_disagrees(cluster: Cluster, draw: Draw) -> set[str]:
    a, b = draw(st.permutations(cluster.of_tier(1)))[:2]
    node = pick(draw, cluster.rack_nodes(a))
    cluster.members(a)[:] = [member(name) for name in cluster.rack_nodes(a)]
    cluster.members(b)[:] = [member(name) for name in cluster.rack_nodes(b)]
    cluster.nodes[node]["metadata"]["labels"][RACK] = b
    return {node}


@plants("mixed-gpus")
def mixed_gpus(cluster: Cluster, draw: Draw) -> set[str]:
    leaf = pick(draw, cluster.of_tier(1))
    node = pick(draw, cluster.rack_nodes(leaf))
    offered = cluster.nodes[node]["status"]["allocatable"]
    offered["nvidia.com/gpu"] = "7"
    return {leaf}


@plants("leaf-cordoned")
def leaf_cordoned(cluster: Cluster, draw: Draw) -> set[str]:
    leaf = pick(draw, cluster.of_tier(1))
    for node in cluster.rack_nodes(leaf):
        cluster.nodes[node]["spec"]["unschedulable"] = True
    return {leaf}


@plants("matrix-missing")
def matrix_missing(cluster: Cluster, draw: Draw) -> set[str]:
    leaf = pick(draw, cluster.of_tier(1))
    for node in cluster.nodes.values():
        node["status"]["allocatable"]["nvidia.com/gpu"] = "8"
    cluster.with_matrix = set(cluster.nodes) - {pick(draw, cluster.rack_nodes(leaf))}
    return {leaf}
