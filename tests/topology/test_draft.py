"""Tests that a drawing stays consistent under any operation, and that every operation can be undone."""

from __future__ import annotations

import contextlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.errors import InputError, WorkbenchError
from workbench.objects.kinds import ClusterObjects
from workbench.objects.metadata import Metadata
from workbench.objects.node import Node
from workbench.topology import edits
from workbench.topology.draft import ROOT, Draft, Item, differences
from workbench.topology.draft_objects import draft_of, hypernodes_after, hypernodes_of, nodes_of
from workbench.topology.generate import Fabric
from workbench.topology.history import History


def objects(*manifests):
    cluster = ClusterObjects()
    for manifest in manifests:
        cluster.add(manifest)
    return cluster


def hypernode(name, tier, *members):
    return {
        "apiVersion": "topology.volcano.sh/v1alpha1",
        "kind": "HyperNode",
        "metadata": {"name": name},
        "spec": {"tier": tier, "members": list(members)},
    }


@pytest.fixture
def history():
    """Two leaves of two nodes under one spine."""
    history = History(Draft())
    history.do("spine", edits.add_switches(history.draft, prefix="spine-", tier=2))
    spine = history.draft.find("switch", "spine-0")
    history.do("leaves", edits.add_switches(history.draft, spine.id, 2, "leaf-", nodes_each=2))
    return history


def ids(draft, *names):
    return [(draft.find("switch", name) or draft.find("node", name)).id for name in names]


class TestAdding:
    def test_leaves_with_their_nodes_are_one_step(self, history):
        draft = history.draft
        assert [item.name for item in draft.beneath(ids(draft, "spine-0")[0])] == [
            "leaf-0", "leaf-1", "node-0", "node-1", "node-2", "node-3",
        ]  # fmt: skip
        assert draft.find("switch", "leaf-0").tier == 1 and draft.find("node", "node-3").gpus == 8
        history.undo()
        assert len(draft) == 1

    def test_the_next_names_are_free_and_of_one_width(self, history):
        draft = history.draft
        [leaf] = ids(draft, "leaf-1")
        names = [c.after.name for c in edits.add_nodes(draft, leaf, 8)]
        assert (names[0], names[-1]) == ("node-04", "node-11")

    @pytest.mark.parametrize("digits", [18, 19, 5000])
    def test_a_name_with_more_digits_than_a_next_number_has_does_not_count(self, history, digits):
        draft = history.draft
        leaf, node = ids(draft, "leaf-1", "node-0")
        history.do("rename", edits.rename(draft, node, "node-" + "9" * digits))
        [added] = edits.add_nodes(draft, leaf)
        assert added.after.name == "node-4"

    def test_nothing_hangs_under_a_node(self, history):
        with pytest.raises(InputError, match="a node holds nothing"):
            edits.add_nodes(history.draft, ids(history.draft, "node-0")[0])


class TestMoving:
    def test_a_switch_takes_its_nodes_along(self, history):
        draft = history.draft
        leaf, node = ids(draft, "leaf-0", "node-0")
        history.do("out", edits.move(draft, [leaf, node], ROOT))
        assert draft[leaf].parent == ROOT and draft[node].parent == leaf

    def test_under_itself_is_refused_and_changes_nothing(self, history):
        draft = history.draft
        spine, leaf = ids(draft, "spine-0", "leaf-0")
        before = history.revision
        with pytest.raises(InputError, match="cannot hang under itself"):
            history.do("loop", edits.move(draft, [spine], leaf))
        assert draft[spine].parent == ROOT and history.revision == before

    def test_a_group_stands_between(self, history):
        draft = history.draft
        leaves = ids(draft, "leaf-0", "leaf-1")
        history.do("group", edits.group(draft, leaves, "pod-0"))
        pod = draft.find("switch", "pod-0")
        assert {item.parent for item in map(draft.__getitem__, leaves)} == {pod.id}
        assert draft[pod.parent].name == "spine-0" and pod.tier == 2


class TestDeleting:
    def test_all_beneath_goes_too(self, history):
        history.do("delete", edits.delete(history.draft, ids(history.draft, "leaf-0", "node-0")))
        assert [item.name for item in history.draft] == ["spine-0", "leaf-1", "node-2", "node-3"]

    def test_or_moves_up(self, history):
        draft = history.draft
        history.do("delete", edits.delete(draft, ids(draft, "spine-0", "leaf-0"), keep_children=True))
        assert draft.find("node", "node-0").parent == ROOT
        assert draft.find("switch", "leaf-1").parent == ROOT


