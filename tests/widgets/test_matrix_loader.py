"""Answers of the matrix loader, without a browser: questions, answers, and the state kept after an error."""

from __future__ import annotations

import base64
import io
import json
import threading
import time
import xml.etree.ElementTree as ET
from types import SimpleNamespace

import numpy as np
import pytest

from tests.machines import koordinator_matrix_a
from tests.widgets.page import ask, refused
from workbench.errors import CapacityError, InputError
from workbench.model.bandwidth import BandwidthMatrix
from workbench.model.best_gpus import best_gpus
from workbench.model.gpu_annotation import shell_line
from workbench.model.machine_parts import near_lines
from workbench.policies import list_policies
from workbench.widgets import matrix_loader, matrix_view
from workbench.widgets.editor import TopologyEditor
from workbench.widgets.matrix_loader import MatrixLoader
from workbench.widgets.matrix_view import Question, error_line, pair_text, read_printout, toggled

SVG = "{http://www.w3.org/2000/svg}"

# Typed in the form of `nvidia-smi topo -m`; a machine of four GPUs in two pairs of two NVLinks.
TOPO = """\
\tGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity\tNUMA Affinity
GPU0\t X \tNV2\tSYS\tSYS\t0-15\t0
GPU1\tNV2\t X \tSYS\tSYS\t0-15\t0
GPU2\tSYS\tSYS\t X \tNV2\t16-31\t1
GPU3\tSYS\tSYS\tNV2\t X \t16-31\t1

Legend:

  X    = Self
  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes
  NV#  = Connection traversing a bonded set of # NVLinks
"""

# Typed in the form of p2pBandwidthLatencyTest: two tables of two GPUs.
P2P = """\
[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]
Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)
   D\\D     0      1
     0 800.00  48.25
     1  48.25 800.00
Bidirectional P2P=Enabled Bandwidth Matrix (GB/s)
   D\\D     0      1
     0 800.00  96.50
     1  96.50 800.00
"""


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """However busy the machine is, a short search goes with the answer."""
    monkeypatch.setattr(matrix_loader, "_PROMPT_S", 60.0)


@pytest.fixture
def loader():
    panel = MatrixLoader(koordinator_matrix_a())
    yield panel
    panel.close()


@pytest.fixture
def empty():
    panel = MatrixLoader()
    yield panel
    panel.close()


