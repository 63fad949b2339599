"""HyperJobs in the outputs: each Job with its HyperNode, and measured by itself."""

from __future__ import annotations

from typing import Any

import workbench
from tests.fabrics import document_tree
from tests.policies.hyper_job.cases import hyper, job
from workbench.evaluate.compare import compare
from workbench.evaluate.member_jobs import placed_jobs
from workbench.evaluate.metrics import measure, measure_run
from workbench.evaluate.records import decision_record, session_record
from workbench.evaluate.whatif.advice import advise_session
from workbench.model.placement import Decision, Placement
from workbench.report.html import placement_html, report_html
from workbench.report.tables import session_tables
from workbench.widgets.comparison_view import comparison_view

CLUSTER = document_tree()
#: Five Jobs of which four find a HyperNode.
GANG = hyper([job(i) for i in range(5)], 2)


def decided() -> tuple[Decision, Placement]:
    (decision,) = workbench.get_policy("gang").schedule([GANG], CLUSTER)
    assert isinstance(decision.result, Placement)
    return decision, decision.result


def rows(table: Any) -> list[list[str]]:
    columns = [[str(cell) for cell in column.cells] for column in table.columns]
    return [list(row) for row in zip(*columns, strict=True)]


def test_the_jobs_are_placements_of_their_own() -> None:
    _, whole = decided()
    parts = list(placed_jobs(whole))
    assert [part.to_dict() for part in parts[3:]] == [
        {"name": "h-m-3", "outcome": "placed", "hypernode": "s3", "tier": 1, "pods": 2},
        {"name": "h-m-4", "outcome": "pending", "hypernode": None, "tier": None, "pods": 0},
    ]
    pods = [pod for part in parts for pod in part.placement.pods()]
    for mine, theirs in zip(pods, whole.pods(), strict=True):
        assert (mine.name, mine.node, mine.gpus) == (theirs.name, theirs.node, theirs.gpus)
    assert [one.position for one in parts[4].placement.unplaced] == [0, 1]
    alone = workbench.place(job(0), CLUSTER, "gang")
    assert isinstance(alone, Placement) and list(placed_jobs(alone)) == []


def test_metrics_of_the_whole_and_of_each_job() -> None:
    decision, whole = decided()
    metrics = measure_run([decision], CLUSTER)
    assert list(metrics.jobs) == ["ml/h"]
    assert list(metrics.members) == [f"ml/h/h-m-{i}" for i in range(4)]
    assert metrics.jobs["ml/h"].values == measure(whole, CLUSTER).values
    assert len(metrics.jobs["ml/h"].nodes) == 8
    assert metrics.members["ml/h/h-m-1"].nodes == ("node2", "node3")
    assert list(metrics.to_dict()["members"]) == list(metrics.members)
    assert "members" not in measure_run([], CLUSTER).to_dict()


def test_the_table_has_a_row_per_job() -> None:
    decision, _ = decided()
    table, *_ = session_tables("gang", [decision], measure_run([decision], CLUSTER))
    assert [row[:5] for row in rows(table)] == [
        ["ml/h", "placed", "s6", "3", "8 of 10"],
        *([f"  h-m-{i}", "placed", f"s{i}", "1", "2"] for i in range(4)),
        ["  h-m-4", "pending", "–", "–", "0 of 2"],
    ]


def test_json_names_the_hypernode_of_each_job() -> None:
    decision, _ = decided()
    record = session_record("gang", {}, [decision], measure_run([decision], CLUSTER))["jobs"][0]
    assert [(one["name"], one["hypernode"]) for one in record["jobs"]] == [
        *((f"h-m-{i}", f"s{i}") for i in range(4)),
        ("h-m-4", None),
    ]
    (plain,) = workbench.get_policy("gang").schedule([job(0)], CLUSTER)
    assert "jobs" not in decision_record(plain)


def test_pages_and_the_comparer_show_the_jobs() -> None:
    _, whole = decided()
    assert "<th" in placement_html(whole)
    for text in ("h-m-3", "s3"):
        assert text in placement_html(whole)
    compared = compare([GANG], CLUSTER, ["gang", "binpack"])
    page = report_html(compared)
    assert page.count("h-m-4") >= 2 and "s2" in page
    cell = comparison_view(compared)["jobs"][0]["cells"][0]
    assert cell["text"] == "8 of 10 pods in 4 of 5 Jobs"


def test_a_pending_one_says_what_is_missing() -> None:
    gang = hyper([job(i) for i in range(5)])
    policy = workbench.get_policy("gang")
    decisions = policy.schedule([gang], CLUSTER)
    advice = advise_session(policy, decisions, CLUSTER)["ml/h"]
    assert advice.headline == (
        "never as it is written, even with the cluster to itself: tier 1: 4 of the 5 HyperNodes needed are free and "
        "hold 2 pods × 8 GPUs; 4 of 4 are free of accelerator pods; h-m-4 waits: none of the 4 HyperNodes is left: "
        "4 for other Jobs; "
        "would help: lower minAvailable from 5 to 4"
    )