class TestFields:
    def test_each_kind_takes_its_own(self, history):
        draft = history.draft
        leaf, node = ids(draft, "leaf-0", "node-0")
        history.do("set", edits.set_fields(draft, [leaf, node], {"tier_name": "rack", "gpus": 4, "labels": {"a": "b"}}))
        assert (draft[leaf].tier_name, draft[leaf].gpus, draft[node].gpus) == ("rack", 0, 4)
        assert edits.select(draft, label="a=b") == [leaf, node]
        assert edits.select(draft, pattern="^leaf", label="a") == [leaf]

    @pytest.mark.parametrize(
        "fields", [{"tier": -1}, {"gpus": True}, {"link_gbit_s": float("nan")}, {"colour": 1}, {"labels": {"a": 1}}]
    )
    def test_a_wrong_value_is_refused(self, history, fields):
        with pytest.raises(InputError):
            edits.set_fields(history.draft, ids(history.draft, "node-0"), fields)

    def test_two_items_may_exchange_their_names_in_one_step(self, history):
        draft = history.draft
        a, b = ids(draft, "node-0", "node-1")
        history.do("swap", [*edits.rename(draft, a, "node-1"), *edits.rename(draft, b, "node-0")])
        assert (draft[a].name, draft[b].name) == ("node-1", "node-0")

    def test_a_taken_name_is_refused(self, history):
        with pytest.raises(InputError, match="the name is taken"):
            history.do("same", edits.rename(history.draft, ids(history.draft, "node-0")[0], "node-1"))


class TestPasting:
    def test_copies_get_the_next_names(self, history):
        draft = history.draft
        spine, leaf = ids(draft, "spine-0", "leaf-0")
        history.do("paste", edits.paste(draft, edits.sub_tree(draft, [leaf]), spine))
        copy = draft.find("switch", "leaf-2")
        assert [item.name for item in draft.children(copy.id)] == ["node-4", "node-5"]


@st.composite
def operations(draw):
    return draw(
        st.lists(
            st.tuples(
                st.sampled_from(["switches", "nodes", "move", "rename", "delete", "keep", "set", "paste", "group"]),
                st.integers(0, 30),
                st.integers(0, 30),
            ),
            max_size=12,
        )
    )


def perform(history, name, a, b):
    """One random operation, with its changes; what it refuses is no step."""
    draft = history.draft
    present = [ROOT, *(item.id for item in draft)]
    first, second = present[a % len(present)], present[b % len(present)]
    makers = {
        "switches": lambda: edits.add_switches(draft, first, 1 + b % 3, nodes_each=a % 3),
        "nodes": lambda: edits.add_nodes(draft, first, 1 + b % 3),
        "move": lambda: edits.move(draft, [first], second),
        "rename": lambda: edits.rename(draft, first, f"name-{b}"),
        "delete": lambda: edits.delete(draft, [first]),
        "keep": lambda: edits.delete(draft, [first], keep_children=True),
        "set": lambda: edits.set_fields(draft, [first, second], {"tier": a, "failed": b % 2 == 0, "link_gbit_s": b}),
        "paste": lambda: edits.paste(draft, edits.sub_tree(draft, [first]), second),
        "group": lambda: edits.group(draft, [first, second]),
    }
    with contextlib.suppress(WorkbenchError):
        return history.do(name, makers[name]())
    return ()


@given(operations())
def test_undo_all_is_nothing_and_redo_all_is_the_drawing(steps):
    history = History(Draft())
    for step in steps:
        perform(history, *step)
    drawn = {item.id: item for item in history.draft}
    while history.undo():
        pass
    assert len(history.draft) == 0
    while history.redo():
        pass
    assert {item.id: item for item in history.draft} == drawn