class TestBringing:
    def test_without_a_matrix_nothing_is_drawn(self, empty):
        assert ask(empty, "state") == {"n": 0, "can_assign": False}
        assert "no matrix yet" in refused(empty, "change", k=2)

    def test_a_printout_is_read_and_answered(self, empty):
        view = ask(empty, "load", text=TOPO, name="topo.txt")
        assert (view["n"], view["source"], view["labels"]) == (4, "topo.txt", ["GPU0", "GPU1", "GPU2", "GPU3"])
        assert empty.best.gpus == (0, 1)
        assert view["best"]["ties"] == [[0, 1], [2, 3]]
        assert "link types" in view["format"]

    def test_a_view_in_another_tab_hears_what_one_asked(self, empty, said):
        view = ask(empty, "load", text=TOPO, name="topo.txt")
        assert [message["body"] for message in said if message["type"] == "view"] == [view]
        view = ask(empty, "change", k=3)
        assert [message["body"] for message in said if message["type"] == "view"][1:] == [view]

    def test_an_error_names_its_line_and_leaves_the_old_matrix(self, loader):
        before = loader.matrix
        answer = ask(loader, "load", text="0 1 2\n1 0 x\n2 3 0\n", name="pasted text")
        assert answer["line"] == 2
        assert answer["error"].startswith("pasted text: line 2")
        assert loader.matrix is before and ask(loader, "state")["n"] == 8

    def test_an_error_without_a_line_says_so(self, empty):
        assert ask(empty, "load", text="", name="pasted text")["line"] == 0
        assert error_line(CapacityError("too large")) == 0

    def test_bytes_travel_in_base64(self, empty):
        buffer = io.BytesIO()
        np.save(buffer, koordinator_matrix_a())
        view = ask(empty, "load", data=base64.b64encode(buffer.getvalue()).decode(), name="a.npy")
        assert view["n"] == 8 and empty.matrix == BandwidthMatrix(koordinator_matrix_a())
        assert "not base64" in ask(empty, "load", data="%%", name="a.npy")["error"]

    def test_a_huge_file_is_refused(self, monkeypatch):
        monkeypatch.setattr(matrix_view, "MAX_BYTES", 100)
        with pytest.raises(CapacityError):
            read_printout({"text": "1 " * 100})

    def test_what_could_not_be_read_is_listed(self, empty):
        text = TOPO.replace("Legend:", "something nobody ever printed\n\nLegend:")
        assert any("something nobody ever printed" in note for note in ask(empty, "load", text=text)["notes"])

    def test_another_table_of_a_printout_keeps_the_question(self, empty):
        view = ask(empty, "load", text=P2P, name="p2p.txt")
        assert view["block"] in view["blocks"] and "bidirectional" in view["blocks"]
        assert empty.matrix.gb_s[0, 1] == 48.25
        ask(empty, "toggle", gpus=[0], how="require")
        view = ask(empty, "block", block="bidirectional")
        assert (view["block"], view["states"][0]) == ("bidirectional", "required")
        assert empty.matrix.gb_s[0, 1] == 96.5
        assert "sideways" in refused(empty, "block", block="sideways")
        assert empty.matrix.gb_s[0, 1] == 96.5

    def test_a_new_matrix_keeps_the_rule_and_as_much_of_k_as_fits(self, loader):
        ask(loader, "change", k=6, symmetric="max", link_classes=True)
        ask(loader, "toggle", gpus=[0], how="free")
        view = ask(loader, "load", text=TOPO)
        assert (view["k"], view["symmetric"], view["link_classes"]) == (4, "max", True)
        assert view["states"] == ["free"] * 4

    def test_a_load_from_python_tells_the_page(self, empty, monkeypatch):
        told = []
        monkeypatch.setattr(empty, "tell", lambda event, body: told.append((event, body["n"])))
        empty.load(TOPO)
        assert told == [("view", 4)]


