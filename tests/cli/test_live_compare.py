"""`workbench live compare --recorded` on a small recording of our own."""

from __future__ import annotations

import copy
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from workbench.cluster.observed import observed_gangs
from workbench.cluster.state import ClusterState
from workbench.evaluate.audit import audit
from workbench.formats.load import load_objects
from workbench.policies import get_policy

CONFIG = """\
actions: "enqueue, allocate"
tiers:
- plugins:
  - name: gang
  - name: predicates
  - name: nodeorder
  - name: network-topology-aware
"""
CONTAINER = {"name": "c", "image": "x", "resources": {"requests": {"nvidia.com/gpu": "4"}}}
TEMPLATE = {"spec": {"schedulerName": "volcano", "containers": [CONTAINER]}}


def recorded_job(name: str, *nodes: str | None) -> dict[str, Any]:
    spec = {
        "schedulerName": "volcano",
        "queue": "default",
        "minAvailable": len(nodes),
        "networkTopology": {"mode": "hard", "highestTierAllowed": 1},
        "tasks": [{"name": "w", "replicas": len(nodes), "minAvailable": len(nodes), "template": TEMPLATE}],
    }
    manifest = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": name}, "spec": spec}
    group = {
        "spec": {
            "minMember": len(nodes),
            "queue": "default",
            "networkTopology": spec["networkTopology"],
        }
    }
    pods = {f"{name}-w-{i}": node for i, node in enumerate(nodes)}
    return {"manifest": manifest, "stored_spec": spec, "pods": pods, "podgroup": group}


