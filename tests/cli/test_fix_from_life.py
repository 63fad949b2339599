"""What `workbench fix` says of the pending jobs of a made-up cluster with queues, roles, taints and running gangs.

64 nodes of 8 GPUs in racks of 4 and rows of 16. Skipped where there is no public data.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from workbench.evaluate.whatif.fix import fix_report
from workbench.formats.load import load
from workbench.policies import get_policy

POLICIES = ("volcano-1.13", "volcano-1.15", "gang")
TAINT = "team=inference:NoSchedule"

#: By policy and job: words of the cause, then the kinds of edits of the first fix and of the first one at no cost.
WANTED: dict[tuple[str, str], tuple[tuple[str, ...], set[str], set[str]]] = {
    ("volcano-1.13", "gpt-rack"): (("tier <= 1", "4 pods", "rack-05 (tier 1) holds 2"), {"tier"}, {"tier"}),
    ("volcano-1.13", "gpt-rack-2"): (("tier <= 1", "4 pods", "rack-05 (tier 1) holds 2"), {"tier"}, {"tier"}),
    ("volcano-1.13", "moe-row"): (("tier <= 2", "10 pods", "row-2 (tier 2) holds 8"), {"tier"}, {"tier"}),
    ("volcano-1.13", "nlp-next"): (("queue nlp", "48", "64", "24"), {"queue-capability"}, {"queue-capability"}),
    ("volcano-1.13", "h200-only"): (("no node has", "NVIDIA-H200", "64 have"), {"selector"}, {"selector"}),
    ("volcano-1.15", "gpt-rack-2"): (("tier <= 1", "4 pods", "rack-05 (tier 1) holds 2"), {"tier"}, {"tier"}),
    ("volcano-1.15", "elastic"): (("tier <= 2", "all 16 pending pods"), {"tier"}, {"tier"}),
    ("volcano-1.15", "nlp-next"): (("queue nlp", "48", "64", "24"), {"queue-capability"}, {"queue-capability"}),
    ("volcano-1.15", "h200-only"): (("no node has", "NVIDIA-H200", "64 have"), {"selector"}, {"selector"}),
    ("volcano-1.15", "moe-row"): (
        ("tier <= 2", "10 pods", "row-2 (tier 2) holds 8", "queue research", "272", "320", "80"),
        {"replicas"},
        {"queue-capability", "tier"},
    ),
    ("gang", "gpt-rack"): ((TAINT,), {"toleration"}, {"toleration"}),
    ("gang", "gpt-rack-2"): ((TAINT,), {"toleration"}, {"toleration"}),
    ("gang", "h200-only"): (
        ("no node has", "NVIDIA-H200", TAINT),
        {"selector", "toleration"},
        {"selector", "toleration"},
    ),
    ("gang", "moe-row"): (("other jobs come first", "nlp/nlp-next would wait"), {"priority"}, set()),
}


def kinds(fix: dict[str, Any] | None) -> set[str]:
    return set() if fix is None else {edit["kind"] for edit in fix["edits"]}


def free(report: dict[str, Any]) -> dict[str, Any] | None:
    """The first fix by which no other job loses anything and the job no pods."""
    for fix in report["fixes"]:
        harmless = all(effect["effect"] == "starts" for effect in fix["others"])
        if harmless and all(edit["class"] != "shrink" for edit in fix["edits"]):
            return fix
    return None


class Answers:
    """The reports of `fix_report` by policy and pending job; each is made when it is first looked up."""

    def __init__(self, cluster: Path) -> None:
        self.scenario = load(cluster)
        self.sessions = {
            name: get_policy(name).schedule(self.scenario.gangs, self.scenario.snapshot) for name in POLICIES
        }
        self._known: dict[tuple[str, str], dict[str, Any]] = {}

    def pending(self) -> set[tuple[str, str]]:
        return {(name, one.gang.name) for name, session in self.sessions.items() for one in session if not one.placed}

    def __getitem__(self, asked: tuple[str, str]) -> dict[str, Any]:
        if asked not in self._known:
            name, job = asked
            decisions, (gangs, snapshot) = self.sessions[name], (self.scenario.gangs, self.scenario.snapshot)
            (key,) = (one.gang.key for one in decisions if one.gang.name == job)
            self._known[asked] = fix_report(get_policy(name), gangs, snapshot, key, decisions=decisions).to_dict()
        return self._known[asked]


@pytest.fixture(scope="module")
def reports(live_cluster: Path) -> Answers:
    """The answers about all pending jobs under each policy, by policy and name of the job."""
    return Answers(live_cluster)


@pytest.mark.slow
def test_every_pending_job_is_answered(reports: Answers) -> None:
    assert reports.pending() == set(WANTED)


@pytest.mark.parametrize(("policy", "job"), WANTED)
def test_headline_and_fixes(reports: Answers, policy: str, job: str) -> None:
    words, first, at_no_cost = WANTED[policy, job]
    report = reports[policy, job]
    cause = report["headline"].partition("; would help")[0]
    assert all(word in cause for word in words), cause
    assert kinds(report["fixes"][0]) == first and kinds(free(report)) == at_no_cost
    assert not report["never"] and all(fix["verified"] for fix in report["fixes"])


def test_amounts_are_the_smallest_that_help(reports: Answers) -> None:
    (edit,) = reports["volcano-1.15", "nlp-next"]["fixes"][0]["edits"]
    assert (edit["from"], edit["to"]) == ({"nvidia.com/gpu": "64"}, {"nvidia.com/gpu": "72"})
    pair = {edit["kind"]: edit["to"] for edit in free(reports["volcano-1.15", "moe-row"])["edits"]}
    assert pair == {"queue-capability": {"nvidia.com/gpu": "352"}, "tier": 3}


@pytest.mark.slow
@pytest.mark.parametrize(("policy", "job"), WANTED)
def test_the_changed_input_places_the_job(run: Run, live_cluster: Path, tmp_path: Path, policy: str, job: str) -> None:
    changed = tmp_path / "changed.yaml"
    said = run("fix", live_cluster, "--job", job, "--policy", policy, "-o", "json", "--out", changed)
    assert said.status == 0 and json.loads(said.out)["fixes"][0]["commands"]
    jobs = run("place", changed, "--policy", policy, "-o", "json").json["jobs"]
    assert {one["outcome"] for one in jobs if one["name"] == job} == {"placed"}


@pytest.mark.slow
def test_a_job_that_lost_a_rack_is_not_told_to_end_itself(run: Run, live_cluster: Path) -> None:
    """The gang llama-70b lost its pod on rack-03. Where another gang ends, a job that comes first takes the room."""
    lost = [part for i in (12, 13, 14, 15) for part in ("--lose", f"gpu-0{i}@10")]
    rows = run("run", live_cluster, *lost, "--until", "20", "-o", "json").json["jobs"]
    (row,) = [row for row in rows if row["name"] == "llama-70b"]
    edits = [edit for fix in row["advice"]["fixes"] for edit in fix["edits"]]
    assert "tier" in {edit["kind"] for edit in edits}
    assert all("llama-70b" not in edit["subject"] for edit in edits if edit["class"] != "job")


@pytest.mark.slow
def test_a_master_and_workers_that_no_rack_can_hold(run: Run, live_cluster: Path, public_data: Path) -> None:
    """Eight whole nodes in racks of four: never, whoever ends, until the job is changed."""
    train = public_data / "pending-from-life" / "train.yaml"
    said = run("fix", live_cluster, train, "--job", "my-llm", "-o", "json")
    report = json.loads(said.out)
    assert report["never_as_written"] and not report["never"]
    assert "never as it is written" in report["headline"] and "has room for 4 of its 8 pods" in report["headline"]


@pytest.fixture
def small(run: Run, tmp_path: Path):
    """A function that answers about a job on the tree of the design document (leaves of two nodes of 8 GPUs)."""
    tree = [Path("datasets/three-level-tree") / name for name in ("hypernodes.yaml", "nodes.yaml")]

    def call(job: str, *options: str) -> dict[str, Any]:
        (tmp_path / "job.yaml").write_text(job, encoding="utf-8")
        return json.loads(run("fix", *tree, tmp_path / "job.yaml", "-o", "json", *options).out)[0]

    return call


def _job(tasks: str, minimum: int, tier: int | None = None) -> str:
    topology = f"  networkTopology: {{mode: hard, highestTierAllowed: {tier}}}\n" if tier else ""
    made = "".join(
        f"  - name: {name}\n    replicas: {count}\n    template: {{spec: {{containers: [{{name: c, image: i, "
        f"resources: {{requests: {{nvidia.com/gpu: 8}}, limits: {{nvidia.com/gpu: 8}}}}}}]}}}}\n"
        for name, count in (part.split(":") for part in tasks.split())
    )
    return (
        "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: j}\nspec:\n  schedulerName: volcano\n"
        f"  minAvailable: {minimum}\n{topology}  tasks:\n{made}"
    )


@pytest.mark.parametrize("policy", ["volcano-1.13", "volcano-1.15"])
def test_roles_share_the_nodes_of_a_leaf(small, policy: str) -> None:
    report = small(_job("master:1 worker:3", 4, 1), "--policy", policy)
    assert "s0 (tier 1) has room for 2 of its 4 pods" in report["headline"]


@pytest.mark.parametrize("policy", ["volcano-1.13", "volcano-1.15", "gang", "binpack"])
def test_more_pods_than_nodes_are_never_placed_as_written(small, policy: str) -> None:
    report = small(_job("worker:100", 100), "--policy", policy)
    assert report["never_as_written"] and "never as it is written" in report["headline"]
    assert {"shrink"} == {edit["class"] for fix in report["fixes"] for edit in fix["edits"]}
