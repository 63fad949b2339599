"""HyperNodes chosen for random HyperJobs, against an oracle that tries every assignment."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given

from tests.choice import choices
from tests.fabrics import snapshot
from tests.policies.hyper_job.cases import POLICIES, hard, hyper, hypernodes, job
from tests.profiles import max_examples
from tests.reference.hyper_job import best_choice
from workbench.model.gang import Gang
from workbench.model.placement import Placement
from workbench.model.snapshot import ClusterSnapshot, gpu_words
from workbench.policies import get_policy


def random_tree(rng):
    """Up to seven HyperNodes of nodes, some below others, of mixed depth."""
    names = [f"n{i}" for i in rng.sample(range(1, 30), 14)]
    domains, leaves = [], []
    for i in range(rng.randint(1, 6)):
        members = [names.pop() for _ in range(rng.randint(1, 2))]
        leaves.append([f"l{rng.randint(0, 9)}{i}", rng.choice([1, 1, 1, 2]), members, ""])
    parents = []
    for i in range(rng.randint(0, 2)):
        inside = [leaf for leaf in leaves if not leaf[3] and leaf[1] < 2 and rng.random() < 0.6]
        direct = [names.pop()] if names and rng.random() < 0.3 else []
        if inside or direct:
            parents.append([f"p{i}", 2, [node for leaf in inside for node in leaf[2]] + direct, ""])
            for leaf in inside:
                leaf[3] = f"p{i}"
    domains = [*leaves, *parents]
    if rng.random() < 0.5:
        roots = [domain for domain in domains if not domain[3] and rng.random() < 0.8]
        if roots:
            domains.append(["t", 3, [node for domain in roots for node in domain[2]], ""])
            for domain in roots:
                domain[3] = "t"
    return [tuple(domain) for domain in domains], [node for domain in domains if not domain[3] for node in domain[2]]


@dataclass
class Case:
    """A small cluster and a HyperJob whose pods all ask for `size` GPUs; arguments of the oracle stand beside it."""

    cluster: ClusterSnapshot
    gang: Gang
    domains: list[tuple[str, int, list[str], str]]
    jobs: list[tuple[int, int | None]]
    needed: int
    allowed: int | None
    busy: set[str]
    capacity: dict[str, int]
    gpus: dict[str, int]


def random_case(rng):
    domains, inside = random_tree(rng)
    nodes = sorted({*inside, "n0"})
    gpus = {node: rng.choice([8, 8, 4]) for node in nodes}
    busy = {node for node in nodes if rng.random() < 0.15}
    full = {node for node in nodes if node not in busy and rng.random() < 0.1}
    # Pods without accelerators occupy no HyperNode, but they can leave no pod slots.
    used = dict.fromkeys(busy, (0, 0, 1, 2)) | dict.fromkeys(full, (0, 0, 110, 0))
    masks = {node: (1 << gpus[node]) - 1 for node in nodes}
    free = {node: mask & 0xFC if node in busy else mask for node, mask in masks.items()}
    drawn = snapshot(nodes, domains, used=used, free_gpus=free)
    names = drawn.topology.node_names
    amounts = drawn.allocatable.copy()
    amounts[:, 3] = [gpus[name] for name in names]
    cluster = replace(drawn, allocatable=amounts, gpu_total=gpu_words([masks[name] for name in names]))
    size = rng.choice([4, 8])
    kinds = [(rng.randint(1, 3), rng.choice([None, None, 1, 2])) for _ in range(rng.randint(1, 2))]
    jobs = []
    for i in range(rng.randint(1, 4)):
        pods, tier = rng.choice(kinds)
        jobs.append(job(i, pods, size, needs=rng.randint(1, pods), tier=tier))
    needed, allowed = rng.randint(1, len(jobs)), rng.choice([None, None, 1, 2, 3])
    return Case(
        cluster,
        hyper(jobs, needed, None if allowed is None else hard(allowed)),
        domains,
        [(each.min_available, None if each.constraint is None else each.constraint.highest_tier) for each in jobs],
        needed,
        allowed,
        busy,
        {node: 0 if node in full else (gpus[node] - 2 * (node in busy)) // size for node in nodes},
        gpus,
    )


@max_examples(400)
@given(rng=choices())
def test_the_choice_is_that_of_the_oracle(rng: random.Random) -> None:
    case = random_case(rng)
    want = best_choice(case.domains, case.jobs, case.needed, case.allowed, case.busy, case.capacity, case.gpus)
    ledger = case.cluster.ledger()
    before = ledger.used.copy(), ledger.gpu_free.copy()
    result = get_policy("gang").place(case.gang, ledger)
    assert (hypernodes(result) or None) == want
    if isinstance(result, Placement):
        check(result, case)
    else:
        assert np.array_equal(ledger.used, before[0]) and np.array_equal(ledger.gpu_free, before[1])
        assert result.reasons


def check(result, case):
    """What holds of every placement of a HyperJob."""
    cluster, topology = case.cluster, case.cluster.topology
    chosen = [name for name in hypernodes(result) if name]
    assert len(set(chosen)) == len(chosen) >= case.needed
    (tier,) = {topology.domain_tier(topology.domain(name)) for name in chosen}
    assert case.allowed is None or result.tier <= case.allowed
    members = [topology.nodes_of(topology.domain(name)) for name in chosen]
    assert len(np.unique(np.concatenate(members))) == sum(map(len, members))
    around = topology.nodes_of(result.record)
    for part, name in zip(case.gang.sub_groups, hypernodes(result), strict=True):
        nodes = result.node[list(part.pods)]
        if name is None:
            assert (nodes < 0).all()
            continue
        mine = topology.nodes_of(topology.domain(name))
        assert np.isin(nodes[nodes >= 0], mine).all() and np.isin(mine, around).all()
        assert (nodes >= 0).sum() >= part.min_available
        assert part.constraint is None or tier <= part.constraint.highest_tier
        assert (cluster.used[mine, 3] == 0).all()
    placed = np.bincount(result.node[result.node >= 0], minlength=cluster.n_nodes)
    assert (placed * case.gang.roles[0].n_gpus <= (cluster.allocatable - cluster.used)[:, 3]).all()


@max_examples(100)
@given(rng=choices())
@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_keeps_the_rules(name: str, rng: random.Random) -> None:
    case, policy = random_case(rng), get_policy(name)
    ledger = case.cluster.ledger()
    result = policy.place(case.gang, ledger)
    if isinstance(result, Placement):
        check(result, case)
        for hypernode in filter(None, hypernodes(result)):
            # Nobody gets an accelerator there any more.
            mine = case.cluster.topology.nodes_of(case.cluster.topology.domain(hypernode))
            assert (ledger.idle[mine, 3] == 0).all() and not ledger.gpu_free[mine].any()
    again = policy.place(case.gang, case.cluster.ledger())
    (decision,) = policy.schedule([case.gang], case.cluster)
    streamed = policy.stream(case.cluster).place(case.gang)
    for other in (again, decision.result, streamed):
        assert type(other) is type(result) and hypernodes(other) == hypernodes(result)
        if isinstance(result, Placement):
            assert np.array_equal(other.node, result.node)