def session(*jobs: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Two leaves with two nodes of 4 GPUs each."""
    hypernodes = [
        {"name": f"leaf{i}", "tier": 1, "type": "Node", "members": [f"n{2 * i}", f"n{2 * i + 1}"]} for i in range(2)
    ]
    nodes = [f"n{i}" for i in range(4)]
    found = {"seed": 7, "release": "1.15.1", "config": CONFIG, "gpus": 4, "nodes": nodes, "hypernodes": hypernodes}
    return {**found, "jobs": list(jobs), **changes}


@pytest.fixture
def recording(tmp_path: Path) -> Any:
    def write(*sessions: dict[str, Any]) -> Path:
        path = tmp_path / "sessions.jsonl"
        lines = [{"about": "a recording"}, *sessions]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return path

    return write


AGREEING = session(recorded_job("a", "n2", "n3"), recorded_job("b", "n1", "n0"), recorded_job("c", None, None))


def test_a_scheduler_that_chose_another_equal_agrees(run: Run, recording: Any) -> None:
    result = run("live", "compare", "--recorded", recording(AGREEING), "-o", "json")
    assert result.status == 0
    rows = [(one["job"], one["verdict"], one["pods"], one["observed_domain"], one["equals"]) for one in result.json]
    assert rows == [
        ("default/a", "placed", 2, "leaf1", ["leaf0", "leaf1"]),
        ("default/b", "placed", 2, "leaf0", ["leaf0"]),
        ("default/c", "pending", 0, None, []),
    ]
    assert all(one["agrees"] and one["policy"] == "volcano-1.15" for one in result.json)


def test_recorded_sessions_are_no_running_gangs(run: Run, recording: Any) -> None:
    out = run("live", "compare", "--recorded", recording(AGREEING)).out
    assert out.startswith("volcano-1.15: none of 2 recorded placements could have been closer\n")
    assert out.splitlines()[2].split() == ["session", "job", "pods", "is", "in", "could", "be", "in", "pairs", "beyond"]
    assert "asked about the same session" in out
    assert "taken off" not in out


@pytest.mark.parametrize(
    ("jobs", "difference"),
    [
        (
            [recorded_job("a", "n1", "n2")],
            "farther apart than necessary: the whole cluster (tier 2) instead of leaf0 (tier 1) or its equal leaf1",
        ),
        ([recorded_job("a", None, None)], "2 pods placed, but the cluster placed none"),
        ([recorded_job("a", "n0", None)], "2 pods placed, but the cluster placed 1"),
        (
            [recorded_job("a", "n0", "n1"), recorded_job("b", "n2", "n3"), recorded_job("c", "n0", "n1")],
            "pending, but the cluster placed 2 pods",
        ),
        (
            [recorded_job("a", "n0", "elsewhere")],
            "farther apart than necessary: the whole cluster (tier 2) instead of leaf0 (tier 1) or its equal leaf1",
        ),
    ],
)
def test_what_the_rules_do_not_allow_is_told(run: Run, recording: Any, jobs: list[Any], difference: str) -> None:
    result = run("live", "compare", "--recorded", recording(session(*jobs)), "-o", "json")
    assert result.status == 1
    assert (result.json[-1]["agrees"], result.json[-1]["difference"]) == (False, difference)


def test_the_table_counts_and_lists_what_differs(run: Run, recording: Any) -> None:
    path = recording(AGREEING, session(recorded_job("a", None, None), seed=8))
    result = run("live", "compare", "--recorded", path, "--policies", "volcano-1.15,binpack")
    assert result.status == 1
    lines = [line.split() for line in result.out.splitlines()]
    assert ["volcano-1.15", "4", "3", "3", "3", "2", "of", "2"] in lines
    assert ["8", "default/a", "binpack", "2", "pods", "placed,", "but", "the", "cluster", "placed", "none"] in lines


def test_a_compressed_recording_is_read(run: Run, recording: Any, tmp_path: Path) -> None:
    packed = tmp_path / "sessions.jsonl.gz"
    packed.write_bytes(gzip.compress(recording(AGREEING).read_bytes()))
    assert run("live", "compare", "--recorded", packed, "-o", "json").status == 0
    packed.write_bytes(packed.read_bytes()[:-20])
    result = run("live", "compare", "--recorded", packed)
    assert result.status == 2 and "not gzip" in result.err


def without(key: str) -> dict[str, Any]:
    made = copy.deepcopy(AGREEING)
    del made[key]
    return made


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (without("config"), "line 2, config: the field is missing (found nothing, expected text)"),
        (without("nodes"), "line 2, nodes: the field is missing (found nothing, expected a list)"),
        (session({"manifest": {}}), "line 2, jobs[0].manifest.metadata: the field is missing"),
        (
            session(recorded_job("a", "n0"), release="0.9.1"),
            "line 2, release: no policy stands for the release (found '0.9.1'",
        ),
        (session(recorded_job("a", "n0"), config="actions: ["), "line 2"),
    ],
)
def test_a_recording_that_cannot_be_replayed_is_one_line(run: Run, recording: Any, broken: Any, said: str) -> None:
    result = run("live", "compare", "--recorded", recording(broken))
    assert (result.status, result.out) == (2, "")
    assert said in result.err and len(result.err.splitlines()) == 1


def test_a_file_that_is_no_recording_is_one_line(run: Run, tmp_path: Path) -> None:
    (tmp_path / "x").write_text("{]\n")
    result = run("live", "compare", "--recorded", tmp_path / "x")
    assert result.status == 2
    assert result.err.startswith(f"workbench: {tmp_path / 'x'}: line 1: not JSON")
    assert run("live", "compare", "--recorded", tmp_path / "none").status == 2


def test_the_running_gangs_of_a_file_are_placed_anew(run: Run) -> None:
    result = run("live", "compare", "datasets/demo", "--policies", "volcano-1.13,volcano-1.15", "-o", "json")
    assert result.status == 0
    running = [one for one in result.json if "cluster_says" not in one]
    assert [(one["job"], one["policy"], one["observed_domain"]) for one in running] == [
        ("serving/chat-0", "volcano-1.13", "s0"),
        ("serving/chat-0", "volcano-1.15", "s0"),
        ("serving/chat-1", "volcano-1.13", "s1"),
        ("serving/chat-1", "volcano-1.15", "s1"),
    ]
    lines = [line.split() for line in run("live", "compare", "datasets/demo").out.splitlines()]
    assert ["serving/chat-1", "1", "s1", "(tier", "1)", "s0", "(tier", "1)", "0"] in lines
    waiting = [one for one in result.json if "cluster_says" in one]
    assert [(one["job"], one["policy"]) for one in waiting] == [
        (f"default/{name}", f"volcano-1.{release}")
        for name in ("hard-tier-2", "nccl-pair", "pytorch-job", "soft-six")
        for release in (13, 15)
    ]
    assert {(one["observed_verdict"], one["verdict"], one["agrees"]) for one in waiting} == {
        ("not tried", "placed", True)
    }
    assert ["default/nccl-pair", "the", "cluster", "nothing:", "no", "condition", "and", "no", "event"] in lines


def test_a_recording_and_a_path_together_are_refused(run: Run, tmp_path: Path) -> None:
    result = run("live", "compare", "datasets/demo", "--recorded", tmp_path / "x")
    assert result.status == 2 and result.err.startswith("workbench: --recorded: nothing else is read")


def manifest(kind: str, name: str, version: str = "v1", labels: dict[str, str] | None = None, **parts: Any) -> Any:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "annotations": labels or {}}, **parts}


def waiting_cluster(gpus: int, *others: Any) -> list[Any]:
    """Two nodes of 4 GPUs, and a PodGroup of two pods of which Volcano says that they do not fit."""
    amounts = {"cpu": "8", "memory": "8Gi", "pods": "10", "nvidia.com/gpu": "4"}
    container = {"name": "c", "resources": {"limits": {"nvidia.com/gpu": str(gpus)}}}
    spec = {"schedulerName": "volcano", "containers": [container]}
    told = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/2 nodes are available"}
    pods = [
        manifest(
            "Pod",
            f"big-{i}",
            labels={"scheduling.k8s.io/group-name": "big"},
            spec=spec,
            status={"phase": "Pending", "conditions": [told]},
        )
        for i in range(2)
    ]
    unschedulable = {"type": "Unschedulable", "status": "True", "reason": "NotEnoughResources", "message": "2/2 tasks"}
    scheduled = {"type": "Scheduled", "status": "True", "reason": "tasks in gang are ready", "message": "old"}
    group = manifest(
        "PodGroup",
        "big",
        "scheduling.volcano.sh/v1beta1",
        spec={"minMember": 2},
        status={"phase": "Inqueue", "conditions": [scheduled, unschedulable]},
    )
    nodes = [manifest("Node", name, status={"allocatable": amounts}) for name in ("a", "b")]
    return [*nodes, group, *pods, *others]


def event(name: str, about: str, message: str, last: str) -> Any:
    involved = {"kind": "Pod", "namespace": "default", "name": about}
    return manifest(
        "Event", name, involvedObject=involved, reason="FailedScheduling", message=message, lastTimestamp=last
    )


def compared(run: Run, tmp_path: Path, *objects: Any, **options: Any) -> Any:
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}))
    return run("live", "compare", path, "--policies", "volcano-1.15,binpack", *(["-o", "json"] if options else []))


def test_a_job_that_waits_is_told_in_the_words_of_the_cluster_and_of_each_policy(run: Run, tmp_path: Path) -> None:
    old = event("e1", "big-1", "no node", "2026-01-01T00:00:00Z")
    new = event("e2", "big-1", "still\nno node", "2026-01-02T00:00:00Z")
    other = event("e3", "elsewhere", "another pod", "2026-01-02T00:00:00Z")
    objects = waiting_cluster(6, old, other, new)
    result = compared(run, tmp_path, *objects, json=True)
    assert result.status == 0
    assert [(one["policy"], one["verdict"], one["observed_verdict"], one["agrees"]) for one in result.json] == [
        ("volcano-1.15", "pending", "pending", True),
        ("binpack", "pending", "pending", True),
    ]
    said = [(one["source"], one["kind"], one["objects"], one["message"]) for one in result.json[0]["cluster_says"]]
    assert said == [
        ("condition", "PodGroup", ["default/big"], "2/2 tasks"),
        ("condition", "Pod", ["default/big-0", "default/big-1"], "0/2 nodes are available"),
        ("event", "Pod", ["default/big-1"], "still\nno node"),
        ("event", "Pod", ["default/big-1"], "no node"),
    ]
    assert {one["scheduler"] for one in result.json} == {"volcano"}
    assert "nvidia.com/gpu" in str(result.json[0]["reasons"])
    lines = [" ".join(line.split()) for line in compared(run, tmp_path, *objects).out.splitlines()]
    at = lines.index("1 job waits")
    assert lines[at + 4 : at + 8] == [
        "default/big the cluster PodGroup default/big: NotEnoughResources: 2/2 tasks",
        "default/big the cluster 2 Pods: Unschedulable: 0/2 nodes are available",
        "default/big the cluster Pod default/big-1: FailedScheduling: still no node (event)",
        "default/big the cluster Pod default/big-1: FailedScheduling: no node (event)",
    ]
    assert lines[at + 8].startswith("default/big volcano-1.15 pending: ")
    assert lines[at + 9].startswith("default/big binpack pending: ")


def test_a_job_that_the_cluster_left_pending_and_a_policy_places_differs(run: Run, tmp_path: Path) -> None:
    result = compared(run, tmp_path, *waiting_cluster(4), json=True)
    assert result.status == 1
    assert {one["difference"] for one in result.json} == {"2 pods placed, but the cluster placed none"}
    assert [one["reasons"] for one in result.json] == [[], []]


def test_jobs_that_wait_compete_for_the_same_nodes(run: Run, tmp_path: Path) -> None:
    first, second = waiting_cluster(4), json.loads(json.dumps(waiting_cluster(4)[2:]).replace("big", "huge"))
    result = compared(run, tmp_path, *first, *second, json=True)
    rows = [(one["job"], one["verdict"]) for one in result.json if one["policy"] == "binpack"]
    assert rows == [("default/big", "placed"), ("default/huge", "pending")]


TREE = """\
one rail of 3 tiers:       spine
                      row0        row1
                    leaf0 leaf1  leaf2 leaf3        leaf i holds n{2i}, n{2i+1} with 4 GPUs each
"""


def tree() -> list[Any]:
    """The nodes and HyperNodes of `TREE`."""

    def hypernode(name: str, tier: int, kind: str, *members: str) -> Any:
        chosen = [{"type": kind, "selector": {"exactMatch": {"name": one}}} for one in members]
        spec = {"tier": tier, "members": chosen}
        return {
            "apiVersion": "topology.volcano.sh/v1alpha1",
            "kind": "HyperNode",
            "metadata": {"name": name},
            "spec": spec,
        }

    amounts = {"cpu": "8", "memory": "8Gi", "pods": "10", "nvidia.com/gpu": "4"}
    return [
        *(manifest("Node", f"n{i}", status={"allocatable": amounts}) for i in range(8)),
        *(hypernode(f"leaf{i}", 1, "Node", f"n{2 * i}", f"n{2 * i + 1}") for i in range(4)),
        *(hypernode(f"row{i}", 2, "HyperNode", f"leaf{2 * i}", f"leaf{2 * i + 1}") for i in range(2)),
        hypernode("spine", 3, "HyperNode", "row0", "row1"),
    ]


def running(name: str, *nodes: str, topology: Any = None, gpus: int = 4) -> list[Any]:
    """A PodGroup with a running pod per node."""
    container = {"name": "c", "resources": {"limits": {"nvidia.com/gpu": str(gpus)}}}
    pods = [
        manifest(
            "Pod",
            f"{name}-{i}",
            labels={"scheduling.k8s.io/group-name": name},
            spec={"schedulerName": "volcano", "containers": [container], "nodeName": node},
            status={"phase": "Running"},
        )
        for i, node in enumerate(nodes)
    ]
    spec = {"minMember": len(nodes), **({} if topology is None else {"networkTopology": topology})}
    return [manifest("PodGroup", name, "scheduling.volcano.sh/v1beta1", spec=spec), *pods]


SOFT = {"mode": "soft"}
HARD_2 = {"mode": "hard", "highestTierAllowed": 2}


def test_gangs_are_sorted_by_loss_and_the_loss_is_said_in_a_sentence(run: Run, tmp_path: Path) -> None:
    # far could take leaf0 and n7; near sits as close as it could; plain has no constraint and no choice.
    objects = [*tree(), *running("far", "n0", "n4", topology=SOFT), *running("near", "n2", "n3", topology=SOFT)]
    result = compared(run, tmp_path, *objects, *running("plain", "n5", "n6"), json=True)
    assert result.status == 1
    rows = {(one["job"], one["policy"]): one for one in result.json}
    far = rows["default/far", "volcano-1.15"]
    assert far["is_in"] == {"hypernode": "spine", "tier": 3} and far["could_be_in"]["tier"] == 1
    assert (far["could_be_closer"], far["pairs"], far["pairs_beyond"]) == (True, 1, 1)
    assert far["difference"].startswith("farther apart than necessary: spine (tier 3) instead of leaf0 (tier 1)")
    near = rows["default/near", "volcano-1.15"]
    assert near["is_in"]["tier"] == near["could_be_in"]["tier"] == 1 and near["agrees"] and not near["pairs_beyond"]
    assert rows["default/plain", "volcano-1.15"]["is_in"] == {"hypernode": "row1", "tier": 2}

    path = tmp_path / "cluster.json"
    result = run("live", "compare", path, "--policies", "volcano-1.15")
    lines = [" ".join(line.split()) for line in result.out.splitlines()]
    assert lines[0] == "volcano-1.15: 1 of 3 running gangs could be closer: default/far spine → leaf0"
    assert lines[2] == "job pods is in could be in pairs beyond"
    assert lines[4] == "default/far 2 spine (tier 3) leaf0 (tier 1) 1 of 1"
    assert lines[5].startswith("default/near 2 leaf1 (tier 1) leaf")
    for word in ("is in: ", "could be in: ", "pairs beyond: ", "verdict: ", "HyperNode: “2 of 4”: "):
        assert any(line.startswith(word) for line in lines)
    assert max(map(len, result.out.splitlines())) <= 120


def as_close() -> list[Any]:
    """A gang in row0, where another job holds half a node; volcano-1.13 takes row1 for it, and by no means row0."""
    return [*tree(), *running("other", "n0", gpus=2), *running("ours", "n1", "n2", "n3", topology=HARD_2)]


def test_another_place_that_is_as_close_is_no_difference(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": as_close()}))
    result = run("live", "compare", path, "--policies", "volcano-1.13", "-o", "json")
    told = result.json[-1]
    assert (told["job"], told["equals"], told["difference"]) == ("default/ours", ["row1"], "")
    assert told["is_in"] == {"hypernode": "row0", "tier": 2} and told["could_be_in"] == {"hypernode": "row1", "tier": 2}
    assert not told["could_be_closer"] and result.status == 0
    out = run("live", "compare", path, "--policies", "volcano-1.13").out
    assert out.startswith("volcano-1.13: none of 2 running gangs could be closer\n")


def test_by_the_rules_alone_another_place_that_is_as_close_differs() -> None:
    objects = load_objects("-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": as_close()}))
    *_, one = observed_gangs(ClusterState(objects, any_scheduler=True))
    told = audit([one.gang], one.snapshot, 0, one.nodes, get_policy("volcano-1.13"))
    assert told.difference == "as close, but not by the policy's rules: row0 (tier 2) instead of row1 (tier 2)"


def test_pods_that_no_hypernode_holds_are_in_the_whole_cluster(run: Run, tmp_path: Path) -> None:
    without_spine = [one for one in tree() if one["metadata"]["name"] != "spine"]
    objects = [*without_spine, *running("far", "n0", "n4", topology=SOFT)]
    out = compared(run, tmp_path, *objects).out
    assert "default/far the whole cluster → leaf0" in out and "cluster-top" not in out


@pytest.mark.parametrize("form", ["table", "wide", "html"])
def test_every_form_has_the_loss(run: Run, tmp_path: Path, form: str) -> None:
    path = tmp_path / "cluster.json"
    objects = [*tree(), *running("far", "n0", "n4", topology=SOFT)]
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    result = run("live", "compare", path, "--policies", "volcano-1.15", "-o", form)
    assert "1 of 1 running gang could be closer: default/far spine → leaf0" in result.out
    assert ("the policy chooses" in result.out) == (form != "table")
    assert ("<!DOCTYPE html>" in result.out) == (form == "html")
    if form == "html":
        page = tmp_path / "page.html"
        run("live", "compare", path, "--policies", "volcano-1.15", "-o", form, "--out", page)
        assert page.read_text() == result.out


def test_the_last_moment_of_a_recording_is_compared(run: Run, tmp_path: Path) -> None:
    lines: list[Any] = [{"recording": 1, "context": "c", "began": "2026-11-27T01:00:00.000+00:00"}]
    lines.append({"t": 0.0, "put": tree(), "gone": []})
    lines.append({"t": 60.0, "put": running("far", "n0", "n4", topology=SOFT), "gone": []})
    for line in lines[1:]:
        for one in line["put"]:
            if one["kind"] in ("Pod", "PodGroup"):
                one["metadata"]["namespace"] = "default"
    path = tmp_path / "tuesday.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    result = run("live", "compare", path, "--policies", "volcano-1.15")
    assert result.out.startswith("volcano-1.15: 1 of 1 running gang could be closer: default/far spine → leaf0\n")
    assert result.err == "note: the last moment of the recording, 01:01:00.0 UTC\n"
    path.write_text("{}\n")
    refused = run("live", "compare", path)
    assert refused.status == 2 and "no recording" in refused.err


@pytest.mark.parametrize("policies", ["", " , "])
def test_no_policies_are_refused_not_replaced_by_the_usual_ones(run: Run, policies: str) -> None:
    result = run("live", "compare", "datasets/demo", "--policies", policies)
    assert result.status == 2 and "--policies: no policy given" in result.err
