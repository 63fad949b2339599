"""Scenarios and whole decisions: the files `scenario-*`, `preempt` and `schedule`."""

from __future__ import annotations

from typing import Any

from tests.conformance.registry import NotUnderstood, Runners
from tests.conformance.runners.kube_stand_in import StandIn

Json = dict[str, Any]

#: What a decision is made of, in the order of the cases.
DECISION = ("gates", "nodes", "running", "pending", "groups", "namespaces", "kind")


def register(runners: Runners) -> None:
    """Add the operations to the area's runners."""
    for file in ("scenario-gang", "scenario-topology", "scenario-composite", "scenario-preempt"):
        runners.op(file, "scenario", ("gates", "steps"), ("all_checks",))(scenario)
    runners.op("preempt", "preempt", DECISION, ("removed", "placed"))(preempt)
    runners.op("schedule", "schedule", DECISION, ("binds", "conditions"))(schedule)


def stand_in(given: Json) -> StandIn:
    """A cluster in which everything has arrived and nothing was tried."""
    made = StandIn(given["gates"])
    made.namespaces = {each["name"]: each["labels"] for each in given.get("namespaces", ())}
    made.add_nodes(given["nodes"])
    for group in given["groups"]:
        made.add_group(group)
    made.add_pods(given["running"])
    made.add_pods(given["pending"])
    return made


def preempt(given: Json, want: Json) -> None:
    made = stand_in(given)
    made.settle()
    assert sorted(made.removed) == want["removed"]
    group = {pod["name"] for pod in given["pending"] if pod.get("group")}
    assert sorted(name for name in group if made.pods[name].node >= 0) == want["placed"]


def scenario(given: Json, want: Json) -> None:
    assert want["all_checks"]
    made = StandIn(given["gates"])
    for number, step in enumerate(given["steps"]):
        if "do" in step:
            do(made, step)
            continue
        made.settle()
        wrong = check(made, step)
        assert not wrong, (number, step, wrong)


def do(made: StandIn, step: Json) -> None:
    what = step["do"]
    if what == "create-nodes":
        made.add_nodes(step["nodes"])
    elif what == "create-pods":
        made.add_pods(step["pods"])
    elif what == "create-group":
        made.add_group(step["group"])
    elif what == "update-group":
        made.update_group(step["group"])
    elif what == "delete-group":
        made.delete_group(step["name"])
    elif what == "delete-pods":
        made.delete_pods(step["pods"])
    elif what != "create-workloads":
        raise NotUnderstood(f"step {what!r}")


def check(made: StandIn, step: Json) -> list[str]:
    """List the pods, groups or conditions for which a check fails."""
    what, names = step["check"], step.get("pods", [])
    if what == "removed":
        return [name for name in names if name not in made.removed]
    if what == "condition":
        found = made.conditions.get(step["group"])
        told = (found.status, found.reason) if found else None
        return [] if told == (step["status"], step["reason"]) else [str(told)]
    pods = {name: made.pods[name] for name in names}
    nodes = {name: made.node_of(name) for name in names}
    hierarchy = made.hierarchy()
    if what == "counts":
        placed = sum(map(bool, nodes.values()))
        tried = sum(not nodes[name] and pods[name].attempts > 0 for name in names)
        return [] if (placed, tried) == (step["scheduled"], step["unschedulable"]) else [str(nodes)]
    if what == "one-domain":
        labels = {node["name"]: node["labels"] for node in made.nodes}
        values = {labels.get(node, {}).get(step["topology_key"]) for node in nodes.values()}
        return [] if len(values) == 1 and None not in values else [str(nodes)]
    holds = {
        "scheduled": lambda name: nodes[name],
        "unschedulable": lambda name: not nodes[name] and pods[name].attempts > 0 and name not in made.errors,
        "scheduling-error": lambda name: not nodes[name] and name in made.errors,
        "on-any-of": lambda name: nodes[name] in step["nodes"],
        "parked": lambda name: not nodes[name] and not waits(made, name),
        "incomplete": lambda name: pods[name].group and pods[name].group not in hierarchy,
        "active-queue": lambda name: not nodes[name] and waits(made, name),
        "attempts": lambda name: pods[name].attempts == step["attempts"],
    }
    if what not in holds:
        raise NotUnderstood(f"check {what!r}")
    return [f"{name}: {nodes[name]}" for name in names if not holds[what](name)]


def waits(made: StandIn, name: str) -> bool:
    """Whether a pod waits to be tried."""
    return any(pod.name == name for entity, pods in made.waiting() if entity not in made.asleep for pod in pods)


def schedule(given: Json, want: Json) -> None:
    made = stand_in(given)
    made.once()
    names = [pod["name"] for pod in given["pending"]]
    assert {name: made.node_of(name) for name in names} == want["binds"]
    if want.get("conditions") is not None:
        assert made.told() == want["conditions"]
