from __future__ import annotations

import dataclasses

import pytest

from tests.fabrics import document_tree, snapshot
from tests.notices import codes, said
from workbench.model.extras import Gather, KoordinatorWish, extras_of
from workbench.model.gang import Gang, Role, TopologyConstraint
from workbench.model.placement import Placement, Refusal
from workbench.model.running_pod import RunningPod
from workbench.policies import get_policy
from workbench.policies.koordinator.network import INDEX_ANNOTATION, SELECTOR_ANNOTATION

ONE_NODE = {"nvidia.com/gpu": 8}


def gang(count, *gather, requests=ONE_NODE, annotations=None, **more):
    role = Role("w", count, requests, (requests.get("nvidia.com/gpu", 0),), annotations=annotations or {})
    return Gang("d", "j", (role,), count, extras=extras_of(KoordinatorWish(gather=gather)), **more)


def place(what, where, **options):
    return get_policy("koordinator-network+gpu-lowest-index").place(what, where.ledger(), **options)


def nodes(placement):
    return [pod.node for pod in placement.pods()]


def full(*names):
    return dict.fromkeys(names, (0, 0, 0, 8))


def taken(*names):
    return {"used": full(*names), "free_gpus": dict.fromkeys(names, 0)}


def test_a_gang_gathers_as_low_as_it_can():
    """Four nodes fit under s5 only once one of s4 is taken."""
    placement = place(gang(4, Gather("Tier1Layer", False)), document_tree(**taken("node1")))
    assert nodes(placement) == ["node4", "node5", "node6", "node7"]
    assert (placement.hypernode, placement.tier) == ("s5", 2)


def test_best_fit_among_domains_of_one_layer():
    """s0 has one node left, s2 too; s2's parent is fuller."""
    where = document_tree(**taken("node1", "node4", "node6"))
    assert nodes(place(gang(1), where)) == ["node5"]


def test_must_gather_refuses_what_prefer_gather_spreads():
    where = document_tree(**taken("node0", "node2", "node4", "node6"))
    wish = gang(3, Gather("Tier2Layer", False))
    assert nodes(place(wish, where)) == ["node1", "node3", "node5"]
    refusal = place(gang(3, Gather("Tier2Layer", True)), where)
    assert isinstance(refusal, Refusal)
    assert refusal.reasons[0].code == "no-candidate"
    assert refusal.reasons[0].message.startswith("no candidate of the 2 in Tier2Layer holds the gang: 2 slots at most")
    # Some nodes take one more pod, so that no node is blamed.
    assert len(refusal.reasons) == 1
    assert [(miss.tier, miss.holds, miss.needs) for miss in refusal.nearest_misses] == [(1, 1, 3), (2, 2, 3)]


def test_the_lowest_of_several_layers_to_gather_in_counts():
    wish = gang(3, Gather("Tier3Layer", True), Gather("Tier1Layer", True))
    assert isinstance(place(wish, document_tree()), Refusal)


@pytest.mark.parametrize(
    ("constraint", "placed", "says"),
    [
        (TopologyConstraint("hard", 2), False, "in Tier2Layer"),
        (TopologyConstraint("hard", 3), True, ""),
        (TopologyConstraint("hard", 9), True, ""),
        (TopologyConstraint("hard", 0), False, "tier of 0 or less"),
        (TopologyConstraint("hard"), True, "without a tier restricts nothing"),
        (TopologyConstraint("hard", None, "rack"), True, "unknown tier name rack"),
        (TopologyConstraint("soft", 1), True, ""),
    ],
)
def test_without_gather_rules_the_hypernode_constraint_counts(constraint, placed, says):
    result = place(gang(5, constraint=constraint), document_tree())
    assert isinstance(result, Placement) is placed
    texts = said(result.warnings) if placed else [result.reasons[0].message]
    assert any(says in text for text in texts) or not says


def test_a_layer_that_is_not_there():
    must = place(gang(1, Gather("RackLayer", True)), document_tree())
    assert must.reasons[0].message == "there is no layer RackLayer to gather in"
    prefer = place(gang(1, Gather("RackLayer", False)), document_tree())
    assert "unknown-layer" in codes(prefer.warnings)


def test_multiples_round_what_a_domain_takes():
    """Leaves take two pods at a time: three nodes free in s4 and s5 give only one pair each."""
    wish = gang(4, Gather("Tier1Layer", False, 2))
    assert isinstance(place(wish, document_tree()), Placement)
    where = document_tree(**taken("node0", "node4"))
    assert isinstance(place(gang(4), where), Placement)
    assert nodes(place(wish, where)) == ["node2", "node3", "node6", "node7"]
    odd = place(gang(3, Gather("Tier1Layer", False, 2)), where)
    assert isinstance(odd, Refusal)
    assert "podCountMultiple Tier1Layer=2" in odd.reasons[0].message


def test_running_pods_of_the_same_selector_draw_the_others():
    annotations = {SELECTOR_ANNOTATION: "job-7"}
    where = document_tree()
    running = RunningPod("d", "r", where.topology.node("node5"), {}, annotations=annotations)
    there = dataclasses.replace(where, running=(running,))
    assert nodes(place(gang(1, annotations=annotations), there)) == ["node5"]
    assert nodes(place(gang(1), there)) == ["node0"]


def test_pods_go_to_the_nodes_by_name():
    """Upstream's order: pod-10 comes before pod-2, whatever the index of the pods says."""
    role = Role("w", 3, ONE_NODE, (8,), pod_names=("pod-2", "pod-1", "pod-10"))
    placement = place(Gang("d", "j", (role,), 3), document_tree(**taken("node0")))
    assert {pod.name: pod.node for pod in placement.pods()} == {
        "pod-1": "node2",
        "pod-10": "node3",
        "pod-2": "node1",
    }


def test_slots_count_the_pods_in_the_order_of_their_index():
    """One large pod and two small ones: counted large first a node of 8 GPUs has one slot, small first two."""
    large = Role("a", 1, {"nvidia.com/gpu": 8}, (8,), annotations={INDEX_ANNOTATION: "2"})
    small = Role("b", 2, {"nvidia.com/gpu": 4}, (4,), annotations={INDEX_ANNOTATION: "1"})
    where = snapshot(["n0", "n1"], [("s", 1, ["n0", "n1"], "")])
    refusal = place(Gang("d", "j", (large, small), 3), where)
    assert isinstance(refusal, Refusal)
    assert refusal.reasons[0].code == "slots-differ"
    assert refusal.reasons[0].message.endswith("; give all pods of the gang equal requests")
    swapped = tuple(dataclasses.replace(role, annotations={}) for role in (large, small))
    assert place(Gang("d", "j", swapped, 3), where).reasons[0].code == "no-candidate"


def test_nodes_outside_a_layer_are_not_used():
    where = snapshot(["n0", "n1"], [("s", 1, ["n1"], "")])
    placement = place(gang(1), where)
    assert nodes(placement) == ["n1"]
    assert "nodes-outside-layers" in codes(placement.warnings)
    assert nodes(place(gang(2), snapshot(["n0", "n1"]))) == ["n0", "n1"]


def test_the_explanation_shows_every_domain_with_its_slots():
    explanation = get_policy("koordinator-network").explain(gang(2), document_tree(**taken("node0")))
    assert [(c.name, c.why) for c in explanation.domains if c.kept and c.tier == 1] == [
        ("s1", "2 slots of 2, chosen"),
        ("s2", "2 slots of 2"),
        ("s3", "2 slots of 2"),
    ]
    assert [c.name for c in explanation.nodes if c.kept] == ["node2", "node3"]
