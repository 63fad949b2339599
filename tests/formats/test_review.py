from __future__ import annotations

import pytest

from workbench.errors import InputError
from workbench.formats.load import load
from workbench.formats.manifests import read_manifests
from workbench.formats.review import review_manifests
from workbench.model.release import Release

GROUP = """\
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: g, namespace: ns}
spec: {queue: q}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: q}
status: {state: Closed}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: j}
"""


def test_queues_of_the_input_are_known_wherever_they_stand() -> None:
    review = review_manifests(read_manifests(["-"], stdin=GROUP))
    group, queue = review.objects
    assert (group.key, group.source, queue.key, review.refused) == ("PodGroup ns/g", "stdin", "Queue q", 1)
    assert "queue `q` status is `Closed`" in group.verdict.refusal


def test_a_queue_without_a_state_is_open() -> None:
    text = GROUP.replace("status: {state: Closed}", "spec: {weight: 1}")
    assert review_manifests(read_manifests(["-"], stdin=text), Release.V1_13).refused == 0


def test_other_kinds_are_counted() -> None:
    assert review_manifests(read_manifests(["-"], stdin=GROUP)).not_reviewed == {"CronJob": 1}


def test_a_job_of_kubernetes_and_its_like_are_refused_where_a_field_cannot_be_read() -> None:
    text = GROUP.replace("CronJob", "Job") + "spec: {parallelism: two}\n---\n"
    text += """\
apiVersion: batch/v1
kind: Job
metadata: {generateName: train-}
spec: {template: {spec: {containers: [{name: c, image: i}]}}}
"""
    review = review_manifests(read_manifests(["-"], stdin=text))
    *_, refused, accepted = review.objects
    assert (refused.key, accepted.key, review.not_reviewed) == ("Job default/j", "Job default/train", {})
    assert [note.code for note in accepted.verdict.warnings] == ["generated-name"]
    (found,) = [one for one in review.findings(text) if one.subject == "BatchJob default/j"]
    assert found.message.startswith("spec.parallelism: wrong type or value (found text 'two'")
    assert found.numbers["line"] == 14


@pytest.mark.parametrize("kind", ["{}", "[Job]", "3"])
def test_a_kind_that_is_no_text_is_bad_input(kind: str) -> None:
    text = f"apiVersion: batch/v1\nkind: {kind}\nmetadata: {{name: x}}\n"
    for read in (lambda: load("-", stdin=text), lambda: review_manifests(read_manifests(["-"], stdin=text))):
        with pytest.raises(InputError, match="kind: wrong type or value"):
            read()


def test_the_summary_names_who_was_asked() -> None:
    mixed = "2 of 3 objects accepted (1 of 2 by Kueue (0.19), 1 of 1 by Volcano (1.15))"
    flavor = "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata: {name: f}\nspec: {topologyName: t}\n"
    template = "spec: {template: {spec: {containers: [{name: c, image: i}]}}}\n"
    plain = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: plain}\n" + template
    queued = plain.replace("name: plain", "name: q, labels: {kueue.x-k8s.io/queue-name: q}")
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: i}]}\n"
    stateful = ("batch/v1\nkind: Job", "apps/v1\nkind: StatefulSet")
    by_fields, by_kueue = (
        f"1 of 1 object accepted by {judge}" for judge in ("the checks of the fields that are read", "Kueue (0.19)")
    )
    said = {
        pod: "1 of 1 object accepted by Volcano (1.15)",
        plain: by_fields,
        queued: by_kueue,
        plain.replace(*stateful): by_fields,
        queued.replace(*stateful): by_kueue,
        f"{flavor}---\n{queued}---\n{pod}": mixed,
    }
    assert {text: review_manifests(read_manifests(["-"], stdin=text)).summary for text in said} == said


def test_a_level_of_no_topology_is_told_wherever_the_topology_stands() -> None:
    text = """\
apiVersion: batch/v1
kind: Job
metadata: {name: j}
spec:
  template:
    metadata: {annotations: {kueue.x-k8s.io/podset-required-topology: example.com/row}}
    spec: {containers: [{name: c, image: i}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Topology
metadata: {name: t}
spec: {levels: [{nodeLabel: example.com/rack}]}
"""
    job, _ = review_manifests(read_manifests(["-"], stdin=text)).objects
    assert [warning.code for warning in job.verdict.warnings] == ["unknown-level"]
