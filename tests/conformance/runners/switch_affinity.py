"""Runner of the switch-affinity cases, by the registered policies and the timeline.

Besides what a case expects, every 2.0 case is held to the invariants of the README of the cases.
"""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tests.conformance.registry import NotUnderstood, Runner, Runners
from tests.conformance.runners.switch_affinity_checks import CHECKS, After, accepts, check, check_invariants
from tests.ledger_check import check_ledger
from tests.reference.switch_plugin import handler_of, job_summary, max_shared_of, states_by_definition, version_of
from tests.switch_fabric import LABEL_OF, Switch, fabric, job, running_pod, states, with_running
from workbench.kernels.switches import VOTES_UNHEALTHY
from workbench.model.extras import AscendWish, FormerPod, extras_of
from workbench.model.gang import Gang
from workbench.model.placement import Placement, Refusal
from workbench.model.running_pod import RunningPod
from workbench.model.snapshot import ClusterSnapshot
from workbench.model.switch_book import SwitchBook
from workbench.model.switches import IDLE, IS_HEALTHY, IS_SHARED, RANK_ANNOTATION, SHARED, SwitchStates
from workbench.policies.contract import Policy
from workbench.policies.registry import get_policy
from workbench.policies.switch_affinity.job_kind import invalid_label
from workbench.policies.switch_affinity.new_job import place_new_job
from workbench.policies.switch_affinity.pods_of_plan import (
    annotations_of,
    marks_of,
)
from workbench.policies.switch_affinity.table import Plan, Switches
from workbench.simulate.timeline import Timeline

RUNNERS = Runners("switch-affinity")

_FILES = (
    "foundation",
    "common",
    "padding",
    "rescheduling",
    "states",
    "sequences",
    "docs_shared_policy",
    "upstream_unit_tests",
    "upstream_code_docs",
)
_PLACED = (*CHECKS, "expected_any_of", "recommended")
_CLUSTER = ("version", "nodes_per_switch", "max_shared_switches", "switches")


def everywhere(op: str, given: Sequence[str], want: Sequence[str]) -> Callable[[Runner], Runner]:
    """Register a runner for an operation of every file: which file a case stands in says nothing about it."""

    def register(runner: Runner) -> Runner:
        for file in _FILES:
            RUNNERS.op(file, op, given, want)(runner)
        return runner

    return register


def policy_of(given: Mapping[str, Any]) -> Policy:
    names = {"2.0": "switch-affinity", "1.0": "switch-affinity-1.0", "single_layer": "switch-affinity-single-layer"}
    if given["version"] not in names:
        raise NotUnderstood(f"version {given['version']!r}")
    shared = {"max_shared_switches": given["max_shared_switches"]} if given["version"] == "2.0" else {}
    return get_policy(names[given["version"]], **shared)


def cluster_of(given: Mapping[str, Any]) -> ClusterSnapshot:
    rows = given["switches"]
    known = {"name", "total", "free", "free_nodes", "state", "healthy", "jobs"}
    if given["version"] == "1.0":
        known = {"name", "available_positions", "has_other_cross_job", "only_common_jobs"}
    for row in rows:
        if row.keys() - known:
            raise NotUnderstood(f"keys of a switch that nobody reads: {sorted(row.keys() - known)}")
    make = _positions if given["version"] == "1.0" else _switch
    return fabric([make(row, given["nodes_per_switch"]) for row in rows], given["nodes_per_switch"])


def _switch(row: Mapping[str, Any], _: int) -> Switch:
    state = row.get("state", "idle")
    if state == "shared":
        state = "shared/healthy" if row.get("healthy", True) else "shared/unhealthy"
    others = tuple((other["name"], other["kind"], other["cross"]) for other in row.get("jobs", ()))
    return Switch(row["name"], row["total"], row["free"], state, row.get("free_nodes"), others)


def _positions(row: Mapping[str, Any], per_switch: int) -> Switch:
    """Version 1.0: free positions; another job crosses the switch, and all jobs there are common ones, or not."""
    name, positions = row["name"], row["available_positions"]
    others = []
    if row["has_other_cross_job"]:
        others.append((f"cross-{name}", "common" if row["only_common_jobs"] else "foundation", True))
    elif not row["only_common_jobs"]:
        others.append((f"local-{name}", "padding", False))
    return Switch(name, per_switch, len(positions), free_nodes=[f"{name}-n{p}" for p in positions], jobs=tuple(others))


def place_once(policy: Policy, gang: Gang, snapshot: ClusterSnapshot) -> tuple[ClusterSnapshot, Placement | Refusal]:
    """Place a gang; what the ledger keeps about switches is what the pods afterwards say."""
    ledger = snapshot.ledger()
    result = policy.place(gang, ledger)
    check_ledger(ledger)
    explained = policy.explain(gang, snapshot).decision.result
    assert type(explained) is type(result)
    after = snapshot
    if isinstance(result, Placement):
        after = snapshot.with_placement(result)
        assert isinstance(explained, Placement)
        assert explained.node.tolist() == result.node.tolist()
    assert ledger.switches is not None
    assert ledger.switches.states().names() == tuple(states(after).values())
    return after, result


