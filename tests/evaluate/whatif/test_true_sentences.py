"""Sentences about pending jobs are true: counts, nearest HyperNodes and remedies, recomputed by plain sums.

Random gangs on generated clusters in use, under every policy that places gangs. What a sentence says is read from its
text and counted again by adding up nodes; each remedy is made and the policy run once more.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

import workbench
from tests.profiles import seeds
from workbench.evaluate.whatif.edit import EditedSession
from workbench.evaluate.whatif.fix import FixReport, fix_report
from workbench.model.gang import Gang
from workbench.model.kueue import SliceLayer, TopologyRequest
from workbench.model.kueue_request import KueueRequest, KueueRole
from workbench.model.placement import Placement, Refusal
from workbench.model.scenario import Scenario
from workbench.model.snapshot import ClusterSnapshot
from workbench.policies import get_policy

POLICIES = (
    "volcano-1.13",
    "volcano-1.15",
    "allocate",
    "gang",
    "spread",
    "kueue-0.19",
    "kube-default",
    "kube-1.37-topology",
    "koordinator-network",
    "koordinator-gpu",
)
#: One of each scheduler: the quick set looks at their sessions.
QUICK = ("volcano-1.15", "gang", "kueue-0.19", "kube-1.37-topology", "koordinator-network")
PRESETS = ("three-level-tree", "two-roce-networks", "balanced")


def gang_of(choice: random.Random, top: int, name: str = "j") -> Gang:
    """Equal pods of GPUs, or of GPUs and cpu, with or without a constraint."""
    tier = choice.choice((None, *range(1, top + 1)))
    pods = choice.choice((1, 2, 3, 5, 9, 17, 40))
    least = choice.randint(1, pods) if choice.random() < 0.3 else None
    mode = choice.choice(("hard", "hard", "soft")) if tier is None else "hard"
    gpus, cpus = choice.choice((1, 2, 4, 8, 8, 9)), choice.choice((0, 0, 4))
    return workbench.gang(name, pods=pods, gpus=gpus, cpus=cpus, tier=tier, mode=mode, min_available=least)


def in_use(scenario: Scenario, choice: random.Random) -> ClusterSnapshot:
    """The cluster with a few gangs running wherever some policy put them."""
    snapshot = scenario.snapshot
    for number in range(choice.randint(0, 6)):
        gang = workbench.gang(f"r{number}", pods=choice.randint(1, 4), gpus=choice.choice((1, 4, 8)))
        found = workbench.place(gang, snapshot, choice.choice(("spread", "binpack", "gang")))
        if isinstance(found, Placement):
            snapshot = snapshot.with_placement(found)
    return snapshot


def refusals(policy: str, preset: str, seeds: range) -> Iterator[tuple[Gang, ClusterSnapshot, Refusal]]:
    scenario = workbench.generate_scenario(preset)
    for seed in seeds:
        choice = random.Random(f"{preset} {seed}")
        snapshot = in_use(scenario, choice)
        gang = gang_of(choice, snapshot.topology.top_tier)
        found = workbench.place(gang, snapshot, policy)
        if isinstance(found, Refusal):
            yield gang, snapshot, found


def room(gang: Gang, snapshot: ClusterSnapshot, nodes: np.ndarray) -> int:
    """Pods of the gang's only role for which nodes have room, one node after the other."""
    requests = {**gang.roles[0].requests, "pods": 1}
    total = 0
    for node in nodes.tolist():
        fits = []
        for column, name in enumerate(snapshot.resources):
            if name in requests:
                idle = int(snapshot.allocatable[node, column] - snapshot.used[node, column])
                if name == "nvidia.com/gpu":
                    idle = min(idle, int(np.bitwise_count(snapshot.gpu_free[node]).sum()))
                fits.append(max(idle, 0) // requests[name])
        if set(requests) - set(snapshot.resources):
            fits.append(0)
        total += min(fits)
    return total


def domains_of(snapshot: ClusterSnapshot, tier: int) -> dict[str, np.ndarray]:
    """Nodes of the HyperNodes of a tier by name; of the tier above the largest, the whole cluster."""
    topology = snapshot.topology
    found = {topology.domain_name(d): topology.nodes_of(d) for d in topology.domains_at(tier)}
    return found or {topology.domain_name(-1): np.arange(snapshot.n_nodes)}


def check_counts(gang: Gang, snapshot: ClusterSnapshot, text: str) -> int:
    """Assert what a sentence counts; returns how many statements were recomputed."""
    done, everywhere = 0, np.arange(snapshot.n_nodes)
    needs = gang.min_available
    all_of_it = room(gang, snapshot, everywhere)
    for name, held, of in re.findall(r"(?:best|nearest:) (\S+) \(tier \d+\) holds (\d+)(?: of (\d+))?", text):
        mine = snapshot.topology.nodes_of(snapshot.topology.domain(name))
        assert int(held) == min(room(gang, snapshot, mine), needs), text
        assert of in ("", str(needs)), text
        done += 1
    for held, of in re.findall(r"(\d+) of the (\d+) pods needed find a node", text):
        assert (int(held), int(of)) == (min(all_of_it, needs), needs), text
        done += 1
    for total, parts in re.findall(r"0/(\d+) nodes are (?:un)?available: ([^.]*)\.", text):
        assert sum(int(n) for n in re.findall(r"(\d+) ", parts)) >= int(total) or "Insufficient" in parts, text
        short = re.search(r"(\d+) Insufficient nvidia.com/gpu", parts)
        if short is not None and int(total) == snapshot.n_nodes:
            assert int(short[1]) <= snapshot.n_nodes, text
        done += 1
    unconstrained = gang.constraint is None
    for held, of in re.findall(r"allows to fit only (\d+) out of (\d+) pod\(s\)", text):
        assert int(of) in (gang.n_pods, needs), text
        if unconstrained:
            assert int(held) == all_of_it, text
        else:
            assert int(held) <= all_of_it, text
        done += 1
    for count, total, excluded in re.findall(r'Total nodes: (\d+); excluded: resource "([^"]+)": (\d+)', text):
        if total == "nvidia.com/gpu":
            alone = [room(gang, snapshot, np.array([node])) for node in everywhere]
            assert int(count) == snapshot.n_nodes, text
            assert int(excluded) == sum(fits == 0 for fits in alone), text
            done += 1
    for placed, _ in re.findall(r"minCount \(\d+\) cannot be satisfied: (\d+) scheduled, (\d+) remaining", text):
        assert int(placed) <= all_of_it, text
        done += 1
    return done


def check_nearest(gang: Gang, snapshot: ClusterSnapshot, refusal: Refusal) -> int:
    """Assert that no HyperNode of the tier holds more than the nearest one; ties: the smallest name."""
    for miss in refusal.nearest_misses:
        rooms = {
            name: min(room(gang, snapshot, nodes), miss.needs)
            for name, nodes in domains_of(snapshot, miss.tier).items()
        }
        if miss.domain.startswith("<"):
            assert miss.holds == min(room(gang, snapshot, np.arange(snapshot.n_nodes)), miss.needs)
            continue
        assert miss.holds == max(rooms.values()) == rooms[miss.domain], miss
        assert miss.domain == min((n for n in rooms if rooms[n] == miss.holds), key=str.encode), miss
        # Koordinator looks for room for all pods.
        assert miss.needs in (gang.min_available, gang.n_pods)
    return len(refusal.nearest_misses)


def check_report(gang: Gang, snapshot: ClusterSnapshot, policy: str, report: FixReport) -> int:
    """Assert that each remedy places the job, and what the cause says of an idle cluster."""
    chosen = get_policy(policy)
    for fix in report.fixes:
        case = EditedSession((gang,), snapshot, gang.key)
        for edit in sorted(fix.edits, key=lambda one: one.kind == "add-nodes"):
            case = edit.apply(case)
        (decision,) = chosen.schedule(case.gangs, case.snapshot)
        assert isinstance(decision.result, Placement) and decision.result.n_placed, (policy, fix.text)
    empty = snapshot.without_pods(lambda _: True)
    alone = workbench.place(gang, empty, policy)
    assert report.never_as_written == isinstance(alone, Refusal), (policy, report.cause)
    if report.cause.startswith("never"):
        assert isinstance(alone, Refusal)
        for name, held, of in re.findall(r"(\S+) \(tier \d+\) has room for (\d+) of its (\d+) pods?", report.cause):
            mine = empty.topology.nodes_of(empty.topology.domain(name))
            assert int(held) == min(room(gang, empty, mine), int(of))
            assert int(of) in (gang.min_available, gang.n_pods)
        for held, of in re.findall(r"the cluster has room for (\d+) of its (\d+) pods?", report.cause):
            assert int(held) == min(room(gang, empty, np.arange(empty.n_nodes)), int(of))
    else:
        check_counts(gang, snapshot, report.cause)
    return len(report.fixes)


def check_all(policy: str, preset: str, seeds: range) -> None:
    counts = nearest = fixes = seen = 0
    for gang, snapshot, refusal in refusals(policy, preset, seeds):
        seen += 1
        for reason in refusal.reasons:
            counts += check_counts(gang, snapshot, reason.message)
        nearest += check_nearest(gang, snapshot, refusal)
        report = fix_report(policy, [gang], snapshot, gang.key, most_runs=150)
        fixes += check_report(gang, snapshot, policy, report)
    assert seen and counts + nearest and fixes, (policy, preset, seen, counts, nearest, fixes)


def annotated(gang: Gang, choice: random.Random) -> Gang:
    """The gang with a request of Kueue's topology."""
    level, slices = choice.choice(("tier-1", "tier-2", "kubernetes.io/hostname", "rack")), ()
    if choice.random() < 0.3:
        slices = (SliceLayer("tier-1", choice.choice((2, 3, 4))),)
    request = choice.choice((TopologyRequest(level, slices=slices), TopologyRequest(None, level)))
    return gang.with_extra(KueueRequest(roles=(KueueRole(gang.roles[0].name, request),)))


def check_session(policy: str, preset: str, seed: int) -> int:
    """A session of several gangs: remedies place the job, and do to the others what they say."""
    choice = random.Random(f"session {preset} {seed}")
    snapshot = in_use(workbench.generate_scenario(preset), choice)
    gangs = []
    for number in range(choice.randint(2, 4)):
        made = gang_of(choice, snapshot.topology.top_tier, f"j{number}")
        made = replace(made, priority=choice.randint(0, 2))
        gangs.append(annotated(made, choice) if policy.startswith("kueue") and choice.random() < 0.7 else made)
    chosen, done = get_policy(policy), 0
    before = chosen.schedule(gangs, snapshot)
    for decision in before:
        if decision.placed:
            continue
        report = fix_report(policy, gangs, snapshot, decision.gang.key, decisions=before, most_runs=60)
        for fix in report.fixes:
            case = EditedSession(tuple(gangs), snapshot, decision.gang.key)
            for edit in sorted(fix.edits, key=lambda one: (one.kind == "add-nodes", one.kind, one.subject, repr(one))):
                case = edit.apply(case)
            after = {one.gang.key: one.placed for one in chosen.schedule(case.gangs, case.snapshot)}
            assert after.pop(decision.gang.key), (policy, seed, fix.text)
            placed = {one.gang.key: one.placed for one in before if one.gang.key in after}
            said = {one.job: one.effect for one in fix.others if one.effect in ("waits", "starts")}
            withdrawn = {edit.subject.removeprefix("job ") for edit in fix.edits if edit.kind == "withdraw"}
            found = {key: "starts" if now else "waits" for key, now in after.items() if now != placed[key]}
            assert {key: what for key, what in said.items() if key not in withdrawn} == found, (policy, seed, fix.text)
            if "(no other job waits)" in fix.text:
                assert all(after.values()), (policy, seed, fix.text)
            done += 1
    return done


@pytest.mark.parametrize(
    "policy", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in POLICIES]
)
def test_remedies_do_to_other_jobs_what_they_say(policy: str) -> None:
    assert check_session(policy, "three-level-tree", 1)


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES)
def test_remedies_do_to_other_jobs_what_they_say_in_many_sessions(policy: str) -> None:
    for preset in PRESETS:
        assert sum(check_session(policy, preset, seed) for seed in range(4))


@pytest.mark.parametrize("policy", POLICIES)
def test_every_sentence_is_true(policy: str) -> None:
    check_all(policy, "three-level-tree", range(4))


@pytest.mark.slow
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("policy", POLICIES)
def test_every_sentence_is_true_of_many_gangs(policy: str, preset: str) -> None:
    check_all(policy, preset, seeds(120, 60))
