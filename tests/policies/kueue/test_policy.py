from __future__ import annotations

import dataclasses

import pytest

from tests.fabrics import document_tree, snapshot
from tests.notices import codes, said
from workbench.model.gang import ANY_NODE, Gang, Role, SubGroup, TopologyConstraint
from workbench.model.kueue import PreferredTerm, SliceLayer, TopologyRequest
from workbench.model.kueue_request import KueueRequest, KueueRole
from workbench.model.labels import NodeFilter, Requirement, Taint, Toleration
from workbench.model.placement import Placement, Refusal
from workbench.model.running_pod import RunningPod
from workbench.policies import get_policy

#: document_tree: s6 holds s4 {s0: node0 node1, s1: node2 node3} and s5 {s2: node4 node5, s3: node6 node7}.
ONE_NODE = {"nvidia.com/gpu": 8}


def gang(*counts, constraint=None, requests=ONE_NODE, min_available=None, filters=ANY_NODE, **more):
    roles = tuple(
        Role(f"w{i}" if i else "w", count, requests, (requests.get("nvidia.com/gpu", 0),), filter=filters)
        for i, count in enumerate(counts)
    )
    return Gang("d", "j", roles, sum(counts) if min_available is None else min_available, constraint, **more)


def place(what, where, name="kueue-0.19", **parameters):
    return get_policy(name, **parameters).place(what, where.ledger())


def nodes(placement):
    assert isinstance(placement, Placement), placement.reasons
    return [pod.node for pod in placement.pods()]


def full(*names):
    return {"used": dict.fromkeys(names, (0, 0, 0, 8)), "free_gpus": dict.fromkeys(names, 0)}


def hard(tier):
    return TopologyConstraint("hard", tier)


SOFT = TopologyConstraint("soft", 1)


class TestHowAConstraintReads:
    def test_hard_takes_the_closest_tier_with_room_then_a_wider_one(self):
        assert nodes(place(gang(2, constraint=hard(2)), document_tree())) == ["node0", "node1"]
        placement = place(gang(2, constraint=hard(2)), document_tree(**full("node1", "node2", "node5", "node7")))
        assert nodes(placement) == ["node0", "node3"]
        assert (placement.hypernode, placement.tier) == ("s4", 2)

    def test_without_the_ladder_the_highest_tier_alone_is_looked_at(self):
        """s5 has least room for two, s2 has not."""
        where = document_tree(**full("node4"))
        assert nodes(place(gang(2, constraint=hard(2)), where)) == ["node0", "node1"]
        assert nodes(place(gang(2, constraint=hard(2)), where, ladder=False)) == ["node6", "node7"]

    def test_a_refusal_is_kueues_sentence_about_the_widest_level_allowed(self):
        where = document_tree(**full("node0", "node4"))
        refusal = place(gang(4, constraint=hard(2)), where)
        assert isinstance(refusal, Refusal)
        assert refusal.reasons[0].code == "no-topology-fit"
        assert refusal.reasons[0].message == (
            'couldn\'t assign flavors to pod set w: topology "default" allows to fit only 3 out of 4 pod(s). '
            'Total nodes: 8; excluded: resource "nvidia.com/gpu": 2'
        )
        assert [(miss.tier, miss.holds, miss.needs) for miss in refusal.nearest_misses] == [(1, 2, 4), (2, 3, 4)]

    def test_soft_climbs_and_at_last_spreads(self):
        where = document_tree(**full("node0", "node4"))
        assert sorted(nodes(place(gang(3, constraint=SOFT), where))) == ["node1", "node2", "node3"]
        assert sorted(nodes(place(gang(5, constraint=SOFT), where))) == ["node1", "node2", "node3", "node6", "node7"]
        assert isinstance(place(gang(7, constraint=SOFT), where), Refusal)

    def test_hard_up_to_the_whole_cluster_is_preferred(self):
        where = document_tree(**full("node0", "node4"))
        assert nodes(place(gang(5, constraint=hard(9)), where)) == nodes(place(gang(5, constraint=SOFT), where))

    def test_without_a_constraint_the_fullest_nodes_come_first(self):
        busy = ("node5", "node6")
        where = document_tree(used=dict.fromkeys(busy, (0, 0, 0, 6)), free_gpus=dict.fromkeys(busy, 0b11))
        two = {"nvidia.com/gpu": 2}
        assert nodes(place(gang(1, requests=two), where)) == ["node5"]
        assert nodes(place(gang(3, requests=two), where)) == ["node0"] * 3
        assert nodes(place(gang(5, requests=two), where)) == ["node0"] * 3 + ["node5", "node6"]
        # BestFit: most room first, and the fitting node last.
        assert nodes(place(gang(5, requests=two), where, profile_mixed=False)) == ["node0"] * 4 + ["node5"]

    @pytest.mark.parametrize(
        ("constraint", "text"),
        [
            (TopologyConstraint("hard"), "has no tier: it restricts nothing"),
            (TopologyConstraint("hard", None, "rack"), "has the unknown tier name rack: it restricts nothing"),
            (TopologyConstraint("", 1), "has no mode: it restricts nothing"),
        ],
    )
    def test_a_constraint_without_effect_is_told(self, constraint, text):
        placement = place(gang(3, constraint=constraint), document_tree())
        assert len(nodes(placement)) == 3
        assert codes(placement.warnings) == ("constraint-without-effect",)
        assert text in said(placement.warnings)[0]

    def test_no_tier_is_small_enough(self):
        refusal = place(gang(1, constraint=hard(0)), document_tree())
        assert codes(refusal.reasons) == ("tier-too-small",)


