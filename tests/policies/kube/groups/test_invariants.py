"""What holds for every session of PodGroups and trees of them: capacity, all or nothing, levels, determinism."""

from __future__ import annotations

from hypothesis import given

from tests.choice import choices, tell
from tests.fabrics import RESOURCES, snapshot
from tests.profiles import max_examples
from workbench.model.extras import extras_of
from workbench.model.gang import Gang, Role
from workbench.model.kube_group import KubeGroup, KubeParent
from workbench.model.running_pod import RunningPod
from workbench.policies.registry import get_policy

KEYS = ("", "rack", "block", "absent")


def random_scene(rng):
    """A cluster with labels and running members, and gangs of which some stand under one composite."""
    names = [f"n{i}" for i in range(rng.randint(2, 9))]
    labels = {
        name: {key: rng.choice("xyz"[:many]) for key, many in (("rack", 3), ("block", 2)) if rng.random() < 0.9}
        for name in names
    }
    above = rng.choice([0, 0, 1, 2, 3])
    key = rng.choice(KEYS)
    parent = KubeParent("c", rng.choice([None, 1, above]), key, created="t0")
    gangs, running = [], []
    for number in range(rng.randint(max(above, 1), 4)):
        name, count = f"g{number}", rng.randint(1, 5)
        there = rng.choice([0, 0, 0, 1, 2])
        leaving = rng.randint(0, there)
        # Members on any nodes, so that some groups are split.
        members = [RunningPod("d", f"{name}-r{i}", rng.randrange(len(names)), {}, f"d/{name}") for i in range(there)]
        for i in range(leaving):
            members[i] = RunningPod("d", f"{name}-r{i}", members[i].node, {}, terminating=True, leaving=f"d/{name}")
        running += members
        inside = number < above
        wish = KubeGroup(
            given=True,
            basic=rng.random() < 0.2,
            topology_key=rng.choice(KEYS),
            parent="c" if inside else "",
            parents=(parent,) if inside else (),
            arrived=rng.choice(["", "t1", "t2"]),
        )
        roles = tuple(
            Role(role, rng.randint(0, count), {"cpu": rng.choice([500, 1000, 2500]), "memory": 1 << 30})
            for role in ("v", "w")[: rng.randint(1, 2)]
        )
        pods = sum(role.count for role in roles)
        least = 1 if wish.basic else rng.randint(1, max(pods + there, 1))
        gangs.append(
            Gang("d", name, roles, least, kind="PodGroup", ready=there - leaving, created="t0", extras=extras_of(wish))
        )
    used = {name: (rng.randint(0, 4) * 1000, 0, 0, 0) for name in names}
    tell(names=names, labels=labels, gangs=gangs, running=running, used=used)
    return snapshot(names, labels=labels, gpus=0, cpu=4000, pods=6, used=used, running=running), gangs


def nodes_of(decision):
    found = getattr(decision.result, "node", None)
    return [] if found is None else [at for at in found.tolist() if at >= 0]


def members(gang, cluster):
    return [pod for pod in cluster.running if gang.key in (pod.gang, pod.leaving)]


@max_examples(400)
@given(rng=choices())
def test_what_every_session_keeps(rng):
    cluster, gangs = random_scene(rng)
    name = rng.choice(["kube-default", "kube-1.37-topology"])
    parameters = {"ties": rng.choice(["name", "heap"]), "percentage": rng.choice([100, 0])}
    decisions = get_policy(name, **parameters).schedule(gangs, cluster)
    placed = {decision.gang.name: nodes_of(decision) for decision in decisions}
    assert [decision.gang for decision in decisions] == gangs

    # Capacity, also for nodes that were full before.
    taken = cluster.used.copy()
    for decision in decisions:
        for position, at in enumerate(getattr(decision.result, "node", ())):
            if at >= 0:
                role = decision.gang.roles[int(decision.gang.role_of_pod[position])]
                taken[at] += [{**role.requests, "pods": 1}.get(resource, 0) for resource in RESOURCES]
    grown = taken > cluster.used
    assert (taken[grown] <= cluster.allocatable[grown]).all()

    # All or nothing.
    full = {
        gang.name: len(placed[gang.name]) + len(members(gang, cluster)) >= max(gang.min_available, 1) for gang in gangs
    }
    assert all(full[gang.name] or not placed[gang.name] for gang in gangs)

    if name == "kube-1.37-topology":
        check_trees(gangs, placed, full)
        check_levels(cluster, gangs, placed)

    # The same again, whatever the order in which the gangs are named, and by bounds.
    shuffled = rng.sample(gangs, len(gangs))
    again = get_policy(name, **parameters).schedule(shuffled, cluster)
    assert {decision.gang.name: nodes_of(decision) for decision in again} == placed
    if name == "kube-1.37-topology":
        bounded = get_policy(name, **parameters, order="bound").schedule(gangs, cluster)
        assert {decision.gang.name: nodes_of(decision) for decision in bounded} == placed


def check_trees(gangs, placed, full):
    """Of a tree of which any group has placed a pod, enough groups have their minimum."""
    inside = [gang for gang in gangs if gang.extra(KubeGroup).parents]
    if any(placed[gang.name] for gang in inside):
        (parent,) = inside[0].extra(KubeGroup).parents
        assert sum(full[gang.name] for gang in inside) >= (parent.min_count or 1)


def check_levels(cluster, gangs, placed):
    """Pods that were placed have, with all members, one value of the key of each group above them."""

    def values(key, some):
        column = cluster.labels.columns.get(key)
        at = [node for gang in some for node in (*placed[gang.name], *(pod.node for pod in members(gang, cluster)))]
        return {-1 if column is None else int(column[0][node]) for node in at}

    inside = [gang for gang in gangs if gang.extra(KubeGroup).parents]
    sets = [(gang.extra(KubeGroup).topology_key, [gang]) for gang in gangs]
    if inside:
        sets.append((inside[0].extra(KubeGroup).parents[0].topology_key, inside))
    for key, some in sets:
        if key and any(placed[gang.name] for gang in some):
            assert len(values(key, some)) == 1
            assert -1 not in values(key, some)
