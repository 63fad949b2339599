"""Tests that a snapshot turned into a drawing and back is unchanged."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import workbench
from tests.ledger_check import check_ledger
from workbench.cluster.assemble import assemble
from workbench.formats.snapshot_record import snapshot_text
from workbench.model.gpu_shares import gpu_width
from workbench.model.running_pod import RunningPod
from workbench.objects.kinds import ClusterObjects
from workbench.objects.metadata import Metadata
from workbench.objects.node import Node
from workbench.topology import edits
from workbench.topology.draft_objects import draft_of, hypernodes_of, nodes_of
from workbench.topology.history import History
from workbench.topology.objects_of import hypernodes_in, nodes_in
from workbench.topology.redraw import carry_over


def snapshot_of(draft, before):
    cluster = ClusterObjects.of(hypernodes_of(draft), nodes_of(draft, only_reachable=True))
    return carry_over(assemble(cluster)[0], before)


@pytest.fixture
def before():
    return workbench.load("datasets/demo").snapshot


@pytest.fixture
def history(before):
    return History(draft_of(hypernodes_in(before.topology), nodes_in(before)))


def test_nothing_changed_is_the_same_snapshot(before, history):
    assert snapshot_text(snapshot_of(history.draft, before)) == snapshot_text(before)


def test_a_moved_node_keeps_its_pods_and_matrix(before, history):
    draft = history.draft
    name = next(before.topology.node_names[pod.node] for pod in before.running if pod.node >= 0)
    target = next(i for i in draft if i.kind == "switch" and i.tier == 1 and i.id != draft.find("node", name).parent)
    history.do("move", edits.move(draft, [draft.find("node", name).id], target.id))
    after = snapshot_of(draft, before)
    i, j = before.topology.node(name), after.topology.node(name)
    assert (after.used[j] == before.used[i]).all() and (after.gpu_free[j] == before.gpu_free[i]).all()
    assert after.matrix_of(j) == before.matrix_of(i)
    assert after.topology.domain_names[after.topology.leaf_of_node[j]] == target.name


def test_a_pod_leaves_with_its_node(before, history):
    draft = history.draft
    name = next(before.topology.node_names[pod.node] for pod in before.running if pod.node >= 0)
    history.do("delete", edits.delete(draft, [draft.find("node", name).id]))
    after = snapshot_of(draft, before)
    assert len(after.running) < len(before.running) and after.n_nodes == before.n_nodes - 1


def test_another_number_of_gpus_has_no_matrix(before, history):
    draft = history.draft
    history.do("gpus", edits.set_fields(draft, [draft.find("node", "node0").id], {"gpus": 4}))
    after = snapshot_of(draft, before)
    node = after.topology.node("node0")
    assert np.bitwise_count(after.gpu_free[node]).sum() == 4 and after.matrix_of(node) is None


def test_what_a_drawing_does_not_show_stays(before, history):
    known = replace(before, records={"default/a": "s1"}, addresses=("10.0.0.1",) * before.n_nodes)
    history = History(draft_of(hypernodes_in(known.topology), nodes_in(known)))
    assert snapshot_text(snapshot_of(history.draft, known)) == snapshot_text(known)


def test_a_switch_file_counts_as_long_as_the_tree_is_its_own(before, history):
    known = before.with_switches(before.switch_table)
    assert snapshot_of(history.draft, known).switches is known.switches
    draft = history.draft
    history.do("move", edits.move(draft, [draft.find("node", "node0").id], draft.find("switch", "s1").id))
    after = snapshot_of(draft, known)
    assert after.switches is None and after.gaps[-1].code == "switch-table-dropped"


def test_nodes_that_are_drawn_as_they_were_read_are_the_same_objects(before, history):
    read = {node.name: node for node in nodes_in(before)}
    history = History(draft_of(hypernodes_in(before.topology), read.values()))
    ids = [history.draft.find("node", name).id for name in ("node0", "node1", "node2")]
    history.do("cordon", edits.set_fields(history.draft, ids[:1], {"cordoned": True}))
    history.do("label", edits.set_fields(history.draft, ids[1:2], {"labels": {"a": "b"}}))
    history.do("link", edits.set_fields(history.draft, ids[2:], {"link_gbit_s": 100}))
    after = {node.name: node for node in nodes_of(history.draft)}
    assert {name for name in read if after[name] is not read[name]} == {"node0", "node1", "node2"}
    assert after["node0"].unschedulable and after["node1"].metadata.labels == {"a": "b"}


def test_gpu_masks_are_as_wide_as_the_nodes_that_are_left_need():
    wide = ClusterObjects.of(
        [], [Node(Metadata("a"), {"nvidia.com/gpu": 72}), Node(Metadata("b"), {"nvidia.com/gpu": 8})]
    )
    loaded = assemble(wide)[0]
    free = loaded.gpu_free.copy()
    free[loaded.topology.node("a")] = [1, 0x80]
    before = replace(loaded, gpu_free=free)
    draft = draft_of(hypernodes_in(before.topology), nodes_in(before))
    history = History(draft)
    assert snapshot_of(draft, before).gpu_free.tolist() == before.gpu_free.tolist()
    history.do("gpus", edits.set_fields(draft, [draft.find("node", "a").id], {"gpus": 8}))
    after = snapshot_of(draft, before)
    assert after.gpu_total.tolist() == [[255], [255]] and after.gpu_free.tolist() == [[255], [255]]


def test_what_a_cluster_knows_of_a_node_goes_with_its_name(before, history):
    n = before.n_nodes
    before = replace(
        before,
        node_uids=tuple(f"uid of {name}" for name in before.topology.node_names),
        node_resource_versions=tuple(f"version of {name}" for name in before.topology.node_names),
    )
    draft = history.draft
    names = before.topology.node_names
    history.do("delete", edits.delete(draft, [draft.find("node", names[1]).id]))
    after = snapshot_of(draft, before)
    assert after.n_nodes == n - 1
    for i, name in enumerate(after.topology.node_names):
        assert (after.node_uids[i], after.node_resource_versions[i]) == (f"uid of {name}", f"version of {name}")


def test_shared_gpus_go_with_their_node(before, history):
    at = next(i for i in range(2, before.n_nodes) if before.gpu_free[i, 0] & np.uint64(1))
    shares = np.zeros((before.n_nodes, gpu_width(before.gpu_total)), dtype=np.int16)
    shares[at, 0] = 300
    free = before.gpu_free.copy()
    free[at, 0] &= ~np.uint64(1)
    pod = RunningPod("d", "sharing", at, {"cpu": 1}, gpu_mask=1, gpu_milli=300)
    before = replace(before, gpu_free=free, gpu_shares=shares, running=(*before.running, pod))
    draft, names = history.draft, before.topology.node_names
    history.do("delete", edits.delete(draft, [draft.find("node", names[at - 1]).id]))
    after = snapshot_of(draft, before)
    moved = after.topology.node(names[at])
    assert moved != at and after.gpu_milli_free[moved, 0] == 700
    assert after.without_pods(lambda each: each.name == "sharing").gpu_shares is None
    item = draft.find("node", names[at])
    history.do("gpus", edits.set_fields(draft, [item.id], {"gpus": item.gpus + 1}))
    other = snapshot_of(draft, before)
    assert other.gpu_shares is None
    assert other.gpu_free[other.topology.node(names[at]), 0] & np.uint64(1)
    check_ledger(other.without_pods(lambda each: each.name == "sharing").ledger())
