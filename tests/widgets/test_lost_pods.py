"""What fails in the drawing, and which running jobs lose pods by it."""

from __future__ import annotations

import workbench
from tests.report.test_closed_nodes import CLUSTER, JOB
from tests.widgets.page import ask
from workbench.widgets.workbench import Workbench

POD = """
---
apiVersion: v1
kind: Pod
metadata:
  name: run-NUMBER
  namespace: ml
  annotations: {scheduling.k8s.io/group-name: run}
spec:
  nodeName: NODE
  schedulerName: volcano
  containers: [{name: main, resources: {limits: {nvidia.com/gpu: 4}}}]
status: {phase: Running}
"""
GROUP = """
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: run, namespace: ml}
spec: {minMember: 2}
status: {phase: Running}
"""


def test_a_failed_node_names_the_running_jobs_that_lose_pods(said):
    pods = "".join(POD.replace("NUMBER", str(i)).replace("NODE", node) for i, node in enumerate("aac"))
    bench = Workbench(workbench.load("-", stdin=CLUSTER + pods + GROUP), ["gang"])
    editor = bench.editor
    assert ask(editor, "state")["lost"] == ""
    node = editor.draft.find("node", "a")
    editor.edit(op="set", ids=[node.id], fields={"failed": True})
    told = next(m["body"] for m in reversed(said) if m["type"] == "patch")
    assert told["lost"] == "1 running job loses pods on failed nodes: ml/run: 2 of 3 pods"
    card = dict(ask(editor, "card", id=node.id)["lines"])
    assert card["jobs"] == "ml/run: loses 2 of 3 pods" and card["state"] == "failed"
    editor.undo()
    assert ask(editor, "state")["lost"] == ""
    bench.comparer.wait()
    bench.end()


def test_cards_show_taints(said):
    bench = Workbench(workbench.load("-", stdin=CLUSTER + JOB.replace("TOLERATIONS", "[]")), ["gang"])
    tainted = bench.editor.draft.find("node", "c")
    lines = ask(bench.editor, "card", id=tainted.id)["lines"]
    assert [text for heading, text in lines if heading == "taints"] == ["team=x:NoSchedule"]
    bench.comparer.run()
    bench.comparer.wait()
    lines = ask(bench.comparer, "card", policy=0, kind="square", name="c")["lines"]
    assert ("taints", "team=x:NoSchedule") in [tuple(line) for line in lines]
    bench.end()


def test_a_cordoned_node_says_whose_pods_go_on(said):
    pods = "".join(POD.replace("NUMBER", str(i)).replace("NODE", node) for i, node in enumerate("aac"))
    bench = Workbench(workbench.load("-", stdin=CLUSTER + pods + GROUP), ["gang"])
    editor = bench.editor
    node = editor.draft.find("node", "c")
    editor.edit(op="set", ids=[node.id], fields={"cordoned": True})
    assert ask(editor, "state")["lost"] == (
        "1 running job has pods on cordoned nodes, which go on: ml/run: 1 of 3 pods"
    )
    card = dict(ask(editor, "card", id=node.id)["lines"])
    assert card["jobs"] == "ml/run: 1 of 3 pods goes on, on cordoned nodes"
    assert card["state"] == "cordoned"
    bench.comparer.wait()
    bench.end()
