"""`workbench run`: manifests in, the life of their jobs out."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.cli.conftest import Run
from tests.control.manifests import job, small_cluster, task
from workbench.control.cluster import EmbeddedCluster
from workbench.formats.write_manifests import to_yaml


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    path = tmp_path / "cluster.yaml"
    path.write_text(to_yaml(small_cluster()), encoding="utf-8")
    return path


@pytest.fixture
def jobs(tmp_path: Path) -> Path:
    path = tmp_path / "jobs.yaml"
    path.write_text(to_yaml([job(plugins={"svc": [], "env": []})]), encoding="utf-8")
    return path


def test_json_has_jobs_pods_with_environment_events_and_the_time(run: Run, cluster: Path, jobs: Path) -> None:
    result = run("run", cluster, jobs, "--run-seconds", "60", "-o", "json")
    assert result.status == 0 and result.err == ""
    found = result.json
    assert found["now"] == 60
    (row,) = found["jobs"]
    assert (row["name"], row["phase"], row["succeeded"], row["hypernode"], row["tier"]) == (
        "train",
        "Completed",
        2,
        "leaf0",
        1,
    )
    # While it runs: the ConfigMap of its hosts goes when a Job ends.
    first, second = run("run", cluster, jobs, "-o", "json").json["pods"]
    assert first["node"] != second["node"] and first["gpus"] == list(range(8))
    assert second["environment"]["main"]["VC_TASK_INDEX"] == "1"
    assert second["environment"]["main"]["VC_WORKER_HOSTS"] == "train-worker-0.train,train-worker-1.train"
    assert second["environment"]["main"]["CUDA_VISIBLE_DEVICES"] == "0,1,2,3,4,5,6,7"
    assert [event["reason"] for event in found["events"]].count("Completed") == 1


def test_yaml_is_every_object_as_stored(run: Run, cluster: Path, jobs: Path) -> None:
    result = run("run", cluster, jobs, "-o", "yaml")
    objects = list(yaml.safe_load_all(result.out))
    kinds = {one["kind"] for one in objects}
    assert {"Node", "HyperNode", "Job", "PodGroup", "Pod", "Service", "ConfigMap", "NetworkPolicy"} <= kinds
    (stored,) = [one for one in objects if one["kind"] == "Job"]
    assert stored["spec"]["queue"] == "default" and stored["status"]["state"]["phase"] == "Running"


def test_the_table_says_why_a_job_waits_and_the_status_is_1(run: Run, cluster: Path, tmp_path: Path) -> None:
    (tmp_path / "big.yaml").write_text(to_yaml([job(tasks=[task(replicas=9)])]), encoding="utf-8")
    result = run("run", cluster, tmp_path / "big.yaml")
    assert result.status == 1
    assert "default/train waits: " in result.out and "Insufficient nvidia.com/gpu" in result.out


def test_a_job_that_waits_has_the_headline_of_place_with_what_would_help(
    run: Run, cluster: Path, tmp_path: Path
) -> None:
    hard = job(tasks=[task(replicas=3)], networkTopology={"mode": "hard", "highestTierAllowed": 1})
    (tmp_path / "hard.yaml").write_text(to_yaml([hard]), encoding="utf-8")
    placed = run("place", cluster, tmp_path / "hard.yaml", "-o", "json")
    (row,) = run("run", cluster, tmp_path / "hard.yaml", "-o", "json").json["jobs"]
    assert row["advice"] == placed.json["jobs"][0]["advice"] and row["advice"]["fixes"]
    told = run("run", cluster, tmp_path / "hard.yaml")
    assert f"default/train waits: {row['advice']['headline']}\n" in told.out
    assert f"  when it was tried: {row['waits_for']}\n" in told.out


def test_the_jobs_of_a_hyper_job_share_their_advice(run: Run, tmp_path: Path) -> None:
    assert run("topology", "generate", "balanced", "--set", "sizes=2,1", "--out", tmp_path / "c.yaml").status == 0
    result = run("run", tmp_path / "c.yaml", "datasets/hyperjob/small.yaml", "-o", "json")
    advice = [row["advice"]["headline"] for row in result.json["jobs"]]
    assert len(advice) == 4 and len(set(advice)) == 1
    assert "3 HyperNodes needed" in advice[0]


def test_a_pod_fails_and_a_node_is_lost_at_the_times_given(run: Run, cluster: Path, jobs: Path) -> None:
    wishes = ("--fail", "train-worker-1@10", "--lose", "n0@20", "--until", "30")
    events = run("run", cluster, jobs, *wishes, "-o", "json").json["events"]
    seen = [(event["at"], event["reason"]) for event in events if event["warning"]]
    assert (10, "Failed") in seen and (20, "NodeLost") in seen


def test_a_hypernode_fails_as_one_event_and_the_next_session_sees_all_of_it(
    run: Run, cluster: Path, tmp_path: Path
) -> None:
    again = job(tasks=[task(replicas=2)], policies=[{"event": "PodEvicted", "action": "RestartJob"}])
    (tmp_path / "again.yaml").write_text(to_yaml([again]), encoding="utf-8")
    for option in ("--lose", "--fail-node"):
        result = run("run", cluster, tmp_path / "again.yaml", option, "leaf0@20", "--until", "30", "-o", "json").json
        assert sorted(pod["node"] for pod in result["pods"]) == ["n2", "n3"]
        tried = [e for e in result["events"] if e["at"] == 20 and e["reason"] in ("Scheduled", "Unschedulable")]
        assert [event["reason"] for event in tried] == ["Scheduled"]


def test_a_node_that_is_not_ready_keeps_its_pods_and_takes_no_others(run: Run, cluster: Path, tmp_path: Path) -> None:
    late = job("late", tasks=[task(replicas=1)])
    (tmp_path / "first.yaml").write_text(to_yaml([job(tasks=[task(replicas=2)])]), encoding="utf-8")
    (tmp_path / "late.yaml").write_text(to_yaml([late]), encoding="utf-8")
    store = tmp_path / "store.json"
    arguments = ("run", cluster, tmp_path / "first.yaml", "--not-ready", "spine@10", "--until", "20")
    assert run(*arguments, "--store", store).status == 0
    result = run("run", tmp_path / "late.yaml", "--store", store, "--until", "30", "-o", "json")
    assert {pod["name"]: pod["phase"] for pod in result.json["pods"]} == {
        "train-worker-0": "Running",
        "train-worker-1": "Running",
        "late-worker-0": "Pending",
    }
    assert "4 node(s) were not ready" in result.out


def test_a_gpu_fails_with_the_pods_on_it_and_nobody_gets_it(run: Run, cluster: Path, tmp_path: Path) -> None:
    again = job(
        tasks=[task(replicas=2, gpus=4)],
        policies=[{"event": "PodFailed", "action": "RestartJob"}],
        networkTopology={"mode": "hard", "highestTierAllowed": 1},
    )
    (tmp_path / "again.yaml").write_text(to_yaml([again]), encoding="utf-8")
    inputs = (cluster, tmp_path / "again.yaml")
    before = run("run", *inputs, "-o", "json").json["pods"]
    hit, gpu = before[0]["node"], before[0]["gpus"][0]
    wishes = ("--fail-npu", f"{hit}:{gpu}@10", "--until", "20")
    after = run("run", *inputs, *wishes, "-o", "json").json
    assert [pod["phase"] for pod in after["pods"]] == ["Running", "Running"]
    assert all(pod["node"] != hit or gpu not in pod["gpus"] for pod in after["pods"])
    assert [event["message"] for event in after["events"] if event["reason"] == "FaultyGpu"] == [f"GPU {gpu} failed"]


def test_a_store_goes_on_where_it_stopped(run: Run, cluster: Path, jobs: Path, tmp_path: Path) -> None:
    store = tmp_path / "store.json"
    first = run("run", cluster, jobs, "--run-seconds", "60", "--until", "30", "--store", store, "-o", "json")
    assert first.json["now"] == 30 and first.json["jobs"][0]["phase"] == "Running"
    second = run("run", "--store", store, "-o", "json")
    assert second.json["now"] == 60 and second.json["jobs"][0]["phase"] == "Completed"


@pytest.mark.slow
def test_ctrl_c_stops_between_two_steps_and_leaves_a_store(cluster: Path, tmp_path: Path) -> None:
    # The Job restarts for as long as somebody watches.
    again = task(replicas=2, gpus=1)
    again["template"]["metadata"] = {"annotations": {"topology-workbench/exit-code": "1"}}
    forever = job(tasks=[again], policies=[{"event": "PodFailed", "action": "RestartJob"}], maxRetry=2_000_000)
    # The cluster warns about it once the command listens to Ctrl-C; the finding of the review comes before.
    forever["spec"]["nonsense"] = 1
    (tmp_path / "forever.yaml").write_text(to_yaml([forever]), encoding="utf-8")
    store = tmp_path / "store.json"
    command = [sys.executable, "-P", "-m", "workbench", "run", str(cluster), str(tmp_path / "forever.yaml")]
    command += ["--run-seconds", "1", "--store", str(store), "-o", "json"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "PYTHONUNBUFFERED": "1"}, text=True
    )
    assert process.stderr is not None and "a cluster refuses" in process.stderr.readline()
    assert "nonsense is unknown and not read" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert "stopped at" in err and str(store) in err
    stopped = json.loads(out)["now"]
    assert json.loads(store.read_text())["now"] == stopped


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--fail", "nobody"], "--fail: no name and time"),
        (["--fail", "nobody@1"], "--fail: unknown running pod 'nobody'"),
        (["--lose", "nowhere@1"], "--lose: unknown node or HyperNode 'nowhere'"),
        (["--fail-node", "nowhere@1"], "--fail-node: unknown node or HyperNode 'nowhere'"),
        (["--not-ready", "nowhere@1"], "--not-ready: unknown node or HyperNode 'nowhere'"),
        (["--fail-npu", "n0@1"], "--fail-npu: no name and time"),
        (["--fail-npu", "n0:8@1"], "--fail-npu n0:8: n0: no such healthy GPU"),
        (["--until", "-1"], "--until"),
        (["-o", "csv"], "-o"),
        (["--policy", "nonsense"], "unknown policy"),
    ],
)
def test_bad_wishes_are_one_line(run: Run, cluster: Path, jobs: Path, arguments: list[str], said: str) -> None:
    result = run("run", cluster, jobs, *arguments)
    assert result.status == 2 and said in result.err and result.err.count("\n") == 1 and result.out == ""


def test_a_refused_object_names_file_and_document_and_leaves_no_store(run: Run, cluster: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text(to_yaml([job("good"), job(queue="missing")]), encoding="utf-8")
    store = tmp_path / "store.json"
    result = run("run", cluster, bad, "--store", store)
    assert result.status == 2 and f"{bad}: document 2 " in result.err and "missing" in result.err
    assert not store.exists()


def test_a_broken_store_is_not_overwritten(run: Run, cluster: Path, tmp_path: Path) -> None:
    store = tmp_path / "store.json"
    store.write_text('{"format": ')
    result = run("run", cluster, "--store", store)
    assert result.status == 2 and str(store) in result.err
    assert store.read_text() == '{"format": '


@pytest.mark.parametrize("begun", [True, False], ids=["another run went on from it", "another run began it"])
def test_a_store_that_another_run_has_written_meanwhile_is_kept(
    run: Run, cluster: Path, jobs: Path, tmp_path: Path, begun: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "store.json"
    if begun:
        assert run("run", cluster, "--store", store).status == 0
    settle = EmbeddedCluster.settle

    def meanwhile(self: EmbeddedCluster) -> None:
        store.write_text("the other one's")
        settle(self)

    monkeypatch.setattr(EmbeddedCluster, "settle", meanwhile)
    result = run("run", *([] if begun else [cluster]), jobs, "--store", store)
    assert result.status == 2 and "has changed meanwhile" in result.err and str(store) in result.err
    assert store.read_text() == "the other one's"


def test_a_wrong_job_costs_no_run(run: Run, cluster: Path, jobs: Path, tmp_path: Path) -> None:
    store = tmp_path / "store.json"
    result = run("run", cluster, jobs, "--until", "30", "--store", store, "--job", "nosuch")
    assert result.status == 2 and "--job: unknown job" in result.err
    assert run("run", "--store", store, "--until", "30", "-o", "json").json["now"] == 30
