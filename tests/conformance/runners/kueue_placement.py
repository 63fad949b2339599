"""Rows of `cases/kueue-tas` that ask for the assignments of one workload: `assign-*` and `replace-node`."""

from __future__ import annotations

from typing import Any

from tests.conformance.registry import Runners
from tests.conformance.runners import kueue_values as read
from workbench.model.labels import HOSTNAME_LABEL
from workbench.policies.kueue.flavor_snapshot import FlavorSnapshot
from workbench.policies.kueue.values import Replacement

_FILES = (
    "assign-basic",
    "assign-slices",
    "assign-layers",
    "assign-groups",
    "assign-balanced",
    "assign-affinity",
    "assign-elastic",
    "replace-node",
)
_KEYS = (
    "gates",
    "levels",
    "flavor",
    "nodes",
    "pods",
    "usage",
    "workload",
    "pod_sets",
    "simulate_empty",
)


def register(runners: Runners) -> None:
    """Register the one operation of all files."""
    for file in _FILES:
        runners.op(file, "assign", given=_KEYS, want=("pod_sets",))(assign)


def assign(given: dict[str, Any], want: dict[str, Any]) -> None:
    """The assignment or the reason of every pod set, and none for those that were not reached."""
    gates = read.gates(given["gates"])
    snapshot = FlavorSnapshot(
        given["levels"],
        read.flavor(given["flavor"]),
        [read.node(each) for each in given["nodes"]],
        gates,
        read.held_pods(given["pods"]),
    )
    for each in given["usage"]:
        shared = gates.TASHandleOverlappingFlavors and given["levels"][-1] == HOSTNAME_LABEL
        if each["flavor"] == "own" or shared:
            snapshot.add(read.usage(each))
    found = snapshot.place(
        [read.pod_set(each) for each in given["pod_sets"]],
        simulate_empty=given["simulate_empty"],
        replacement=_replacement(given["workload"]),
    )
    assert read.outcomes(found) == want["pod_sets"]


def _replacement(workload: dict[str, Any] | None) -> Replacement | None:
    if workload is None:
        return None
    owners = [(owner["api_version"], owner["kind"]) for owner in workload["owners"]]
    return Replacement(
        tuple(workload["unhealthy_nodes"]),
        {name: read.assignment(each) for name, each in workload["assignments"].items()},
        owned_by_pod=owners == [("v1", "Pod")] and not workload["pod_group"],
    )
