"""Oracle of `workbench.policies.nearest`: pod after pod into one HyperNode, each step written out."""

from __future__ import annotations


def held_pods(request, nodes, every=False):
    """How many of the pods that the gang needs fit on some nodes, and how many it needs; `every`: all are needed."""
    demand = request.demand
    progress = request.progress()
    if every:
        progress.min_available = progress.counted + sum(progress.left)
    needs = max(progress.missing, 1)
    idle = {int(node): demand.idle[int(node)].tolist() for node in nodes}
    names = request.snapshot.topology.node_names
    for role in demand.order:
        row, accepts = demand.rows[role].tolist(), demand.feasible(role)

        def room(node, row=row, accepts=accepts):
            if not accepts[node]:
                return 0
            return max(min(has // asks for has, asks in zip(idle[node], row, strict=True) if asks), 0)

        for _ in range(progress.left[role]):
            fitting = [node for node in idle if room(node)]
            if not fitting:
                break
            chosen = min(fitting, key=lambda node: (room(node), names[node].encode()))
            idle[chosen] = [has - asks for has, asks in zip(idle[chosen], row, strict=True)]
            progress.place(role, 1)
    return needs - min(progress.missing, needs), needs


def nearest(request, domains, every=False):
    """(tier, name, holds, needs) of the best of some HyperNodes for each tier, lowest tier first."""
    topology = request.snapshot.topology
    found = {}
    for domain in domains:
        holds, needs = held_pods(request, topology.nodes_of(domain), every)
        tier, name = topology.domain_tier(domain), topology.domain_name(domain)
        found[tier] = min(found.get(tier, (1, b"")), (-holds, name.encode()))
    return [(tier, name.decode(), -holds, needs) for tier, (holds, name) in sorted(found.items())]