class TestPodSets:
    def test_one_pod_beside_others_is_their_leader(self):
        where = document_tree(**full("node0"))
        placement = place(gang(1, 2, constraint=hard(2)), where)
        assert sorted(nodes(placement)) == ["node1", "node2", "node3"]
        assert placement.hypernode == "s4"
        assert not placement.warnings

    def test_more_pod_sets_are_placed_in_turn_each_with_the_constraint(self):
        placement = place(gang(2, 2, constraint=hard(1)), document_tree())
        assert nodes(placement) == ["node0", "node1", "node2", "node3"]
        assert codes(placement.warnings) == ("not-expressed",)
        assert "the 2 pod sets are placed in turn" in said(placement.warnings)[0]
        assert not place(gang(2, 2), document_tree()).warnings

    def test_a_leader_is_placed_without_its_own_conditions(self):
        """Upstream looks at the workers' tolerations only; the leader would stay pending on its node."""
        taint = Taint("k", "v", "NoSchedule")
        where = snapshot(["a", "b"], [("s", 1, ["a", "b"], "")], taints={"a": (taint,), "b": (taint,)})
        tolerant = NodeFilter(tolerations=(Toleration("k", "Exists"),))
        workers = Role("w", 2, {"cpu": 1}, filter=tolerant)
        asked = Gang("d", "j", (Role("l", 1, {"cpu": 1}), workers), 3, hard(1))
        refusal = place(asked, where)
        assert codes(refusal.reasons)[0] == "pods-without-place"
        assert "Kueue assigns j-l-0 to a, which does not take it" in refusal.reasons[0].message
        both = dataclasses.replace(asked, roles=(dataclasses.replace(asked.roles[0], filter=tolerant), workers))
        assert nodes(place(both, where)) == ["a", "a", "a"]

    def test_selectors_and_taints_are_counted_in_the_refusal(self):
        where = snapshot(
            ["a", "b", "c", "d"],
            [("s", 1, ["a", "b", "c", "d"], "")],
            labels={"a": {"gpu": "h100"}, "b": {"gpu": "a100"}, "c": {"gpu": "h100", "zone": "z"}},
            taints={"a": (Taint("k", "", "NoExecute"),)},
            cordoned=("d",),
        )
        wish = NodeFilter((Requirement("gpu", "In", ("h100",)),), ((Requirement("zone", "Exists"),),))
        refusal = place(gang(2, constraint=hard(1), filters=wish), where)
        assert refusal.reasons[0].message.endswith(
            'allows to fit only 1 out of 2 pod(s). Total nodes: 3; excluded: nodeSelector: 1, taint "k:NoExecute": 1'
        )