class TestAsking:
    @pytest.mark.parametrize("k", range(1, 9))
    def test_k_asks_for_so_many(self, loader, k):
        view = ask(loader, "change", k=k)
        assert view["best"] == best_gpus(loader.matrix, k).to_dict()
        assert view["shown_gpus"] == list(loader.best.gpus)

    @pytest.mark.parametrize(
        "body", [{"k": 0}, {"k": 9}, {"k": True}, {"k": "2"}, {"symmetric": "both"}, {"link_classes": 1}]
    )
    def test_a_question_that_makes_no_sense_changes_nothing(self, loader, body):
        before = loader.question
        refused(loader, "change", **body)
        assert loader.question == before

    def test_a_taken_gpu_is_not_chosen(self, loader):
        first = ask(loader, "state")["best"]["gpus"]
        view = ask(loader, "toggle", gpus=[first[0]], how="free")
        assert view["states"][first[0]] == "taken" and first[0] not in view["best"]["gpus"]
        assert all(first[0] not in choice["gpus"] for choice in view["choices"])
        assert ask(loader, "toggle", gpus=[first[0]], how="free")["best"]["gpus"] == first

    def test_a_required_gpu_is_in_and_an_avoided_one_is_out(self, loader):
        ask(loader, "toggle", gpus=[1], how="require")
        view = ask(loader, "toggle", gpus=[2], how="avoid")
        assert view["best"] == best_gpus(loader.matrix, 2, require=[1], avoid=[2]).to_dict()
        assert 1 in view["best"]["gpus"]

    def test_link_classes_and_direction_reach_the_search(self, loader):
        view = ask(loader, "change", k=3, symmetric="mean", link_classes=True)
        assert view["best"] == best_gpus(loader.matrix, 3, symmetric="mean", link_classes=True).to_dict()

    def test_too_few_free_gpus_are_said_in_words(self, loader):
        for gpu in range(7):
            view = ask(loader, "toggle", gpus=[gpu], how="free")
        assert view["sentence"] == "2 GPUs asked for, 1 may be used"
        assert view["shown_gpus"] == [] and view["best"]["gpus"] == []
        assert view["best_note"] == "no such set: only 1 of 8 GPUs are free"
        assert ask(loader, "change", k=1)["best_note"] == "exact"

    def test_one_gpu_has_no_pair(self, loader):
        view = ask(loader, "change", k=1)
        assert "one GPU has no pair" in view["sentence"] and view["best"]["bottleneck_pair"] is None

    def test_the_set_that_is_shown_comes_as_variables_to_copy(self, loader):
        shown = ask(loader, "change", k=4)
        assert shown["to_copy"] == shell_line(loader.best.environment) != ""
        tie = ask(loader, "change", shown="tie 1")
        assert tie["shown_gpus"] != shown["shown_gpus"]
        assert tie["to_copy"].endswith(f"CUDA_VISIBLE_DEVICES={','.join(map(str, tie['shown_gpus']))}")
        assert tie["near"] == []
        for gpu in range(7):
            view = ask(loader, "toggle", gpus=[gpu], how="free")
        assert view["to_copy"] == ""

    def test_the_nics_near_the_set_that_is_shown_are_told(self):
        loader = MatrixLoader()
        text = TOPO.replace("\tCPU Aff", "\tmlx5_0\tCPU Aff").replace("\t0-15", "\tPIX\t0-15")
        loader.load(
            text.replace("\t16-31", "\tSYS\t16-31").replace("\nLegend", "mlx5_0\tPIX\tPIX\tSYS\tSYS\t X\nLegend")
        )
        view = ask(loader, "state")
        assert view["near"] == near_lines(loader.matrix.near(view["shown_gpus"]))
        assert view["near"] == ["near NIC mlx5_0: GPU 0, 1 (PIX)", "NUMA nodes: 0"]
        assert "tw-nic" in view["machine"] and "PIX mlx5_0" in view["heatmap"]

    def test_an_entry_is_read_with_its_way_back(self, loader):
        assert ask(loader, "pair", **{"from": 1, "to": 4})["text"] == "gpu_1 → gpu_4: 4.64 GB/s; back 16.81 GB/s"
        assert pair_text(loader.matrix, 3, 3) == "GPU 3, gpu_3"
        assert "no such GPU" in refused(loader, "pair", **{"from": 1, "to": 8})


class TestClicks:
    FOUR = Question(2, ("free",) * 4)

    @pytest.mark.parametrize(
        ("clicks", "want"),
        [
            (["free"], "taken"),
            (["free", "free"], "free"),
            (["require"], "required"),
            (["require", "require"], "free"),
            (["require", "avoid"], "avoided"),
            (["avoid", "free"], "free"),
            (["free", "require"], "required"),
        ],
    )
    def test_each_click_and_the_same_again(self, clicks, want):
        question = self.FOUR
        for click in clicks:
            question = toggled(question, [2], click)
        assert question.states == ("free", "free", want, "free")

    def test_requiring_more_than_k_raises_k(self):
        question = self.FOUR
        for gpu in range(3):
            question = toggled(question, [gpu], "require")
        assert question.k == 3

    def test_several_at_once_get_the_same_state(self):
        question = toggled(self.FOUR, [1, 2], "free")
        assert question.states == ("free", "taken", "taken", "free")
        assert toggled(question, [0, 1, 2, 3], "free").states == ("free",) * 4
        question = toggled(question, [0, 1], "avoid")
        assert question.states == ("avoided", "avoided", "taken", "free")
        assert toggled(question, [0, 1], "avoid").states == ("free", "free", "taken", "free")

    @pytest.mark.parametrize("gpus", [[4], [-1], ["1"], [True], [], 1, None, [0, 9]])
    def test_no_such_gpu(self, gpus):
        with pytest.raises(InputError):
            toggled(self.FOUR, gpus, "free")

    def test_no_such_click(self):
        with pytest.raises(InputError, match="no such click"):
            toggled(self.FOUR, [1], "eat")


