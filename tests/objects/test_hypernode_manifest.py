"""A HyperNode written and read again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.model.labels import Requirement
from workbench.objects.hypernode import HyperNode, Member, read_hypernode
from workbench.objects.hypernode_manifest import hypernode_manifest
from workbench.objects.metadata import Metadata
from workbench.objects.selectors import Selector

names = st.text("abc-.0", min_size=1, max_size=6)
pairs = st.dictionaries(names, names, max_size=3)
label_names = st.from_regex("[abc]([-.abc0]{0,4}[abc0])?", fullmatch=True)
requirements = st.one_of(
    st.builds(
        lambda k, o, v: Requirement(k, o, tuple(v)),
        label_names,
        st.sampled_from(["In", "NotIn"]),
        st.lists(label_names, min_size=1, max_size=3),
    ),
    st.builds(Requirement, label_names, st.sampled_from(["Exists", "DoesNotExist"])),
)
selectors = st.one_of(
    st.builds(Selector, exact=names),
    st.builds(Selector, pattern=st.sampled_from(["^n", "a|b", ""])),
    st.builds(Selector, labels=st.lists(requirements, max_size=3).map(tuple)),
    st.just(Selector()),
)
members = st.builds(Member, st.sampled_from(["Node", "HyperNode"]), selectors)
hypernodes = st.builds(
    HyperNode,
    metadata=st.builds(Metadata, name=names, labels=pairs, annotations=pairs),
    tier=st.integers(0, 9),
    tier_name=st.sampled_from(["", "leaf"]),
    members=st.lists(members, max_size=4).map(tuple),
    node_count=st.none() | st.integers(0, 9),
)


@pytest.mark.slow
@given(hypernodes)
def test_what_is_written_is_read_back(hypernode: HyperNode) -> None:
    assert read_hypernode(hypernode_manifest(hypernode)) == hypernode


def test_a_plain_one_says_no_more_than_it_must() -> None:
    plain = HyperNode(Metadata("s0"), 1, "", (Member("Node", Selector(exact="n0")),))
    assert hypernode_manifest(plain) == {
        "apiVersion": "topology.volcano.sh/v1alpha1",
        "kind": "HyperNode",
        "metadata": {"name": "s0"},
        "spec": {"tier": 1, "members": [{"type": "Node", "selector": {"exactMatch": {"name": "n0"}}}]},
    }
