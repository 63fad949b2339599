"""What a notebook shows of an embedded cluster: overview, one Job, one pod beside its template, Jobs over time."""

from __future__ import annotations

import copy
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from tests.control.manifests import hyper_job, job, pod_template, small_cluster, task
from workbench.control.cluster import EmbeddedCluster
from workbench.errors import UnknownNameError
from workbench.report.life_timeline import draw_timeline

VOID = {"br", "hr", "img", "input", "meta", "link"}


class Balanced(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def balanced(html: str | None) -> str:
    assert html is not None
    parser = Balanced()
    parser.feed(html)
    assert parser.open == []
    return html


@pytest.fixture
def cluster() -> EmbeddedCluster:
    made = EmbeddedCluster("volcano-1.15+gpu-lowest-index", run_seconds=60)
    worker = task("worker", 2, 4)
    worker["template"]["spec"]["containers"][0]["args"] = ["<script>alert(1)</script>"]
    policies = [{"event": "PodFailed", "action": "RestartJob"}]
    made.submit(*small_cluster(), job("train", [worker], plugins={"svc": [], "env": []}, policies=policies))
    made.submit(job("waits", [task(replicas=9)]))
    made.run(20)
    made.fail("train-worker-0")
    made.run(50)
    made.settle()
    return made


def test_the_overview_draws_what_runs_and_lists_jobs_and_reasons(cluster: EmbeddedCluster) -> None:
    html = balanced(cluster._repr_html_())
    assert "<svg" in html and "50 s: 2 jobs" in html
    assert "default/train<" in html and "waits:" in html
    assert html == copy.deepcopy(cluster)._repr_html_()


def test_the_picture_names_jobs_not_pod_groups(cluster: EmbeddedCluster) -> None:
    (metadata,) = [one["metadata"] for one in cluster.store.list("Job") if one["metadata"]["name"] == "train"]
    html = balanced(cluster._repr_html_())
    picture = html[html.index("<svg") : html.index("</svg>")]
    assert "default/train" in picture and metadata["uid"] not in picture


def test_an_empty_cluster_says_so() -> None:
    assert "No job was submitted" in balanced(EmbeddedCluster()._repr_html_())


def test_a_job_shows_its_pods_conditions_and_events(cluster: EmbeddedCluster) -> None:
    view = cluster.job("train")
    html = balanced(view._repr_html_())
    for fact in ("default/train", "Running", "train-worker-0", "0, 1, 2, 3", "Scheduled", "events"):
        assert fact in html, fact
    assert "Unschedulable" in balanced(cluster.job("waits")._repr_html_())
    assert repr(view) == "JobView(default/train: Running, 2 pods)"
    with pytest.raises(UnknownNameError, match="train"):
        cluster.job("trian")


def test_a_pod_shows_what_was_added_to_its_template(cluster: EmbeddedCluster) -> None:
    view = cluster.pod("train-worker-1")
    added = {line[1:].strip() for line in view.diff if line.startswith("+")}
    assert {"- name: VC_TASK_INDEX", "hostname: train-worker-1", "subdomain: train"} <= added
    assert any(line.startswith("nodeName: n") for line in added)
    assert not any(line.startswith("-") for line in view.diff[2:]), "nothing of the template is lost"
    html = balanced(view._repr_html_())
    assert "<script>" not in html and "VC_TASK_INDEX" in html
    with pytest.raises(UnknownNameError):
        cluster.pod("train-worker-7")


def test_a_pod_without_an_owner_has_no_template() -> None:
    made = EmbeddedCluster("gang")
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "alone"}, **{"spec": pod_template(1)["spec"]}}
    made.submit(*small_cluster(), pod)
    made.settle()
    assert made.pod("alone").diff == ()
    assert "No owner" in balanced(made.pod("alone")._repr_html_())


def test_the_lives_of_jobs_have_no_gaps_and_end_now(cluster: EmbeddedCluster) -> None:
    timeline = cluster.timeline()
    lives = {life.name: life for life in timeline.jobs}
    assert [span.phase for span in lives["default/waits"].spans] == ["Pending"]
    for life in timeline.jobs:
        assert life.spans[-1].end == timeline.now == 50
        assert all(one.end == other.start for one, other in zip(life.spans, life.spans[1:], strict=False))
    assert any(mark.at == 20 for mark in lives["default/train"].marks), "the pod's failure"
    svg = ElementTree.fromstring(balanced(timeline._repr_html_()))
    tag = "{http://www.w3.org/2000/svg}"
    assert len(svg.findall(f"{tag}polygon")) == sum(len(life.marks) for life in timeline.jobs)
    assert draw_timeline(EmbeddedCluster().timeline()).startswith("<svg")


def test_the_jobs_of_a_hyper_job_are_drawn_in_the_topology() -> None:
    made = EmbeddedCluster("volcano-1.15")
    made.submit(*small_cluster(), hyper_job())
    made.settle()
    html = balanced(made._repr_html_())
    assert "default/llm-w-0" in html and "default/llm-w-1" in html
    assert made.snapshot.exclusive == {"default/llm/llm-w-0": "leaf0", "default/llm/llm-w-1": "leaf1"}
