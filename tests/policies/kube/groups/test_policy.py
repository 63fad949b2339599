"""`kube-1.37-topology`: levels, pins, sub-groups, trees of PodGroups, ties, refusals, and what a placement keeps."""

from __future__ import annotations

import pytest
from hypothesis import given

from tests.choice import choices
from tests.fabrics import document_tree, snapshot
from tests.ledger_check import check_ledger
from tests.notices import codes, said
from tests.policies.random_cases import random_cluster, random_gang
from tests.profiles import max_examples
from workbench.model.explanation import Recorder
from workbench.model.extras import extras_of
from workbench.model.gang import Gang, Role, SubGroup, TopologyConstraint
from workbench.model.kube_group import KubeGroup, KubeParent
from workbench.model.placement import Placement, Refusal
from workbench.model.running_pod import RunningPod
from workbench.policies import get_policy
from workbench.policies.kube import policy as default_policy
from workbench.policies.kube.groups import policy as topology_policy

NAME = "kube-1.37-topology"
NODES = [f"n{i}" for i in range(6)]
LABELS = {name: {"rack": f"r{i // 2}", "zone": f"z{i // 4}"} for i, name in enumerate(NODES)}
RACKS = [(f"h{i}", 1, NODES[2 * i : 2 * i + 2], "") for i in range(3)]


def racks(**options):
    """Racks n0 n1, n2 n3, n4 n5 by label and by HyperNode; the first two racks are zone z0."""
    return snapshot(NODES, RACKS, labels=LABELS, gpus=0, **{"cpu": 4000, **options})


def gang(name, count, minimum=None, *, cpu=1000, wish=None, constraint=None, **fields):
    role = Role("w", count, {"cpu": cpu, "memory": 1 << 30}, priority=fields.get("priority", 0))
    extras = extras_of(wish) if wish is not None else {}
    needed = count if minimum is None else minimum
    return Gang("d", name, (role,), needed, constraint, kind="PodGroup", extras=extras, **fields)


def by_rack(**fields):
    return KubeGroup(given=True, topology_key="rack", **fields)


def hard(tier):
    return TopologyConstraint("hard", tier)


def place(wanted, cluster, **parameters):
    return get_policy(NAME, **parameters).place(wanted, cluster.ledger())


def nodes_of(result):
    assert isinstance(result, Placement), result.reasons
    return [result.topology.node_names[node] for node in result.node.tolist() if node >= 0]


def racks_of(result):
    return {LABELS[name]["rack"] for name in nodes_of(result)}


@pytest.mark.parametrize("how", [{"wish": by_rack()}, {"constraint": hard(1)}], ids=["label", "tier"])
def test_a_gang_stays_in_one_domain_and_the_fullest_one_is_taken(how):
    running = [RunningPod("d", "other", 3, {"cpu": 2000})]
    used = {"n3": (2000, 0, 1, 0)}
    assert racks_of(place(gang("j", 4, **how), racks(running=running, used=used))) == {"r1"}
    # More pods of the gang weigh more than fuller nodes.
    assert racks_of(place(gang("j", 8, 4, **how), racks(running=running, used=used))) == {"r0"}


def test_of_equal_domains_the_smallest_name_is_taken_and_the_others_are_told():
    recorder = Recorder()
    placement = get_policy(NAME).place(gang("j", 4, wish=by_rack()), racks().ledger(), recorder)
    assert racks_of(placement) == {"r0"}
    assert [(c.name, c.kept, c.score) for c in recorder.candidates if c.kind == "domain"] == [
        ("r0", True, 125.0),
        ("r1", True, 125.0),
        ("r2", True, 125.0),
    ]
    assert "equal scores of placements of j: r0, r1, r2" in recorder.notes


def test_a_share_of_the_placements_is_tried_in_the_order_of_names():
    running, used = [RunningPod("d", "other", 3, {"cpu": 2000})], {"n3": (2000, 0, 1, 0)}
    cluster = racks(running=running, used=used)
    assert racks_of(place(gang("j", 4, wish=by_rack()), cluster, placements=34)) == {"r0"}
    assert racks_of(place(gang("j", 4, wish=by_rack()), cluster, placements=67)) == {"r1"}
    assert racks_of(place(gang("j", 4, wish=by_rack()), cluster, placements=0)) == {"r1"}


