"""When waiting jobs are tried: at every change, in cycles, after a back-off; and which rule each policy follows."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from tests.objects.test_kueue import HOST
from tests.policies.kueue.test_queued import load, node
from tests.simulate.test_engine import SNAPSHOT, job, run, starts
from workbench.errors import InputError
from workbench.policies.registry import get_policy
from workbench.policies.retry import AT_CHANGES, KUBE_SCHEDULER, VOLCANO, RetryRule
from workbench.simulate import SimulatedJob, Simulation


def pod(name: str, near: str = "") -> dict[str, Any]:
    """A pod labelled with its name; `near`: it has to be on the node of another."""
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    term = {"labelSelector": {"matchLabels": {"app": near}}, "topologyKey": HOST}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}} if near else {}
    spec = {"schedulerName": "volcano", "containers": [container], "affinity": affinity}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": name}}, "spec": spec}


def test_a_refused_job_backs_off_and_waits_for_a_change_as_well() -> None:
    # Refused at 1; nothing is freed before 10, when its back-off of 1 s is long over.
    assert starts(run([job("a", 8, 0, 10), job("b", 8, 1, 5)], retry=KUBE_SCHEDULER)) == [0, 10]
    # Refused at 1, and at 2 and 3, when too little is freed: the second back-off lasts from 2 to 4, the third from 4 to
    # 8, although enough is free at 5.
    small = [job(f"s{i}", 2, 0, end) for i, end in enumerate((2, 3, 5, 5))]
    assert starts(run([*small, job("big", 8, 1, 5)], retry=KUBE_SCHEDULER))[-1] == 8
    assert starts(run([*small, job("big", 8, 1, 5)]))[-1] == 5


def test_the_arrival_of_another_job_is_no_reason_to_try_again() -> None:
    jobs = [job("a", 6, 0, 100), job("big", 8, 1, 5), job("small", 2, 50, 5)]
    simulation = Simulation(SNAPSHOT, get_policy("binpack"), jobs, retry=KUBE_SCHEDULER).run(60)
    # Tried when it arrived and when small had ended.
    assert simulation._runs[1].n_refusals == 2


def test_back_off_doubles_up_to_the_longest() -> None:
    rule = RetryRule(first_back_off_s=1, longest_back_off_s=10)
    assert [rule.back_off(n) for n in (1, 2, 3, 4, 5, 5000)] == [1, 2, 4, 8, 10, 10]
    assert not AT_CHANGES.backs_off and AT_CHANGES.back_off(3) == 0
    for wrong in (
        {"cycle_s": -1},
        {"cycle_s": float("nan")},
        {"first_back_off_s": 5, "longest_back_off_s": 1},
    ):
        with pytest.raises(InputError, match="retry rule"):
            RetryRule(**wrong)


@pytest.mark.parametrize(
    ("policy", "rule"),
    [
        ("volcano", VOLCANO),
        ("volcano-1.13+gpu-bottleneck", VOLCANO),
        ("allocate", VOLCANO),
        ("switch-affinity", VOLCANO),
        ("kube-default", KUBE_SCHEDULER),
        ("kube-1.37-topology", KUBE_SCHEDULER),
        ("koordinator-gpu", KUBE_SCHEDULER),
        ("koordinator-network", KUBE_SCHEDULER),
        ("binpack", AT_CHANGES),
        ("fgd", AT_CHANGES),
    ],
)
def test_every_policy_tells_the_rule_of_its_scheduler(policy: str, rule: RetryRule) -> None:
    assert get_policy(policy).traits.retry == rule


@pytest.mark.parametrize("policy", ["kube-default", "kube-1.37-topology"])
@pytest.mark.parametrize("retry", [AT_CHANGES, KUBE_SCHEDULER])
def test_a_job_that_asks_for_another_jobs_pods_starts_with_it(policy: str, retry: RetryRule) -> None:
    scenario = load(node(0), node(1), pod("client", near="server"), pod("server"))
    when = {"client": 0.0, "server": 5.0}
    jobs = [SimulatedJob(gang, when[gang.name], 10.0) for gang in scenario.gangs]
    result = Simulation(scenario.snapshot, get_policy(policy), jobs, retry=retry).run().result()
    assert starts(result) == [5, 5] and not result.refused


def test_cycles_and_back_off_together_come_to_an_end() -> None:
    rule = RetryRule(cycle_s=0.01, first_back_off_s=0.01, longest_back_off_s=0.1)
    assert all(rule.next_cycle(at / 1000) >= at / 1000 for at in range(5000))
    jobs = [job("a", 4, 0, 0.055), job("x", 4, 0, 100), job("big", 8, 0.05, 1)]
    assert starts(run(jobs, retry=rule))[2] == pytest.approx(100)


@pytest.mark.slow
def test_a_simulation_stopped_while_jobs_back_off_goes_on() -> None:
    jobs = [job(f"j{i}", 1 + i % 5, i * 0.7, 3 + i % 4) for i in range(60)]

    def simulation() -> Simulation:
        return Simulation(SNAPSHOT, get_policy("koordinator-network"), jobs, retry=KUBE_SCHEDULER)

    straight = simulation().run().result()
    assert straight.summary()["completed"] == 60
    halfway = simulation().run(20)
    for other in (pickle.loads(pickle.dumps(halfway)), halfway):
        assert other.run().result().attempts == straight.attempts
