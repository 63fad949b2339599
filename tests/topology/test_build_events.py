"""The tree built at once is the one that Volcano ends with, in whatever order the events of a good forest come."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.profiles import max_examples
from tests.reference.hypernode_tree import HyperNodeTree
from workbench.model.release import Release
from workbench.objects.hypernode import HyperNode, Member
from workbench.objects.metadata import Metadata
from workbench.objects.selectors import Selector, read_label_selector
from workbench.topology.build import build_topology

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


@pytest.mark.parametrize("release", list(Release))
@given(data=st.data())
@max_examples(60)
def test_any_order_of_a_good_forest_ends_as_it_is_built(release: Release, data: st.DataObject) -> None:
    forest = data.draw(forests())
    present = data.draw(st.sets(st.sampled_from(NODES)))
    grown = HyperNodeTree(release, {name: LABELS[name] for name in sorted(present)})
    events = [*forest, *sorted(set(NODES) - present)]
    for event in data.draw(st.permutations(events)):
        error = grown.upsert(event) if isinstance(event, HyperNode) else grown.add_node(event, LABELS[event])
        assert error == ""
    built = build_topology(forest, NODES, [LABELS[name] for name in NODES])
    names = built.domain_names
    above = {name: names[up] if up >= 0 else "" for name, up in zip(names, built.parent.tolist(), strict=True)}
    assert {name: grown.parents[name] for name in names} == {
        name: (tier, above[name]) for name, tier in zip(names, built.tier.tolist(), strict=True)
    }
    assert {name: set(grown.real_nodes.get(name, ())) & set(NODES) for name in names} == {
        name: {built.node_names[node] for node in built.nodes_of(domain)} for domain, name in enumerate(names)
    }
    assert built.ready and grown.ready
