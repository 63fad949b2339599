"""minResources of the PodGroup that the controller creates for a Job."""

from __future__ import annotations

import pytest

from workbench.jobs.min_resources import min_resources_of_job, min_resources_of_pods
from workbench.jobs.roles import Priorities
from workbench.objects.job import read_job
from workbench.objects.pod import PodSpec, PodTemplate, read_template
from workbench.objects.queue import PriorityClass


def task(name, replicas, cpu, minimum=None, priority=""):
    container = {"name": "c", "resources": {"requests": {"cpu": str(cpu)}}}
    spec = {"containers": [container], **({"priorityClassName": priority} if priority else {})}
    given = {"name": name, "replicas": replicas, "template": {"spec": spec}}
    return given if minimum is None else {**given, "minAvailable": minimum}


PRIORITIES = Priorities({"high": PriorityClass("high", 5, False)})
LOW, HIGH, OWN = task("low", 4, 1), task("high", 4, 10, priority="high"), task("own", 4, 100, minimum=2)

# The tasks' minimums together: 4 + 4 + 2, an absent one being all replicas.
CASES = {
    "fewer than the minimums together: by priority": (5, [LOW, HIGH, OWN], 4 * 10 + 1, 5),
    "then in the order of the Job": (9, [LOW, HIGH, OWN], 40 + 4 + 100, 9),
    "as many as the minimums": (10, [LOW, HIGH, OWN], 40 + 4 + 200, 10),
    "more than the minimums: the others follow in the same order": (11, [LOW, HIGH, OWN], 40 + 4 + 300, 11),
    "own minimums come before what lies beyond them": (3, [task("a", 4, 1, 1), task("b", 4, 10, 1)], 1 + 10 + 1, 3),
    "no more pods than there are": (99, [LOW], 4, 4),
}


def quota(amounts, pods):
    """By the names of a quota: every request also as ``requests.``, every pod also as an object."""
    requests = {f"requests.{name}": amount for name, amount in amounts.items()}
    return {**amounts, **requests, "pods": pods, "count/pods": pods}


@pytest.mark.parametrize(("min_available", "tasks", "cpu", "pods"), CASES.values(), ids=CASES.keys())
def test_min_resources_of_a_job(min_available, tasks, cpu, pods):
    job = read_job({"metadata": {"name": "j"}, "spec": {"minAvailable": min_available, "tasks": tasks}})
    assert min_resources_of_job(job, PRIORITIES) == quota({"cpu": cpu * 1000}, pods)


def test_bare_pods_need_as_many_as_their_minimum():
    template = PodTemplate(PodSpec({"cpu": 500}), {}, {})
    assert min_resources_of_pods(template, 3) == quota({"cpu": 1500}, 3)
    assert min_resources_of_pods(template, 0) == {}


def test_limits_count_where_a_quota_limits():
    container = {"resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2", "nvidia.com/gpu": "8"}}}
    template = read_template({"template": {"spec": {"containers": [container]}}}, "spec")
    want = quota({"cpu": 1000, "nvidia.com/gpu": 8}, 1) | {"limits.cpu": 2000}
    assert min_resources_of_pods(template, 1) == want
