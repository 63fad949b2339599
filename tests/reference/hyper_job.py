"""HyperNodes of a HyperJob's Jobs by trying every assignment: slow, and the rules stand one below the other."""

from __future__ import annotations

from itertools import product


def best_choice(domains, jobs, needed, allowed, occupied, capacity, gpus):
    """The HyperNode of each Job (None: none), or None if too few Jobs find one.

    domains: (name, tier, nodes, parent). jobs: (number of pods needed, highest tier or None). occupied: nodes with
    accelerator pods. capacity: pods that a node holds. gpus: GPUs of each node.
    """
    top = max(tier for _, tier, _, _ in domains) + 1
    order = walk(domains)
    by_name = {domain[0]: domain for domain in domains}
    arounds = [*sorted(domains), ("<top>", top, [node for domain in domains for node in domain[2]], "")]
    for tier in sorted({tier for _, tier, _, _ in domains}):
        free = [d for d in domains if d[1] == tier and d[2] and not set(d[2]) & occupied]
        free.sort(key=lambda d: (sum(gpus[node] for node in d[2]), len(d[2]), order.index(d[0])))
        found = []
        for position, around in enumerate(arounds):
            if around[1] < tier or (allowed is not None and around[1] > allowed):
                continue
            inside = [d for d in free if around[0] == "<top>" or is_below(d, around, by_name)]
            for places in product([None, *range(len(inside))], repeat=len(jobs)):
                taken = [place for place in places if place is not None]
                if len(set(taken)) < len(taken) or len(taken) < needed or not taken:
                    continue
                if not all(
                    place is None or fits(job, inside[place], capacity) for job, place in zip(jobs, places, strict=True)
                ):
                    continue
                key = (-len(taken), around[1], len(inside), position)
                key += tuple(place is None for place in places), tuple(-1 if p is None else p for p in places)
                found.append((key, [None if place is None else inside[place][0] for place in places]))
        if found:
            return min(found)[1]
    return None


def fits(job, domain, capacity):
    pods, highest = job
    return (highest is None or domain[1] <= highest) and sum(capacity[node] for node in domain[2]) >= pods


def is_below(domain, around, by_name):
    while domain[0] != around[0]:
        if not domain[3]:
            return False
        domain = by_name[domain[3]]
    return True


def walk(domains):
    """Names of the HyperNodes as a walk of the tree by names meets them."""

    def below(parent):
        for name, _, _, above in sorted(domains):
            if above == parent:
                yield name
                yield from below(name)

    return list(below(""))
