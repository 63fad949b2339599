"""Oracle of the ``switches`` kernel: node by node and pod by pod."""

from __future__ import annotations


def free_under_switches(holders, idle, request, feasible, gpus, n_gpus, members):
    """Free nodes as booleans, and their number under each switch; `gpus` counts the free ones of each node."""
    free = []
    for node, row in enumerate(idle):
        enough = all(has >= wants for has, wants in zip(row, request, strict=True) if wants)
        free.append(bool(not holders[node] and feasible[node] and enough and gpus[node] >= n_gpus))
    return free, [sum(free[node] for node in nodes) for nodes in members]


def first_free(wanted, free, members, position):
    """(place in `wanted`, node) of each pod; `wanted` has (switch, number) in the order of the answer."""
    found = []
    for place, (switch, number) in enumerate(wanted):
        taken = [node for node in members[switch] if free[node]][:number]
        found += [(place, node) for node in sorted(taken, key=lambda node: position[node])]
    return found


def groups(wanted, vote):
    """Of each pod the place in `wanted` of the first switch that is marked alike: each shared one is by itself."""
    first = {}
    for place, mark in enumerate(vote):
        first.setdefault((mark, place if mark % 4 == 1 else None), place)
    heads = [first[mark, place if mark % 4 == 1 else None] for place, mark in enumerate(vote)]
    return [heads[place] for place, (_, number) in enumerate(wanted) for _ in range(number)]


def joined_votes(idle, shared, exclusive, unhealthy):
    """State and unhealth of one switch by how many say each."""
    if shared > 0:
        return 1, unhealthy > 0
    return (2 if exclusive > 0 else 0), False


def sums(jobs, node_switch, n_switches):
    """Per switch seven sums over jobs and their pods, and per node its holders.

    `jobs` has (what it counts for, its pods), `pods` has (node, mark, unhealthy, holds).
    """
    found = [[0] * 7 for _ in range(n_switches)]
    holders = [0] * len(node_switch)
    for (speaks, foundation, crossing, uncommon), pods in jobs:
        places = {node_switch[pod[0]] if pod[0] >= 0 else -1 for pod in pods}
        for node, mark, unhealthy, holds in pods:
            if node >= 0:
                holders[node] += holds
            switch = node_switch[node] if node >= 0 else -1
            if speaks and switch >= 0:
                found[switch][mark] += 1
                found[switch][3] += unhealthy
        for switch in places - {-1}:
            found[switch][4] += foundation and len(places) > 1
            found[switch][5] += crossing and len(places) > 1
            found[switch][6] += uncommon
    return found, holders
