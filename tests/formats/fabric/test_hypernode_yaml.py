from __future__ import annotations

import yaml
from hypothesis import given, settings

from tests.formats.fabric.forests import converted, forest, read_back, snapshots
from workbench.formats.fabric.registry import get_format
from workbench.formats.node_manifests import node_manifests
from workbench.formats.write_manifests import to_yaml


@settings(deadline=None)
@given(snapshots(mixed=True, named=True))
def test_exact_members_lose_nothing_of_the_tree(snapshot):
    again, losses = converted(snapshot, "hypernodes")
    assert forest(again.topology) == forest(snapshot.topology)
    assert losses == ()


@settings(deadline=None)
@given(snapshots(mixed=True, named=True, free=True))
def test_patterns_match_the_same_nodes_when_all_nodes_are_known(snapshot):
    write = get_format("hypernodes-regex").write
    assert write is not None
    again = read_back(write(snapshot).text + to_yaml(node_manifests(snapshot, {})))
    assert forest(again.topology) == forest(snapshot.topology)


def test_a_rack_is_one_pattern_and_a_single_node_its_name():
    snapshot = read_back("SwitchName=a Nodes=rack1-n[1-16]\nSwitchName=b Nodes=x\n")
    write = get_format("hypernodes-regex").write
    assert write is not None
    a, b = yaml.safe_load_all(write(snapshot).text)
    assert a["spec"]["members"] == [{"type": "Node", "selector": {"regexMatch": {"pattern": "^r"}}}]
    assert b["spec"]["members"] == [{"type": "Node", "selector": {"exactMatch": {"name": "x"}}}]
