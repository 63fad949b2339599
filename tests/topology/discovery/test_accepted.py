"""What discovery writes is accepted by admission, for every source and every release."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from workbench.formats.manifests import read_manifests
from workbench.formats.review import review_manifests
from workbench.formats.write_manifests import to_yaml
from workbench.model.release import Release
from workbench.topology.discovery.label import discover_label
from workbench.topology.discovery.reconcile import reconcile
from workbench.topology.discovery.result import DiscoveryResult
from workbench.topology.discovery.roce import discover_roce, read_roce_links
from workbench.topology.discovery.ufm import discover_ufm, read_ufm_ports

KEYS = ["volcano.sh/tor", "volcano.sh/hypercluster", "volcano.sh/hypernode", "volcano.sh/superpod", "rack", "x.y/z_1"]
NODES = [f"node-{i}" for i in range(6)]
SWITCHES = ["leaf0", "Leaf 1", "leaf_1", "MF0;sw-7:MSB7800/U1", "spine-0", "S" * 70, "é"]


@st.composite
def by_labels(draw: st.DrawFn) -> DiscoveryResult:
    value = st.sampled_from(["a", "B_1", "s1.r2", "x" * 63])
    nodes = {name: draw(st.dictionaries(st.sampled_from(KEYS), value)) for name in NODES}
    names = st.sampled_from(["topologyA2", "topologyA3", "fabric", "Fabric_1", "a b"])
    keys = st.lists(st.sampled_from(KEYS), min_size=1, max_size=3, unique=True)
    types = draw(st.dictionaries(names, keys.map(lambda some: (*some, "kubernetes.io/hostname")), min_size=1))
    return discover_label(types, nodes, ())


@st.composite
def by_ports(draw: st.DrawFn) -> DiscoveryResult:
    port = st.fixed_dictionaries(
        {
            "description": st.just("Computer IB Port"),
            "system_name": st.sampled_from(NODES),
            "peer_node_name": st.sampled_from(SWITCHES),
        }
    )
    return discover_ufm(read_ufm_ports(draw(st.lists(port, max_size=12))))


@st.composite
def by_links(draw: st.DrawFn) -> DiscoveryResult:
    leaves = st.sampled_from([f"leaf {name}" for name in SWITCHES])
    spines = st.sampled_from([f"spine {name}" for name in SWITCHES])
    to_node = st.builds(lambda leaf, node: {"leaf": leaf, "node": node}, leaves, st.sampled_from(NODES))
    to_spine = st.builds(lambda leaf, spine: {"leaf": leaf, "spine": spine}, leaves, spines)
    return discover_roce(read_roce_links({"version": 1, "links": draw(st.lists(to_node | to_spine, max_size=12))}))


@pytest.mark.parametrize("release", list(Release))
@pytest.mark.parametrize("found", [by_labels(), by_ports(), by_links()], ids=["label", "ufm", "roce"])
@given(data=st.data())
def test_what_discovery_writes_is_accepted(found: Any, release: Release, data: st.DataObject) -> None:
    result = data.draw(found).for_release(release)
    written = reconcile(result, ()).apply({})
    assume(written)
    review = review_manifests(read_manifests(["-"], to_yaml(written)), release, own_plugins=False)
    assert [(one.key, one.verdict.refusal) for one in review.objects if not one.verdict.allowed] == []
    assert len(review.objects) == len(written)


def test_1_13_has_no_tier_names() -> None:
    result = discover_label({"t": ("rack", "host")}, {"n": {"rack": "r"}}, ())
    assert result.hypernodes is not None and result.hypernodes[0].tier_name == "rack"
    old = result.for_release(Release.V1_13)
    assert old.hypernodes is not None and old.hypernodes[0].tier_name == ""
