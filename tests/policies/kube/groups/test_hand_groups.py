"""Rules of PodGroups, placements and CompositePodGroups by cases whose numbers are worked out by head."""

from __future__ import annotations

import pytest

from tests.fabrics import snapshot
from tests.notices import codes, said
from tests.policies.kube.test_order_of_arrival import TWINS, decided
from workbench.model.explanation import Recorder
from workbench.model.extras import extras_of
from workbench.model.gang import Gang, Role
from workbench.model.kube_group import KubeGroup
from workbench.model.placement import Placement
from workbench.policies.registry import get_policy

DEFAULT, TOPOLOGY = TWINS
HOST, RACK, BLOCK = "kubernetes.io/hostname", "rack", "block"


def node(name, cpu="4", **labels):
    amounts = {"cpu": cpu, "memory": "8Gi", "pods": "10"}
    return {"name": name, "labels": {HOST: name, **labels}, "allocatable": amounts}


def pod(name, cpu="1", group="g", **more):
    labels = {"app": group}
    return {"name": name, "labels": labels, "containers": [{"cpu": cpu, "memory": "1Gi"}], "group": group, **more}


def pods(count, cpu="1", group="g"):
    return [pod(f"{group}-{i}", cpu, group) for i in range(count)]


def group(least=1, name="g", key="", **more):
    found = {"kind": "PodGroup", "name": name, **({"basic": True} if least is None else {"gang": least})}
    return found | ({"topology_key": key} if key else {}) | more


def tree(least, *children, key="", name="c", **more):
    root = {
        "kind": "CompositePodGroup",
        "name": name,
        **({"basic": True} if least is None else {"gang": least}),
        **more,
    }
    return [root | ({"topology_key": key} if key else {}), *({"parent": name} | child for child in children)]


def run(tmp_path, twin, nodes, waiting, *groups, **more):
    """Nodes of the pods that are placed, as one text such as ``g-0 a, g-1 b``."""
    found = decided(tmp_path, twin, nodes, waiting, *groups, **more)
    return ", ".join(f"{name} {at}" for name, at in sorted(found.items()))


# Gangs (2.3 of kube-scheduler's rules: one set of nodes).


@pytest.mark.parametrize("twin", TWINS)
@pytest.mark.parametrize(
    ("least", "placed"),
    # A node holds four of five pods: a gang goes on behind its minimum, and one of five does not start.
    [(1, 4), (4, 4), (5, 0), (None, 4)],
)
def test_all_pods_are_tried_and_kept_if_the_minimum_is_reached(tmp_path, twin, least, placed):
    expected = ", ".join(f"g-{i} a" for i in range(placed))
    assert run(tmp_path, twin, [node("a")], pods(5), group(least)) == expected


@pytest.mark.parametrize("twin", TWINS)
def test_a_pod_that_fits_nowhere_does_not_end_the_cycle_of_a_group_that_can_do_without(tmp_path, twin):
    waiting = [pod("g-0"), pod("g-1", "9"), pod("g-2")]
    assert run(tmp_path, twin, [node("a")], waiting, group(2)) == "g-0 a, g-2 a"
    assert run(tmp_path, twin, [node("a")], waiting, group(3)) == ""


@pytest.mark.parametrize("twin", TWINS)
def test_nothing_is_done_again_for_a_better_fit(tmp_path, twin):
    # The small pod goes to the emptier node, which the large one then lacks.
    nodes = [node("a", "4"), node("b", "3")]
    assert run(tmp_path, twin, nodes, [pod("g-0"), pod("g-1", "4")], group(2)) == ""
    assert run(tmp_path, twin, nodes, [pod("g-0", "4"), pod("g-1")], group(2)) == "g-0 a, g-1 b"


@pytest.mark.parametrize("twin", TWINS)
def test_a_group_with_fewer_pods_than_its_minimum_is_not_tried(tmp_path, twin):
    assert run(tmp_path, twin, [node("a")], pods(2), group(3)) == ""
    running = [pod("r", node="a")]
    assert run(tmp_path, twin, [node("a")], pods(2), group(3), running=running) == "g-0 a, g-1 a"


@pytest.mark.parametrize("twin", TWINS)
def test_pods_without_their_group_wait(tmp_path, twin):
    assert run(tmp_path, twin, [node("a")], [pod("g-0"), pod("p", group="")], group(1, "h")) == "p a"


def gang(count, least, cpu=1000, **fields):
    return Gang("d", "g", (Role("w", count, {"cpu": cpu}),), least, kind="PodGroup", **fields)


