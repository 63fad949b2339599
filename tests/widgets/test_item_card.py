"""The card of an item of the drawing."""

from __future__ import annotations

import pytest

from tests.hand_made import document_tree, snapshot_of
from tests.widgets.page import ask, refused
from workbench.widgets.editor import TopologyEditor


@pytest.fixture
def editor():
    editor = TopologyEditor(snapshot_of(document_tree(), busy={0: 0b111}))
    yield editor
    editor.close()


def card(editor, kind, name):
    return ask(editor, "card", id=editor.draft.find(kind, name).id)


def test_a_node_says_its_free_gpus_and_the_hypernodes_around_it(editor):
    assert card(editor, "node", "node0") == {
        "title": "node0",
        "lines": [("free", "5 of 8 GPUs"), ("in", "s0 (tier 1), s4 (tier 2), s6 (tier 3)")],
    }


def test_a_switch_sums_up_what_is_under_it(editor):
    lines = dict(card(editor, "switch", "s4")["lines"])
    assert lines == {"HyperNode": "tier 2", "nodes": "4", "free": "29 of 32 GPUs", "in": "s6 (tier 3)"}


def test_labels_links_and_states_are_listed(editor):
    [ids] = [[editor.draft.find("node", "node1").id]]
    labels = {f"k{i}": "v" for i in range(8)}
    editor.edit(op="set", ids=ids, fields={"labels": labels, "link_gbit_s": 400, "cordoned": True, "link_failed": True})
    lines = card(editor, "node", "node1")["lines"]
    assert ("link", "400 Gbit/s") in lines and ("state", "cordoned, link failed") in lines
    assert ("labels", "k0=v") in lines and lines[-1] == ("", "and 2 more")


def test_a_node_whose_gpus_were_changed_has_all_of_them_free(editor):
    editor.edit(op="set", ids=[editor.draft.find("node", "node0").id], fields={"gpus": 4})
    assert dict(card(editor, "node", "node0")["lines"])["free"] == "4 of 4 GPUs"


def test_the_page_knows_the_gpus_in_use_of_each_item(editor):
    def used():
        return {item["name"]: item["used"] for item in ask(editor, "state")["items"] if "used" in item}

    assert used() == {"node0": 3}
    ids = [editor.draft.find("node", "node0").id]
    editor.edit(op="set", ids=ids, fields={"gpus": 4})
    assert used() == {}
    editor.undo()
    assert used() == {"node0": 3}


def test_running_pods_are_named_on_a_node_and_counted_under_a_switch():
    editor = TopologyEditor("datasets/demo")
    first, *_ = running = [pod for pod in editor.snapshot.running if pod.node >= 0]
    node = editor.snapshot.topology.node_names[first.node]
    assert ("running", f"{first.namespace}/{first.name}") in card(editor, "node", node)["lines"]
    [top] = [item for item in editor.draft if item.tier == 3]
    assert dict(card(editor, "switch", top.name)["lines"])["running"] == f"{len(running)} pods"
    editor.close()


def test_an_item_that_is_gone_has_no_card(editor):
    assert "no such item" in refused(editor, "card", id=999)
    assert "a whole number" in refused(editor, "card", id="node0")