@everywhere("place", (*_CLUSTER, "job"), _PLACED)
def place(given: dict[str, Any], want: dict[str, Any]) -> None:
    before = cluster_of(given)
    gang = job(given["job"]["name"], given["job"]["kind"], given["job"]["pods"])
    after, result = place_once(policy_of(given), gang, before)
    outcome = After(before, after, gang.key, given["job"]["kind"], result, "scheduled")
    if given["version"] == "2.0":
        check_invariants(outcome, given["max_shared_switches"])
    check(outcome, want)


@everywhere("reschedule", (*_CLUSTER, "running_job"), _PLACED)
def reschedule(given: dict[str, Any], want: dict[str, Any]) -> None:
    running = given["running_job"]
    before, gang = damaged_cluster(cluster_of(given), running)
    after, result = place_once(policy_of(given), gang, before)
    outcome = After(before, after, gang.key, running["kind"], result, "rescheduled", running["pods"])
    if given["version"] == "2.0":
        check_invariants(outcome, given["max_shared_switches"])
    check(outcome, want)


def damaged_cluster(empty: ClusterSnapshot, running: Mapping[str, Any]) -> tuple[ClusterSnapshot, Gang]:
    """The moment after the fault: remaining pods run (or go back, after a whole-job restart), the others wait."""
    pods, kind, name = running["pods"], running["kind"], running["name"]
    if running.get("restart") not in (None, "whole-job"):
        raise NotUnderstood(f"restart {running['restart']!r}")
    whole = running.get("restart") == "whole-job"
    states_before = states(empty)
    crossing = len({pod["switch"] for pod in pods if pod["switch"]}) > 1
    others = {other.node for other in empty.running if other.node >= 0 and other.gang.startswith("others/")}
    table = empty.switch_table
    assert table is not None
    crossed_by_others = {int(table.node_switch[node]) for node in others}
    unschedulable = empty.unschedulable.copy()
    former, survivors = [], []
    for pod in pods:
        if pod["node"] is None:
            continue
        state = states_before[pod["switch"]]
        own = state == "exclusive" and table.names.index(pod["switch"]) not in crossed_by_others
        code = SwitchStates.of([state])
        mark = int(code.state[0]) if crossing or own else IDLE
        node = empty.topology.node(pod["node"])
        if pod["node_faulty"] or whole:
            former.append(FormerPod(pod["rank"], pod["node"], pod["node_faulty"], mark))
            unschedulable[node] = pod["node_faulty"]
        else:
            unschedulable[node] = False
            written = {IS_SHARED: str(mark), IS_HEALTHY: str(int(code.unhealthy[0])), RANK_ANNOTATION: str(pod["rank"])}
            survivors.append(running_pod(empty, f"{name}-{pod['rank']}", name, kind, pod["node"], written))
    snapshot = with_running(dataclasses.replace(empty, unschedulable=unschedulable), survivors)
    gang = job(name, kind, len(pods) - len(survivors))
    wish = AscendWish(LABEL_OF[kind], former=tuple(former))
    return snapshot, dataclasses.replace(gang, min_available=len(pods), ready=len(survivors), extras=extras_of(wish))


@everywhere("sequence", _CLUSTER, ("steps",))
def sequence(given: dict[str, Any], want: dict[str, Any]) -> None:
    timeline = Timeline(cluster_of(given), policy_of(given))
    gangs: dict[str, tuple[Gang, str]] = {}
    for step in want["steps"]:
        actions = step.keys() & {"submit", "retry", "end", "check"}
        if len(actions) != 1 or step.keys() - actions - {"expected"}:
            raise NotUnderstood(f"a step with {sorted(step)}")
        action = actions.pop()
        before = timeline.snapshot
        if action == "check":
            _check_states(states(timeline.snapshot), step["check"])
        elif action == "end":
            timeline.end(step["end"])
        else:
            if action == "submit":
                spec = step["submit"]
                gangs[spec["name"]] = (job(spec["name"], spec["kind"], spec["pods"]), spec["kind"])
                moment = timeline.submit(gangs[spec["name"]][0])
                name = spec["name"]
            else:
                name = step["retry"]
                moment = timeline.retry(name)
            gang, kind = gangs[name]
            outcome = After(before, timeline.snapshot, gang.key, kind, moment.decisions[0].result, "scheduled")
            if given["version"] == "2.0":
                check_invariants(outcome, given["max_shared_switches"])
            check(outcome, step["expected"])
        last = timeline.moments[-1].states
        assert last is not None
        assert last.names() == tuple(states(timeline.snapshot).values())


