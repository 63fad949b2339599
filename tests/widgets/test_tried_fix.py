"""Fixes of pending jobs, tried in the comparer and in the workbench: one step to undo each."""

from __future__ import annotations

import pytest

import workbench
from tests.widgets.page import ask, refused
from workbench.errors import InputError
from workbench.formats.edit_manifests.job_text import edit_job_text
from workbench.formats.write_manifests import to_yaml
from workbench.model.placement import Refusal
from workbench.objects.hypernode_manifest import hypernode_manifest
from workbench.objects.node import node_manifest
from workbench.topology.objects_of import hypernodes_in, nodes_in
from workbench.widgets.comparer import PlacementComparer
from workbench.widgets.workbench import Workbench

JOB = """# two whole nodes
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: NAME}
spec:
  schedulerName: volcano
  minAvailable: PODS
  networkTopology: {mode: hard, highestTierAllowed: TIER}
  tasks:
  - name: worker
    replicas: PODS
    template:
      spec:
        containers:
        - name: main
          resources: {requests: {cpu: 1, nvidia.com/gpu: 8}, limits: {nvidia.com/gpu: 8}}
"""


def job(name, pods, tier):
    return JOB.replace("NAME", name).replace("PODS", str(pods)).replace("TIER", str(tier))


def outcome(comparer, key):
    comparer.wait()
    return "pending" if isinstance(comparer.comparison.rows[0].decision(key).result, Refusal) else "placed"


def number_of(answer, text):
    return next(i for i, one in enumerate(answer["fix"]["fixes"]) if text in one["text"])


@pytest.fixture
def bench():
    bench = Workbench(workbench.load("datasets/three-level-tree").snapshot, ["volcano"])
    yield bench
    bench.comparer.wait()
    bench.end()


def test_a_fix_of_a_typed_job_changes_its_text_and_one_undo_brings_it_back(bench, said):
    comparer = bench.comparer
    text = job("wide", 4, 1) + "---\n" + job("other", 1, 1)
    ask(comparer, "jobs", text=text)
    assert outcome(comparer, "default/wide") == "pending"
    answer = ask(comparer, "explain", policy=0, job="default/wide")
    assert answer["fix"]["headline"].count("tier 2") and answer["fix"]["fixes"]
    chosen = number_of(answer, "allow tier 2")
    assert answer["fix"]["fixes"][chosen]["cannot"] == ""
    assert any("kubectl" in line or line.startswith("#") for line in answer["fix"]["fixes"][chosen]["commands"])

    label = ask(comparer, "apply", policy=0, job="default/wide", fix=chosen)["label"]
    assert label == bench.editor.history.undo_label
    assert outcome(comparer, "default/wide") == "placed"
    assert "highestTierAllowed: 2" in comparer.text
    # The other document stays as it was written.
    assert job("other", 1, 1).strip() in comparer.text
    assert next(m["body"]["text"] for m in reversed(said) if m["type"] == "job_text") == comparer.text

    ask(comparer, "undo_apply", label=label)
    assert comparer.text == text and outcome(comparer, "default/wide") == "pending"
    bench.editor.redo()
    assert outcome(comparer, "default/wide") == "placed"


def test_a_fix_of_nodes_changes_the_drawing(bench):
    comparer = bench.comparer
    nodes = [item.id for item in bench.editor.draft if item.kind == "node"]
    bench.editor.edit(op="set", ids=nodes, fields={"cordoned": True})
    ask(comparer, "jobs", text=job("small", 2, 1))
    assert outcome(comparer, "default/small") == "pending"
    answer = ask(comparer, "explain", policy=0, job="default/small")
    label = ask(comparer, "apply", policy=0, job="default/small", fix=number_of(answer, "uncordon"))["label"]
    assert outcome(comparer, "default/small") == "placed"
    assert sum(not item.cordoned for item in bench.editor.draft if item.kind == "node") == 2
    ask(comparer, "undo_apply", label=label)
    assert all(item.cordoned for item in bench.editor.draft if item.kind == "node")


def test_what_a_failed_switch_cuts_off_cannot_be_tried_and_says_why(bench):
    comparer = bench.comparer
    ids = [item.id for item in bench.editor.draft if item.kind == "switch" and item.tier == 1]
    bench.editor.edit(op="set", ids=ids, fields={"failed": True})
    ask(comparer, "jobs", text=job("small", 2, 1))
    assert outcome(comparer, "default/small") == "pending"
    answer = ask(comparer, "explain", policy=0, job="default/small")
    chosen = number_of(answer, "uncordon")
    told = answer["fix"]["fixes"][chosen]
    assert "which failed" in told["cannot"] and any(line.startswith("kubectl uncordon") for line in told["commands"])
    assert "which failed" in refused(comparer, "apply", policy=0, job="default/small", fix=chosen)


