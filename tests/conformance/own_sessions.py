"""Our own session cases, in the schema of the shared cases: expectations of the reference for one small cluster.

::

    hall (3)      all
    row (2)       ab              cd
    rack (1)      a      b        c      d
    nodes         a1 a2  b1 b2    c1 c2  d1 d2    x1: in no HyperNode

Each node has 4 CPU and 8 GiB; pods ask for 1 GiB each. Expectations are worked out by hand from
reference/volcano-topology.md; where that allows several outcomes only their number is given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Json = dict[str, Any]

OLD, NEW, BOTH = "v1.13.0", "head", "both"
TOP = "<cluster-top-hypernode>"
TOPOLOGY_PLUGINS = ("gang", "predicates", "network-topology-aware")
SOFT = {"mode": "soft"}

RACKS = {name: (1, (f"{name}1", f"{name}2")) for name in "abcd"}
TREE = {**RACKS, "ab": (2, ("a", "b")), "cd": (2, ("c", "d")), "all": (3, ("ab", "cd"))}
TIER_NAMES = {1: "rack", 2: "row", 3: "hall"}


def hard(tier: int | None = None, name: str = "") -> Json:
    limit = {} if tier is None else {"highestTierAllowed": tier}
    return {"mode": "hard", **limit, **({"highestTierName": name} if name else {})}


def node(name: str, cpu: str = "4", pods: str = "10", **labels: str) -> Json:
    return {"name": name, "allocatable": {"cpu": cpu, "memory": "8Gi", "pods": pods}, "labels": labels}


NODES = [*(node(name) for _, names in RACKS.values() for name in names), node("x1")]


def topology(tree: Mapping[str, tuple[int, Sequence[str]]] = TREE, given_as: str = "tree") -> Json:
    def nodes_of(name: str) -> list[str]:
        parts = [nodes_of(member) if member in tree else [member] for member in tree[name][1]]
        return sorted({node for part in parts for node in part})

    tiers: dict[str, list[str]] = {}
    for name, (tier, _) in tree.items():
        tiers.setdefault(str(tier), []).append(name)
    objects = [
        {
            "name": name,
            "tier": tier,
            "tierName": TIER_NAMES.get(tier, ""),
            "members": [{"type": "HyperNode" if m in tree else "Node", "exactMatch": m} for m in members],
        }
        for name, (tier, members) in tree.items()
    ]
    return {
        "given_as": given_as,
        "tiers": tiers,
        "real_nodes": {name: nodes_of(name) for name in tree},
        "hypernodes": objects if given_as == "tree" else [],
        "tier_names": {TIER_NAMES[tier]: tier for tier, _ in tree.values() if tier in TIER_NAMES},
        "inject_sets": given_as != "tree",
    }


def group(minimum: int, wish: Json | None = None, *policies: Json, name: str = "job", **more: Any) -> Json:
    known = {"roles": "minTaskMember", "record": "allocatedHyperNodeAnnotation", "phase": "phase"}
    found = {known[key]: value for key, value in more.items()}
    base = {"namespace": "ns", "queue": "q", "minTaskMember": {}, "phase": "Inqueue"}
    record = {"allocatedHyperNodeAnnotation": ""}
    spec = {"minMember": minimum, "networkTopology": wish, "subGroupPolicy": list(policies)}
    return {**base, **record, "name": name, **spec, **found}


def policy(size: int, wish: Json | None = None, minimum: int = 0, keys: Sequence[str] = ("part",)) -> Json:
    counts = {"subGroupSize": size, "minSubGroups": minimum}
    return {"name": "p", "matchLabelKeys": list(keys), "networkTopology": wish, **counts}


def pod(name: str, cpu: str = "4", at: str = "", *, role: str = "worker", job: str = "job", **labels: str) -> Json:
    return {
        "namespace": "ns",
        "name": name,
        "node": at,
        "phase": "Running" if at else "Pending",
        "requests": {"cpu": cpu, "memory": "1Gi"},
        "group": job,
        "labels": {**labels, **({"volcano.sh/task-spec": role} if role else {})},
        "nodeSelector": {},
    }


def pods(n: int, cpu: str = "4", **more: str) -> list[Json]:
    return [pod(f"p{i}", cpu, **more) for i in range(n)]


def parts(n: int, size: int, cpu: str = "4") -> list[Json]:
    """n partitions of a size."""
    return [pod(f"s{part}-{i}", cpu, part=str(part)) for part in range(n) for i in range(size)]


def succeeded(name: str, at: str, **more: str) -> Json:
    return {**pod(name, "1", at, **more), "phase": "Succeeded"}


def filler(at: str, cpu: str) -> Json:
    return pod(f"f-{at}", cpu, at, job="")


def given(group_or_groups: Json | list[Json], *members: Json | list[Json], **more: Any) -> Json:
    flat = [p for member in members for p in (member if isinstance(member, list) else [member])]
    groups = group_or_groups if isinstance(group_or_groups, list) else [group_or_groups]
    base = {"nodes": NODES, "topology": topology(), "queues": [{"name": "q", "weight": 1, "capability": None}]}
    return {**base, "podgroups": groups, "pods": flat, **more}


def allocate(release: str, want: int | list[int] | dict[str, str], session: Json, plugins: Any = ()) -> Json:
    """`want`: how many pods are bound; how many per rack, ascending; or where each."""
    expected: Json = {"kind": "count-only" if want else "none/pending", "bind_count": want, "binds": None}
    if isinstance(want, list):
        expected = {"kind": "per-leaf-hypernode-counts", "bind_count": sum(want)}
        expected["binds_per_tier1_hypernode_sorted"] = want
    elif isinstance(want, dict):
        expected = {"kind": "exact-map", "bind_count": len(want)}
        expected["binds"] = {f"ns/{name}": at for name, at in want.items()}
    asked = {"op": "allocate", **session, "plugins": list(plugins or TOPOLOGY_PLUGINS), "action": "allocate"}
    return {"release": release, "input": asked, "expected": expected}


def scores(release: str, want: dict[str, float], session: Json, **arguments: Any) -> Json:
    names = {key.replace("__", "-").replace("_", "."): value for key, value in arguments.items()}
    asked = {"op": "score-nodes", **session, "plugin_arguments": names, "score_nodes": list(want)}
    expected = {"scores": want, "exact_number_of_scores": None, "error": False, "tolerance": 0.01}
    return {"release": release, "input": asked, "expected": expected}


def packing(want: dict[str, float], session: Json, sub_job: str = "ns/job") -> Json:
    asked = {"op": "score-hypernodes", **session, "plugin_arguments": {}, "sub_job": sub_job, "candidates": list(want)}
    expected = {"scores": want, "exact_number_of_scores": len(want), "error": False, "tolerance": 0.01}
    return {"release": NEW, "input": asked, "expected": expected}


ONE_NODE = {"nodes": [node("n1")], "topology": topology({}, "none")}
OVERLAP = {"topology": topology({"y": (1, ("a1", "a2")), "z": (1, ("a2", "b1", "b2"))})}
DEEP_AND_FLAT = {"topology": topology({"a": (1, ("a1", "a2")), "w": (3, ("a", "b1"))})}
SETS_ONLY = {"topology": topology(TREE, "sets-only")}
NOTHING = {"topology": topology({}, "none")}
NO_PLUGIN = ("gang", "predicates")

ALLOCATE = {
    "a hard job goes to the only rack with room": allocate(
        BOTH,
        {"p0": "d1", "p1": "d2"},
        given(group(2, hard(1)), pods(2), [filler(f"{rack}1", "1") for rack in "abc"]),
    ),
    "three nodes are in no rack": allocate(BOTH, 0, given(group(3, hard(1)), pods(3))),
    "three nodes are in a row": allocate(BOTH, [1, 2], given(group(3, hard(2)), pods(3))),
    "eight nodes are the hall": allocate(BOTH, [2, 2, 2, 2], given(group(8, hard(3)), pods(8))),
    "a node outside is in no hall": allocate(BOTH, 0, given(group(9, hard(3)), pods(9))),
    "tier 4 is the virtual top": allocate(NEW, 9, given(group(9, hard(4)), pods(9))),
    "1.13 has no virtual top": allocate(OLD, 0, given(group(9, hard(4)), pods(9))),
    "soft reaches every node": allocate(BOTH, 9, given(group(9, SOFT), pods(9))),
    "soft is still a gang": allocate(BOTH, 0, given(group(10, SOFT), pods(10))),
    "1.13 gives the minimum, then what the record's rack still holds": allocate(
        OLD, 2, given(group(1, hard(1)), pods(3))
    ),
    "the newest asks for the room of all pending pods": allocate(NEW, 0, given(group(1, hard(1)), pods(3))),
    "a tier by its name": allocate(NEW, 0, given(group(3, hard(name="rack")), pods(3))),
    "an unknown tier name restricts nothing": allocate(NEW, 9, given(group(9, hard(name="floor")), pods(9))),
    "hard without a tier restricts nothing in the newest": allocate(NEW, 9, given(group(9, hard()), pods(9))),
    "a sole node is taken unscored, so that the sibling rack with a score wins in 1.13": allocate(
        OLD, {"p0": "b1"}, given(group(2, hard(2), record="a"), pods(1), pod("r", "4", "a1"))
    ),
    "pods of a hard job gather around those placed before them": allocate(
        BOTH,
        {"p0": "b1", "p1": "b2", "p2": "a1"},
        given(
            group(3, hard(2)),
            [{**pod("p0"), "nodeSelector": {"chief": "yes"}}, pod("p1"), pod("p2")],
            nodes=[node(n["name"], **({"chief": "yes"} if n["name"] == "b1" else {})) for n in NODES],
        ),
    ),
    "the record's rack is full and tier 1 the limit": allocate(
        OLD, 0, given(group(2, hard(1), record="a"), pods(1), pod("r", "4", "a1"), filler("a2", "1"))
    ),
    "an unknown record meets nothing in 1.13": allocate(
        OLD, 0, given(group(2, hard(3), record="gone"), pods(1), pod("r", "4", "a1"))
    ),
    "running pods count twice, so that their own rack overflows; the annotation is not read": allocate(
        NEW, {"p0": "b1"}, given(group(2, hard(2), record="c"), pods(1), pod("r", "4", "a1"))
    ),
    "pods in two racks are above tier 1": allocate(
        NEW, 0, given(group(3, hard(1)), pods(1), pod("r", "4", "a1"), pod("s", "4", "b1"))
    ),
    "a pod outside makes the virtual top the record": allocate(
        NEW, 0, given(group(2, hard(2)), pods(1), pod("r", "4", "x1"))
    ),
    "a pod on an unknown node leaves no record": allocate(
        NEW, 1, given(group(2, hard(2)), pods(1), pod("r", "4", "gone"))
    ),
    "the fuller rack is packed": allocate(
        NEW, {"p0": "c2"}, given(group(1, hard(1)), pods(1, "3"), filler("c1", "2"), filler("b1", "1"))
    ),
    "two partitions in two racks of a row": allocate(
        NEW, [2, 2], given(group(4, hard(2), policy(2, hard(1))), parts(2, 2))
    ),
    "three partitions need the hall": allocate(NEW, 0, given(group(6, hard(2), policy(2, hard(1))), parts(3, 2))),
    "what has its partition beyond the minimum stays in the row": allocate(
        NEW, 4, given(group(2, hard(2), policy(2, hard(1))), parts(3, 2))
    ),
    "too few partitions exist": allocate(NEW, 0, given(group(2, None, policy(1, hard(1), 4)), parts(3, 1))),
    "a soft partition never leaves its job's row": allocate(
        NEW, 0, given(group(5, hard(2), policy(5, SOFT)), parts(1, 5))
    ),
    "a policy without keys captures no pod": allocate(
        NEW, [1, 2], given(group(3, hard(2), policy(2, hard(1), keys=())), parts(1, 3))
    ),
    "a pod of no partition is placed beside one": allocate(
        NEW, [1, 2], given(group(3, hard(2), policy(2, hard(1))), parts(1, 2), pod("lead"))
    ),
    "a partition too large for every rack is dropped, the other starts": allocate(
        NEW, 2, given(group(2, hard(2), policy(2, hard(1), 1)), parts(1, 2), [pod(f"t{i}", part="9") for i in range(3)])
    ),
    "a needed partition stays the first once it is ready, and its third pod leaves the other too little": allocate(
        NEW, 0, given(group(4, hard(2), policy(2, None, 1)), parts(1, 3), [pod(f"t{i}", part="1") for i in range(2)])
    ),
    "of partitions that nobody needs those that are not ready come first": allocate(
        NEW, 4, given(group(4, hard(2), policy(2, None)), parts(1, 3), [pod(f"t{i}", part="1") for i in range(2)])
    ),
    "a pod that succeeded counts for its partition": allocate(
        NEW, 1, given(group(2, hard(2), policy(2, hard(1))), succeeded("d", "a1", part="0"), pod("p", part="0"))
    ),
    "a pod that failed does not": allocate(
        NEW,
        0,
        given(
            group(1, hard(2), policy(2, hard(1))),
            {**succeeded("d", "a1", part="0"), "phase": "Failed"},
            pod("p", part="0"),
        ),
    ),
    "a partition of which all pods succeeded is one that is ready": allocate(
        NEW,
        2,
        given(
            group(4, hard(2), policy(2, hard(1), 2)),
            [succeeded(f"d{i}", "a1", part="0") for i in range(2)],
            [pod(f"p{i}", part="1") for i in range(2)],
        ),
    ),
    "each partition returns to its rack": allocate(
        NEW,
        {"s0-1": "a2", "s1-1": "b2"},
        given(
            group(4, hard(2), policy(2, hard(1))),
            [pod("s0-0", "4", "a1", part="0"), pod("s0-1", part="0")],
            [pod("s1-0", "4", "b1", part="1"), pod("s1-1", part="1")],
        ),
    ),
    "without HyperNodes the virtual top is of tier 1": allocate(NEW, 2, given(group(2, hard(1)), pods(2), **NOTHING)),
    "without HyperNodes 1.13 reaches nothing": allocate(OLD, 0, given(group(2, hard(1)), pods(2), **NOTHING)),
    "sets alone: the newest knows the virtual top only": allocate(
        NEW, 0, given(group(2, hard(3)), pods(2), **SETS_ONLY)
    ),
    "sets alone: 1.13 goes by tiers": allocate(OLD, [2], given(group(2, hard(1)), pods(2), **SETS_ONLY)),
    "HyperNodes that overlap": allocate(
        BOTH, {"p0": "a2", "p1": "b1", "p2": "b2"}, given(group(3, hard(1)), pods(3), **OVERLAP)
    ),
    "a gap between tiers": allocate(BOTH, 0, given(group(3, hard(2)), pods(3), **DEEP_AND_FLAT)),
    "without the plugin no gradient restricts the newest": allocate(
        NEW, 3, given(group(3, hard(1)), pods(3)), NO_PLUGIN
    ),
    "without the plugin 1.13 searches by tiers all the same": allocate(
        OLD, 0, given(group(3, hard(1)), pods(3)), NO_PLUGIN
    ),
    "another shape of a role that failed is skipped": allocate(
        BOTH, 0, given(group(1), pod("p0", "5"), pod("p1", "1"), **ONE_NODE)
    ),
    "pods without a role are asked one by one": allocate(
        BOTH, {"p1": "n1"}, given(group(1), pod("p0", "5", role=""), pod("p1", "1", role=""), **ONE_NODE)
    ),
    "pods of two roles alternate by the index in their names": allocate(
        BOTH,
        {"j-m-0": "n1", "j-w-0": "n1"},
        given(
            group(1),
            [pod("j-m-0", "1", role="m"), pod("j-m-1", "1", role="m"), pod("j-w-0", "3", role="w")],
            **ONE_NODE,
        ),
    ),
    "the index is a number": allocate(
        BOTH,
        {"j-w-2": "n1", "j-m-0": "n1"},
        given(group(1), pod("j-w-10", "3", role="w"), pod("j-w-2", "3", role="w"), pod("j-m-0", "1"), **ONE_NODE),
    ),
    "pods without an index come by name": allocate(
        BOTH,
        {"a": "n1", "b": "n1"},
        given(group(1), pod("c", "1", role="m"), pod("b", "3", role="w"), pod("a", "1", role="m"), **ONE_NODE),
    ),
    "a hard job takes its pods in turns, too": allocate(
        OLD,
        {"j-m-0": "a1", "j-w-0": "a1"},
        given(
            group(2, hard(1)),
            [pod("j-m-0", "1", role="m"), pod("j-m-1", "1", role="m"), pod("j-w-0", "3", role="w")],
            nodes=[node("a1")],
            topology=topology({"a": (1, ("a1",))}),
        ),
    ),
    "a role's minimum over two shapes of which one is too large": allocate(
        BOTH,
        0,
        given(group(2, roles={"w": 2}), pod("p0", "1", role="w"), pod("p1", "5", role="w"), pod("q", "1"), **ONE_NODE),
    ),
    "a role's minimum of which no pod is there": allocate(
        BOTH, 0, given(group(2, roles={"master": 1, "worker": 1}), pods(2, "1"))
    ),
    "a role's minimum that a running pod meets": allocate(
        BOTH,
        2,
        given(group(3, roles={"master": 1, "worker": 2}), pods(2, "1"), pod("m", "1", "a1", role="master")),
    ),
    "a role's minimum that a pod met which succeeded": allocate(
        BOTH, 2, given(group(3, roles={"master": 1, "worker": 2}), pods(2, "1"), succeeded("m", "a1", role="master"))
    ),
    "a pod that succeeded still counts in what its job asks of a HyperNode": allocate(
        NEW,
        {"p": "b1"},
        given(
            group(1, hard(1)),
            pod("p", "1"),
            {**pod("d", "4", "a1"), "phase": "Succeeded"},
            filler("a1", "4"),
            nodes=[node("a1"), node("a2"), node("b1", "8")],
            topology=topology({"a": (1, ("a1", "a2")), "b": (1, ("b1",))}),
        ),
    ),
    "a role's minimum that a pod met in part which succeeded": allocate(
        BOTH,
        {"p0": "n1"},
        given(group(2, roles={"worker": 2}), succeeded("m", "n1"), pod("p0", "3"), pod("p1", "3"), **ONE_NODE),
    ),
    "a pod that failed met no minimum of its role": allocate(
        BOTH,
        0,
        given(
            group(2, roles={"master": 1, "worker": 1}),
            pods(2, "1"),
            {**succeeded("m", "a1", role="master"), "phase": "Failed"},
        ),
    ),
    "minimums above minMember are not looked at": allocate(
        BOTH, 2, given(group(1, roles={"master": 1, "worker": 1}), pods(2, "1"))
    ),
    "minimums above minMember are not looked at where a role's pods differ, either": allocate(
        BOTH,
        {"p0": "n1", "p1": "n1"},
        given(
            group(2, roles={"w": 2, "m": 2}),
            [pod("p0", "1", role="w"), pod("p1", "2", role="w"), pod("p2", "4", role="w")],
            **ONE_NODE,
        ),
    ),
}

# Of tiers 1 to 3 a LCA in the row is worth 1/2 to 1.13; the newest counts the virtual top as tier 4: 2/3.
SCORES = {
    "closeness in 1.13": scores(
        OLD,
        {"a1": 100, "b1": 50, "c1": 0, "x1": 0},
        given(group(1, hard(2), record="a"), pod("r", "1", "a1"), pod("p", "1")),
    ),
    "closeness in the newest": scores(
        NEW,
        {"a1": 100, "b1": 200 / 3, "c1": 100 / 3, "x1": 0},
        given(group(1, hard(2), record="a"), pod("r", "1", "a1"), pod("p", "1")),
    ),
    "nodes that share the maximum get their rack's part of the tasks": scores(
        NEW,
        {"a1": 200 / 3 + 25, "b1": 200 / 3 + 50, "b2": 200 / 3 + 50, "c1": 100 / 3},
        given(
            group(1, hard(2), record="ab"),
            [pod("r", "1", "a1"), pod("s", "1", "b1"), pod("t", "1", "b2"), pod("p", "1")],
        ),
    ),
    "without a record all are equal": scores(
        BOTH, {"a1": 0, "c1": 0}, given(group(1, hard(2)), pod("r", "1", "a1"), pod("p", "1"))
    ),
    "a record that is the virtual top": scores(
        NEW, {"a1": 0, "x1": 0}, given(group(1, hard(2), record=TOP), pod("r", "1", "x1"), pod("p", "1"))
    ),
    "beside an unknown record only tasks count": scores(
        OLD, {"a1": 50, "b1": 0}, given(group(1, hard(2), record="gone"), pod("r", "1", "a1"), pod("p", "1"))
    ),
    "a node whose first HyperNode is not of the lowest tier has no leaf": scores(
        NEW,
        {"a1": 100 / 3, "b1": 0},
        given(group(1, hard(3), record="w"), pod("r", "1", "a1"), pod("p", "1"), **DEEP_AND_FLAT),
    ),
    "a task on a node that two leaves hold counts for both": scores(
        NEW,
        {"b1": 150, "b2": 150, "a1": 0},
        given(group(1, hard(1), record="z"), pod("r", "1", "a2"), pod("p", "1"), **OVERLAP),
    ),
    "where leaves overlap each counts what it holds": scores(
        OLD,
        {"b2": 100 + 100 / 3, "c1": 100 + 100 / 3, "a1": 0},
        given(
            group(1, hard(1), record="y"),
            [pod("r", "1", "a2"), pod("s", "1", "b1"), pod("p", "1")],
            topology=topology({"x": (1, ("a1", "a2", "b1")), "y": (1, ("a2", "b2", "c1")), "w": (2, ("x", "y"))}),
        ),
    ),
    "a plain pod, tier 1 alone": scores(
        NEW,
        {"a1": 200 * (1 / 8 + 1 / 16) / 2, "x1": 200},
        given(group(1), pod("p", "1")),
        weight=2,
        hypernode_binpack_normal__pod_fading=0,
    ),
    "a plain pod whose rack overflows": scores(
        NEW,
        {"a1": 0},
        given(group(1), pod("p", "3"), filler("a1", "4"), filler("a2", "2")),
        hypernode_binpack_normal__pod_fading=0,
    ),
    "a plain pod, a tier without a HyperNode counts as full": scores(
        NEW,
        {"a1": 100 * ((1 / 8 + 1 / 16) / 2 + 1 + (1 / 12 + 1 / 24) / 2 + (1 / 36 + 1 / 72) / 2) / 4},
        given(group(1), pod("p", "1"), **DEEP_AND_FLAT),
        hypernode_binpack_normal__pod_fading=1,
    ),
    "a sub-group without a topology is plain inside a job that has one": scores(
        NEW,
        {"a1": 100 * (2 / 8 + 2 / 16) / 2},
        given(group(1, hard(2), policy(1), record="a"), pod("p", "1", part="0"), pod("r", "1", "a1", part="0")),
        hypernode_binpack_normal__pod_fading=0,
    ),
}

PACKING = {
    "used and asked for over all": packing(
        {"a": 100 * (4 / 8 + 3 / 16) / 2, "b": 100 * (2 / 8 + 2 / 16) / 2},
        given(group(2, hard(2)), pods(2, "1"), filler("a1", "2")),
    ),
    "running pods count twice": packing(
        {"a": 100 * (3 / 8 + 3 / 16) / 2, "b": 100 * (2 / 8 + 2 / 16) / 2},
        given(group(2, hard(2)), pods(1, "1"), pod("r", "1", "a1")),
    ),
    "equal ones get the part of the tasks inside": packing(
        {"a": 100 * (9 / 32 + 1 / 2), "b": 100 * 9 / 32, "c": 100 * 3 / 16},
        given(group(2, hard(2)), pods(1, "1"), pod("r", "1", "a1"), filler("b1", "1")),
    ),
    "one resource that overflows": packing(
        {"a": 0, "ab": 100 * (9 / 16 + 2 / 32) / 2}, given(group(2, hard(2)), pod("p0", "5"), pod("p1", "4"))
    ),
    "a sub-group": packing(
        {"a": 100 * (4 / 8 + 2 / 16) / 2, "c": 100 * (7 / 8 + 3 / 16) / 2},
        given(
            group(2, hard(2), policy(1, hard(1))),
            [pod("p0", "1", part="0"), pod("p1", "1", part="1"), pod("p2", "3", "c1", part="1")],
        ),
        "ns/job/p-1",
    ),
}

#: (file, name, case)
SESSIONS = [
    *(("allocate", name, case) for name, case in ALLOCATE.items()),
    *(("score-node", name, case) for name, case in SCORES.items()),
    *(("score-hypernode", name, case) for name, case in PACKING.items()),
]
