"""HyperJobs in the embedded cluster: decided together, restarted alone, held by their HyperNodes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.control.manifests import (
    cluster_with,
    hyper_job,
    hypernode,
    job,
    job_pods,
    node,
    phase_of,
    small_cluster,
    status_of,
    task,
)
from workbench.control.cluster import EmbeddedCluster
from workbench.control.kinds import Ref
from workbench.model.scheduler_config import PluginOption, SchedulerConfig
from workbench.policies.hyper_job.trials import JobTrials
from workbench.policies.registry import get_policy


def nodes_of(cluster: EmbeddedCluster, name: str) -> list[str]:
    return sorted({pod["spec"].get("nodeName", "") for pod in job_pods(cluster, name)})


def records_of(cluster: EmbeddedCluster) -> dict[str, str]:
    groups = cluster.store.list("PodGroup")
    written = {one["metadata"]["name"]: one["metadata"].get("annotations") or {} for one in groups}
    return {name[: name.index("-", 6)]: each.get(RECORD, "") for name, each in written.items()}


RECORD = "volcano.sh/job-allocated-hypernode"


@pytest.mark.parametrize("policy", ["volcano-1.13", "volcano-1.15", "allocate"])
def test_the_jobs_of_a_hyper_job_are_decided_together_each_alone_in_a_hypernode(policy: str) -> None:
    cluster = cluster_with(hyper_job(tasks=[task(gpus=4)]), policy=policy)
    homes = {nodes[0][:2] in ("n0", "n1") for nodes in (nodes_of(cluster, "llm-w-0"), nodes_of(cluster, "llm-w-1"))}
    assert homes == {True, False}, "one Job in each leaf"
    assert records_of(cluster) == {"llm-w-0": "leaf0", "llm-w-1": "leaf1"}
    assert cluster.snapshot.topology.n_nodes == 4
    cluster.submit(job("other", [task(replicas=1, gpus=1)]))
    cluster.settle()
    assert phase_of(cluster, "other") == "Pending", "the accelerators that the Jobs leave idle are nobody else's"
    assert {phase_of(cluster, name) for name in ("llm-w-0", "llm-w-1")} == {"Running"}


def test_a_hyper_job_that_does_not_fit_waits_as_a_whole_and_says_why_on_each_pod_group() -> None:
    cluster = cluster_with(hyper_job(replicas=3))
    assert {name: phase_of(cluster, name) for name in ("llm-w-0", "llm-w-1", "llm-w-2")} == {
        f"llm-w-{i}": "Pending" for i in range(3)
    }
    for group in cluster.store.list("PodGroup"):
        (condition,) = group["status"]["conditions"]
        assert condition["type"] == "Unschedulable" and "2 of the 3 HyperNodes needed" in condition["message"]
    cluster.submit(*(node(f"n{i}") for i in (4, 5)), hypernode("leaf2", 1, ["n4", "n5"]))
    cluster.settle()
    assert [phase_of(cluster, f"llm-w-{i}") for i in range(3)] == ["Running"] * 3


def test_a_hyper_job_starts_with_min_available_jobs_and_the_others_follow() -> None:
    cluster = cluster_with(hyper_job(replicas=3, minAvailable=2), run_seconds=60)
    assert [phase_of(cluster, f"llm-w-{i}") for i in range(3)] == ["Running", "Running", "Pending"]
    cluster.run(60)
    cluster.settle()
    assert [phase_of(cluster, f"llm-w-{i}") for i in range(3)] == ["Completed", "Completed", "Running"]
    cluster.run()
    (condition,) = status_of(cluster, Ref("HyperJob", "default", "llm"))["conditions"]
    assert condition["type"] == "Completed" and cluster.now == 120


def test_one_job_of_a_hyper_job_restarts_without_the_others() -> None:
    policies = [{"event": "PodFailed", "action": "RestartJob"}]
    many = hyper_job()
    many["spec"]["replicatedJobs"][0]["templateSpec"]["policies"] = policies
    cluster = cluster_with(many)
    kept = {pod["metadata"]["uid"] for pod in job_pods(cluster, "llm-w-1")}
    gone = {pod["metadata"]["uid"] for pod in job_pods(cluster, "llm-w-0")}
    cluster.fail("llm-w-0-worker-0")
    cluster.settle()
    assert [phase_of(cluster, f"llm-w-{i}") for i in range(2)] == ["Running", "Running"]
    assert {pod["metadata"]["uid"] for pod in job_pods(cluster, "llm-w-1")} == kept
    assert gone.isdisjoint({pod["metadata"]["uid"] for pod in job_pods(cluster, "llm-w-0")})
    assert nodes_of(cluster, "llm-w-0") == ["n0", "n1"]


def test_a_hyper_job_waits_while_too_few_of_its_jobs_are_admitted() -> None:
    tiers = [PluginOption(name) for name in ("overcommit", "gang", "predicates", "network-topology-aware")]
    config = SchedulerConfig(("enqueue", "allocate"), (tuple(tiers),))
    cluster = EmbeddedCluster(get_policy("volcano-1.15", config=config))
    cluster.submit(*small_cluster(), hyper_job(replicas=3))
    cluster.settle()
    assert [phase_of(cluster, f"llm-w-{i}") for i in range(3)] == ["Pending"] * 3
    (line,) = [one for one in cluster.log if one.reason == "WaitsForJobs"]
    assert line.key == Ref("HyperJob", "default", "llm") and line.message == "2 Jobs have pods; minAvailable is 3"
    cluster.submit(*(node(f"n{i}") for i in (4, 5)), hypernode("leaf2", 1, ["n4", "n5"]))
    cluster.settle()
    assert [phase_of(cluster, f"llm-w-{i}") for i in range(3)] == ["Running"] * 3


def test_a_saved_cluster_remembers_which_hypernodes_a_hyper_job_holds(tmp_path: Path) -> None:
    first = cluster_with(hyper_job(tasks=[task(gpus=4)]))
    first.save(tmp_path / "store.json")
    second = EmbeddedCluster("volcano-1.15")
    second.resume(tmp_path / "store.json")
    second.submit(job("other", [task(replicas=1, gpus=1)]))
    second.settle()
    assert phase_of(second, "other") == "Pending"
    second.delete("HyperJob", "llm")
    second.settle()
    assert phase_of(second, "other") == "Running"


def test_a_hyper_job_becomes_jobs() -> None:
    cluster = cluster_with(hyper_job(), run_seconds=5)
    assert [one["metadata"]["name"] for one in cluster.store.list("Job")] == ["llm-w-0", "llm-w-1"]
    cluster.run()
    (condition,) = status_of(cluster, Ref("HyperJob", "default", "llm"))["conditions"]
    assert condition["type"] == "Completed"
    cluster.delete("HyperJob", "llm")
    cluster.settle()
    assert cluster.store.list("Job") == [] and cluster.store.list("Pod") == []


def test_equal_jobs_of_a_hyper_job_are_one_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pods of a cluster are labelled with their Job's name: that alone must not make a policy be asked for each Job."""
    kinds: list[int] = []
    made = JobTrials.__init__

    def counted(self: JobTrials, *args: Any) -> None:
        made(self, *args)
        kinds.extend(self.kinds)

    monkeypatch.setattr(JobTrials, "__init__", counted)
    cluster_with(hyper_job(), job())
    assert kinds == [0, 0]
