"""What each policy would do with running jobs that lose pods in the drawing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.report.test_closed_nodes import CLUSTER
from tests.widgets.page import ask
from tests.widgets.test_lost_pods import GROUP, POD
from workbench.widgets.editor import TopologyEditor
from workbench.widgets.workbench import Workbench


def told(bench: Workbench) -> dict[str, tuple[str, ...]]:
    """What a job loses, and what each policy would do, by job."""
    bench.comparer.wait()
    assert bench._present.restarts is not None
    bench._present.restarts.wait()
    rows = ask(bench.editor, "state")["restarts"]["rows"]
    return {row["job"]: (row["loss"], *row["told"]) for row in rows}


def fail(editor: TopologyEditor, kind: str, name: str, field: str = "failed") -> None:
    item = editor.draft.find(kind, name)
    assert item is not None
    editor.edit(op="set", ids=[item.id], fields={field: True})


def test_a_failed_node_says_where_its_job_would_start_again_or_why_not(said: object, tmp_path: Path) -> None:
    pods = "".join(POD.replace("NUMBER", str(i)).replace("NODE", node) for i, node in enumerate("aa"))
    path = tmp_path / "cluster.yaml"
    path.write_text(CLUSTER + pods + GROUP)
    bench = Workbench(path, ["gang", "binpack"])
    assert told(bench) == {}
    fail(bench.editor, "node", "a")
    # Of the other nodes one is cordoned, one tainted, and one not ready.
    [(job, (loss, *texts))] = told(bench).items()
    assert (job, loss) == ("ml/run", "loses 2 of 2 pods")
    assert len(texts) == 2 and all(text.startswith("stays pending: ") for text in texts)
    bench.editor.edit(op="set", ids=[bench.editor.draft.find("node", "b").id], fields={"cordoned": False})
    assert told(bench)["ml/run"][1:] == ("starts again on 1 node",) * 2
    bench.editor.undo()
    bench.editor.undo()
    assert told(bench) == {}
    bench.end()


@pytest.mark.slow
def test_a_failed_rack_of_a_cluster_with_two_policies(said: object, live_cluster: Path) -> None:
    bench = Workbench(live_cluster, ["volcano-1.15", "volcano-1.13"])
    fail(bench.editor, "switch", "rack-03")
    found = told(bench)
    assert bench.comparer.comparison is not None
    assert {job: texts[0] for job, texts in found.items()} == {
        "nlp/bert-nlp": "loses 3 of 6 pods",
        "research/llama-70b": "loses 1 of 12 pods",
    }
    assert found["research/llama-70b"][1] == "starts again in row-0 (tier 2)"
    # The hard tier of the job, which only its PodGroup says, holds.
    assert found["research/llama-70b"][2].startswith("stays pending: no HyperNode of tier <= 2")
    fail(bench.editor, "node", "gpu-048", "cordoned")
    assert told(bench)["research/diffusion"][0] == "1 of 8 pods goes on, on cordoned nodes"
    bench.end()


@pytest.mark.slow
def test_cards_tell_failed_cordoned_tainted_and_unreachable_apart(said: object, live_cluster: Path) -> None:
    bench = Workbench(live_cluster, ["gang"])
    editor = bench.editor
    fail(editor, "switch", "rack-03")
    fail(editor, "node", "gpu-000")

    def card(kind: str, name: str) -> dict[str, str]:
        item = editor.draft.find(kind, name)
        assert item is not None
        return {heading: text for heading, text in ask(editor, "card", id=item.id)["lines"] if heading}

    assert card("node", "gpu-000")["state"] == "failed"
    assert card("node", "gpu-012")["state"] == "cut off: rack-03 failed"
    assert card("node", "gpu-017")["state"] == "cordoned"
    assert card("node", "gpu-044")["state"] == "not ready"
    assert card("node", "gpu-044")["taints"] == "node.kubernetes.io/unreachable:NoSchedule"
    assert "state" not in card("node", "gpu-060")
    assert card("node", "gpu-060")["taints"] == "team=inference:NoSchedule"
    assert card("switch", "rack-04")["state"] == "1 of its nodes cordoned"
    bench.comparer.wait()
    bench.end()


def test_what_has_no_objects_has_the_line_alone(said: object) -> None:
    bench = Workbench(None, ["gang"])
    assert bench._present.restarts is None
    assert ask(bench.editor, "state")["restarts"] == {"policies": [], "rows": []}
    bench.end()


def test_the_page_is_told_only_of_a_change(said: list[dict[str, object]]) -> None:
    bench = Workbench(None, ["gang"])
    nothing: dict[str, list[object]] = {"policies": [], "rows": []}
    some = {"policies": ["gang"], "rows": [{"job": "a/b", "loss": "loses 1 pod", "told": ["stays pending"]}]}
    for shown in (nothing, some, some, nothing, nothing):
        bench.editor.show_restarts(shown)
    assert [message["body"] for message in said if message["type"] == "restarts"] == [some, nothing]
    bench.end()