def test_a_share_at_random_is_another_one_after_pods_came():
    policy, found = get_policy(NAME, placements=34, order="random"), []
    for i in range(40):
        used = {"n5": (i, 0, 0, 0)}
        found.append(racks_of(policy.place(gang("j", 4, wish=by_rack()), racks(used=used).ledger())))
        assert found[-1] == racks_of(policy.place(gang("j", 4, wish=by_rack()), racks(used=used).ledger()))
    assert {rack for racks in found for rack in racks} == {"r0", "r1", "r2"}


def test_an_order_by_bounds_tries_few_placements_and_says_so():
    running, used = [RunningPod("d", "other", 3, {"cpu": 2000})], {"n3": (2000, 0, 1, 0)}
    recorder = Recorder()
    policy = get_policy(NAME, order="bound")
    found = policy.place(gang("j", 4, wish=by_rack()), racks(running=running, used=used).ledger(), recorder)
    assert racks_of(found) == {"r1"}
    assert [each.name for each in recorder.candidates if each.kind == "domain"] == ["r1"]
    assert "2 placements of j not tried, because they cannot win" in recorder.notes
    assert racks_of(place(gang("j", 4, wish=by_rack()), racks(), order="bound", placements=34)) == {"r0"}


def test_running_members_pin_the_domain():
    running = [RunningPod("d", "j-old", 4, {"cpu": 1000}, gang="d/j")]
    wanted = gang("j", 2, 3, wish=by_rack(), ready=1)
    assert racks_of(place(wanted, racks(running=running, used={"n4": (1000, 0, 1, 0)}))) == {"r2"}


def test_members_in_two_domains_are_an_error_as_upstream_says_it():
    running = [RunningPod("d", f"j-old{i}", node, {"cpu": 1000}, gang="d/j") for i, node in enumerate((0, 4))]
    refusal = place(gang("j", 2, 4, wish=by_rack(), ready=2), racks(running=running))
    assert isinstance(refusal, Refusal)
    assert codes(refusal.reasons)[-1:] == ("group-error",)
    text = "cannot determine domain for already scheduled pods: more than 1 domain found for pod group: r0, r2"
    assert said(refusal.reasons)[-1:] == (text,)
    # With a minimum that the running members meet, the gang is placed as it is, and the pods that wait say why.
    result = place(gang("j", 2, 2, wish=by_rack(), ready=2), racks(running=running))
    assert isinstance(result, Placement) and nodes_of(result) == []
    assert [said(one.reasons) for one in result.unplaced] == [(text,), (text,)]


def test_a_refusal_has_upstreams_words_for_pods_and_group():
    refusal = place(gang("j", 9, wish=by_rack()), racks())
    assert isinstance(refusal, Refusal)
    assert said(refusal.reasons) == (
        "0/2 nodes are available: 2 Insufficient cpu.",
        "pod group is unschedulable, 0/3 placements are available, first placement status: "
        "minCount (9) cannot be satisfied: 8 scheduled, 0 remaining",
    )


def test_nodes_outside_any_domain_are_left_out():
    refusal = place(gang("j", 1, 1, wish=KubeGroup(given=True, topology_key="row")), racks())
    assert said(refusal.reasons) == ("no feasible placements found", "no node has the label row")
    refusal = place(gang("j", 1, 1, constraint=TopologyConstraint("hard", 0)), racks())
    assert said(refusal.reasons)[-1] == "no node is in a HyperNode of tier 0"


@pytest.mark.parametrize(
    ("constraint", "code"),
    [
        (TopologyConstraint("soft", 1), "not-expressed"),
        (TopologyConstraint("hard"), "constraint-without-effect"),
        (TopologyConstraint("hard", None, "row"), "constraint-without-effect"),
    ],
)
def test_what_is_not_expressed_is_told_and_restricts_nothing(constraint, code):
    placement = place(gang("j", 12, constraint=constraint), racks())
    assert placement.n_placed == 12
    assert codes(placement.warnings) == (code,)