def sub_grouped(sizes, constraint, *, own=None, **more):
    total, start, groups = sum(sizes), 0, []
    for i, size in enumerate(sizes):
        pods = tuple(range(start, start + size))
        groups.append(SubGroup(f"g{i}", pods, constraint, size, policy="p", **more))
        start += size
    return gang(total, constraint=own, sub_groups=tuple(groups), sub_grouped=True)


class TestSubGroups:
    def test_equal_sub_groups_are_slices(self):
        """Two of four nodes are full, so that s0 and s2 hold a slice each and s1 and s3 none."""
        where = document_tree(**full("node2", "node6"))
        placement = place(sub_grouped((2, 2), hard(1), own=hard(3)), where)
        assert nodes(placement) == ["node0", "node1", "node4", "node5"]
        assert not placement.warnings
        refusal = place(sub_grouped((2, 2, 2), hard(1)), where)
        assert "allows to fit only 2 out of 3 slice(s)" in refusal.reasons[0].message

    def test_each_sub_group_is_where_one_slice_is(self):
        placement = place(sub_grouped((2, 2, 2), hard(1), own=SOFT), document_tree(**full("node3")))
        found = nodes(placement)
        assert [{found[0], found[1]}, {found[2], found[3]}, {found[4], found[5]}] == [
            {"node0", "node1"},
            {"node4", "node5"},
            {"node6", "node7"},
        ]

    @pytest.mark.parametrize(
        ("what", "why"),
        [
            (sub_grouped((2, 1), hard(1)), "their sizes differ"),
            (sub_grouped((2, 2), SOFT), "a sub-group is soft"),
            (sub_grouped((2, 2), hard(1), exclusive_domain=True), "a domain cannot be held by one of them alone"),
        ],
    )
    def test_other_sub_groups_are_pod_sets_in_turn(self, what, why):
        placement = place(what, document_tree())
        assert len(set(nodes(placement))) == what.n_pods
        assert codes(placement.warnings) == ("not-expressed",)
        assert why in said(placement.warnings)[0]

    def test_sub_groups_that_are_not_needed_are_told(self):
        few = dataclasses.replace(sub_grouped((2, 2), None), min_subgroups={"p": 1}, min_available=2)
        placement = place(few, document_tree())
        assert codes(placement.warnings) == ("not-expressed",)


def asked(*counts, group=None, preferred=(), **request):
    """A gang whose pods have annotations of Kueue, all roles the same."""
    what = gang(*counts, requests={"nvidia.com/gpu": 4})
    topology = TopologyRequest(**request, group=group)
    roles = tuple(KueueRole(role.name, topology, None, preferred) for role in what.roles)
    return what.with_extra(KueueRequest("", roles))


class TestAnnotationsOfKueue:
    def test_a_level_is_looked_at_alone(self):
        """s0 holds three pods, s1 to s3 four; tier 2 is asked for, where s4 has least room."""
        where = document_tree(used={"node0": (0, 0, 0, 4)}, free_gpus={"node0": 0b1111})
        assert nodes(place(asked(5, required="tier-2"), where)) == ["node0", "node1", "node1", "node2", "node2"]
        assert place(asked(5, required="tier-2"), where).hypernode == "s4"
        assert nodes(place(asked(4, required="tier-1"), where)) == ["node2", "node2", "node3", "node3"]
        assert nodes(place(asked(2, required="kubernetes.io/hostname"), where)) == ["node1", "node1"]

    def test_an_unknown_level_is_named(self):
        refusal = place(asked(4, required="rack"), document_tree())
        assert refusal.reasons[0].message.endswith("no requested topology level: rack")

    def test_slices_and_groups_as_written(self):
        where = document_tree(**full("node2", "node4"))
        found = nodes(place(asked(4, slices=(SliceLayer("kubernetes.io/hostname", 2),)), where))
        assert sorted(map(found.count, set(found))) == [2, 2]
        led = place(asked(1, 4, required="tier-2", group="g"), where)
        assert led.hypernode in ("s4", "s5")

    def test_they_count_alone(self):
        both = dataclasses.replace(asked(2, required="tier-2"), constraint=hard(1))
        placement = place(both, document_tree())
        assert codes(placement.warnings) == ("constraint-without-effect",)
        assert "annotations of Kueue" in said(placement.warnings)[0]

    def test_preferred_node_affinity_decides_with_its_gate(self):
        where = document_tree(labels={"node7": {"zone": "z"}})
        pods = asked(1, preferred=(PreferredTerm(5, (Requirement("zone", "In", ("z",)),)),), unconstrained=True)
        assert nodes(place(pods, where)) == ["node0"]
        assert nodes(place(pods, where, affinity_preferred=True)) == ["node7"]


