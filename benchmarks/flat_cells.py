"""Cells of `compare_commits.py` for `place` where pods go one by one to nodes of the whole cluster.

A cell is a policy, a job and a number of nodes. Every call places a job of its own on a ledger of its own; the snapshot
has been used before, as in a session. Half of the nodes are partly used. "Second gang" means that the ledger already
holds another job, so that nothing that the snapshot caches about its nodes applies. Only functions that any two commits
have in common are called.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from workbench.model.gang import Gang, Role, TopologyConstraint
from workbench.model.snapshot import ClusterSnapshot
from workbench.policies import get_policy
from workbench.topology.presets import generate_scenario

REPEATS = 201
"""Of each call within a round."""
SIZES = {128: (4, 4, 4, 2), 1_280: (16, 10, 4, 2), 6_000: (25, 12, 10, 2)}
GI = 1 << 30
POLICIES = (
    ("allocate", "", False),
    ("allocate", "", True),
    ("volcano-1.13", "", False),
    ("volcano-1.13", "soft", False),
    ("volcano-1.15", "", False),
    ("gang", "", False),
    ("binpack", "", False),
    ("spread", "", False),
)
"""Name, mode of the job's topology, and whether it is the second gang."""


def cells() -> Iterator[tuple[str, Sequence[Callable[[], Callable[[], object]]]]]:
    """Name of each cell, with its functions that each prepare one call and return it, ready to be timed."""
    for n, sizes in SIZES.items():
        snapshot = used_in_part(generate_scenario("use-case-1", pods=1, sizes=sizes).snapshot)
        for pods, roles in ((48 if n < 1_000 else 8, 1), (2 * n, 1), (48 if n < 1_000 else 480, 3)):
            for policy, mode, second in POLICIES:
                what = "".join(f", {text}" for text in (mode, "second gang" if second else "") if text)
                name = f"{policy}{what}, {pods:,} pods of {roles} role{'s' if roles > 1 else ''}, {n:,} nodes"
                job = gang(pods, roles, mode)
                yield name, [partial(ready, get_policy(policy), job, snapshot, second)]


def used_in_part(snapshot: ClusterSnapshot) -> ClusterSnapshot:
    """A copy of the snapshot with some cpu and memory used on every other node."""
    rng, used = random.Random(7), snapshot.used.copy()
    cpu, memory = snapshot.resources.index("cpu"), snapshot.resources.index("memory")
    for node in range(0, len(used), 2):
        pods = rng.randint(1, 4)
        used[node, cpu], used[node, memory] = pods * 8_000, pods * 64 * GI
    return replace(snapshot, used=used)


def gang(pods: int, roles: int, mode: Any) -> Gang:
    """A job of `pods` pods in `roles` roles that request only cpu and memory, all of them needed.

    `mode`: its topology.
    """
    made = tuple(
        Role(f"worker-{i}", pods // roles, {"cpu": 4_000 * (i + 1), "memory": 16 * GI * (i + 1)}) for i in range(roles)
    )
    constraint = TopologyConstraint(mode, 2) if mode else None
    return Gang("default", "job", made, pods, constraint)


def ready(policy: Any, job: Gang, snapshot: ClusterSnapshot, second: bool) -> Callable[[], object]:
    """Prepare a call that places one job and is to be timed; the job and the ledger are made beforehand.

    With `second`, another job is placed on the ledger first.
    """
    ledger = snapshot.ledger()
    if second:
        policy.place(replace(job, name="first"), ledger)
    return partial(policy.place, replace(job), ledger)
