"""Rows of `cases/kueue-tas` about what assignments hold: their usage by domain, and the nodes that they use."""

from __future__ import annotations

from typing import Any

from tests.conformance.registry import Runners
from tests.conformance.runners import kueue_values as read
from workbench.model.kueue_queues import PodSetAdmission, QueuedWorkload, WorkloadAdmission
from workbench.policies.kueue.cycle.topology import has_unhealthy_domain
from workbench.policies.kueue.topology_snapshot import usage_of
from workbench.policies.kueue.values import PodSet


def register(runners: Runners) -> None:
    """Register the operations of the file."""
    usage = ("before", "assignment", "requests")
    runners.op("assignments", "assumed-usage", given=usage, want=("after",))(assumed)
    runners.op("assignments", "assignment-uses-node", given=("assignment", "node"), want=("uses",))(uses)


def assumed(given: dict[str, Any], want: dict[str, Any]) -> None:
    """Check the usage of each domain after the pods of an assignment are added."""
    found = {domain: read.amounts(each) for domain, each in given["before"].items()}
    pods = PodSet("main", 1, read.amounts(given["requests"]))
    for usage in usage_of(pods, read.assignment(given["assignment"])):
        domain = found.setdefault(",".join(usage.values), {})
        for name, amount in {**usage.requests, "pods": 1}.items():
            domain[name] = domain.get(name, 0) + amount * usage.count
    assert found == {domain: read.amounts(each) for domain, each in want["after"].items()}


def uses(given: dict[str, Any], want: dict[str, Any]) -> None:
    """Whether a workload with the assignment has pods on a node that fails."""
    admitted = PodSetAdmission("main", {}, {}, 1, read.assignment(given["assignment"]))
    workload = QueuedWorkload(
        "default/one", "queue", (), admission=WorkloadAdmission("queue", (admitted,)), unhealthy_nodes=(given["node"],)
    )
    assert has_unhealthy_domain(workload) is want["uses"]
