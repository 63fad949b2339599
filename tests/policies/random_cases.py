"""Random clusters and gangs, and comparing a policy with the oracle on them.

Properties draw them with `tests.choice.choices`, so that a failing cluster shrinks.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.choice import tell
from tests.fabrics import snapshot
from tests.ledger_check import check_ledger
from tests.reference import volcano_1_13 as oracle
from workbench.model.extras import VolcanoMemory, extras_of
from workbench.model.gang import Gang, Role, TopologyConstraint
from workbench.model.labels import NodeTaints, Taint
from workbench.model.running_pod import RunningPod
from workbench.policies import get_policy

DEFAULTS = {
    "binpack": 1,
    "binpack_resources": {"cpu": 1, "memory": 1},
    "least": 1,
    "most": 0,
    "balanced": 1,
    "taints": 3,
}


def random_cluster(rng):
    # "n10" < "n2": the order of names is not the order of numbers.
    names = [f"n{i}" for i in rng.sample(range(1, 13), rng.randint(3, 12))]
    domains = []
    if rng.random() < 0.8:
        # A tree: each tier cuts what the tier above it holds; some nodes may be left out at any level.
        parts = [("", list(names))]
        for tier in sorted(rng.sample(range(5), rng.randint(1, 3)), reverse=True):
            cut = []
            for parent, members in parts:
                while members and rng.random() < 0.9:
                    size = rng.randint(1, max(2, 2 * len(members) // 3))
                    inside, members = members[:size], members[size:]
                    domains.append((f"h{len(domains)}", tier, inside, parent))
                    cut.append((domains[-1][0], list(inside)))
            parts = cut
    else:
        # Anything without a cycle, overlaps included.
        for number in range(rng.randint(0, 5)):
            tier = rng.randint(1, 3)
            above = [name for name, other, _, _ in domains if other > tier]
            domains.append((f"h{number}", tier, rng.sample(names, rng.randint(0, 3)), rng.choice(["", *above])))
    busy = rng.choice([0, 2, 4])
    used = {n: (rng.randint(0, busy) * 1000, rng.randint(0, busy) << 30, rng.randint(0, 1), 0) for n in names}
    free = {n: rng.choice([0b1111, 0b1111, 0b0110, 0b1]) for n in names}
    running = [
        RunningPod("d", f"r{i}", rng.randint(-1, len(names) - 1), {}, "d/j", rng.choice("ab"))
        for i in range(rng.choice([0, 0, 1, 3]))
    ]
    running = [replace(pod, assumed=open_amounts(pod.node)) for pod in running]
    avoided = rng.sample(names, rng.choice([0, 0, 0, 1, 4]) % len(names))
    taint = Taint("maintenance", "", "PreferNoSchedule")
    tell(nodes=names, domains=domains, used=used, free=free, running=running, avoided=avoided)
    cluster = snapshot(
        names,
        domains,
        cpu=4000,
        memory=4 << 30,
        pods=rng.choice([3, 110]),
        gpus=4,
        used=used,
        free_gpus=free,
        cordoned=rng.sample(names, rng.randint(0, 1)),
        running=running,
    )
    taints = [[taint] if name in avoided else [] for name in cluster.topology.node_names]
    return replace(cluster, taints=NodeTaints.from_rows(taints))


def open_amounts(number):
    """What scores assume of a pod with containers that do not say: most often nothing."""
    return {5: {"cpu": 100}, 3: {"memory": 200 << 20}, 4: {"cpu": 300, "memory": 600 << 20}}.get(number % 8, {})


def random_gang(rng, cluster):
    roles = []
    for name in rng.choice(["a", "a", "ab", "abc", ("a", "a#2", "b")]):
        count = rng.randint(1, 5)
        cpu, memory, gpus = rng.choice([(0, 0, 1), (500, 0, 0), (1000, 1, 0), (1500, 2, 1), (500, 1, 2), (0, 0, 0)])
        # A role of several shapes has no minimum: see `workbench.jobs.pods`.
        minimum = rng.choice([None, None, rng.randint(0, count)]) if "#" not in name else None
        requests = {"cpu": cpu, "memory": memory << 29, "nvidia.com/gpu": gpus}
        priority, assumed = rng.choice([0, 0, 1]), open_amounts(count + cpu // 500)
        roles.append(Role(name, count, requests, (gpus,), minimum, priority=priority, assumed=assumed))
    n = sum(role.count for role in roles)
    ready = len(cluster.running)
    tell(roles=roles)
    mode = rng.choice(["hard", "hard", "hard", "soft", "", None])
    tier = rng.choice([None, 0, 1, 2, 3, 4, 4])
    return Gang(
        "d",
        "j",
        tuple(roles),
        ready + rng.choice([0, n, n, rng.randint(0, n), rng.randint(0, n)]),
        TopologyConstraint(mode, tier) if mode is not None else None,
        order=_any_order(rng, roles),
        extras=extras_of(
            VolcanoMemory(rng.choice(["", "gone", *cluster.topology.domain_names, *cluster.topology.domain_names]))
        ),
        ready=ready,
        **not_tried(rng),
    )


def not_tried(rng):
    """Requests of pods that failed and of those behind a scheduling gate: most often there are none."""
    return {kind: ({"cpu": 1000, "memory": 1 << 30},) * rng.choice([0, 0, 0, 1, 3]) for kind in ("failed", "gated")}


def _any_order(rng, roles):
    """Most often none; else the roles' pods mixed, those of one role in their order."""
    if rng.random() >= 0.3:
        return ()
    mixed = [number for number, role in enumerate(roles) for _ in range(role.count)]
    rng.shuffle(mixed)
    following = [0] * len(roles)
    order = []
    for number in mixed:
        order.append(f"j-{roles[number].name}-{following[number]}")
        following[number] += 1
    return tuple(order)


def assert_same(gang, cluster, policy, weights, topology_weight, **parameters):
    ledger = cluster.ledger()
    result = get_policy(policy, **parameters).place(gang, ledger)
    check_ledger(ledger)
    want = oracle.place(gang, cluster, weights, topology_weight)
    if want is None:
        assert not hasattr(result, "node"), (result, want)
        return
    nodes, record = want
    if not hasattr(result, "node"):
        # Volcano counts best-effort pods without placing them; ours must find a node for as many as are needed.
        assert any(role.best_effort for role in gang.roles), (result, want)
        assert sum(name != "" for name in nodes) + gang.ready < gang.min_available, (result, want)
        return
    best_effort = np.array([gang.roles[r].best_effort for r in gang.role_of_pod])
    got = ["" if n < 0 else cluster.topology.node_names[n] for n in result.node]
    assert [g for g, b in zip(got, best_effort) if not b] == [w for w, b in zip(nodes, best_effort) if not b]
    if best_effort.all():
        return
    if policy == "volcano-1.13" and gang.constraint and gang.constraint.mode:
        known = cluster.topology.has_domain(record)
        assert result.hypernode == (record if known else "")


def assert_same_at_random(rng, policy="volcano-1.13", topology_weight=10, weights=DEFAULTS, **parameters):
    cluster = random_cluster(rng)
    assert_same(random_gang(rng, cluster), cluster, policy, weights, topology_weight, **parameters)