def _check_states(found: Mapping[str, str], want: Mapping[str, Any]) -> None:
    if want.keys() - {"states", "states_multiset"} or not want:
        raise NotUnderstood(f"a check of {sorted(want)}")
    if "states" in want:
        assert {name: found[name] for name in want["states"]} == want["states"]
    if "states_multiset" in want:
        assert Counter(found.values()) == Counter(want["states_multiset"])


@everywhere(
    "derive-states",
    ("switches", "jobs", "max_shared_switches", "events"),
    ("states_before", "states_after", "expected_any_of", "recommended"),
)
def derive_states(given: dict[str, Any], want: dict[str, Any]) -> None:
    names = [row["name"] for row in given["switches"]]
    events = given.get("events", [])
    started = [event["start"] for event in events if "start" in event]
    n_pods = Counter(pod["switch"] for one in (*given["jobs"], *started) for pod in one["pods"])
    snapshot = fabric([Switch(name, n_pods[name] + 1, n_pods[name] + 1) for name in names], 64)
    taken: Counter[str] = Counter()

    def start(one: Mapping[str, Any], annotations: Sequence[Mapping[str, str]], phase: str) -> list[RunningPod]:
        pods = []
        for i, (pod, written) in enumerate(zip(one["pods"], annotations, strict=True)):
            node = f"{pod['switch']}-n{taken[pod['switch']]}"
            taken[pod["switch"]] += 1
            new = running_pod(snapshot, f"{one['name']}-{i}", one["name"], one["kind"], node, written)
            pods.append(dataclasses.replace(new, group_phase=phase))
        return pods

    for one in given["jobs"]:
        annotations = [{key: pod[key] for key in (IS_SHARED, IS_HEALTHY) if key in pod} for pod in one["pods"]]
        snapshot = with_running(snapshot, start(one, annotations, one["phase"]))
    assert_some(states(snapshot), want.get("states_before"))
    for event in events:
        if "end" in event:
            snapshot = snapshot.without(f"default/{event['end']}")
        elif "start" in event:
            book = snapshot.ledger().switches
            assert book is not None
            under = [names.index(pod["switch"]) for pod in event["start"]["pods"]]
            marks = states_by_definition(book.states(), under, given.get("max_shared_switches", 2))
            annotations = [annotations_of(*marks[switch], "") for switch in under]
            snapshot = with_running(snapshot, start(event["start"], annotations, "Running"))
        else:
            raise NotUnderstood(f"an event {sorted(event)}")
    found = states(snapshot)
    assert_some(found, want.get("states_after"))
    if "expected_any_of" in want:
        accepts(want, lambda one: assert_some(found, one["states_after"]))


def assert_some(found: Mapping[str, str], want: Mapping[str, str] | None) -> None:
    if want is not None:
        assert {name: found[name] for name in want} == want


@everywhere("encode-states", ("states",), ("encoding",))
def encode_states(given: dict[str, Any], want: dict[str, Any]) -> None:
    encoded = SwitchStates.of(given["states"])
    rows = [
        {"IsSharedTor": int(state), "IsHealthy": int(unhealthy)}
        for state, unhealthy in zip(encoded.state, encoded.unhealthy, strict=True)
    ]
    assert rows == want["encoding"]


@everywhere("may-enter", ("entering", "switches"), ("allowed",))
def may_enter(given: dict[str, Any], want: dict[str, Any]) -> None:
    found = [[_enters(entering, target) for target in given["switches"]] for entering in given["entering"]]
    assert found == want["allowed"]


def _enters(entering: Mapping[str, Any], target: Mapping[str, Any]) -> bool:
    """A job that fits only with nodes of the switch `target`; the foundation rules cannot place the fall-back's."""
    jobs = tuple((f"other-{i}", kind, True) for i, kind in enumerate(target["jobs"]))
    asked = Switch("T", 4, 4, target["state"], jobs=jobs)
    if entering["by"] == "single-switch":
        return isinstance(place_new_job(_view(fabric([asked], 4)), entering["kind"], 3, 2), Plan)
    if entering["by"] == "foundation-logic":
        return isinstance(place_new_job(_view(fabric([Switch("I", 4, 4), asked], 4)), "foundation", 8, 2), Plan)
    if entering["by"] != "fallback":
        raise NotUnderstood(f"by {entering['by']!r}")
    sick = [Switch(f"U{i}", 4, 1, "shared/unhealthy") for i in range(2)]
    switches = _view(fabric([Switch("I", 4, 4), *sick, asked], 4))
    assert not isinstance(place_new_job(switches, "foundation", 10, 1), Plan)
    return isinstance(place_new_job(switches, "common", 10, 1), Plan)


