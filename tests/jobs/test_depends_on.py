"""dependsOn: which pods of a Job can exist before it starts, and what the policies and `validate` say of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.fabrics import snapshot
from tests.jobs.test_gangs import gang, job, of_job, pod, task
from tests.notices import codes, said
from workbench.jobs.before_submission import job_notices
from workbench.model.gang import Gang
from workbench.model.notice import Notice
from workbench.model.placement import Placement, Refusal
from workbench.policies.registry import get_policy

CLUSTER = snapshot([f"n{i}" for i in range(8)])

#: Every node policy, and those that choose nodes and GPUs together.
POLICIES = (
    "allocate",
    "volcano-1.13",
    "volcano-1.15",
    "koordinator-network",
    "koordinator-gpu",
    "switch-affinity",
    "gang",
    "binpack",
    "spread",
    "random",
    "fgd",
)


def after(*names: str, iteration: str = "") -> dict[str, object]:
    return {"dependsOn": {"name": list(names), **({"iteration": iteration} if iteration else {})}}


def decide(found: Gang, policy: str = "volcano-1.15") -> Placement | Refusal:
    (decision,) = get_policy(policy).schedule([found], CLUSTER)
    return decision.result


def why(found: Gang, policy: str = "volcano-1.15") -> Notice | None:
    """The reason about dependsOn; None if the gang is placed."""
    result = decide(found, policy)
    if isinstance(result, Placement):
        return None
    assert codes(result.reasons) == ("depends-on",)
    return result.reasons[0]


@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy_leaves_a_job_pending_whose_minimum_counts_pods_that_come_later(policy: str) -> None:
    tasks = task("master", 1, **after("worker")), task("worker", 8)
    stuck = gang(job(*tasks, minAvailable=9))
    reason = why(stuck, policy)
    assert reason is not None
    assert reason.message == (
        "task master is created only after worker runs (dependsOn), so only 8 of the 9 pods that minAvailable counts "
        "can exist before the job starts; lower minAvailable to 8"
    )
    assert reason.numbers == {"count": 1, "valid": 8, "needed": 9, "lower_to": 8}
    assert isinstance(decide(gang(job(*tasks, minAvailable=8)), policy), Placement)


def test_a_stream_refuses_it_too() -> None:
    stuck = gang(job(task("master", 1, **after("worker")), task("worker", 2), minAvailable=3))
    result = get_policy("volcano-1.15").stream(CLUSTER).place(stuck)
    assert isinstance(result, Refusal)
    assert codes(result.reasons) == ("depends-on",)


def test_a_chain_starts_with_its_first_task() -> None:
    tasks = task("a", 2), task("b", 3, **after("a")), task("c", 1, **after("b"))
    reason = why(gang(job(*tasks)))
    assert reason is not None
    assert "b is created only after a runs, task c is created only after b runs" in reason.message
    assert reason.numbers["lower_to"] == 2
    assert why(gang(job(*tasks, minAvailable=2))) is None


def test_one_of_several_tasks_is_enough_where_iteration_says_any() -> None:
    first, second = task("ps", 1), task("w", 2)
    both = gang(job(first, second, task("m", 1, **after("ps", "w"))))
    either = gang(job(first, second, task("m", 1, **after("ps", "w", iteration="any"))))
    assert "only after ps and w run" in str(why(both))
    assert "only after ps or w runs" in str(why(either))
    # A task that needs no pod is ready at once.
    ready = {**second, "minAvailable": 0}
    assert why(gang(job(first, ready, task("m", 1, **after("ps", "w", iteration="any")), minAvailable=4))) is None


def test_minimums_of_tasks_count_only_where_minavailable_is_not_below_their_sum() -> None:
    tasks = task("m", 1, **after("w")), task("w", 8, minAvailable=7)
    reason = why(gang(job(*tasks, minAvailable=8)))
    assert reason is not None
    assert "minAvailable 8 also waits for the minimum of each task, and m cannot meet it" in reason.message
    assert reason.numbers["lower_to"] == 7
    assert why(gang(job(*tasks, minAvailable=7))) is None


def test_a_job_all_of_whose_pods_come_later_is_told_to_drop_the_dependency() -> None:
    failed = pod("j-w-0", "n0", "Failed", of_job(0))
    reason = why(gang(job(task("m", 2, **after("w")), task("w", 1), minAvailable=2), failed))
    assert reason is not None
    assert "none of the 2 pods" in reason.message
    assert reason.message.endswith("remove dependsOn from m")
    assert "lower_to" not in reason.numbers


def test_partitions_of_a_later_task_cannot_be_ready_at_first() -> None:
    parts = {"totalPartitions": 2, "partitionSize": 1, "minPartitions": 2}
    tasks = task("w", 4), task("m", 2, partitionPolicy=parts, **after("w"))
    reason = why(gang(job(*tasks, minAvailable=4)))
    assert reason is not None
    assert "2 sub-groups" in reason.message


class TestPodsThatExist:
    TASKS = (task("m", 1, **after("w")), task("w", 2))

    def test_a_dependency_that_runs_holds_nothing_back(self) -> None:
        pods = [pod(f"j-w-{i}", f"n{i}", labels=of_job(i)) for i in range(2)]
        found = gang(job(*self.TASKS, minAvailable=3), *pods)
        assert found.roles[0].depends_on == ()
        assert why(found) is None

    def test_pods_that_succeeded_count_and_failed_ones_do_not(self) -> None:
        done = [pod("j-w-0", "n0", "Succeeded", of_job(0)), pod("j-w-1", "n1", "Succeeded", of_job(1))]
        assert gang(job(*self.TASKS), *done).roles[0].depends_on == ()
        failed = [done[0], pod("j-w-1", "n1", "Failed", of_job(1))]
        assert gang(job(*self.TASKS), *failed).roles[0].depends_on == ("w",)

    def test_half_of_a_dependency_is_not_enough(self) -> None:
        reason = why(gang(job(*self.TASKS, minAvailable=3), pod("j-w-0", "n0", labels=of_job(0))))
        assert reason is not None
        assert reason.numbers["valid"] == 2

    def test_a_pod_that_was_created_before_its_dependency_failed_counts(self) -> None:
        found = gang(job(*self.TASKS, minAvailable=3), pod("j-m-0", labels=of_job(0, "m")))
        assert (found.roles[0].n_created, found.roles[0].n_held_back) == (1, 0)
        assert why(found) is None


def test_the_edit_that_drops_a_dependency_places_the_job() -> None:
    stuck = gang(job(task("m", 1, **after("w")), task("w", 2)))
    free = replace(stuck, roles=(replace(stuck.roles[0], depends_on=()), *stuck.roles[1:]))
    assert why(stuck) is not None
    assert why(free) is None


def test_validate_warns_of_jobs_and_of_the_jobs_of_a_hyperjob() -> None:
    spec = job(task("m", 1, **after("w")), task("w", 2))["spec"]
    for one in spec["tasks"]:
        one["template"]["spec"]["containers"][0]["image"] = "i"
    (found,) = job_notices({**job(), "spec": spec})
    assert (found.code, found.subject) == ("depends-on", "spec.tasks")
    hyper = {
        "apiVersion": "training.volcano.sh/v1alpha1",
        "kind": "HyperJob",
        "metadata": {"name": "h", "namespace": "ns"},
        "spec": {"replicatedJobs": [{"name": "a", "replicas": 2, "templateSpec": spec}]},
    }
    (inside,) = job_notices(hyper)
    assert inside.subject == "spec.replicatedJobs[0].templateSpec.tasks"
    assert said([inside]) == said([found])
    assert job_notices({**job(), "spec": {**spec, "minAvailable": 2}}) == []