class TestSets:
    def test_ties_are_stepped_through(self, empty):
        ask(empty, "load", text=TOPO)
        view = ask(empty, "change", shown="tie 1")
        assert (view["shown_gpus"], view["tie"], view["shown"]) == ([2, 3], 1, "tie 1")
        assert view["sentence"].startswith("Tie 2: {2, 3}, bottleneck")
        assert view["ties_text"] == "tie 2 of 2"

    def test_many_ties_are_counted_in_words(self):
        panel = MatrixLoader(np.full((72, 72), 900.0))
        view = ask(panel, "change", k=2)
        assert view["ties_text"] == "tie 1 of 100 listed, 2,556 in all"
        assert "e+" in ask(panel, "change", k=36)["sentence"]
        panel.close()

    def test_every_gpu_policy_has_a_row_and_can_be_shown(self, loader):
        view = ask(loader, "change", k=3)
        names = [info.name for info in list_policies() if info.kind == "gpu"]
        assert [choice["policy"] for choice in view["choices"]] == names
        row = next(choice for choice in view["choices"] if choice["policy"] == "gpu-lowest-index")
        assert (row["gpus"], row["bottleneck_gb_s"]) == ([0, 1, 2], 48.33)
        assert 0 < row["of_best"] <= 1
        drawn = ask(loader, "change", shown="gpu-lowest-index")
        assert drawn["shown_gpus"] == [0, 1, 2] and drawn["sentence"].startswith("gpu-lowest-index: {0, 1, 2}")

    def test_another_question_shows_the_best_set_again(self, loader):
        ask(loader, "change", shown="gpu-lowest-index")
        assert ask(loader, "change", asymmetry=True)["shown"] == "gpu-lowest-index"
        assert ask(loader, "change", k=4)["shown"] == "best"

    def test_a_set_that_is_not_there_is_the_best_one(self, loader):
        view = ask(loader, "change", shown="tie 77")
        assert view["shown"] == "best" and view["shown_gpus"] == list(loader.best.gpus)

    def test_set_pair_and_policies_are_drawn_in_both_pictures(self, loader):
        view = ask(loader, "change", k=3, asymmetry=True)
        for name in ("heatmap", "machine"):
            root = ET.fromstring(view[name])
            marked = [e.get("class") for e in root.iter()]
            assert "tw-bottleneck" in marked and "tw-mark" in marked
        assert "tw-asymmetry" in view["heatmap"]

    def test_suspicious_links_are_said(self, loader):
        assert any("1 → 4 has 4.64 GB/s, 4 → 1 16.81" in text for text in ask(loader, "state")["suspicious"])