def test_pods_of_lower_priority_that_would_be_evicted_are_named():
    running = [RunningPod("d", f"low{i}", i, {"cpu": 3000}, priority=i) for i in range(6)]
    used = dict.fromkeys(NODES, (3000, 0, 1, 0))
    refusal = place(gang("j", 4, wish=by_rack(), priority=10), racks(running=running, used=used))
    assert codes(refusal.reasons)[-1:] == ("preemption-would-help",)
    assert said(refusal.reasons)[-1:] == ("kube-scheduler would evict d/low0, d/low1 of lower priority",)
    never = by_rack(preemption_policy="Never")
    refusal = place(gang("j", 4, wish=never, priority=10), racks(running=running, used=used))
    assert "preemption-would-help" not in codes(refusal.reasons)


@pytest.mark.parametrize("name", ["kube-default", "kube-1.37-topology"])
def test_a_refusal_tells_the_nearest_place_as_it_was_and_only_if_it_is_read(name, monkeypatch):
    asked = []
    for module in (default_policy, topology_policy):
        count = module.nearest_misses
        monkeypatch.setattr(module, "nearest_misses", lambda *of, count=count: asked.append(1) or count(*of))
    policy, big = get_policy(name), gang("big", 40, constraint=hard(1))
    want = policy.place(big, racks().ledger()).nearest_misses
    assert want and asked == [1]
    stream = policy.stream(racks())
    for _ in range(3):
        assert stream.place(big).first_reason.code == "insufficient"
    held = stream.place(big)
    assert asked == [1]
    assert isinstance(stream.place(gang("small", 4, constraint=hard(1))), Placement)
    assert asked == [1, 1]
    assert held.nearest_misses == want
    assert asked == [1, 1]


def test_sub_groups_are_children_with_a_level_of_their_own():
    halves = tuple(SubGroup(f"half{i}", tuple(range(4 * i, 4 * i + 4)), hard(1), 4, match_index=i) for i in range(2))
    wanted = gang("j", 8, sub_groups=halves, sub_grouped=True)
    placement = place(wanted, racks())
    found = nodes_of(placement)
    assert [{LABELS[name]["rack"] for name in found[part : part + 4]} for part in (0, 4)] == [{"r0"}, {"r0"}]
    # A rack holds one half only: the other one goes elsewhere, and no third finds a rack.
    assert racks_of(place(wanted, racks(cpu=2000))) == {"r0", "r1"}
    thirds = (*halves, SubGroup("half2", tuple(range(8, 12)), hard(1), 4, match_index=2))
    fourth = (*thirds, SubGroup("half3", tuple(range(12, 16)), hard(1), 4, match_index=3))
    refusal = place(gang("j", 16, sub_groups=fourth, sub_grouped=True), racks(cpu=2000))
    assert isinstance(refusal, Refusal)


def tree(*names, least=2, key="zone"):
    above = (KubeParent("root", least, key),)
    return [gang(name, 4, wish=by_rack(parent="root", parents=above)) for name in names]


def test_gangs_under_one_composite_are_decided_together():
    cluster = racks(cpu=2000)
    decisions = get_policy(NAME).schedule(tree("a", "b"), cluster)
    assert [racks_of(decision.result) for decision in decisions] == [{"r0"}, {"r1"}]
    # Three gangs of a rack each fit in no zone; with two of them the tree is content.
    refused = get_policy(NAME).schedule(tree("a", "b", "c", least=3), cluster)
    assert not any(decision.placed for decision in refused)
    assert "0/2 placements" in said(refused[0].result.reasons)[-1]
    two = get_policy(NAME).schedule(tree("a", "b", "c"), cluster)
    assert [decision.placed for decision in two] == [True, True, False]


def test_children_of_a_composite_are_tried_by_the_time_of_their_creation():
    early, late = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
    root, half = KubeParent("root", 2), KubeParent("half", 1, created=early, parent="root")
    below = gang("a", 4, wish=by_rack(parent="half", parents=(half, root)), created=late)
    beside = gang("b", 4, wish=by_rack(parent="root", parents=(root,)), created=late)
    found = {d.gang.name: racks_of(d.result) for d in get_policy(NAME).schedule([beside, below], racks(cpu=2000))}
    assert found == {"a": {"r0"}, "b": {"r1"}}
    half = KubeParent("half", 1, created=late, parent="root")
    below = gang("a", 4, wish=by_rack(parent="half", parents=(half, root)), created=early)
    beside = gang("b", 4, wish=by_rack(parent="root", parents=(root,)), created=early)
    found = {d.gang.name: racks_of(d.result) for d in get_policy(NAME).schedule([beside, below], racks(cpu=2000))}
    assert found == {"a": {"r1"}, "b": {"r0"}}


