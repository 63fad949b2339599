"""Cells of `compare_commits.py` for the two-level search.

They are those of `bench_volcano.py` at three sizes (1,000, 6,000 and 100,000 nodes): searches on arrays, whole `place`
calls, and `DryRuns` in every HyperNode of a tier.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
from bench_volcano import (
    POD,
    WEIGHTS,
    Ask,
    Cluster,
    cluster,
    clusters,
    gang,
    gang_of,
    snapshot_of,
    topology_of,
    two_level,
)

from workbench.kernels.dry_run_values import Counts
from workbench.kernels.dry_runs import DryRuns
from workbench.model.labels import NodeLabels, NodeTaints
from workbench.model.snapshot import ClusterSnapshot
from workbench.policies import get_policy
from workbench.policies.contract import Policy

REPEATS = 5
"""Of each call within a round."""


def cells() -> Iterator[tuple[str, Sequence[Callable[[], Callable[[], object]]]]]:
    """Name of each cell, with its functions that each prepare one call and return it, ready to be timed."""
    rng = random.Random(11)
    sizes = [
        (cluster("1,000 nodes", 1_000, [100], rng), 24, (1, 10, 100)),
        (next(clusters(1, rng)), 12, (1, 10, 100)),
        (cluster("100,000 nodes", 100_000, [100_000, 50_000, 9_333, 667], rng, singles=100_000), 3, (1, 10)),
    ]
    policy = get_policy("volcano-1.15")
    for made, gangs, groups_of in sizes:
        topology = topology_of(made)
        labels = NodeLabels.from_rows(topology.node_names, [{}] * made.n)
        taints = NodeTaints.from_rows([()] * made.n)
        snapshot = snapshot_of(made, topology, labels, taints)
        for kind in ("identical", "roles", "distinct"):
            for groups in groups_of:
                if kind == "distinct" and groups == 1:
                    continue
                asks = [gang(made, rng, groups, kind, 10 if len(made.domains) == 1 else 0) for _ in range(gangs)]
                searches = [partial(partial, turn, made, ask) for ask in asks]
                yield f"search {kind}, {groups} sub-groups, {made.name}", searches
                if groups == 10:
                    calls = [partial(partial, place, policy, snapshot, ask) for ask in asks]
                    yield f"place {kind}, {groups} sub-groups, {made.name}", calls
        yield f"explain roles, 1 sub-group, {made.name}", explained(made, gangs, rng)
        yield f"dry runs, {made.name}", [partial(partial, dry_runs, made, pods) for pods in (1, 4, 16)]


def turn(made: Cluster, ask: Ask) -> object:
    return two_level(made, ask).turn()


def place(policy: Policy, snapshot: ClusterSnapshot, ask: Ask) -> object:
    return policy.place(gang_of(ask), snapshot.ledger())


def explain(made: Cluster, ask: Ask) -> object:
    return two_level(made, ask).explain_in(-1, inner=True)


def explained(made: Cluster, gangs: int, rng: random.Random) -> Sequence[Callable[[], Callable[[], object]]]:
    return [partial(partial, explain, made, gang(made, rng, 1, "roles", 12)) for _ in range(max(gangs // 6, 1))]


def dry_runs(made: Cluster, pods: int) -> object:
    """Try a gang of two pod shapes in every HyperNode of the second tier, or of the only one."""
    runs = DryRuns(
        made.nodes.idle, made.nodes.used, made.nodes.allocatable, made.domain_nodes, weights=WEIGHTS, scores=made.scores
    )
    runs.add_shape(POD)
    runs.add_shape(POD * 2)
    counts = Counts(
        shapes=np.array([0, 1], dtype=np.int32),
        left=np.array([pods, pods], dtype=np.int64),
        min_available=2 * pods,
        after_failure="stop",
    )
    runs.ask(counts, total_tasks=2 * pods)
    return runs.try_each(made.domains[min(1, len(made.domains) - 1)])