class TestLongSearches:
    """Noise makes a search of many GPUs long; the page stays usable, and what was answered before stays until then."""

    @pytest.fixture
    def noisy(self, said, monkeypatch):
        weight = np.random.default_rng(0).random((150, 150))
        panel = MatrixLoader(weight)
        monkeypatch.setattr(matrix_loader, "_PROMPT_S", 0.0)
        yield panel
        panel.close()
        assert panel.wait(60)

    def test_it_says_what_it_searches_for_and_can_be_given_up(self, noisy, said):
        assert ask(noisy, "change", k=40) == {"busy": "searching for the best 40 of 150 GPUs"}
        assert noisy.question.k == 2 and ask(noisy, "state")["k"] == 2
        assert ask(noisy, "cancel")["k"] == 2
        assert noisy.wait(60)
        assert (said[-1]["type"], said[-1]["body"]["k"]) == ("view", 2)

    def test_its_view_is_told_when_it_is_there(self, noisy, said):
        ask(noisy, "change", k=40)
        # On top of what is searched for, not of what was answered.
        ask(noisy, "change", link_classes=True)
        assert noisy.wait(60)
        view = said[-1]["body"]
        assert (said[-1]["type"], view["k"], view["link_classes"]) == ("view", 40, True)
        assert noisy.best == best_gpus(noisy.matrix, 40, link_classes=True)

    def test_it_tells_that_it_still_runs(self, noisy, said, monkeypatch):
        heard = threading.Event()
        # A clock on which a second is soon over: news comes second by second.
        monkeypatch.setattr(matrix_loader, "time", SimpleNamespace(monotonic=lambda: 100 * time.monotonic()))
        monkeypatch.setattr(noisy, "tell", lambda event, body: heard.set() if event == "searching" else None)
        ask(noisy, "change", k=40)
        assert heard.wait(60)

    def test_an_error_in_it_is_told(self, noisy, said, monkeypatch):
        go_on = threading.Event()

        def fails(matrix, question):
            assert go_on.wait(60)
            raise ZeroDivisionError("no")

        monkeypatch.setattr(matrix_loader, "answer_question", fails)
        assert "busy" in ask(noisy, "change", k=3)
        go_on.set()
        assert noisy.wait(60)
        assert said[-1]["type"] == "failed" and "ZeroDivisionError" in said[-1]["body"]["traceback"]
        assert noisy.question.k == 2

    def test_ctrl_c_ends_it(self, noisy, monkeypatch):
        def interrupted(seconds=None):
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(noisy._worker, "wait", interrupted)
            assert refused(noisy, "change", k=40) == "interrupted"
        assert noisy.wait(60) and noisy.question.k == 2


class TestAssigning:
    def test_it_goes_to_what_was_handed_in(self):
        given = []

        def assign(matrix, names):
            given.append((len(matrix), names))
            return ["n-1", "n-2"]

        panel = MatrixLoader(koordinator_matrix_a(), assign)
        assert ask(panel, "state")["can_assign"]
        assert ask(panel, "assign", names="") == {"nodes": ["n-1", "n-2"]}
        ask(panel, "assign", names="n-1, rack-2")
        assert given == [(8, None), (8, ["n-1", "rack-2"])]
        panel.close()

    def test_without_a_callable_it_is_refused(self, loader):
        assert "nothing to assign it to" in refused(loader, "assign", names="a")

    def test_the_editor_takes_it_for_nodes_of_as_many_gpus(self):
        editor = TopologyEditor()
        editor.edit(op="add_switches", count=2, nodes_each=2, gpus=8)
        panel = MatrixLoader(koordinator_matrix_a(), editor.assign)
        names = list(editor.snapshot.topology.node_names)
        assert ask(panel, "assign", names=", ".join(names[:2]))["nodes"] == names[:2]
        assert editor.snapshot.node_matrix.tolist() == [0, 0, -1, -1]
        assert ask(panel, "assign", names="node-[12]")["nodes"] == names[1:3]
        assert editor.snapshot.node_matrix.tolist() == [0, 0, 0, -1]
        assert "no node and no switch has this name (found 'nobody'" in refused(
            panel, "assign", names="node-.*, nobody"
        )
        assert "no node is selected" in refused(panel, "assign", names="")
        assert editor.snapshot.node_matrix.tolist() == [0, 0, 0, -1]
        editor.edit(op="set", ids=[item.id for item in editor.draft if item.kind == "node"], fields={"gpus": 4})
        assert "nodes of 4 GPUs, expected 8 GPUs" in refused(panel, "assign", names="node-.*")
        panel.close()
        editor.close()


@pytest.mark.parametrize("n", [1, 2, 72, 384])
def test_every_size_has_a_view(n):
    group = np.arange(n) // 8
    panel = MatrixLoader(np.where(group[:, None] == group[None, :], 392.0, 196.0))
    view = ask(panel, "change", k=max(n // 2, 1))
    assert len(view["shown_gpus"]) == max(n // 2, 1)
    assert len(json.dumps(view)) < 1_000_000
    panel.close()