@pytest.mark.parametrize(
    ("count", "least", "text"),
    [
        # Four find a node. Of eight with a minimum of five the fifth to seventh fail; then one is left: 4 + 1 reach it
        # still, and the eighth fails, too.
        (5, 5, "minCount (5) cannot be satisfied: 4 scheduled, 0 remaining"),
        (8, 5, "minCount (5) cannot be satisfied: 4 scheduled, 0 remaining"),
        # 4 + 4 do not reach nine once the fifth has failed.
        (9, 9, "minCount (9) cannot be satisfied: 4 scheduled, 4 remaining"),
        (9, 7, "minCount (7) cannot be satisfied: 4 scheduled, 2 remaining"),
    ],
)
def test_pods_are_tried_until_the_minimum_is_out_of_reach(count, least, text):
    cluster = snapshot(["a"], cpu=4000, gpus=0)
    told = said(get_policy(DEFAULT).place(gang(count, least), cluster.ledger()).reasons)
    assert told == ("0/1 nodes are available: 1 Insufficient cpu.", text)
    told = said(get_policy(TOPOLOGY).place(gang(count, least), cluster.ledger()).reasons)
    assert told[-1] == f"pod group is unschedulable, 0/1 placements are available, first placement status: {text}"


def test_pods_of_another_priority_than_their_group_end_it_with_an_error():
    roles = (Role("w", 1, {"cpu": 1}, priority=1), Role("v", 1, {"cpu": 1}))
    for twin in TWINS:
        refusal = get_policy(twin).place(
            Gang("d", "g", roles, 2, kind="PodGroup", extras=extras_of(KubeGroup(given=True))), snapshot(["a"]).ledger()
        )
        assert set(codes(refusal.reasons)) & {"group-error", "pod-priorities-differ"}


# Placements (3.1).


def test_a_group_stays_among_the_nodes_with_one_value(tmp_path):
    # Only s has room for five; a node without the label and one with another value do not help.
    nodes = [node("a", rack="r"), node("b", rack="s"), node("c", rack="s"), node("d")]
    assert run(tmp_path, TOPOLOGY, nodes, pods(5), group(5, key=RACK)) == "g-0 b, g-1 c, g-2 b, g-3 c, g-4 b"
    assert run(tmp_path, TOPOLOGY, nodes, pods(9), group(9, key=RACK)) == ""
    assert run(tmp_path, DEFAULT, nodes, pods(9), group(9, key=RACK)) != ""


def test_an_empty_value_is_a_value(tmp_path):
    nodes = [node("a", rack=""), node("b", rack="s", cpu="1")]
    assert run(tmp_path, TOPOLOGY, nodes, pods(2), group(2, key=RACK)) == "g-0 a, g-1 a"


def test_without_a_value_there_is_no_placement():
    wish = extras_of(KubeGroup(given=True, topology_key=RACK))
    refusal = get_policy(TOPOLOGY).place(gang(1, 1, extras=wish), snapshot(["a"], gpus=0).ledger())
    assert "no feasible placements found" in said(refusal.reasons)


@pytest.mark.parametrize(
    ("running", "placed"),
    [
        ([("r", "b")], "g-0 b"),
        # On nodes of one value together, of two values, and on a node without the label.
        ([("r", "b"), ("q", "c")], "g-0 b"),
        ([("r", "b"), ("q", "a")], ""),
        ([("r", "d")], ""),
    ],
)
def test_pods_with_a_node_pin_the_value(tmp_path, running, placed):
    nodes = [node("a", rack="r"), node("b", rack="s"), node("c", rack="s"), node("d")]
    # Two pods of 1.5 fill most of c.
    there = [pod(name, node=at) for name, at in running] + [pod(f"x{i}", "1500m", "", node="c") for i in range(2)]
    assert run(tmp_path, TOPOLOGY, nodes, pods(1), group(1, key=RACK), running=there) == placed


def test_a_pin_is_kept_where_others_have_more_room(tmp_path):
    nodes = [node("a", rack="r"), node("b", rack="s", cpu="1")]
    running = [pod("r", node="b")]
    assert run(tmp_path, TOPOLOGY, nodes, pods(1), group(1, key=RACK), running=running) == ""


# The choice among placements (3.2).


def totals(cluster, wanted, **parameters):
    recorder = Recorder()
    result = get_policy(TOPOLOGY, **parameters).place(wanted, cluster.ledger(), recorder)
    assert isinstance(result, Placement)
    chosen = {result.topology.node_names[at][0] for at in result.node.tolist() if at >= 0}
    domains = [one for one in recorder.candidates if one.kind == "domain"]
    return {one.name: (one.parts or None) for one in domains}, "".join(sorted(chosen))


