"""A snapshot that is drawn and taken back is the snapshot."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import workbench
from workbench.formats.assemble import assemble
from workbench.formats.snapshot_file import snapshot_text
from workbench.objects.kinds import ClusterObjects
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
    assert after.switches is None and "switch file" in after.gaps[-1]