def test_a_tree_waits_for_its_groups():
    (decision,) = get_policy(NAME).schedule(tree("a"), racks())
    assert said(decision.result.reasons) == ('waiting for composite pod group "root" tree to meet quorum',)


def test_a_group_without_its_composite_waits():
    refusal = place(gang("j", 2, wish=KubeGroup(given=True, parent="gone")), racks())
    text = "failed to build hierarchy snapshot: composite pod group object not found in state for "
    assert said(refusal.reasons) == (f"{text}compositepodgroup/d/gone",)


@pytest.mark.parametrize(
    ("parents", "missing"),
    [
        ((KubeParent("half", parent="gone"),), "gone"),
        ((KubeParent("half", parent="half"),), "half"),
        ((KubeParent("half", parent="root"), KubeParent("root", parent="half")), "root"),
    ],
    ids=["a composite without its own", "a composite in itself", "a cycle"],
)
def test_a_tree_without_a_root_waits(parents, missing):
    refusal = place(gang("j", 2, wish=by_rack(parent="half", parents=parents)), racks())
    text = "failed to build hierarchy snapshot: composite pod group object not found in state for "
    assert said(refusal.reasons) == (f"{text}compositepodgroup/d/{missing}",)


def test_other_policies_say_that_they_do_not_read_the_group():
    wish = by_rack(parent="root", parents=(KubeParent("root"),))
    for name in ("kube-default", "volcano-1.15", "binpack"):
        told = get_policy(name).place(gang("j", 2, wish=wish), racks().ledger()).warnings
        text = f"{name} does not read the topology key rack and the CompositePodGroup root of the gang's PodGroup"
        assert text in said(told)


def test_pods_of_another_priority_than_their_group_are_an_error():
    role = Role("w", 2, {"cpu": 1000}, priority=3)
    wanted = Gang("d", "j", (role,), 2, kind="PodGroup", priority=7, extras=extras_of(by_rack()))
    refusal = place(wanted, racks())
    assert codes(refusal.reasons) == ("group-error",)


def test_the_condition_is_told_and_stays_true():
    for scheduled, told in ((False, "is False, Unschedulable"), (True, "is True, Scheduled")):
        recorder = Recorder()
        wanted = gang("j", 9, wish=by_rack(scheduled=scheduled))
        get_policy(NAME).place(wanted, racks().ledger(), recorder)
        assert any(f"PodGroupInitiallyScheduled {told}" in note for note in recorder.notes)


@max_examples(60)
@given(rng=choices())
def test_what_every_placement_keeps(rng):
    cluster = random_cluster(rng)
    wanted = random_gang(rng, cluster)
    ledger = cluster.ledger()
    before = ledger.idle.copy()
    result = get_policy(NAME).place(wanted, ledger)
    check_ledger(ledger)
    if isinstance(result, Refusal):
        assert (ledger.idle == before).all()
        return
    assert result.n_placed + wanted.ready >= min(wanted.min_available, wanted.n_pods + wanted.ready)
    level, topology = wanted.constraint, cluster.topology
    tiers = [tier for tier in topology.tiers if level is not None and tier <= (level.highest_tier or -1)]
    if level is not None and level.mode != "soft" and tiers and level.highest_tier < topology.top_tier:
        domains = topology.domain_of_node(max(tiers))
        assert len({int(domains[node]) for node in result.node.tolist() if node >= 0}) <= 1
    assert get_policy(NAME).place(wanted, cluster.ledger()).node.tolist() == result.node.tolist()


def test_a_hard_gang_is_placed_where_volcano_places_it():
    cluster = document_tree(cpu=4000, gpus=0)
    for count in (4, 8, 16, 17):
        wanted = gang("j", count, cpu=2000, constraint=hard(2))
        volcano = get_policy("volcano-1.13").place(wanted, cluster.ledger())
        assert isinstance(place(wanted, cluster), Placement) == isinstance(volcano, Placement)
