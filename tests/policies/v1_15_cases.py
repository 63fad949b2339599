"""Random gangs with sub-groups, and comparing `volcano-1.15` with its oracle on them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.ledger_check import check_ledger
from tests.policies.random_cases import DEFAULTS, not_tried, open_amounts, random_cluster, random_gang
from tests.reference import volcano_1_15 as oracle
from workbench.model.extras import VolcanoMemory
from workbench.model.gang import Gang, Role, SubGroup, TopologyConstraint
from workbench.policies import get_policy

WEIGHTS = {**DEFAULTS, "topology": 10, "packing": 10, "hypernode": {"cpu": 1, "memory": 1}, "fading": 0.8}


def random_1_15_gang(rng, cluster):
    """A gang of `random_gang`, half of them with sub-groups."""
    gang = random_gang(rng, cluster).with_extra(VolcanoMemory())
    if rng.random() < 0.3:
        minimum = {"cpu": rng.choice([0, 4000, 9000]), "pods": rng.randint(0, 6)}
        gang = gang.with_extra(VolcanoMemory(min_resources=minimum))
    if rng.random() < 0.4:
        return gang
    policies = rng.choice(["v", "v", "vw"])
    groups: dict[tuple[str, int], tuple[list[int], list[str]]] = {}
    for position in range(gang.n_pods):
        if rng.random() < 0.9:
            groups.setdefault((rng.choice(policies), rng.randint(0, 3)), ([], []))[0].append(position)
    for pod in cluster.running:
        if rng.random() < 0.8:
            groups.setdefault((rng.choice(policies), rng.randint(0, 3)), ([], []))[1].append(pod.name)
    constraint = {
        policy: rng.choice(
            [
                None,
                TopologyConstraint("hard", rng.choice([None, 0, 1, 2, 3])),
                TopologyConstraint("hard", rng.randint(0, 3)),
                TopologyConstraint("soft"),
            ]
        )
        for policy in policies
    }
    subs = []
    for (policy, index), (pods, running) in sorted(groups.items()):
        n = len(pods) + len(running)
        subs.append(
            SubGroup(
                f"{policy}-{index}",
                tuple(pods),
                constraint[policy],
                rng.choice([n, n, rng.randint(0, n), 1]),
                policy=policy,
                match_index=index,
                running=tuple(sorted(running)),
                **not_tried(rng),
            )
        )
    wanted = {policy: rng.randint(1, 3) for policy in policies if rng.random() < 0.4}
    return replace(gang, sub_groups=tuple(subs), min_subgroups=wanted, sub_grouped=True)


def random_equal_groups(rng, cluster):
    """A new gang of identical sub-groups, all of whose pods are needed."""
    size, groups = rng.randint(1, 4), rng.randint(2, 5)
    n = size * groups
    cpu, memory, gpus = rng.choice([(500, 0, 0), (1000, 1, 0), (1500, 2, 1), (500, 1, 2), (0, 0, 1)])
    requests = {"cpu": cpu, "memory": memory << 29, "nvidia.com/gpu": gpus}
    role = Role("w", n, requests, (gpus,), assumed=open_amounts(n))
    wish = rng.choice([None, TopologyConstraint("soft"), TopologyConstraint("hard", rng.randint(0, 4))])
    subs = tuple(
        SubGroup(f"v-{i}", tuple(range(i * size, (i + 1) * size)), wish, size, policy="v", match_index=i)
        for i in range(groups)
    )
    job = rng.choice([None, TopologyConstraint("soft"), TopologyConstraint("hard", rng.randint(0, 4))])
    wanted = {"v": rng.randint(1, groups)} if rng.random() < 0.5 else {}
    least = rng.choice([n, n, size, rng.randint(0, n)])
    return Gang("d", "j", (role,), least, job, sub_groups=subs, min_subgroups=wanted, sub_grouped=True)


def assert_same_1_15(gang, cluster, weights=WEIGHTS, sub_order=("priority", "gang"), **parameters):
    ledger = cluster.ledger()
    result = get_policy("volcano-1.15", **parameters).place(gang, ledger)
    check_ledger(ledger)
    want = oracle.place(gang, cluster, weights, sub_order)
    if want is None:
        if all(role.best_effort for role in gang.roles):
            return False
        assert not hasattr(result, "node"), (result, want)
        return False
    nodes, record = want
    if not hasattr(result, "node"):
        # Volcano counts best-effort pods without placing them; ours must find a node for as many as are needed.
        assert any(role.best_effort for role in gang.roles), (result, want)
        assert sum(name != "" for name in nodes) + gang.ready < gang.min_available, (result, want)
        return False
    best_effort = np.array([gang.roles[r].best_effort for r in gang.role_of_pod])
    got = ["" if n < 0 else cluster.topology.node_names[n] for n in result.node]
    assert [g for g, b in zip(got, best_effort) if not b] == [w for w, b in zip(nodes, best_effort) if not b]
    if not best_effort.all():
        assert result.hypernode == (record or "")
    return True


def assert_same_1_15_at_random(
    rng, weights=WEIGHTS, make=random_1_15_gang, sub_order=("priority", "gang"), **parameters
):
    cluster = random_cluster(rng)
    return assert_same_1_15(make(rng, cluster), cluster, weights, sub_order, **parameters)