def two_racks(cpu, **used):
    """Racks a and b of one node each, with so many CPUs, and what is used of them."""
    labels = {name: {RACK: name} for name in "ab"}
    held = {name: (milli, 0, 0, 0) for name, milli in used.items()}
    return snapshot(["a", "b"], labels=labels, used=held, gpus=0, cpu=cpu)


def by_rack(count, least, cpu=1000, **requests):
    role = Role("w", count, {"cpu": cpu, "memory": 0, **requests})
    return Gang("d", "g", (role,), least, kind="PodGroup", extras=extras_of(KubeGroup(given=True, topology_key=RACK)))


CPU_ONLY = {"resources": {"cpu": 1}}


def test_the_fullest_of_placements_that_take_all_wins():
    # With two pods of 1: 2 of 8 is 25, (4 + 2) of 8 is 75.
    cluster = two_racks(8000, b=4000)
    parts, chosen = totals(cluster, by_rack(2, 2), **CPU_ONLY)
    assert parts == {
        "a": {"PodGroupPodsCount": 100, "NodeResourcesFit": 25},
        "b": {"PodGroupPodsCount": 100, "NodeResourcesFit": 75},
    }
    assert chosen == "b"


@pytest.mark.parametrize(
    ("used", "counts", "fits", "chosen"),
    [
        # a takes four of four, b three: 100 * 3 / 4 = 75. 4 of 8 is 50, (5 + 3) of 8 is 100: 150 against 175.
        (5000, (100, 75), (50, 100), "b"),
        # b takes two: 50 + 100. Equal totals: the smallest name.
        (6000, (100, 50), (50, 100), "a"),
        # b takes one: 25 + 100.
        (7000, (100, 25), (50, 100), "a"),
    ],
)
def test_pods_count_against_how_full_it_becomes(used, counts, fits, chosen):
    parts, where = totals(two_racks(8000, b=used), by_rack(4, 1), **CPU_ONLY)
    assert tuple(parts[name]["PodGroupPodsCount"] for name in "ab") == counts
    assert tuple(parts[name]["NodeResourcesFit"] for name in "ab") == fits
    assert where == chosen


def test_the_only_placement_that_takes_the_minimum_is_not_scored():
    parts, chosen = totals(two_racks(8000, b=6000), by_rack(4, 3), **CPU_ONLY)
    assert (parts, chosen) == ({"a": None, "b": None}, "a")


def test_a_placement_is_fullest_whatever_the_strategy_says():
    cluster = two_racks(8000, b=4000)
    for strategy in ("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"):
        assert totals(cluster, by_rack(2, 2), strategy=strategy)[1] == "b"


def test_devices_count_only_among_the_listed_resources():
    # a is fuller by CPU (6 + 1 of 8: 87 against 12), b by GPUs (6 + 1 of 8 against 1).
    names, labels = ["a", "b"], {name: {RACK: name} for name in "ab"}
    used = {"a": (6000, 0, 0, 0), "b": (0, 0, 6, 6)}
    cluster = snapshot(names, labels=labels, used=used, cpu=8000, free_gpus={"a": 255, "b": 0b11000000})
    wanted = by_rack(1, 1, **{"nvidia.com/gpu": 1})
    assert totals(cluster, wanted, **CPU_ONLY)[1] == "a"
    parts, chosen = totals(cluster, wanted, resources={"cpu": 1, "nvidia.com/gpu": 3})
    # (87 + 3 * 12) / 4 = 30, (12 + 3 * 87) / 4 = 68.
    assert {name: one["NodeResourcesFit"] for name, one in parts.items()} == {"a": 30, "b": 68}
    assert chosen == "b"
    # Who requests none of them does not have them counted.
    parts, chosen = totals(cluster, by_rack(1, 1), resources={"cpu": 1, "nvidia.com/gpu": 3})
    assert {name: one["NodeResourcesFit"] for name, one in parts.items()} == {"a": 87, "b": 12}


