"""Checks of the switch-affinity cases on one placement, and the invariants that hold for every placement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from functools import cached_property
from typing import Any

from tests.conformance.registry import NotUnderstood
from tests.switch_fabric import states
from workbench.model.placement import Placement, Refusal
from workbench.model.snapshot import ClusterSnapshot
from workbench.model.switches import RANK_ANNOTATION

#: Set by the test that holds the committed cases to the answer that the reference recommends.
RECOMMENDED_ONLY: ContextVar[bool] = ContextVar("RECOMMENDED_ONLY", default=False)


class After:
    """One step: the cluster before and after, and the job that it is about.

    Parameters
    ----------
    done : str
        What the outcome is called where the job has its nodes.
    old_pods : sequence of mapping
        Pods of a job that is placed again, as the case gives them.
    """

    def __init__(
        self,
        before: ClusterSnapshot,
        after: ClusterSnapshot,
        key: str,
        kind: str,
        result: Placement | Refusal,
        done: str,
        old_pods: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        self.before, self.after, self.key, self.kind, self.result = before, after, key, kind, result
        self.old_pods = old_pods
        self.outcome = done if isinstance(result, Placement) else "pending"
        self.states_before, self.states_after = states(before), states(after)

    @cached_property
    def nodes(self) -> dict[int, str]:
        """Node of each rank of the job afterwards."""
        return self._nodes_in(self.after)

    def _nodes_in(self, snapshot: ClusterSnapshot) -> dict[int, str]:
        names = snapshot.topology.node_names
        mine = [pod for pod in snapshot.running if pod.gang == self.key]
        found = {int(pod.annotations[RANK_ANNOTATION]): names[pod.node] for pod in mine}
        assert len(found) == len(mine), "two pods of one rank"
        return found

    @cached_property
    def placed(self) -> dict[int, str]:
        """Node of each rank that was placed in this step."""
        had = self._nodes_in(self.before)
        return {rank: node for rank, node in self.nodes.items() if rank not in had}

    @cached_property
    def moved(self) -> dict[int, str]:
        """The same without pods that went back to the node they had."""
        old = {pod["rank"]: pod["node"] for pod in self.old_pods}
        return {rank: node for rank, node in self.placed.items() if old.get(rank) != node}

    def switch(self, node: str) -> str:
        return node.rpartition("-n")[0]

    @cached_property
    def pods_per_switch(self) -> Counter[str]:
        return Counter(self.switch(node) for node in self.nodes.values())

    def ever_shared(self, switches: Sequence[str]) -> set[str]:
        return {
            name
            for name in switches
            if self.states_before[name].startswith("shared") or self.states_after[name].startswith("shared")
        }


def check_invariants(step: After, max_shared: int) -> None:
    """The seven invariants of the README of the cases."""
    if step.outcome == "pending":
        assert step.states_before == step.states_after
        assert step.before.running == step.after.running
        return
    assert isinstance(step.result, Placement)
    assert (step.result.node >= 0).all()
    assert len(set(step.nodes.values())) == len(step.nodes)
    holders = Counter(pod.node for pod in step.after.running if pod.requests)
    assert max(holders.values()) == 1
    for node in step.placed.values():
        assert not step.before.unschedulable[step.before.topology.node(node)]
    faulty = {pod["node"] for pod in step.old_pods if pod["node_faulty"]}
    assert not faulty & set(step.nodes.values())
    held = {pod["switch"] for pod in step.old_pods if pod["switch"]}
    shared = step.ever_shared(list(step.pods_per_switch))
    fell_back = step.kind == "common" and any(
        step.states_after[name] == "shared/unhealthy" for name in step.pods_per_switch
    )
    if not fell_back and len(step.pods_per_switch) > 1:
        assert len(shared - held) <= max(0, max_shared - len(shared & held))
    if step.kind == "padding":
        assert len(step.pods_per_switch) == 1
    entered = {step.switch(node) for node in step.moved.values()}
    if step.kind == "foundation":
        assert all(step.states_before[name] != "shared/unhealthy" for name in entered)
    if len(step.pods_per_switch) > 1:
        assert all(step.states_before[name] != "exclusive" for name in entered - held)


def check(step: After, want: Mapping[str, Any]) -> None:
    """Everything that a case expects; of several legal answers any one."""
    for key, value in want.items():
        if key == "recommended":
            continue
        if key == "expected_any_of":
            accepts(want, lambda one: check(step, one))
            continue
        if key not in CHECKS:
            raise NotUnderstood(f"an expectation {key!r}")
        CHECKS[key](step, value)


def accepts(want: Mapping[str, Any], holds: Callable[[Mapping[str, Any]], None]) -> None:
    """One of the objects of ``expected_any_of`` holds; with `RECOMMENDED_ONLY` it is the recommended one."""
    choices = list(want["expected_any_of"])
    if RECOMMENDED_ONLY.get():
        choices = [choices[want["recommended"]]]
    failures = []
    for choice in choices:
        try:
            holds(choice)
        except NotUnderstood:
            raise
        except AssertionError as error:
            failures.append(str(error))
        else:
            return
    raise AssertionError("none of the accepted answers:\n" + "\n".join(failures))


def _states_after(step: After, want: Any) -> None:
    if want == "unchanged":
        assert step.states_after == step.states_before
    else:
        assert {name: step.states_after[name] for name in want} == want


def _pods_on(step: After, want: Mapping[str, Any]) -> None:
    if want.keys() - {"switches", "sum", "min", "max"}:
        raise NotUnderstood(f"pods_on {sorted(want)}")
    counts = [step.pods_per_switch[name] for name in want["switches"]]
    assert sum(counts) == want.get("sum", sum(counts))
    assert all(want.get("min", 0) <= count <= want.get("max", count) for count in counts)


def _shares_switches_with(step: After, want: Mapping[str, Any]) -> None:
    names = step.after.topology.node_names
    # A job of the case, or one of other people's, which stand under a namespace of their own.
    theirs = (f"default/{want['job']}", f"others/{want['job']}")
    other = {step.switch(names[pod.node]) for pod in step.after.running if pod.gang in theirs and pod.node >= 0}
    assert len(other & set(step.pods_per_switch)) == want["count"]


def _positions(step: After, want: Mapping[str, int]) -> None:
    found = Counter(node.rpartition("-n")[2] for node in step.nodes.values())
    assert found == Counter({str(position): count for position, count in want.items()})


def _rank_ranges(step: After, want: Mapping[str, Sequence[int]]) -> None:
    for name, (first, last) in want.items():
        ranks = sorted(rank for rank, node in step.nodes.items() if step.switch(node) == name)
        assert ranks == list(range(first, last + 1))
        positions = [int(step.nodes[rank].rpartition("-n")[2]) for rank in ranks]
        assert positions == sorted(positions)


def _keeps_nodes(step: After, want: bool) -> None:
    kept = {p["rank"]: p["node"] for p in step.old_pods if p["node"] and not p["node_faulty"]}
    assert all(step.nodes.get(rank) == node for rank, node in kept.items()) is want


def _keeps_ranks(step: After, want: bool) -> None:
    assert (sorted(step.nodes) == sorted(p["rank"] for p in step.old_pods)) is want


def _equal(found: object, want: object) -> None:
    assert found == want


def _reason(step: After, want: str) -> None:
    assert isinstance(step.result, Refusal)
    assert any(want in reason.message for reason in step.result.reasons)


CHECKS: dict[str, Callable[[After, Any], None]] = {
    "outcome": lambda step, want: _equal(step.outcome, want),
    "placement": lambda step, want: _equal(step.pods_per_switch, Counter(want)),
    "placement_subset": lambda step, want: _equal({name: step.pods_per_switch[name] for name in want}, want),
    "placement_multiset": lambda step, want: _equal(sorted(step.pods_per_switch.values(), reverse=True), want),
    "pods_on": _pods_on,
    "one_switch": lambda step, want: _equal(len(step.pods_per_switch) == 1, want),
    "shares_switches_with": _shares_switches_with,
    "max_shared_switches_used": lambda step, want: _equal(
        len(step.ever_shared(list(step.pods_per_switch))) <= want, True
    ),
    "forbidden_switches": lambda step, want: _equal({step.switch(n) for n in step.moved.values()} & set(want), set()),
    "forbidden_nodes": lambda step, want: _equal(set(step.moved.values()) & set(want), set()),
    "position_histogram": _positions,
    "rank_ranges": _rank_ranges,
    "moved_pods_per_switch": lambda step, want: _equal(
        Counter(step.switch(n) for n in step.moved.values()), Counter(want)
    ),
    "keeps_nodes": _keeps_nodes,
    "keeps_ranks": _keeps_ranks,
    "states_after": _states_after,
    "states_multiset": lambda step, want: _equal(Counter(step.states_after.values()), Counter(want)),
    "reason_contains": _reason,
}