@given(operations(), st.integers(0, 4))
def test_the_last_number_behind_a_prefix_is_that_of_the_names_that_are_there(steps, undone):
    history = History(Draft())

    def check():
        for kind in ("switch", "node"):
            for prefix in ("s", "node-", "name-", "name-1", ""):
                found = [re.fullmatch(re.escape(prefix) + "([0-9]+)", name) for name in history.draft.names(kind)]
                want = max((int(match[1]) for match in found if match), default=-1)
                assert history.draft.last_number(kind, prefix) == want

    for step in steps:
        perform(history, *step)
        check()
    for _ in range(undone):
        history.undo()
        check()


@given(operations(), operations())
def test_the_differences_make_one_drawing_another(first, second):
    one, other = History(Draft()), History(Draft())
    for history, steps in ((one, first), (other, second)):
        for step in steps:
            perform(history, *step)
    one.do("become the other", differences(one.draft, other.draft))
    assert one.draft == other.draft


@given(operations())
def test_a_drawing_survives_its_objects(steps):
    history = History(Draft())
    for step in steps:
        perform(history, *step)
    draft = history.draft
    assert draft_of(hypernodes_of(draft), nodes_of(draft)) == draft


class TestObjects:
    def test_a_fabric_is_drawn_and_written_as_it_was(self):
        fabric = Fabric((2, 2, 2))
        cluster = objects(*fabric.hypernodes(), *fabric.nodes())
        draft = draft_of(cluster.hypernodes.values(), cluster.nodes.values())
        assert len(draft) == 8 + 7
        assert {h.name: h for h in hypernodes_of(draft)} == cluster.hypernodes
        assert {n.name: n for n in nodes_of(draft)} == cluster.nodes

    def test_a_regular_expression_stays_while_it_says_what_is_drawn(self):
        member = {"type": "Node", "selector": {"regexMatch": {"pattern": "^node[01]$"}}}
        fabric = Fabric((4,))
        cluster = objects(hypernode("rack", 1, member), *fabric.nodes())
        history = History(draft_of(cluster.hypernodes.values(), cluster.nodes.values()))
        assert hypernodes_of(history.draft)[0].members == cluster.hypernodes["rack"].members
        history.do("out", edits.move(history.draft, ids(history.draft, "node1"), ROOT))
        assert [m.selector.exact for m in hypernodes_of(history.draft)[0].members] == ["node0"]

    def test_what_a_failure_cuts_off_is_cordoned_for_schedulers_only(self, history):
        draft = history.draft
        history.do("fail", edits.set_fields(draft, ids(draft, "leaf-0"), {"link_failed": True}))
        assert [n.unschedulable for n in nodes_of(draft)] == [False] * 4
        assert [n.unschedulable for n in nodes_of(draft, only_reachable=True)] == [True, True, False, False]


@given(operations())
def test_what_a_step_may_have_changed_is_all_that_it_changed(steps):
    history = History(Draft())
    for step in steps:
        before = {h.name: h for h in hypernodes_of(history.draft)}
        revision = history.revision
        changes = perform(history, *step)
        if history.revision == revision:
            continue
        after = dict(before)
        fresh = {}
        for name, hypernode in hypernodes_after(history.draft, changes).items():
            after.pop(name, None)
            if hypernode is not None:
                fresh[hypernode.name] = hypernode
        assert after | fresh == {h.name: h for h in hypernodes_of(history.draft)}


def test_nodes_lack_gpus_where_nothing_is_known_of_them_or_none_has_any() -> None:
    def node(item_id: int, gpus: int, allocatable: dict[str, int] | None) -> Item:
        read = None if allocatable is None else Node(Metadata(f"n{item_id}"), allocatable)
        return Item(item_id, "node", f"n{item_id}", gpus=gpus, node=read)

    without = [node(1, 0, {}), node(2, 0, {"cpu": 4000}), node(3, 0, None)]
    assert edits.without_gpus(Draft(without)) == [1, 2, 3]
    assert edits.without_gpus(Draft([*without, node(4, 8, None)])) == [1]
    assert edits.without_gpus(Draft([node(1, 8, {})])) == []


def test_a_node_of_which_nothing_is_known_gets_cores_with_its_gpus() -> None:
    read = Node(Metadata("n"), {})
    drawn = Draft([Item(1, "node", "n", gpus=8, node=read)])
    assert nodes_of(drawn)[0].allocatable == nodes_of(Draft([Item(1, "node", "n", gpus=8)]))[0].allocatable
    assert nodes_of(Draft([Item(1, "node", "n", node=read)])) == [read]
