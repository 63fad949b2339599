"""Oracle of the ``switches`` kernel: node by node and pod by pod."""

from __future__ import annotations


def free_under_switches(before, idle, request, feasible, gpus, n_gpus, members):
    """Free nodes as booleans, and their number under each switch; `gpus` counts the free ones of each node."""
    free = []
    for node, row in enumerate(idle):
        enough = all(has >= wants for has, wants in zip(row, request, strict=True) if wants)
        free.append(bool(before[node] and feasible[node] and enough and gpus[node] >= n_gpus))
    return free, [sum(free[node] for node in nodes) for nodes in members]


def first_free(wanted, free, members):
    """(share, switch, place under it) of each pod; `wanted` has (switch, number) in the order of the answer."""
    found = []
    for share, (switch, number) in enumerate(wanted):
        places = [place for place, node in enumerate(members[switch]) if free[node]]
        found += [(share, switch, place) for place in places[:number]]
    return found


def spoken(pods, node_switch, n_switches):
    """Per switch how many pods say idle, shared, exclusive, unhealthy; per node its holders; pods under each switch.

    `pods` has (node, mark, unhealthy, holds).
    """
    said = [[0, 0, 0, 0] for _ in range(n_switches)]
    holders = [0] * len(node_switch)
    under = [0] * (n_switches + 1)
    for node, mark, unhealthy, holds in pods:
        switch = node_switch[node] if node >= 0 else -1
        under[switch] += 1
        if node >= 0:
            holders[node] += holds
        if switch >= 0:
            said[switch][mark] += 1
            said[switch][3] += unhealthy
    return said, holders, under
