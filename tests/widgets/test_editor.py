"""The editor's answers without a page: drawing, text and history stay in step."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import workbench
from tests.widgets.page import ask, refused
from workbench.formats.fabric.registry import writable_formats
from workbench.topology.edit_checks import GPU_MODEL
from workbench.topology.generate import Fabric
from workbench.topology.objects_of import hypernodes_in, nodes_in
from workbench.topology.presets import PRESETS, generate_scenario
from workbench.widgets.editor import TopologyEditor
from workbench.widgets.editor_answers import findings_of

#: What these say of nodes is a pattern, or only how switches are shared.
HOLD_NO_NODES = {"hypernodes-regex", "tor-share"}


@pytest.fixture
def editor(said):
    panel = TopologyEditor("datasets/three-level-tree")
    yield panel
    panel.close()


def item(panel, name):
    return panel.draft.find("switch", name) or panel.draft.find("node", name)


def test_every_change_is_told_with_its_revision(editor, said):
    node, leaf = item(editor, "node0"), item(editor, "s1")
    ask(editor, "edit", op="move", ids=[node.id], parent=leaf.id)
    patch = said[-1]
    assert (patch["type"], patch["body"]["revision"], patch["body"]["undo"]) == ("patch", 1, "move node0")
    assert [record["parent"] for record in patch["body"]["set"]] == [leaf.id]
    ask(editor, "undo")
    assert said[-1]["body"]["redo"] == "move node0" and editor.draft[node.id].parent == node.parent


def test_the_view_that_adds_hears_with_the_patch_what_it_selects(editor, said):
    leaf = item(editor, "s0")
    made = ask(editor, "edit", op="add_switches", parent=0, count=1, nodes_each=2, select_in=7)["made"]
    told = said[-1]["body"]
    assert (told["view"], told["selected"]) == (7, made[:1]) and len(made) == 3
    assert editor.selection == [editor.draft[made[0]].name]
    ask(editor, "edit", op="add_nodes", parent=leaf.id)
    ask(editor, "edit", op="set", ids=[leaf.id], fields={"tier": 1}, select_in=7)
    assert not {"view", "selected"} & set(said[-1]["body"]) and editor.selection == [editor.draft[made[0]].name]


def test_a_refused_operation_changes_nothing(editor):
    top, leaf = item(editor, "s6"), item(editor, "s0")
    answer = editor.receive({"id": 4, "type": "edit", "body": {"op": "move", "ids": [top.id], "parent": leaf.id}})
    assert answer["type"] == "failure" and "under itself" in answer["message"]
    assert editor.history.revision == 0


@pytest.mark.parametrize(
    "op",
    [
        {"op": "fly"},
        {"op": "move", "ids": "all", "parent": 1},
        {"op": "move", "ids": [999], "parent": 1},
        {"op": "set", "ids": [1], "fields": {"gpus": "many"}},
        {"op": "add_nodes", "parent": 1, "count": -1},
        {"op": "paste", "parent": 1},
    ],
)
def test_bad_operations_are_one_line(editor, op):
    answer = editor.receive({"id": 5, "type": "edit", "body": op})
    assert answer["type"] == "failure" and answer["traceback"] == ""


def test_the_text_follows_the_drawing_and_the_drawing_the_text(editor):
    text = ask(editor, "text")["text"]
    ask(editor, "edit", op="rename", ids=[item(editor, "s0").id], name="rack-a")
    changed = ask(editor, "text")["text"]
    assert "rack-a" in changed and changed != text
    answer = ask(editor, "apply_text", text=changed.replace("rack-a", "rack-b"))
    assert answer == {"line": 0, "message": "", "names": None} and item(editor, "rack-b") is not None
    ask(editor, "undo")
    assert item(editor, "rack-a") is not None and "rack-b" not in ask(editor, "text")["text"]


def test_an_error_in_the_text_keeps_the_drawing(editor):
    text = ask(editor, "text")["text"]
    before = editor.history.revision
    answer = ask(editor, "apply_text", text=text.replace("tier: 1", "tier: one", 1))
    assert answer["line"] == 1 + text[: text.index("tier: 1")].count("\n")
    assert editor.history.revision == before


def test_findings_have_the_item_that_they_are_about(editor, said):
    ask(editor, "edit", op="set", ids=[item(editor, "s0").id], fields={"tier": 7})
    ask(editor, "lint")
    editor._linting.wait()
    findings = next(m["body"]["findings"] for m in reversed(said) if m["type"] == "findings")
    assert item(editor, "s0").id in [f["id"] for f in findings if f["rule"].startswith("tier")]


def test_what_is_exported_is_imported_equal(editor):
    drawn = editor.draft
    text = ask(editor, "export", format="graphml")["text"]
    other = TopologyEditor()
    ask(other, "import", text=text, name="fabric.graphml")
    assert {(i.kind, i.name, i.tier) for i in other.draft} == {(i.kind, i.name, i.tier) for i in drawn}
    other.close()


@pytest.mark.parametrize("format", [name for name in writable_formats() if name not in HOLD_NO_NODES])
def test_every_format_is_brought_back_with_its_nodes(editor, format):
    written = ask(editor, "export", format=format)
    other = TopologyEditor()
    ask(other, "import", text=written["text"], name=written["name"])
    assert sorted(other.draft.names("node")) == sorted(editor.draft.names("node"))
    leaf = {n: other.draft[other.draft.find("node", n).parent] for n in ("node0", "node1", "node2")}
    assert leaf["node0"] == leaf["node1"] != leaf["node2"] and leaf["node0"].tier == 1
    other.close()


def test_our_own_patterns_find_the_nodes_that_were_drawn(editor):
    before = editor.draft.copy()
    written = ask(editor, "export", format="hypernodes-regex")
    assert ask(editor, "import", text=written["text"], name=written["name"])["made"] >= 0
    assert editor.draft == before and before.find("node", "node0").gpus


def test_an_import_keeps_the_gpus_of_nodes_that_stay(editor):
    known = {node.name: (node.gpus, node.labels) for node in editor.draft if node.kind == "node"}
    assert known["node0"][0]
    ask(editor, "import", text="SwitchName=s9 Nodes=node[0-1],new\n", name="topology.conf")
    after = {node.name: (node.gpus, node.labels) for node in editor.draft if node.kind == "node"}
    assert after == {"node0": known["node0"], "node1": known["node1"], "new": (0, {})}
    ask(editor, "undo")
    assert {node.name for node in editor.draft if node.kind == "node"} == set(known)


@pytest.mark.parametrize("name", ["hosts.csv", "ibnetdiscover.out", "model.yaml", "topology.conf"])
def test_one_fabric_is_the_same_drawing_whatever_it_is_read_from(editor, name):
    folder = Path("datasets/one-fabric")
    hypernodes = TopologyEditor(folder / "hypernodes.yaml")
    ask(editor, "import", text=(folder / name).read_text(), name=name)
    assert leaves(editor) == leaves(hypernodes)
    ask(editor, "undo")
    assert "node0" in editor.draft.names("node")
    hypernodes.close()


def leaves(panel):
    return {frozenset(node.name for node in panel.draft.children(item.id)) for item in panel.draft if item.tier == 1}


def test_what_cannot_be_read_is_refused_by_its_own_name(editor):
    assert refused(editor, "import", text="a: b: c", name="notes.txt").startswith("notes.txt: line 1")
    assert editor.history.revision == 0


def test_a_range_has_its_gpus_with_their_model(editor):
    ask(
        editor,
        "edit",
        op="add_switches",
        parent=item(editor, "s6").id,
        count=32,
        nodes_each=16,
        gpus=8,
        gpu_model=" H100 80GB ",
        prefix="leaf-",
        tier=1,
    )
    added = [i for i in editor.draft if GPU_MODEL in i.labels]
    assert len(added) == 32 * 16 and {(i.gpus, i.labels[GPU_MODEL]) for i in added} == {(8, "H100-80GB")}
    ask(editor, "undo")
    ask(editor, "edit", op="add_nodes", parent=item(editor, "s0").id)
    assert item(editor, "node-0").labels == {}


def test_a_range_is_renamed_by_prefix_and_number(editor):
    ids = [item(editor, f"node{i}").id for i in (0, 1, 7)]
    ask(editor, "edit", op="rename", ids=ids, name="gpu-")
    assert [editor.draft[i].name for i in ids] == ["gpu-0", "gpu-1", "gpu-2"]
    # Its own numbers are free for it, those of others are not.
    ask(editor, "edit", op="rename", ids=ids[:2], name="gpu-")
    assert [editor.draft[i].name for i in ids] == ["gpu-3", "gpu-4", "gpu-2"]
    ask(editor, "edit", op="rename", ids=[*ids, item(editor, "s0").id], name="x")
    assert [editor.draft[i].name for i in ids] == ["x0", "x1", "x2"] and item(editor, "x0") is not None


def test_a_snapshot_keeps_its_pods_and_takes_a_matrix(said):
    snapshot = workbench.load("datasets/demo").snapshot
    panel = TopologyEditor(snapshot)
    matrix = workbench.BandwidthMatrix([[0 if i == j else 7.0 for j in range(8)] for i in range(8)])
    assert panel.assign(matrix, ["s0"]) == ["node0", "node1"]
    after = panel.snapshot
    assert after.matrix_of(after.topology.node("node1")) == matrix
    assert after.matrix_of(after.topology.node("node4")) == snapshot.matrix_of(snapshot.topology.node("node4"))
    assert after.running == snapshot.running
    panel.close()


def test_paste_copies_a_sub_tree(editor):
    ask(editor, "copy", ids=[item(editor, "s0").id])
    made = ask(editor, "edit", op="paste", parent=item(editor, "s4").id)["made"]
    assert len(made) == 3


def test_only_what_was_copied_last_is_pasted(editor):
    parent = item(editor, "s4").id
    ask(editor, "copy", ids=[item(editor, "s0").id], mark="first")
    ask(editor, "copy", ids=[item(editor, "node7").id], mark="second")
    assert "another drawing" in refused(editor, "edit", op="paste", parent=parent, mark="first")
    assert len(ask(editor, "edit", op="paste", parent=parent, mark="second")["made"]) == 1
    assert "mark" in refused(editor, "copy", ids=[], mark=3)


@pytest.fixture
def large(said):
    panel = TopologyEditor(Fabric((25, 20, 4)).snapshot())
    yield panel
    panel.close()


def test_a_search_for_no_kind_of_items_is_refused(editor):
    assert "expected switch, node or empty" in refused(editor, "find", pattern="s", kind="rack")
    assert ask(editor, "find", kind="switch")["ids"] and ask(editor, "find", kind="node")["ids"]


@pytest.mark.parametrize("sizes", [(4, 5, 10), pytest.param((25, 20, 40), marks=pytest.mark.slow)])
def test_a_search_finds_and_an_edit_changes_all_hits(said, sizes):
    panel = TopologyEditor(Fabric(sizes).snapshot())
    ids = ask(panel, "find", pattern="node")["ids"]
    assert len(ids) == math.prod(sizes)
    ask(panel, "select", ids=ids)
    ask(panel, "edit", op="set", ids=ids, fields={"gpus": 4})
    assert len(panel.selection) == math.prod(sizes)
    assert {i.gpus for i in panel.draft if i.kind == "node"} == {4}
    ask(panel, "undo")
    assert {i.gpus for i in panel.draft if i.kind == "node"} == {8}
    panel.close()


def test_a_drawing_too_large_for_a_text_says_so_and_shows_what_is_selected(large):
    nothing = ask(large, "text", ids=[])
    assert nothing["text"] == "" and nothing["names"] == []
    assert nothing["why"].startswith("2,085 HyperNodes and nodes are too many to edit as text")
    everything = ask(large, "text", ids=[item(large, "s84").id])
    assert everything["text"] == "" and "smaller part" in everything["why"]
    assert "too many" in refused(large, "apply_text", text="")

    node = next(i for i in large.draft if i.kind == "node")
    leaf, pod = large.draft[node.parent], item(large, "s80")
    of_node = ask(large, "text", ids=[node.id])
    assert of_node["names"] == [leaf.name] and of_node["why"] == "" and node.name in of_node["text"]
    of_pod = ask(large, "text", ids=[pod.id])
    assert len(of_pod["names"]) == 21 and of_pod["text"].count("kind: HyperNode") == 21


def test_a_text_replaces_the_part_that_it_was_shown_for(large):
    shown = ask(large, "text", ids=[item(large, "s00").id])
    # Whatever is selected by now, and under a name that the text itself has changed.
    answer = ask(large, "apply_text", text=shown["text"].replace("name: s00", "name: rack-a"), names=shown["names"])
    assert answer == {"line": 0, "message": "", "names": ["rack-a"]}
    again = ask(large, "apply_text", text=shown["text"].replace("name: s00", "name: rack-b"), names=answer["names"])
    assert again["names"] == ["rack-b"]
    assert item(large, "rack-b") is not None and item(large, "rack-a") is None and item(large, "s00") is None
    assert sum(i.kind == "switch" for i in large.draft) == 85
    assert "names" in refused(large, "apply_text", text="", names=[1])


@pytest.mark.parametrize("format", [True, 7, [[1]], {"a": 1}])
def test_a_format_that_is_no_text_is_refused(editor, format):
    assert "format: not a text" in refused(editor, "import", text="---\n", format=format)


def test_a_tree_of_spines_is_one_step_and_its_spines_are_selected(editor):
    ids = {item.id for item in editor.draft}
    op = {"op": "add_switches", "spines": 4, "count": 8, "nodes_each": 16, "prefix": "leaf-", "gpus": 8}
    ask(editor, "edit", **op, select_in=1)
    new = [item for item in editor.draft if item.id not in ids]
    spines, leaves = ([i for i in new if i.tier == tier] for tier in (2, 1))
    assert [i.name for i in spines] == ["spine-0", "spine-1", "spine-2", "spine-3"]
    assert [i.name for i in leaves] == [f"leaf-{n:02d}" for n in range(32)]
    assert [editor.draft[i.parent].name for i in leaves] == [f"spine-{n // 8}" for n in range(32)]
    nodes = [i for i in new if i.kind == "node"]
    assert [i.name for i in nodes] == [f"node-{n:03d}" for n in range(512)]
    assert all(editor.draft[i.parent].name == f"leaf-{n // 16:02d}" and i.gpus == 8 for n, i in enumerate(nodes))
    assert editor.selected == spines
    editor.undo()
    assert {item.id for item in editor.draft} == ids and editor.selected == []


def test_spines_need_room_for_two_tiers(editor):
    holder = item(editor, "s4")
    message = refused(editor, "edit", op="add_switches", spines=2, count=2, parent=holder.id)
    assert message == "drawing: no room for two tiers (found s4 of tier 2, expected tier >= 3)"
    ask(editor, "edit", op="add_switches", spines=1, count=1, parent=item(editor, "s6").id, prefix="leaf-")
    assert (item(editor, "spine-0").tier, item(editor, "leaf-0").tier) == (2, 1)


def test_new_names_are_as_wide_as_those_that_are_there(editor):
    ask(editor, "edit", op="add_switches", count=12, prefix="leaf-")
    last = [item(editor, f"leaf-{n:02d}").id for n in range(5, 12)]
    ask(editor, "edit", op="delete", ids=last)
    ask(editor, "edit", op="add_switches", prefix="leaf-")
    assert item(editor, "leaf-05") is not None
    ask(editor, "select", ids=[item(editor, "leaf-05").id])
    assert [found.name for found in editor.selected] == ["leaf-05"]


def test_a_preset_says_what_it_makes_and_is_one_step(editor):
    assert ask(editor, "preset", kind="balanced", parameters={"sizes": "16,8,4", "prefix": ""}) == {
        "line": "37 HyperNodes in 3 tiers, 512 nodes of 8 GPUs"
    }
    before = editor.draft.copy()
    ask(editor, "edit", op="preset", kind="balanced", parameters={"sizes": "3,2", "prefix": "rack", "node_prefix": "m"})
    assert len(editor.draft) == len(before) + 3 + 6
    ask(editor, "undo")
    assert editor.draft == before
    # Names that are drawn already are refused, and so is a value that is none.
    for parameters in ({"sizes": "2,2"}, {"sizes": "none"}):
        answer = editor.receive(
            {"id": 9, "type": "edit", "body": {"op": "preset", "kind": "balanced", "parameters": parameters}}
        )
        assert answer["type"] == "failure" and answer["traceback"] == ""
    assert editor.draft == before


@pytest.mark.parametrize("kind", sorted(PRESETS))
def test_every_preset_is_drawn_as_it_is_generated(kind):
    editor = TopologyEditor()
    offered = {preset["name"]: preset for preset in ask(editor, "state")["presets"]}
    typed = {parameter["name"]: parameter["default"] for parameter in offered[kind]["parameters"]}
    if "sizes" in typed:
        typed["sizes"] = ",".join("2" for _ in typed["sizes"].split(","))
    ask(editor, "edit", op="preset", kind=kind, parameters=typed)
    wanted = generate_scenario(kind, **{name: value for name, value in typed.items() if value}).snapshot
    drawn = editor.snapshot
    assert nodes_in(drawn) == nodes_in(wanted)
    assert hypernodes_in(drawn.topology) == hypernodes_in(wanted.topology)
    assert drawn.node_matrix.tolist() == wanted.node_matrix.tolist()
    editor.close()


def test_a_finding_is_mended_as_one_step(editor, said):
    ask(editor, "edit", op="set", ids=[item(editor, "s0").id], fields={"tier": 7})
    before = editor.draft.copy()
    ask(editor, "lint")
    editor._linting.wait()
    findings = next(m["body"]["findings"] for m in reversed(said) if m["type"] == "findings")
    (finding,) = [one for one in findings if one["fix"]]
    ask(editor, "edit", op="fix", **{key: finding[key] for key in ("rule", "hypernode", "field")})
    assert item(editor, "s0").tier == 1
    ask(editor, "undo")
    assert editor.draft == before


def test_what_is_selected_stays_so_under_its_new_name(editor):
    chosen = item(editor, "s0").id
    ask(editor, "select", ids=[chosen])
    ask(editor, "edit", op="rename", ids=[chosen], name="rack-a")
    assert editor.selection == ["rack-a"] and [one.id for one in editor.selected] == [chosen]
    ask(editor, "edit", op="delete", ids=[chosen])
    assert editor.selection == [] and editor.selected == []


@pytest.mark.parametrize(("kind", "name"), [("switch", "rack A!"), ("switch", "Core_1"), ("node", "GPU_1")])
def test_a_name_that_a_cluster_refuses_marks_the_item_itself(editor, kind, name):
    item = next(one for one in editor.draft if one.kind == kind and one.parent)
    ask(editor, "edit", op="rename", ids=[item.id], name=name)
    found = [f for f in findings_of(editor.draft)["findings"] if f["rule"] == "refused-by-admission"]
    assert [f["id"] for f in found] == [item.id]
