"""The tree as built by a stream of events; upstream's own rows are in the conformance cases."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.profiles import max_examples
from tests.reference.hypernode_events import State
from workbench.model.release import Release
from workbench.model.topology import Topology
from workbench.objects.hypernode import HyperNode, Member
from workbench.objects.metadata import Metadata
from workbench.objects.selectors import Selector, read_label_selector
from workbench.topology.build import build_topology
from workbench.topology.events import HyperNodeTree

BOTH = pytest.mark.parametrize("release", list(Release))


def hypernode(name: str, tier: int, *members: Member) -> HyperNode:
    return HyperNode(Metadata(name), tier, "", members)


def node(name: str) -> Member:
    return Member("Node", Selector(exact=name))


def matching(pattern: str) -> Member:
    return Member("Node", Selector(pattern=pattern))


def labelled(**labels: str) -> Member:
    return Member("Node", Selector(labels=read_label_selector({"matchLabels": labels}, "")))


def inner(name: str) -> Member:
    return Member("HyperNode", Selector(exact=name))


def tree(release: Release, *hypernodes: HyperNode, nodes: dict[str, dict[str, str]] | None = None) -> HyperNodeTree:
    built = HyperNodeTree(release, nodes)
    for one in hypernodes:
        assert built.upsert(one) == ""
    return built


def parent(built: HyperNodeTree, name: str) -> str:
    return built.parents[name][1]


class TestReadiness:
    def test_the_start_value(self):
        assert [HyperNodeTree(release).ready for release in Release] == [False, True]

    @BOTH
    def test_one_bit_for_all_a_good_event_elsewhere_hides_a_broken_hypernode(self, release):
        built = tree(release, hypernode("a", 1, node("n0")), hypernode("p", 2, inner("a")))
        assert built.upsert(hypernode("q", 2, inner("a")))
        assert not built.ready
        built.upsert(hypernode("elsewhere", 1, node("n9")))
        assert built.ready
        assert parent(built, "a") == "p"

    @pytest.mark.parametrize(("release", "want"), [(Release.V1_13, True), (Release.NEWEST, False)])
    def test_an_update_without_new_members_rebuilds_in_1_13_only(self, release, want):
        a = hypernode("a", 1, node("n0"))
        built = tree(release, a)
        built.ready = False
        assert built.upsert(dataclasses.replace(a, tier=2)) == ""
        assert built.ready is want
        assert built.tiers == {2: {"a"}}

    @BOTH
    def test_a_hypernode_with_a_pattern_is_always_rebuilt(self, release):
        a = hypernode("a", 1, matching("n"))
        built = tree(release, a)
        built.ready = False
        built.upsert(a)
        assert built.ready


class TestLinks:
    @BOTH
    def test_a_member_that_was_never_seen_is_a_placeholder_of_tier_0(self, release):
        built = tree(release, hypernode("p", 2, inner("a")))
        assert built.parents == {"p": (2, ""), "a": (0, "p")}
        assert built.tiers == {2: {"p"}}
        assert built.real_nodes == {"p": frozenset()}
        assert built.topology().domain_names == ("p",)

    @BOTH
    def test_a_parent_that_is_deleted_leaves_its_children(self, release):
        built = tree(release, hypernode("a", 1, node("n0")), hypernode("p", 2, inner("a")))
        assert built.delete("p") == ""
        assert built.parents == {"a": (1, "")}

    @BOTH
    def test_a_child_that_is_deleted_and_comes_back_is_found_by_who_lists_it(self, release):
        a = hypernode("a", 1, node("n0"))
        built = tree(release, a, hypernode("p", 2, inner("a")), hypernode("top", 3, inner("p")))
        built.delete("a")
        assert built.real_nodes == {"p": set(), "top": set()}
        built.upsert(a)
        assert built.real_nodes == {"a": {"n0"}, "p": {"n0"}, "top": {"n0"}}
        assert built.ancestors("a") == ["a", "p", "top"]

    @BOTH
    def test_of_several_that_list_a_name_the_smallest_is_its_parent(self, release):
        built = HyperNodeTree(release)
        built.upsert(hypernode("q", 3, inner("a"), inner("b")))
        built.upsert(hypernode("p", 2, inner("b"), inner("c")))
        built.delete("a")
        built.delete("b")
        assert built.ancestors("b") == ["b", "p"]
        assert built.ancestors("a") == ["a", "q"]

    @BOTH
    def test_a_child_moves_once_its_old_parent_has_let_it_go(self, release):
        built = tree(release, hypernode("a", 1, node("n0")), hypernode("p", 2, inner("a"), node("n1")))
        error = built.upsert(hypernode("q", 2, inner("a")))
        assert error == "HyperNode a already has a parent p, and cannot set another parent q"
        assert built.upsert(hypernode("p", 2, node("n1"))) == ""
        assert built.retry() == {}
        assert parent(built, "a") == "q"
        assert built.real_nodes["q"] == {"n0"}
        assert built.ready

    def test_the_newest_gives_a_freed_child_to_the_other_claimer_at_once(self):
        built = tree(Release.NEWEST, hypernode("a", 1, node("n0")), hypernode("p", 2, inner("a"), node("n1")))
        built.upsert(hypernode("q", 2, inner("a")))
        built.upsert(hypernode("p", 2, node("n1")))
        assert parent(built, "a") == "q"

    def test_1_13_leaves_it_alone_until_the_claimer_is_updated(self):
        built = tree(Release.V1_13, hypernode("a", 1, node("n0")), hypernode("p", 2, inner("a"), node("n1")))
        built.upsert(hypernode("q", 2, inner("a")))
        built.upsert(hypernode("p", 2, node("n1")))
        assert built.ready
        assert parent(built, "a") == ""

    @BOTH
    def test_a_cycle_names_the_chain_in_byte_order(self, release):
        built = tree(release, hypernode("b", 2, inner("a")))
        assert built.upsert(hypernode("a", 3, inner("b"))) == (
            "cyclic dependency detected: HyperNode a is already in the ancestor chain [a b]"
        )
        assert built.retry().keys() <= {"a"}
        assert built.topology().n_domains == 2

    @BOTH
    def test_a_cycle_of_thousands_is_an_error_and_no_crash(self, release):
        n = 3000
        built = HyperNodeTree(release)
        errors = [built.upsert(hypernode(f"h{i}", i + 1, inner(f"h{(i + 1) % n}"))) for i in range(n)[::-1]]
        assert "cyclic dependency" in errors[-1]
        assert not built.ready
        assert built.topology().n_domains == n

    @BOTH
    def test_the_same_cycle_again_and_again_stays_small(self, release):
        built = HyperNodeTree(release)
        for i in range(300):
            built.upsert(hypernode("a", 1, inner("b"), node(f"n{i % 2}")))
            built.upsert(hypernode("b", 1, inner("a"), node(f"m{i % 2}")))
        assert {len(names) for names in built.real_nodes.values()} <= {0, 1, 2, 3, 4}

    @BOTH
    def test_what_comes_back_while_its_deletion_fails_is_skipped_until_it_is_gone(self, release):
        a = hypernode("a", 1, node("n0"))
        built = tree(release, a, hypernode("q", 2, inner("b")))
        assert built.upsert(hypernode("p", 2, inner("a"), inner("b")))
        assert built.delete("a")
        built.upsert(a)
        built.upsert(hypernode("q", 2, node("n9")))
        built.retry()
        assert built.ready
        assert built.real_nodes["p"] == set()
        assert not built.topology().has_domain("a")
        assert built.delete("a") == built.upsert(a) == ""
        assert built.real_nodes["p"] == {"n0"}


class TestNodes:
    @BOTH
    def test_a_pattern_follows_nodes_that_come_and_go(self, release):
        built = tree(release, hypernode("a", 1, matching("^n"), node("exact")), hypernode("p", 2, inner("a")))
        built.add_node("n0")
        built.add_node("m0")
        assert built.real_nodes["p"] == {"exact", "n0"}
        built.delete_node("n0")
        assert built.real_nodes["p"] == {"exact"}

    @BOTH
    def test_a_label_that_comes_is_followed_and_one_that_goes_is_stale(self, release):
        built = tree(release, hypernode("a", 1, labelled(rack="r1")), nodes={"n0": {}})
        built.add_node("n0", {"rack": "r1"})
        assert built.real_nodes["a"] == {"n0"}
        built.add_node("n0", {"rack": "r2"})
        assert built.real_nodes["a"] == {"n0"}
        built.add_node("n1", {"rack": "r1"})
        assert built.real_nodes["a"] == {"n1"}

    @BOTH
    def test_a_node_that_a_label_selected_stays_until_the_next_event_but_not_in_the_topology(self, release):
        built = tree(release, hypernode("a", 1, labelled(rack="r1")), nodes={"n0": {"rack": "r1"}})
        built.delete_node("n0")
        assert built.real_nodes["a"] == {"n0"}
        assert built.topology().n_nodes == 0

    @BOTH
    def test_who_has_a_hypernode_member_does_not_react(self, release):
        built = tree(release, hypernode("a", 1, matching("^n"), inner("b")))
        built.add_node("n0")
        assert built.real_nodes["a"] == set()

    @BOTH
    def test_an_error_of_a_node_event_is_retried(self, release):
        built = tree(release, hypernode("a", 1, matching("^n")), hypernode("p", 2, inner("a")))
        built.upsert(hypernode("q", 2, inner("b")))
        error = built.upsert(hypernode("p", 2, inner("a"), inner("b")))
        assert error == "HyperNode b already has a parent q, and cannot set another parent p"
        assert built.add_node("n0") == error
        assert built.retry()["n0"] == error
        built.upsert(hypernode("q", 2, node("n9")))
        assert built.retry() == {}
        assert built.ready
        assert built.real_nodes["p"] == {"n0"}


# A good forest: every HyperNode is listed by at most one other, whose tier is greater; a tree is a mapping of name to
# (tier, parent, selectors of nodes).
NODES = [f"n{i}" for i in range(6)]


@st.composite
def forests(draw: st.DrawFn) -> list[HyperNode]:
    tiers = draw(st.lists(st.integers(1, 4), min_size=1, max_size=8))
    names = [f"h{i}" for i in range(len(tiers))]
    members: dict[str, list[Member]] = {name: [] for name in names}
    for i in sorted(range(len(tiers)), key=tiers.__getitem__):
        name = names[i]
        above = [j for j in range(len(tiers)) if tiers[j] > tiers[i]]
        home = draw(st.sampled_from([None, *above]))
        if home is not None:
            members[names[home]].append(inner(name))
        # Node events reach leaves only, so that a pattern higher up depends on what came first.
        members[name] += draw(st.lists(st.sampled_from(EXACT if members[name] else SELECTIONS), max_size=2))
    return [
        hypernode(name, tier, *draw(st.permutations(members[name]))) for name, tier in zip(names, tiers, strict=True)
    ]


EXACT = [*(node(name) for name in NODES), node("absent")]
SELECTIONS = [*EXACT, matching("n[0-2]"), matching("5$"), labelled(rack="1")]
LABELS = {name: {"rack": str(i % 2)} for i, name in enumerate(NODES)}


def assert_same(left: Topology, right: Topology) -> None:
    def told(topology: Topology) -> object:
        nodes = [sorted(topology.node_names[i] for i in topology.nodes_of(j)) for j in range(topology.n_domains)]
        return (
            sorted(topology.node_names),
            topology.domain_names,
            topology.tier_names,
            topology.parent.tolist(),
            topology.tier.tolist(),
            nodes,
            topology.laminar,
            topology.problems,
            topology.ready,
        )

    assert told(left) == told(right)


class TestAgainstTheSlowTwin:
    @BOTH
    @given(data=st.data())
    @max_examples(150)
    def test_every_state_of_any_stream_is_the_same(self, release, data):
        """Good or bad: what an event leaves behind decides what the next one does."""
        names = [f"h{i}" for i in range(4)]
        choices = [("Node", name) for name in NODES[:3]] + [("HyperNode", name) for name in names] * 2
        built, twin = HyperNodeTree(release), State(release is Release.NEWEST)
        for _ in range(data.draw(st.integers(1, 15))):
            name = data.draw(st.sampled_from(names))
            if data.draw(st.integers(0, 3)):
                tier = data.draw(st.integers(1, 3))
                members = data.draw(st.lists(st.sampled_from(choices), max_size=3))
                exact = [Member(kind, Selector(exact=member)) for kind, member in members]
                assert built.upsert(hypernode(name, tier, *exact)) == twin.upsert(name, tier, tuple(members))
            else:
                assert built.delete(name) == twin.delete(name)
            assert built.ready == twin.ready
            assert built.parents == {one: (twin.tier[one], twin.parent[one]) for one in twin.members}
            assert built.real_nodes == twin.real


class TestAgainstARebuild:
    @BOTH
    @given(data=st.data())
    @max_examples(60)
    def test_any_order_of_a_good_forest_ends_the_same(self, release, data):
        forest = data.draw(forests())
        present = data.draw(st.sets(st.sampled_from(NODES)))
        built = HyperNodeTree(release, {name: LABELS[name] for name in sorted(present)})
        events = [*forest, *sorted(set(NODES) - present)]
        for event in data.draw(st.permutations(events)):
            error = built.upsert(event) if isinstance(event, HyperNode) else built.add_node(event, LABELS[event])
            assert error == ""
        assert_same(built.topology(), build_topology(forest, NODES, [LABELS[name] for name in NODES]))

    @BOTH
    @given(data=st.data())
    @max_examples(60)
    def test_one_forest_after_another_ends_the_same(self, release, data):
        """Between two forests everything is detached first, so that no HyperNode is ever listed twice."""
        built = HyperNodeTree(release, LABELS)
        old: dict[str, HyperNode] = {}
        for _ in range(data.draw(st.integers(1, 3))):
            new = {h.name: h for h in data.draw(forests())}
            for name in data.draw(st.permutations(sorted(old))):
                if name in new:
                    kept = tuple(m for m in old[name].members if m.type == "Node")
                    assert built.upsert(dataclasses.replace(old[name], members=kept)) == ""
                else:
                    assert built.delete(name) == ""
            for name in data.draw(st.permutations(sorted(new))):
                assert built.upsert(new[name]) == ""
            old = new
        assert_same(built.topology(), build_topology(old.values(), NODES, LABELS.values()))

    @BOTH
    @given(data=st.data())
    @max_examples(60)
    def test_whatever_happens_is_an_answer(self, release, data):
        """Cycles, two parents, self-membership: errors are texts, ready says the last one, the tree can be numbered."""
        names = [f"h{i}" for i in range(5)]
        members = st.lists(st.sampled_from([*SELECTIONS, *(inner(name) for name in names)]), max_size=3)
        built = HyperNodeTree(release, LABELS)
        for _ in range(data.draw(st.integers(1, 12))):
            name = data.draw(st.sampled_from(names))
            if data.draw(st.booleans()):
                error = built.upsert(hypernode(name, data.draw(st.integers(1, 3)), *data.draw(members)))
            else:
                error = built.delete(name)
            assert not (error and built.ready)
            topology = built.topology()
            assert topology.ready == built.ready
            assert set(built.tiers) == {tier for tier, _ in built.parents.values()} - {0}
        for name in names:
            assert built.ancestors(name)[0] == name
            assert built.leaves_under(name) <= set(built.parents)