def _view(snapshot: ClusterSnapshot) -> Switches:
    book = snapshot.ledger().switches
    assert book is not None
    free = ~snapshot.unschedulable
    counts = np.array([free[book.table.nodes_of(i)].sum() for i in range(book.table.n_switches)])
    return Switches(book.table, free, book.sums, counts)


@everywhere("annotate", ("placement",), ("pod_annotations",))
def annotate(given: dict[str, Any], want: dict[str, Any]) -> None:
    rows = given["placement"]
    codes = SwitchStates.of([row["state"] for row in rows.values()])
    vote = codes.state + VOTES_UNHEALTHY * codes.unhealthy
    plan = Plan.of([(i, row["pods"], int(vote[i])) for i, row in enumerate(rows.values())])
    for (name, row), mark in zip(rows.items(), marks_of(plan).tolist(), strict=True):
        found = annotations_of(mark % VOTES_UNHEALTHY, mark >= VOTES_UNHEALTHY, row["tor_ip"])
        assert found == {key: value for key, value in want["pod_annotations"][name].items() if value is not None}


@everywhere("job-summary", ("pods",), ("shared_tor_ip_set",))
def summary(given: dict[str, Any], want: dict[str, Any]) -> None:
    text = job_summary(given["pods"])
    assert sorted(json.loads(text) if text else []) == sorted(want["shared_tor_ip_set"])
    assert SHARED == 1


@everywhere("handler", ("tor_affinity", "tor_level", "nslb_version", "tor_env"), ("handler", "reason_contains"))
def handler(given: dict[str, Any], want: dict[str, Any]) -> None:
    label, version = given["tor_affinity"] or "", version_of(given["nslb_version"])
    assert handler_of(label, given["tor_level"] or "", version, given["tor_env"]) == want["handler"]
    _check_reason(label, given["tor_env"], want)


@everywhere("validate-label", ("tor_affinity", "tor_env"), ("valid", "reason_contains"))
def validate_label(given: dict[str, Any], want: dict[str, Any]) -> None:
    label = given["tor_affinity"] or ""
    assert (invalid_label(label, given["tor_env"]) is None) == want["valid"]
    _check_reason(label, given["tor_env"], want)


def _check_reason(label: str, has_table: bool, want: Mapping[str, Any]) -> None:
    if "reason_contains" in want:
        reason = invalid_label(label, has_table)
        assert reason is not None
        assert want["reason_contains"] in reason.message


@everywhere("configure", ("nslb-version", "shared-tor-num"), ("version", "max_shared_switches"))
def configure(given: dict[str, Any], want: dict[str, Any]) -> None:
    assert version_of(given["nslb-version"]) == want["version"]
    if "max_shared_switches" in want:
        assert max_shared_of(given["shared-tor-num"]) == want["max_shared_switches"]


@everywhere("has-cross-job", ("version", "switch", "jobs", "asking_job"), ("has_cross_job",))
def has_cross_job(given: dict[str, Any], want: dict[str, Any]) -> None:
    """The jobs listed are those on the switch: each has a pod there besides those given."""
    under = given["switch"]["nodes"]
    elsewhere = sorted({p["node"] for one in given["jobs"] for p in one["pods"] if p["node"]} - set(under))
    snapshot = fabric([Switch("S", len(under) + 1, 0), Switch("other", len(elsewhere) + 1, 0)], 8)
    nodes = {name: f"S-n{i + 1}" for i, name in enumerate(under)} | {
        name: f"other-n{i}" for i, name in enumerate(elsewhere)
    }
    pods = []
    for one in given["jobs"]:
        places = ["S-n0", *(nodes[p["node"]] for p in one["pods"] if p["node"])]
        for i, node in enumerate(places):
            pod = running_pod(snapshot, f"{one['name']}-{i}", one["name"], "common", node, {})
            pods.append(dataclasses.replace(pod, group_phase=one["phase"]))
    book = _book_of(with_running(snapshot, pods))
    book.set_job(f"default/{given['asking_job']}", None)
    assert bool(book.crossing[0]) == want["has_cross_job"]


@everywhere("only-common", ("version", "switch", "jobs"), ("only_common",))
def only_common(given: dict[str, Any], want: dict[str, Any]) -> None:
    snapshot = fabric([Switch(given["switch"]["name"], 1, 0)], 8)
    node = f"{given['switch']['name']}-n0"
    pods = [
        dataclasses.replace(
            running_pod(snapshot, one["name"], one["name"], "common", node, {}), job_class=one["tor_affinity"] or ""
        )
        for one in given["jobs"]
    ]
    assert bool(_book_of(with_running(snapshot, pods)).n_classified_jobs[0] == 0) == want["only_common"]


def _book_of(snapshot: ClusterSnapshot) -> SwitchBook:
    book = snapshot.ledger().switches
    assert book is not None
    return book