class TestCounts:
    def test_fewer_pods_are_admitted_if_not_all_fit(self):
        placement = place(gang(4, constraint=hard(2), min_available=2), document_tree(**full("node0", "node4")))
        assert placement.n_placed == 3
        assert codes(placement.warnings) == ("partial-admission",)
        assert [unplaced.reasons[0].code for unplaced in placement.unplaced] == ["no-topology-fit"]

    def test_all_fit_so_all_are_placed(self):
        assert place(gang(4, constraint=hard(2), min_available=2), document_tree()).n_placed == 4

    def test_running_pods_bound_those_that_are_placed_again(self):
        """The gang runs in s0; hard up to tier 1 keeps the lost pod there, though s2 has more room."""
        running = [RunningPod("d", "j-w-0", 0, ONE_NODE, "d/j", "w")]
        where = document_tree(running=running, **full("node0"))
        again = dataclasses.replace(gang(1, constraint=hard(1)), ready=1, min_available=2)
        assert nodes(place(again, where)) == ["node1"]
        full_there = document_tree(running=running, **full("node0", "node1"))
        refusal = place(again, full_there)
        assert "topologyDomain: 6" in refusal.reasons[0].message


class TestLevels:
    def test_a_usable_node_outside_the_tiers_leaves_no_levels(self):
        where = snapshot(["a", "b", "c"], [("s", 1, ["a", "b"], "")])
        refusal = place(gang(1), where)
        assert codes(refusal.reasons) == ("topology-not-ready",)
        assert refusal.reasons[0].message == (
            "the HyperNodes are no levels of a Kueue topology: c is not in a HyperNode of every tier"
        )

    @pytest.mark.parametrize("closed", [{"cordoned": ("c",)}, {"taints": {"c": (Taint("k", "", "NoSchedule"),)}}])
    def test_a_node_outside_that_takes_no_pod_does_not_matter(self, closed):
        where = snapshot(["a", "b", "c"], [("s", 1, ["a", "b"], "")], **closed)
        assert nodes(place(gang(2), where)) == ["a", "b"]

    def test_overlapping_hypernodes_are_no_levels(self):
        where = snapshot(["a", "b", "c"], [("s", 1, ["a", "b"], ""), ("t", 1, ["b", "c"], "")])
        refusal = place(gang(1), where)
        assert codes(refusal.reasons) == ("topology-not-ready",)

    def test_cordoned_nodes_are_no_leaves(self):
        where = document_tree(cordoned=("node0", "node1"))
        refusal = place(gang(7), where)
        assert "Total nodes: 6" not in refusal.reasons[0].message
        assert "allows to fit only 6 out of 7 pod(s)" in refusal.reasons[0].message


class TestExplanations:
    def test_every_domain_looked_at_is_told_level_by_level(self):
        where = document_tree(**full("node1", "node2", "node5", "node7"))
        told = get_policy("kueue-0.19").explain(gang(2, constraint=hard(2)), where)
        assert told.notes == ("Kueue is asked to place w (2): required tier-1; else required tier-2",)
        assert [(each.name, each.kept, each.why) for each in told.domains] == [
            ("s0", False, "holds 1 of 2 pods"),
            ("s1", False, "holds 1 of 2 pods"),
            ("s2", False, "holds 1 of 2 pods"),
            ("s3", False, "holds 1 of 2 pods"),
            ("s4", True, "holds 2 of 2 pods, chosen"),
            ("s5", True, "holds 2 of 2 pods"),
        ]
        assert [each.name for each in told.nodes if each.kept] == ["node0", "node3"]

    def test_the_story_changes_no_answer(self):
        where = document_tree(**full("node1"))
        told = get_policy("kueue-0.19", balanced=True).explain(gang(3, constraint=SOFT), where)
        plain = place(gang(3, constraint=SOFT), where, balanced=True)
        assert told.decision.result.node.tolist() == plain.node.tolist()