def test_only_candidates_are_restricted_and_pods_elsewhere_count(tmp_path):
    # The pod keeps away, by block, from a pod that runs outside the placement s of its group.
    nodes = [node("a", rack="r", block="x"), node("b", rack="s", block="x"), node("c", rack="s", block="y")]
    term = {"labelSelector": {"matchLabels": {"app": "h"}}, "topologyKey": BLOCK}
    away = {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    running = [pod("r", group="h", node="a"), pod("q", node="b")]
    groups = [group(1, key=RACK), group(1, "h")]
    assert run(tmp_path, TOPOLOGY, nodes, [pod("g-0", **away)], *groups, running=running) == "g-0 c"


# Trees (3.3).

SITES = [
    node("a", rack="r", block="x"),
    node("b", rack="s", block="x"),
    node("c", rack="t", block="y", cpu="3"),
    node("d", rack="u", block="y", cpu="3"),
]


def in_tree(tmp_path, waiting, groups, nodes=SITES, **more):
    return run(tmp_path, TOPOLOGY, nodes, waiting, *groups, **more)


def test_children_have_placements_within_their_parents(tmp_path):
    # Four each: only the racks of block x hold them, one each.
    groups = tree(2, group(4, "g", RACK), group(4, "h", RACK), key=BLOCK)
    found = in_tree(tmp_path, pods(4) + pods(4, group="h"), groups)
    assert found == ", ".join([*(f"g-{i} a" for i in range(4)), *(f"h-{i} b" for i in range(4))])


def test_a_child_sees_what_the_one_before_it_took(tmp_path):
    # g takes rack r whole: h, with a key of its own, is left with s.
    groups = tree(None, group(3, "g", RACK), group(3, "h", RACK), key=BLOCK)
    found = in_tree(tmp_path, pods(3) + pods(3, group="h"), groups)
    # Block y becomes fuller (3 + 3 of 6 CPUs), each rack with three.
    assert found == ", ".join([*(f"g-{i} c" for i in range(3)), *(f"h-{i} d" for i in range(3))])


@pytest.mark.parametrize(("least", "placed"), [(1, "g-0 c"), (None, "g-0 c"), (2, "")])
def test_a_child_may_fail_while_the_minimum_of_groups_holds(tmp_path, least, placed):
    groups = tree(least, group(1), group(1, "h"), key=BLOCK)
    # A pod of nine CPUs fits nowhere. One pod of four makes y fuller: 1 of 6 against 1 of 8.
    assert in_tree(tmp_path, [pod("g-0"), pod("h-0", "9", "h")], groups) == placed


def test_all_that_children_took_is_given_back_if_the_tree_fails(tmp_path):
    groups = [*tree(2, group(1), group(1, "h")), group(4, "late")]
    waiting = [pod("g-0"), pod("h-0", "9", "h"), *pods(4, "4", "late")]
    nodes = [node(name) for name in "abcd"]
    assert in_tree(tmp_path, waiting, groups, nodes) == ", ".join(f"late-{i} {at}" for i, at in enumerate("abcd"))


def test_the_error_of_a_child_is_that_of_its_parent(tmp_path):
    # Members of h run in two racks: the whole tree ends, though one group would do.
    groups = tree(1, group(1), group(1, "h", RACK))
    running = [pod("r1", group="h", node="a"), pod("r2", group="h", node="b")]
    assert in_tree(tmp_path, [pod("g-0"), pod("h-0", group="h")], groups, running=running) == ""


def test_pods_of_any_leaf_pin_the_parent(tmp_path):
    # y would become fuller (3 of 6 CPUs against 4 of 8), but a pod of h runs in x.
    groups = tree(1, group(1), group(1, "h"), key=BLOCK)
    waiting = [pod("g-0", "2"), pod("h-0", group="h")]
    found = in_tree(tmp_path, waiting, groups, running=[pod("r", group="h", node="a")])
    # g-0 goes to the emptier b; then 2 of 4 CPUs are left there, and 3 on a.
    assert found == "g-0 b, h-0 a"


def test_the_parent_is_chosen_before_its_children(tmp_path):
    # Block x holds both groups (count 100), y only g (50): what is fuller below does not matter.
    nodes = [node("a", rack="r", block="x", cpu="8"), node("b", rack="s", block="y", cpu="2")]
    groups = tree(1, group(2), group(2, "h"), key=BLOCK)
    found = in_tree(tmp_path, pods(2) + pods(2, group="h"), groups, nodes)
    # x: 4 of 8 CPUs and of 8 GiB are 50, so 150; y: 2 of 2 CPUs and 2 of 8 GiB are (100 + 25) / 2, so 112.
    assert found == "g-0 a, g-1 a, h-0 a, h-1 a"


def test_a_tree_of_trees(tmp_path):
    # Root: block; below it one composite per rack pair; leaves within racks.
    inner = tree(2, group(2, "g", RACK), group(2, "h", RACK), name="inner", parent="root")
    root = {"kind": "CompositePodGroup", "name": "root", "gang": 1, "topology_key": BLOCK}
    found = in_tree(tmp_path, pods(2) + pods(2, group="h"), [root, *inner])
    # 4 of 8 CPUs of x, 4 of 6 of y: y is fuller. g finds t and u equal and takes t, which has no room left for h.
    assert found == "g-0 c, g-1 c, h-0 d, h-1 d"
