"""Messages of the page name no option of the command line."""

from __future__ import annotations

import re

import pytest

from tests.widgets.page import ask, refused
from workbench.live.kubernetes.configuration import _no_kubeconfig
from workbench.topology.lint.report import RULES
from workbench.widgets.editor import TopologyEditor
from workbench.widgets.messages import one_line, page_words

OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")


def test_no_rule_of_the_linter_names_an_option_in_the_page():
    assert any(OPTION.search(rule.todo) for rule in RULES)
    assert [rule.id for rule in RULES if OPTION.search(page_words(rule.todo))] == []


@pytest.mark.parametrize("text", ["hello", "- 1\n- 2\n", "squeue", "JOBID PARTITION NAME USER ST TIME NODES\n", "{}"])
def test_no_refused_file_names_an_option(text):
    editor = TopologyEditor()
    assert not OPTION.search(refused(editor, "import", text=text, name="file.txt"))
    editor.close()


def test_what_is_said_of_a_missing_kubeconfig():
    said = one_line(str(_no_kubeconfig("~/.kube/config")))
    assert said.endswith("name one in the variable KUBECONFIG and start the kernel again")


def test_findings_have_the_words_of_the_page(said):
    editor = TopologyEditor()
    editor.edit(op="add_switches", parent=0, count=2, nodes_each=2, gpus=8)
    node = editor.draft.find("node", "node-0")
    editor.edit(op="set", ids=[node.id], fields={"gpus": 4})
    ask(editor, "lint")
    editor._linting.wait()
    found = next(m["body"]["findings"] for m in reversed(said) if m["type"] == "findings")
    assert any("mixed" in finding["rule"] or "GPU" in finding["message"] for finding in found)
    assert not OPTION.search(str(found))
    editor.close()