def test_balanced_placement_spreads_evenly():
    """Six pods of two GPUs: best fit fills s0 (4 + 2), balanced placement puts three on each of its nodes."""
    pods = gang(6, constraint=SOFT, requests={"nvidia.com/gpu": 2})
    counts = [
        sorted(map(nodes(place(pods, document_tree(), balanced=on)).count, {"node0", "node1"})) for on in (False, True)
    ]
    assert counts == [[2, 4], [3, 3]]


def test_it_works_with_a_gpu_policy():
    placement = place(gang(2, constraint=hard(1)), document_tree(), name="kueue-0.19+gpu-bottleneck")
    assert nodes(placement) == ["node0", "node1"]


def annotated(count, request, **more):
    return gang(count, **more).with_extra(KueueRequest(roles=(KueueRole("w", request),)))


class TestWords:
    """What `kueue-0.19` says is of Kueue, or plain."""

    @pytest.mark.parametrize(("count", "size", "placed"), [(4, 8, 0), (7, 2, 6)])
    def test_pods_beyond_the_last_slice_name_the_slice_size(self, count, size, placed):
        request = TopologyRequest(required="tier-3", slices=(SliceLayer("tier-1", size),))
        refusal = place(annotated(count, request), document_tree())
        assert isinstance(refusal, Refusal)
        assert refusal.reasons[0].message == (
            f"Kueue admits the workload, but assigns {placed} of its {count} pods only: the slice size {size} does not "
            f"divide the {count} pods of w, and Kueue places whole slices only"
        )

    def test_no_sentence_of_volcano_or_kube_scheduler(self):
        lacking = gang(2, min_available=3)
        groups = (SubGroup("g", (0,), None, 1, policy="p"),)
        cases = [
            (lacking, document_tree(), "the gang has 2 pods, and 3 must start together"),
            (
                gang(2, sub_groups=groups, min_subgroups={"p": 2}, sub_grouped=True, min_available=1),
                document_tree(),
                "p has 1 sub-group, and 2 must start",
            ),
            (
                gang(2),
                document_tree(**full(*(f"node{i}" for i in range(8)))),
                "no node takes one more pod of w: 8 Insuff",
            ),
        ]
        for what, where, text in cases:
            refusal = place(what, where)
            assert isinstance(refusal, Refusal)
            assert any(text in reason.message for reason in refusal.reasons), said(refusal.reasons)
            for reason in refusal.reasons:
                assert not any(word in reason.message for word in ("gang-scheduling", "nodes are", "tasks"))


class TestPodsWithoutRequests:
    """Kueue places them by topology like all others: each needs a pod slot."""

    def test_they_keep_the_required_level(self):
        placement = place(gang(30, constraint=hard(1), requests={}), snapshot_of_slots())
        assert set(nodes(placement)) <= {"node0", "node1"}
        assert placement.warnings == ()
        refusal = place(gang(41, constraint=hard(1), requests={}), snapshot_of_slots())
        assert "allows to fit only 40 out of 41 pod(s)" in refusal.reasons[0].message

    def test_they_are_placed_beside_roles_that_request_something(self):
        roles = (Role("w", 2, ONE_NODE, (8,)), Role("helper", 2, {}))
        mixed = Gang("d", "j", roles, 4, hard(1))
        placement = place(mixed, snapshot_of_slots())
        assert len(nodes(placement)) == 4
        assert [one.code for one in placement.warnings] == ["not-expressed"]
        assert placement.hypernode == "s0"


def snapshot_of_slots():
    return document_tree(pods=20)
