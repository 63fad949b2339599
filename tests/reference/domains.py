"""Oracle of the ``domains`` kernel: plain loops, every node looked at again for every pod."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

NO_RECORD = -2


def pods_per_node(
    idle: Sequence[Sequence[int]], request: Sequence[int], feasible: Sequence[int], cap: int
) -> list[int]:
    answer = []
    for row, allowed in zip(idle, feasible, strict=True):
        limits = [cap] + [max(have, 0) // want for have, want in zip(row, request, strict=True) if want]
        answer.append(min(limits) if allowed else 0)
    return answer


def domain_counts(per_node: Sequence[int], domains: Sequence[Sequence[int]]) -> list[int]:
    return [sum(per_node[node] for node in domain) for domain in domains]


@dataclass
class Weights:
    binpack: float
    binpack_by: list[float]
    least: float
    most: float
    request_by: list[int]
    balanced: float
    balanced_by: list[int]  # 2: where the pod asks for it


@dataclass
class Topology:
    parent: list[int]
    value: list[float]
    own: float
    top: float
    weight: float
    roots_meet: bool
    update_record: bool
    record: int
    tasks: dict[int, int]  # by leaf
    total: int
    leaves: list[list[int]] | None = None  # where leaves overlap: every leaf of each candidate


def packing_score(
    packing: list[float], request: list[int], nodes: list[int], used: list[list[int]], allocatable: list[list[int]]
) -> float:
    """Weighted mean of what is used on some nodes with a request added; 0 where a resource that counts overflows."""
    score = weights = 0.0
    for k, (weight, asked) in enumerate(zip(packing, request, strict=True)):
        if asked > 0 and weight >= 0:
            after = sum(used[n][k] for n in nodes) + asked
            whole = sum(allocatable[n][k] for n in nodes)
            if after > whole:
                return 0.0
            score += weight * after / max(whole, 1)
            weights += weight
    return score / weights if weights else 0.0


@dataclass
class Fading:
    """How full the domains around a node become with one more pod."""

    by_tier: list[tuple[int, float]]  # tier number and weight, the virtual top's last
    tier: list[int]
    members: list[list[int]]
    used: list[list[int]]  # of every node of the cluster
    allocatable: list[list[int]]
    packing: list[float]
    scale: float

    def gain(self, node: int, request: list[int]) -> float:
        score = weights = 0.0
        for tier, weight in self.by_tier:
            around = [m for m, t in zip(self.members, self.tier, strict=True) if t == tier and node in m]
            if tier == self.by_tier[-1][0]:
                around = [list(range(len(self.used)))]
            score += weight * (self.full(around[0], request) if around else 1.0)
            weights += weight
        return (score / weights if weights else score) * 100.0 * self.scale

    def full(self, nodes: list[int], request: list[int]) -> float:
        return packing_score(self.packing, request, nodes, self.used, self.allocatable)


@dataclass
class RescanFill:
    """One candidate after the other, for each pod anew."""

    idle: list[list[int]]
    used: list[list[int]]
    allocatable: list[list[int]]
    rank: list[int]
    leaf: list[int]
    weights: Weights
    topology: Topology | None = None
    shapes: list[tuple[list[int], list[int], list[float] | None]] = field(default_factory=list)
    fading: Fading | None = None
    nodes: list[int] = field(default_factory=list)  # of the cluster, for the fading

    def fits(self, shape: int, i: int) -> bool:
        request, feasible, _ = self.shapes[shape]
        return bool(feasible[i]) and all(
            have >= want for have, want in zip(self.idle[i], request, strict=True) if want > 0
        )

    def node_part(self, shape: int, i: int) -> float:
        request, _, extra = self.shapes[shape]
        w = self.weights
        after = [u + q for u, q in zip(self.used[i], request, strict=True)]
        total = self.allocatable[i]
        resources = range(len(request))
        score = 0.0
        if w.binpack:
            part = 0.0
            weights = 0.0
            for k in resources:
                if request[k] > 0:
                    weights += w.binpack_by[k]
                    if total[k] > 0 and after[k] <= total[k]:
                        part += w.binpack_by[k] * after[k] / total[k]
            part = part / weights if weights else 0.0
            score += part * (100.0 * w.binpack)
        # Kubernetes leaves a resource that the node does not have out of the mean, weight and all.
        weight_sum = sum(w.request_by[k] for k in resources if total[k] > 0)
        roomy = [k for k in resources if total[k] > 0 and after[k] <= total[k]]
        if weight_sum:
            least = sum((total[k] - after[k]) * 100 // total[k] * w.request_by[k] for k in roomy)
            most = sum(after[k] * 100 // total[k] * w.request_by[k] for k in roomy)
            score += (least // weight_sum) * w.least
            score += (most // weight_sum) * w.most
        if w.balanced:
            parts = [k for k in resources if w.balanced_by[k] == 1 or (w.balanced_by[k] == 2 and request[k] > 0)]
            parts = [k for k in parts if total[k] > 0]
            fractions = [min(1.0, after[k] / total[k]) for k in parts]
            if not any(request[k] > 0 for k in parts):
                # Kubernetes does not balance pods that ask for nothing of it.
                std = 1.0
            elif len(fractions) < 2:
                std = 0.0
            elif len(fractions) == 2:
                std = abs(fractions[0] - fractions[1]) / 2
            else:
                mean = 0.0
                for f in fractions:
                    mean += f
                mean /= len(fractions)
                squares = 0.0
                for f in fractions:
                    squares += (f - mean) * (f - mean)
                std = math.sqrt(squares / len(fractions))
            score += int((1 - std) * 100) * w.balanced
        if extra is not None:
            score += extra[i]
        return score

    def ancestors(self, domain: int) -> list[int]:
        assert self.topology is not None
        found = []
        while domain >= 0:
            found.append(domain)
            domain = self.topology.parent[domain]
        return found

    def lca(self, a: int, b: int) -> int:
        return next((x for x in self.ancestors(a) if x in self.ancestors(b)), -1)

    def offsets(self, fitting: list[int], shape: int) -> dict[int, float]:
        t = self.topology
        if self.fading is not None:
            return {i: self.fading.gain(self.nodes[i], self.shapes[shape][0]) for i in fitting}
        if t is None or t.record == NO_RECORD:
            return dict.fromkeys(fitting, 0.0)
        base = {}
        for i in fitting:
            leaf = self.leaf[i]
            if leaf < 0:
                base[i] = 0.0
            elif leaf == t.record:
                base[i] = t.own
            else:
                common = self.lca(leaf, t.record)
                base[i] = t.top if common < 0 else t.value[common]
        best = max(base.values())
        sharing = [i for i in fitting if base[i] == best]
        if len(sharing) >= 2:
            for i in sharing:
                if self.leaf[i] >= 0:
                    base[i] = base[i] + t.tasks.get(self.leaf[i], 0) / t.total
        return {i: base[i] * 100.0 * t.weight for i in fitting}

    def place(self, shape: int, sole_unscored: bool) -> tuple[int, float] | None:
        """Position and score, or None."""
        fitting = [i for i in range(len(self.idle)) if self.fits(shape, i)]
        if not fitting:
            return None
        offset = self.offsets(fitting, shape)
        part = {i: self.node_part(shape, i) for i in fitting}
        chosen = min(fitting, key=lambda i: (-(part[i] + offset[i]), -part[i], self.rank[i], i))
        score = 0.0 if sole_unscored and len(fitting) == 1 else part[chosen] + offset[chosen]
        for k, want in enumerate(self.shapes[shape][0]):
            self.idle[chosen][k] -= want
            self.used[chosen][k] += want
            if self.fading is not None:
                self.fading.used[self.nodes[chosen]][k] += want
        t = self.topology
        leaf = self.leaf[chosen]
        if t is not None and leaf >= 0:
            for one in [leaf] if t.leaves is None else t.leaves[chosen]:
                t.tasks[one] = t.tasks.get(one, 0) + 1
            if t.update_record:
                if t.record == NO_RECORD:
                    t.record = leaf
                else:
                    t.record = self.lca(leaf, t.record)
                    if t.record < 0 and not t.roots_meet:
                        t.record = NO_RECORD
        return chosen, score
