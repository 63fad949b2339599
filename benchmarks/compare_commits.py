"""Compare the speed of the searches in two checkouts: ``compare_commits.py OLD NEW [--rounds N]``.

OLD and NEW are folders, each a checkout with its kernels built (`make build`, or ``setup.py build_ext --inplace``);
the Python of this call runs both. A cell is a list of gangs on one cluster, equal in both checkouts; its time is the
sum, over the gangs, of the least processor time that any round needed for a gang. Rounds alternate between the
checkouts and each is a process of its own, so that neither a busy machine nor the place of the code in memory favours
one of them.

Cells are those of `bench_volcano.py` at three sizes (1,000, 6,000 and 100,000 nodes), searches over arrays and whole
`place` calls, and `DryRuns` in every HyperNode of a tier. A row is slower where ``new / old`` exceeds 1.10.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

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

import workbench
from workbench.kernels.dry_runs import Counts, DryRuns
from workbench.model.labels import NodeLabels, NodeTaints
from workbench.model.snapshot import ClusterSnapshot
from workbench.policies import get_policy
from workbench.policies.base import Policy

HERE = Path(__file__).resolve().parent
REPEATS = 5
"""Of each gang within a round; the least counts."""


def cells() -> Iterator[tuple[str, Sequence[Callable[[], object]]]]:
    """Name of each cell and what is timed there."""
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
                yield f"search {kind}, {groups} sub-groups, {made.name}", [partial(turn, made, ask) for ask in asks]
                if groups == 10:
                    calls = [partial(place, policy, snapshot, ask) for ask in asks]
                    yield f"place {kind}, {groups} sub-groups, {made.name}", calls
        yield f"explain roles, 1 sub-group, {made.name}", explained(made, gangs, rng)
        yield f"dry runs, {made.name}", [partial(dry_runs, made, pods) for pods in (1, 4, 16)]


def turn(made: Cluster, ask: Ask) -> object:
    return two_level(made, ask).turn()


def place(policy: Policy, snapshot: ClusterSnapshot, ask: Ask) -> object:
    return policy.place(gang_of(ask), snapshot.ledger())


def explain(made: Cluster, ask: Ask) -> object:
    return two_level(made, ask).explain_in(-1, inner=True)


def explained(made: Cluster, gangs: int, rng: random.Random) -> Sequence[Callable[[], object]]:
    return [partial(explain, made, gang(made, rng, 1, "roles", 12)) for _ in range(max(gangs // 6, 1))]


def dry_runs(made: Cluster, pods: int) -> object:
    """A gang of two shapes in every HyperNode of the second tier, or of the only one."""
    runs = DryRuns(
        made.nodes.idle, made.nodes.used, made.nodes.allocatable, made.tree.name_rank, made.tree.leaf,
        made.tree.member_start, made.tree.members, weights=WEIGHTS, scores=made.scores,
    )  # fmt: skip
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


def measured() -> dict[str, list[float]]:
    """Least processor time of each call of each cell, in microseconds."""
    times: dict[str, list[float]] = {}
    for name, calls in cells():
        times[name] = []
        for call in calls:
            best = float("inf")
            for _ in range(REPEATS):
                begin = time.process_time_ns()
                call()
                best = min(best, (time.process_time_ns() - begin) / 1e3)
            times[name].append(best)
    return times


def run_in(checkout: Path) -> dict[str, list[float]]:
    # This file's cells for both, whatever the checkout has in its own folder.
    environment = {**os.environ, "PYTHONPATH": f"{checkout}{os.pathsep}{HERE}", "PYTHONHASHSEED": "0"}
    command = [sys.executable, "-P", str(HERE / "compare_commits.py"), "--worker", str(checkout)]
    answer = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, list[float]] = json.loads(answer.stdout)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("checkouts", nargs="+", type=Path, metavar="FOLDER", help="OLD and NEW")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.worker:
        if not Path(workbench.__file__).is_relative_to(asked.checkouts[0].resolve()):
            raise SystemExit(f"compare_commits: {workbench.__file__} is not in {asked.checkouts[0]}")
        print(json.dumps(measured()))
        return
    if len(asked.checkouts) != 2:
        parser.error("two folders, OLD and NEW")
    best: list[dict[str, list[float]]] = [{}, {}]
    for turn in range(asked.rounds):
        # Who goes first changes from round to round.
        for side in (turn % 2, 1 - turn % 2):
            for name, times in run_in(asked.checkouts[side].resolve()).items():
                before = best[side].get(name, times)
                best[side][name] = [min(pair) for pair in zip(before, times, strict=True)]
    old, new = ({name: sum(times) for name, times in side.items()} for side in best)
    print(f"{'cell':58} {'old us':>11} {'new us':>11} {'new/old':>8}")
    for name in old:
        print(f"{name:58} {old[name]:11,.0f} {new[name]:11,.0f} {new[name] / old[name]:8.3f}")
    print(
        f"{'sum':58} {sum(old.values()):11,.0f} {sum(new.values()):11,.0f} {sum(new.values()) / sum(old.values()):8.3f}"
    )


if __name__ == "__main__":
    main()
