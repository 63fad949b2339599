"""Files that are read in the background: progress, cancelling, and what the widgets show meanwhile."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

import workbench
from tests.widgets.page import ask, refused
from workbench.cancel import reached
from workbench.errors import InputError
from workbench.widgets import begun_drawing, loading
from workbench.widgets.editor import TopologyEditor
from workbench.widgets.loading import Loading
from workbench.widgets.workbench import Workbench

DEMO = "\n---\n".join(Path(f"datasets/demo/{name}.yaml").read_text() for name in ("cluster", "jobs"))


@pytest.fixture
def gate(monkeypatch, patient):
    """No file is fast, and none is read to its end before the gate is opened."""
    gate = threading.Event()
    first = workbench.formats.read_files.read_manifests

    def slowly(*args, **named):
        read = first(*args, **named)
        while not gate.wait(0.005):
            reached("Node objects", 12_000)
        return read

    monkeypatch.setattr("workbench.formats.read_files.read_manifests", slowly)
    monkeypatch.setattr(loading, "_PROMPT_S", 0.02)
    monkeypatch.setattr(loading, "_PAUSE_S", 0)
    yield gate
    gate.set()


def heard(said, kind):
    return [m["body"] for m in said if m["type"] == kind]


def wait_for(said, kind, body=None, seconds=60):
    for _ in range(seconds * 100):
        if (found := heard(said, kind)) and (body is None or body in found):
            return found[-1]
        threading.Event().wait(0.01)
    raise AssertionError(f"no message {kind}")


def test_a_workbench_of_a_slow_file_begins_empty_and_tells_its_progress(gate, said):
    bench = Workbench("datasets/demo", ["gang"])
    assert len(bench._editor.draft) == 0
    wait_for(said, "loading", {"text": "reading demo: 12,000 Node objects"})
    assert ask(bench._bar, "state")["loading"] == "reading demo: 12,000 Node objects"
    gate.set()
    wait_for(said, "loaded")
    assert ask(bench._bar, "state")["loaded"]
    assert ask(bench._bar, "arrived") == {"name": "demo"} and ask(bench._bar, "arrived") == {}
    assert len(bench._editor.draft) == 15 and bench.comparer.policies == [("gang", {})]
    bench.comparer.wait()
    bench.end()


def test_drawing_a_file_is_part_of_reading_it_and_is_told(gate, monkeypatch, said):
    drawn = []
    first = begun_drawing.draft_of

    def draft_of(*args):
        drawn.append(threading.current_thread())
        return first(*args)

    monkeypatch.setattr(begun_drawing, "draft_of", draft_of)
    bench = Workbench("datasets/demo", ["gang"])
    gate.set()
    wait_for(said, "loaded")
    assert drawn[0] is threading.current_thread()  # the empty drawing that is shown meanwhile
    assert len(drawn) == 2 and drawn[1] is not threading.current_thread()
    assert {"text": "reading demo: drawing the nodes"} in heard(said, "loading")
    ask(bench._bar, "arrived")
    assert len(drawn) == 2 and len(bench.editor.draft) == 15
    bench.comparer.wait()
    bench.end()


def test_python_waits_for_the_file_that_is_being_read(gate):
    bench = Workbench("datasets/demo")
    threading.Timer(0.05, gate.set).start()
    assert bench.snapshot.n_nodes == 8
    bench.comparer.wait()
    bench.end()


def test_python_gets_the_error_of_the_file_that_was_being_read(gate, tmp_path):
    (tmp_path / "bad.yaml").write_text("apiVersion: v1\nkind: Node\nmetadata: {name: a}\n---\nkind: Node\n")
    bench = Workbench("datasets/demo")
    bench._bar.load("late", lambda: gate.wait() and workbench.load(tmp_path / "bad.yaml"))
    gate.set()
    with pytest.raises(InputError, match=r"bad\.yaml"):
        _ = bench.editor
    bench.end()


@pytest.mark.parametrize("late", [False, True], ids=["while it is read", "after it was read"])
def test_cancelling_leaves_the_scenario_that_is_shown(gate, said, late):
    bench = Workbench()
    bench.editor.edit(op="add_switches", count=2, nodes_each=2)
    children, draft = bench.children, bench.editor.draft.copy()
    assert ask(bench._bar, "open", text=DEMO, name="all.yaml") == {"waiting": True}
    if late:
        gate.set()
        wait_for(said, "loaded")
    ask(bench._bar, "give_up")
    gate.set()
    bench._bar._loading.wait()
    assert ask(bench._bar, "arrived") == {}
    assert bench.children is children and bench.editor.draft == draft
    assert late or not heard(said, "loaded")
    bench.end()


def test_an_import_into_the_drawing_is_cancelled_or_arrives_as_one_step(gate, said):
    editor = TopologyEditor()
    editor.edit(op="add_switches", count=1, nodes_each=1, prefix="own-")
    before = editor.draft.copy()
    assert ask(editor, "import", text=DEMO, name="all.yaml") == {"waiting": True}
    ask(editor, "give_up")
    assert ask(editor, "arrived") == {} and editor.draft == before

    assert ask(editor, "import", text=DEMO, name="all.yaml") == {"waiting": True}
    # The drawing can be edited while the file is being read.
    editor.edit(op="add_switches", count=1, nodes_each=0, prefix="more-")
    gate.set()
    wait_for(said, "loaded")
    assert ask(editor, "arrived")["name"] == "all.yaml"
    assert editor.draft.find("node", "node0") is not None
    assert editor.undo() and editor.undo() and editor.draft == before
    editor.close()


def test_an_error_found_late_is_the_answer_to_the_request_for_the_result(gate, said):
    editor = TopologyEditor()
    text = "apiVersion: v1\nkind: Node\nmetadata: {name: a}\nspec: 3\n"
    reading = Loading(editor.tell)
    assert not reading.begin("n.yaml", lambda: gate.wait() and workbench.load("-", stdin=text))
    gate.set()
    wait_for(said, "loaded")
    editor._importing = reading
    assert "spec" in refused(editor, "arrived")
    assert len(editor.draft) == 0
    editor.close()
