"""The two-level search: every HyperNode tried in every turn, every sub-job dry-run in every HyperNode.

Oracle of the ``two_level`` kernel, and of `volcano-1.15`: `tests.reference.volcano_1_15` says which search a gang is.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.reference import domains as slow
from tests.reference.copies import copied
from tests.reference.dry_runs import Ask, trial

NO_RECORD = -2
NOWHERE = -3


@dataclass
class Tree:
    parent: list[int]
    tier: list[int]
    nodes: list[list[int]]
    leaf: list[int]
    rank: list[int]

    @property
    def top_tier(self) -> int:
        return max([*(t + 1 for t in self.tier), 1])

    def tier_of(self, domain: int) -> int:
        return self.top_tier if domain < 0 else self.tier[domain]

    def nodes_of(self, domain: int) -> list[int]:
        return list(range(len(self.leaf))) if domain < 0 else self.nodes[domain]

    def leaves_of(self, node: int) -> list[int]:
        """Its leaf and what else of the lowest tier holds the node."""
        lowest = [d for d, tier in enumerate(self.tier) if tier == min(self.tier) and node in self.nodes[d]]
        return sorted({*lowest, self.leaf[node]} - {-1}) if self.leaf[node] >= 0 else []

    def up(self, domain: int) -> list[int]:
        """Itself, its ancestors, the virtual top."""
        found = [domain]
        while found[-1] >= 0:
            found.append(self.parent[found[-1]])
        return found

    def lca(self, a: int, b: int) -> int:
        if NO_RECORD in (a, b):
            return max(a, b) if a != b else a
        return next(x for x in self.up(a) if x in self.up(b))

    def gradients(self, given: int, record: int, limit: int | None) -> list[list[int]]:
        if limit is None:
            return [[given]]
        start = given
        if record != NO_RECORD:
            near = [x for x in self.up(record) if self.tier_of(x) <= limit]
            if self.tier_of(record) > limit:
                return []
            highest = record
            for x in self.up(record)[1:]:
                if x not in near:
                    break
                highest = x
            if highest in self.up(given):
                start = given
            elif given in self.up(highest):
                start = highest
            else:
                return []
        below = [x for x in range(-1, len(self.tier)) if start in self.up(x) and self.tier_of(x) <= limit]
        tiers = sorted({self.tier_of(x) for x in below})
        return [[x for x in below if self.tier_of(x) == t] for t in tiers]


@dataclass
class Sub:
    ask: Ask
    policy: int
    rank: int
    grade: int
    scored: bool
    limit: int | None
    total: int
    record: int
    request: list[int]
    pending: list[int]
    on_nodes: list[int]
    waiting: list[list[int]] = field(default_factory=list)  # pods of each entry, as they are tried; empty: nameless


@dataclass
class Search:
    tree: Tree
    idle: list[list[int]]
    used: list[list[int]]
    allocatable: list[list[int]]
    idle_at_open: list[list[int]]  # of each node
    shapes: list[tuple[list[int], list[int], list[float] | None]]
    weights: slow.Weights
    value: list[float]
    topology_weight: float
    packing: list[float]
    scale: float
    job: Ask
    grouped: bool
    limit: int | None
    minimum: list[int] | None
    wanted: list[int]
    record: int
    subs: list[Sub]
    score: float = 0.0
    placed: list[tuple[int, int, int]] = field(default_factory=list)  # sub-job, shape and node of each pod
    pods: list[int] = field(default_factory=list)  # those placed, where they are told apart
    fading: list[tuple[int, float]] | None = None  # by tier; of sub-jobs that are not scored
    chosen: int = NO_RECORD  # by the last turn
    needed: set[int] = field(default_factory=set)  # ranks of the sub-jobs that come first, as before the first turn
    # of the attempt: sub-job, where it went, pods, what it looked at
    steps: list[tuple[int, int, int, list[tuple[int, bool, float]]]] = field(default_factory=list)

    def ready(self) -> bool:
        ready = [sum(s.policy == p and s.ask.ready() for s in self.subs) for p in range(len(self.wanted))]
        return self.job.ready() and all(r >= w for r, w in zip(ready, self.wanted, strict=True))

    def pods_left(self) -> int:
        return sum(sum(sub.ask.left) for sub in self.subs)

    def large(self, domain: int, amount: list[int]) -> bool:
        nodes = self.tree.nodes_of(domain)
        return all(sum(self.idle_at_open[n][k] for n in nodes) >= a for k, a in enumerate(amount))

    def turn(self) -> Search | None:
        for gradient in self.tree.gradients(-1, self.record, self.limit):
            best: tuple[int, Search] | None = None
            for domain in gradient:
                small = self.minimum is not None and not self.large(domain, self.minimum)
                if small and self.record == NO_RECORD and self.limit is not None:
                    continue
                attempt = copied(self)
                attempt.score, attempt.steps = 0.0, []
                attempt.fill(domain)
                if len(attempt.placed) == len(self.placed) or not attempt.ready():
                    continue
                if best is None or (attempt.score, -domain) > (best[1].score, -best[0]):
                    best = domain, attempt
            if best is not None:
                best[1].record = self.tree.lca(self.record, best[0])
                best[1].chosen = best[0]
                return best[1]
        return None

    def __post_init__(self) -> None:
        for policy, wanted in enumerate(self.wanted):
            missing = wanted - sum(s.policy == policy and s.ask.ready() for s in self.subs)
            waiting = [s.rank for s in self.subs if s.policy == policy and not s.ask.ready()]
            self.needed |= set(sorted(waiting)[: max(missing, 0)])

    def next_sub(self) -> int:
        """The sub-job whose turn is next; -1: none has pods left."""

        def order(i: int) -> tuple[bool, int, bool, int]:
            sub = self.subs[i]
            return (sub.rank not in self.needed, sub.grade, sub.ask.ready(), sub.rank)

        return min((i for i, sub in enumerate(self.subs) if any(sub.ask.left)), key=order, default=-1)

    def fill(self, domain: int) -> None:
        while (number := self.next_sub()) >= 0:
            if not self.place(number, domain):
                self.subs[number].ask.left = [0] * len(self.subs[number].ask.left)
            elif self.ready():
                break

    def place(self, number: int, given: int) -> bool:
        looked: list[tuple[int, bool, float]] = []
        before = len(self.placed)
        domain = self.place_at(number, given, looked)
        self.steps.append((number, domain, len(self.placed) - before, looked))
        return domain != NOWHERE

    def place_at(self, number: int, given: int, looked: list[tuple[int, bool, float]]) -> int:
        """Where it goes; ``looked``: every HyperNode up to the tier that decides, solved or not, with its score."""
        sub = self.subs[number]
        for gradient in self.tree.gradients(given, sub.record, sub.limit):
            solved = []
            for domain in gradient:
                if sub.limit is not None and sub.record == NO_RECORD and not self.large(domain, sub.pending):
                    continue
                done = trial(self.filler(domain, sub), sub.ask)
                if done.placed and done.ask.ready():
                    solved.append((self.packed(domain, sub), domain, done))
            if not solved:
                looked += [(domain, False, 0.0) for domain in gradient]
                continue
            greatest = max(score for score, _, _ in solved)
            sharing = [domain for score, domain, _ in solved if score == greatest]
            if len(sharing) > 1 and sub.on_nodes and self.scale:
                inside = {d: sum(n in self.tree.nodes_of(d) for n in sub.on_nodes) for d in sharing}
                solved = [(s + inside.get(d, 0) / sub.total, d, done) for s, d, done in solved]
            scores = {d: s for s, d, _ in solved}
            looked += [(d, d in scores, scores.get(d, 0.0)) for d in gradient]
            score, domain, done = max(solved, key=lambda found: (found[0], -found[1]))
            nodes = self.tree.nodes_of(domain)
            for (entry, position, _), pod in zip(done.placed, done.numbers, strict=True):
                shape, node = sub.ask.shapes[entry], nodes[position]
                self.placed.append((number, shape, node))
                if sub.waiting:
                    self.pods.append(sub.waiting[entry][pod])
                sub.on_nodes.append(node)
                for k, amount in enumerate(self.shapes[shape][0]):
                    self.idle[node][k] -= amount
                    self.used[node][k] += amount
                if self.grouped:
                    self.job.counted += 1
                    self.job.present[shape] += 1
            sub.ask = done.ask
            sub.waiting = [pods[len(pods) - left :] for pods, left in zip(sub.waiting, sub.ask.left, strict=False)]
            if not self.grouped:
                self.job = done.ask
            sub.record = self.tree.lca(sub.record, domain)
            self.score += score * 100.0 * self.scale
            return domain
        return NOWHERE

    def packed(self, domain: int, sub: Sub) -> float:
        if self.scale == 0:
            return 0.0
        return slow.packing_score(self.packing, sub.request, self.tree.nodes_of(domain), self.used, self.allocatable)

    def faded(self) -> slow.Fading | None:
        if self.fading is None:
            return None
        tree, scale = self.tree, self.topology_weight
        return slow.Fading(self.fading, tree.tier, tree.nodes, self.used, self.allocatable, self.packing, scale)

    def filler(self, domain: int, sub: Sub) -> slow.RescanFill:
        nodes = self.tree.nodes_of(domain)
        topology = None
        if sub.scored:
            tasks: dict[int, int] = {}
            for node in sub.on_nodes:
                for leaf in self.tree.leaves_of(node) if node >= 0 else ():
                    tasks[leaf] = tasks.get(leaf, 0) + 1
            topology = slow.Topology(
                self.tree.parent,
                self.value,
                1.0,
                0.0,
                self.topology_weight,
                True,
                True,
                sub.record,
                tasks,
                sub.total,
                [self.tree.leaves_of(n) for n in nodes],
            )
        return slow.RescanFill(
            *([list(rows[n]) for n in nodes] for rows in (self.idle, self.used, self.allocatable)),
            [self.tree.rank[n] for n in nodes],
            [self.tree.leaf[n] for n in nodes],
            self.weights,
            topology,
            [(q, [f[n] for n in nodes], extra and [extra[n] for n in nodes]) for q, f, extra in self.shapes],
            None if sub.scored else self.faded(),
            nodes,
        )