def test_a_comparer_alone_tries_fixes_of_jobs_given_as_values(said):
    scenario = workbench.load("-", stdin=open_tree() + "---\n" + job("wide", 4, 1))
    comparer = PlacementComparer(scenario, ["volcano"])
    ask(comparer, "state")
    assert outcome(comparer, "default/wide") == "pending"
    answer = ask(comparer, "explain", policy=0, job="default/wide")
    label = ask(comparer, "apply", policy=0, job="default/wide", fix=number_of(answer, "allow tier 2"))["label"]
    assert outcome(comparer, "default/wide") == "placed"
    assert refused(comparer, "undo_apply", label="apply something else")
    ask(comparer, "undo_apply", label=label)
    assert outcome(comparer, "default/wide") == "pending"
    comparer.close()


def open_tree():
    snapshot = workbench.load("datasets/three-level-tree").snapshot
    objects = [*map(hypernode_manifest, hypernodes_in(snapshot.topology)), *map(node_manifest, nodes_in(snapshot))]
    return to_yaml(objects)


def test_a_queue_and_a_running_gang_are_changed_beside_the_drawing(bench):
    queue = "apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: default}\n"
    text = open_tree() + "---\n" + queue + "spec: {weight: 1, capability: {nvidia.com/gpu: 8}}\n"
    bench.open_text(text + "---\n" + job("wide", 2, 2))
    comparer = bench.comparer
    comparer.choose([("volcano", {})])
    assert outcome(comparer, "default/wide") == "pending"
    answer = ask(comparer, "explain", policy=0, job="default/wide")
    chosen = number_of(answer, "capability")
    ask(comparer, "apply", policy=0, job="default/wide", fix=chosen)
    assert outcome(comparer, "default/wide") == "placed"
    bench.editor.undo()
    assert outcome(comparer, "default/wide") == "pending"


def test_a_fix_of_an_earlier_comparison_is_refused(bench):
    comparer = bench.comparer
    ask(comparer, "jobs", text=job("wide", 4, 1))
    assert outcome(comparer, "default/wide") == "pending"
    ask(comparer, "explain", policy=0, job="default/wide")
    ask(comparer, "jobs", text="no: [yaml")
    assert "earlier comparison" in refused(comparer, "apply", policy=0, job="default/wide", fix=0)


def test_text_that_was_edited_after_a_fix_is_not_lost_by_its_undo(bench):
    comparer = bench.comparer
    ask(comparer, "jobs", text=job("wide", 4, 1))
    comparer.wait()
    answer = ask(comparer, "explain", policy=0, job="default/wide")
    label = ask(comparer, "apply", policy=0, job="default/wide", fix=number_of(answer, "tier 2"))["label"]
    comparer.wait()
    edited = comparer.text + "---\n" + job("later", 1, 1)
    ask(comparer, "jobs", text=edited)
    ask(comparer, "undo_apply", label=label)
    assert comparer.text == edited


def test_the_text_of_untouched_documents_stays(bench):
    one, two = job("one", 1, 1), job("two", 2, 1)
    edit = {"kind": "tier", "subject": "job default/two", "from": 1, "to": 2}
    after = edit_job_text(one + "---\n" + two, [edit])
    assert after.startswith(one) and "highestTierAllowed: 2" in after
    assert edit_job_text(one + "---\n" + two, [{**edit, "kind": "withdraw"}]) == one
    with pytest.raises(InputError):
        edit_job_text(one, [edit])


def test_a_file_without_jobs_is_refused_before_the_text_changes(bench):
    comparer = bench.comparer
    text = job("wide", 4, 1)
    ask(comparer, "jobs", text=text)
    said = refused(comparer, "add_file", text=text, file="\x89PNG\x00\x01", name="picture.yaml")
    assert said.startswith("picture.yaml")
    assert "picture.yaml" in refused(comparer, "add_file", text="", file="a: 1\n", name="picture.yaml")
    added = ask(comparer, "add_file", text=text, file=job("two", 1, 1), name="two.yaml")["text"]
    assert ask(comparer, "jobs", text=added)["jobs"] == ["default/two", "default/wide"]
