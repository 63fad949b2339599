"""Behaviour of the ``dry_runs`` kernel against a full rescan of each domain for every pod."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from tests.choice import choices
from tests.profiles import max_examples
from tests.reference import domains as slow
from tests.reference.dry_runs import Ask, Trial, runs_of, shuffled, trial
from workbench.kernels.domain_nodes import DomainNodes
from workbench.kernels.domains import NO_RECORD, ScoreWeights, TopologyScores
from workbench.kernels.dry_run_values import Counts, DomainTotals
from workbench.kernels.dry_runs import DryRuns
from workbench.kernels.fading import Fading, Rings
from workbench.kernels.tiers import Forest, tier_scores

RULES = ("by-minimums", "stop", "go-on")


class RandomFading:
    """How pods without a topology are drawn to full domains, for both."""

    def __init__(self, case: Case) -> None:
        rng, d = case.rng, len(case.members)
        self.by_tier = [(number, rng.choice([0.0, 0.5, 1.0])) for number in range(1, max(case.tier) + 2)]
        self.packing = [float(rng.randint(-1, 2)) for _ in range(case.r)]
        tiers = sorted(set(case.tier))
        holders = [[j for j in range(d) if node in case.members[j]] for node in range(case.n)]
        self.start = np.cumsum([0, *map(len, holders)]).astype(np.int64)
        self.holders = np.array([j for mine in holders for j in mine], dtype=np.int32)
        column_of = np.array([tiers.index(tier) for tier in case.tier], dtype=np.int32)
        column = {number: i for i, number in enumerate([*tiers, max(case.tier) + 1])}
        self.kernel = Fading(
            Rings.of(self.start, self.holders, column_of, len(tiers)),
            np.array([column.get(number, -1) for number, _ in self.by_tier], dtype=np.int32),
            np.array([weight for _, weight in self.by_tier]),
            np.array(self.packing),
            2.0,
        )

    def totals(self, case: Case) -> DomainTotals:
        sums = [
            np.array([np.sum([rows[i] for i in mine] or [[0] * case.r], axis=0) for mine in every], dtype=np.int64)
            for every in [[*case.members, range(case.n)]]
            for rows in (case.used, case.allocatable)
        ]
        return DomainTotals(*sums, self.start, self.holders)

    def slow(self, case: Case) -> slow.Fading:
        used = [list(row) for row in case.used]
        return slow.Fading(self.by_tier, case.tier, case.members, used, case.allocatable, self.packing, 2.0)


class Case:
    """A random cluster of overlapping domains, shapes, and what is asked."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.n, self.r = rng.randint(1, 12), rng.randint(1, 3)
        d = rng.randint(1, 7)
        self.parent = [rng.choice([-1, *range(i + 1, d)]) for i in range(d)]
        self.tier = [1] * d
        for i in range(d):
            if self.parent[i] >= 0:
                self.tier[self.parent[i]] = max(self.tier[self.parent[i]], self.tier[i] + 1)
        self.members = [sorted(rng.sample(range(self.n), rng.randint(0, self.n))) for _ in range(d)]
        self.leaf = [rng.randint(-1, d - 1) for _ in range(self.n)]
        # Of a node that has a leaf, and where leaves overlap others that hold it, too.
        more = rng.choice([0, 0, 2])
        self.leaves = [
            [] if leaf < 0 else sorted({leaf, *rng.sample(range(d), rng.randint(0, min(more, d)))})
            for leaf in self.leaf
        ]
        self.allocatable = [[rng.randint(0, 9) for _ in range(self.r)] for _ in range(self.n)]
        self.used = [[rng.randint(0, a) for a in row] for row in self.allocatable]
        rows = zip(self.allocatable, self.used, strict=True)
        self.idle = [[a - u for a, u in zip(*pair, strict=True)] for pair in rows]
        if rng.random() < 0.2:
            self.idle = [[rng.randint(-1, 12) for _ in row] for row in self.idle]
        self.rank = rng.sample(range(self.n), self.n)
        self.weights = {
            "binpack": rng.choice([0.0, 1.0]),
            "binpack_by": [float(rng.randint(0, 2)) for _ in range(self.r)],
            "least": rng.choice([0.0, 1.0]),
            "most": rng.choice([0.0, 2.0]),
            "request_by": [rng.randint(0, 2) for _ in range(self.r)],
            "balanced": rng.choice([0.0, 1.0]),
            "balanced_by": [rng.randint(0, 2) for _ in range(self.r)],
        }
        self.shapes = [
            (
                [rng.randint(0, 3) for _ in range(self.r)],
                [int(rng.random() < 0.9) for _ in range(self.n)],
                rng.choice([None, [float(rng.randint(0, 2)) for _ in range(self.n)]]),
            )
            for _ in range(rng.randint(1, 3))
        ]
        if rng.random() < 0.2:
            # Nodes of one or two pods, all scores from the topology: which nodes share the greatest base changes with
            # nearly every pod.
            self.weights |= {"binpack": 0.0, "least": 0.0, "most": 0.0, "balanced": 0.0}
            self.allocatable = [[rng.randint(1, 2)] * self.r for _ in range(self.n)]
            self.used, self.idle = [[0] * self.r for _ in range(self.n)], [list(row) for row in self.allocatable]
        self.roots_meet, self.update_record = rng.random() < 0.5, rng.random() < 0.5
        self.scored = rng.random() < 0.8
        self.record = rng.randint(NO_RECORD, d - 1) if self.scored else NO_RECORD
        self.tasks = [rng.randint(0, 3) for _ in range(d)]
        self.total = rng.randint(1, 20)
        self.fading = None if self.scored or rng.random() < 0.5 else RandomFading(self)

    def overlap(self) -> tuple[np.ndarray, np.ndarray] | None:
        if all(len(leaves) < 2 for leaves in self.leaves):
            return None
        start = np.cumsum([0, *map(len, self.leaves)]).astype(np.int64)
        return start, np.array([leaf for leaves in self.leaves for leaf in leaves], dtype=np.int32)

    def ask(self) -> Ask:
        rng, m = self.rng, len(self.shapes)
        left = [rng.randint(0, 4) for _ in range(m)]
        return Ask(
            shapes=list(range(m)),
            left=left,
            order=rng.choice([None, shuffled(rng, left)]),
            present=[rng.randint(0, 2) for _ in range(m)],
            minimums=[rng.choice([0, 0, rng.randint(0, 4)]) for _ in range(m)],
            names=[rng.randint(0, m) for _ in range(m)],
            min_available=rng.randint(0, 8),
            counted=rng.randint(0, 3),
            after_failure=rng.choice(RULES),
            every=rng.random() < 0.3,
        )

    def runs(self) -> DryRuns:
        w = self.weights
        weights = ScoreWeights(
            binpack=w["binpack"],
            binpack_resources=np.array(w["binpack_by"]),
            least_requested=w["least"],
            most_requested=w["most"],
            request_resources=np.array(w["request_by"], dtype=np.int64),
            balanced=w["balanced"],
            balanced_resources=np.array(w["balanced_by"], dtype=np.uint8),
        )
        tier = np.array(self.tier, dtype=np.int32)
        forest = Forest(np.array(self.parent, dtype=np.int32), tier)
        scores = TopologyScores(forest, tier_scores(tier, 1, max(self.tier), flat=0.0), roots_meet=self.roots_meet)
        idle, allocatable, used = (np.array(a, dtype=np.int64) for a in (self.idle, self.allocatable, self.used))
        runs = DryRuns(
            idle,
            used,
            allocatable,
            DomainNodes(
                np.array(self.rank, dtype=np.int32),
                np.array(self.leaf, dtype=np.int32),
                np.cumsum([0, *map(len, self.members)]).astype(np.int64),
                np.array([node for nodes in self.members for node in nodes], dtype=np.int32),
                leaves=self.overlap(),
            ),
            weights=weights,
            scores=scores if self.scored else None,
            fading=self.fading.kernel if self.fading else None,
            totals=self.fading.totals(self) if self.fading else None,
        )
        for request, feasible, extra in self.shapes:
            runs.add_shape(
                np.array(request, dtype=np.int64),
                feasible=np.array(feasible, dtype=np.uint8),
                extra=None if extra is None else np.array(extra),
            )
        return runs

    def put_to(self, runs: DryRuns, ask: Ask) -> None:
        arrays: dict[str, Any] = {
            key: np.array(getattr(ask, key), dtype=np.int64) for key in ("left", "present", "minimums")
        }
        counts = Counts(
            shapes=np.array(ask.shapes, dtype=np.int32),
            names=np.array(ask.names, dtype=np.int32),
            min_available=ask.min_available,
            counted=ask.counted,
            after_failure=ask.after_failure,
            every=ask.every,
            runs=None if ask.order is None else runs_of(ask.order),
            **arrays,
        )
        tasks = np.array(self.tasks, dtype=np.int64)
        runs.ask(
            counts,
            record=self.record,
            update_record=self.update_record,
            tasks_on_leaf=tasks,
            total_tasks=self.total,
        )

    def slowly(self, domain: int, ask: Ask) -> Trial:
        return trial(self.rescan(domain), ask)

    def rescan(self, domain: int) -> slow.RescanFill:
        nodes = self.members[domain] if domain >= 0 else list(range(self.n))
        topology = None
        if self.scored:
            value = [0.0] * len(self.tier)
            if max(self.tier) > 1:
                value = [(max(self.tier) - t) / (max(self.tier) - 1) for t in self.tier]
            topology = slow.Topology(
                self.parent, value, 1.0, 0.0, 1.0, self.roots_meet, self.update_record, self.record, {}, self.total
            )
            topology.tasks = dict(enumerate(self.tasks))
            topology.leaves = [self.leaves[i] for i in nodes]
        fill = slow.RescanFill(
            *([rows[i] for i in nodes] for rows in (self.idle, self.used, self.allocatable)),
            [self.rank[i] for i in nodes],
            [self.leaf[i] for i in nodes],
            slow.Weights(**self.weights),
            topology,
            [
                (request, [feasible[i] for i in nodes], extra and [extra[i] for i in nodes])
                for request, feasible, extra in self.shapes
            ],
            fading=self.fading.slow(self) if self.fading else None,
            nodes=nodes,
        )
        return fill


def check(rng: random.Random) -> None:
    case = Case(rng)
    runs = case.runs()
    domains = [-1, *range(len(case.members))]
    for _ in range(3):
        ask = case.ask()
        case.put_to(runs, ask)
        given = [case.rng.choice([0.0, 0.1, 7.3]) for _ in domains]
        answers = [case.slowly(domain, ask) for domain in domains]
        trials = runs.try_each(np.array(domains, dtype=np.int32), np.array(given))
        assert trials.placed.tolist() == [len(a.placed) for a in answers]
        assert trials.ready.tolist() == [a.ask.ready() for a in answers]
        assert trials.missing.tolist() == [a.ask.missing() for a in answers]
        assert trials.first.tolist() == [a.placed[0][2] if a.placed else 0.0 for a in answers]
        for start, a, got in zip(given, answers, trials.sums.tolist(), strict=True):
            for _, _, score in a.placed:
                start += score
            assert got == start
        check_node_scores(case, runs, case.rng.choice(domains))
        chosen = case.rng.randrange(len(domains))
        nodes = case.members[domains[chosen]] if domains[chosen] >= 0 else list(range(case.n))
        expected = answers[chosen]
        settled = runs.settle(domains[chosen])
        assert settled.entries.tolist() == [entry for entry, _, _ in expected.placed]
        assert settled.nodes.tolist() == [nodes[position] for _, position, _ in expected.placed]
        assert settled.scores.tolist() == [score for _, _, score in expected.placed]
        entries = settled.entries.tolist()
        assert settled.placed.tolist() == [entries.count(entry) for entry in range(len(ask.shapes))]
        assert settled.left.tolist() == expected.ask.left
        assert settled.pods.tolist() == expected.numbers
        assert settled.failed == (expected.failed if expected.failed is not None else -1)
        if case.scored:
            assert expected.fill.topology is not None
            assert settled.record == expected.fill.topology.record
        for entry, position, _ in expected.placed:
            request = case.shapes[entry][0]
            case.used[nodes[position]] = [u + q for u, q in zip(case.used[nodes[position]], request, strict=True)]
            case.idle[nodes[position]] = [i - q for i, q in zip(case.idle[nodes[position]], request, strict=True)]


def check_node_scores(case: Case, runs: DryRuns, domain: int) -> None:
    """How nodes look to the first pod of each shape, before anything of the pass is placed."""
    fill = case.rescan(domain)
    nodes = case.members[domain] if domain >= 0 else list(range(case.n))
    for shape in range(len(case.shapes)):
        part, total = runs.node_scores(domain, shape)
        fitting = [i for i in range(len(nodes)) if fill.fits(shape, i)]
        assert np.flatnonzero(np.isfinite(part)).tolist() == [nodes[i] for i in fitting]
        offset = fill.offsets(fitting, shape) if fitting else {}
        for i in fitting:
            assert part[nodes[i]] == fill.node_part(shape, i)
            assert total[nodes[i]] == part[nodes[i]] + offset[i]


@max_examples(2800)
@given(rng=choices())
def test_every_trial_agrees_with_the_full_rescan(rng: random.Random) -> None:
    check(rng)


def test_leaves_that_are_scattered_over_a_domain_count_as_one_group_each() -> None:
    # Nodes of leaf 0 and 1 alternate; the record is leaf 1, where both nodes share the greatest base.
    amounts = np.full((4, 1), 2, dtype=np.int64)
    forest = Forest(np.array([-1, -1], dtype=np.int32), np.array([1, 1], dtype=np.int32))
    runs = DryRuns(
        amounts,
        np.zeros_like(amounts),
        amounts,
        DomainNodes(
            np.arange(4, dtype=np.int32),
            np.array([0, 1, 0, 1], dtype=np.int32),
            np.array([0, 2, 4], dtype=np.int64),
            np.array([0, 2, 1, 3], dtype=np.int32),
        ),
        weights=ScoreWeights(),
        scores=TopologyScores(forest, np.zeros(2)),
    )
    shape = runs.add_shape(np.ones(1, dtype=np.int64))
    counts = Counts(shapes=np.array([shape], dtype=np.int32), left=np.array([6], dtype=np.int64), min_available=6)
    runs.ask(counts, record=1, total_tasks=10)
    assert runs.settle(-1).nodes.tolist() == [1, 1, 3, 3, 0, 0]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_a_large_fill_equals_a_full_rescan(seed: int) -> None:
    """Trees of many levels and of odd sizes, amounts of a real machine, three shapes that alternate."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(150, 260))
    parent = np.array([-1, 0, 0, 0] + [int(rng.integers(1, 4)) for _ in range(20)], dtype=np.int32)
    leaf = rng.integers(3, 24, n).astype(np.int32)
    leaf[leaf == 3] = -1
    total = np.tile(np.array([64_000, 512 * 2**30, 8], dtype=np.int64), (n, 1))
    used = rng.integers(0, 3, (n, 1)) * np.array([8_000, 64 * 2**30, 1], dtype=np.int64)
    rank = rng.permutation(n).astype(np.int32)
    weights = slow.Weights(1.0, [1.0, 1.0, 5.0], 1.0, 0.0, [1, 1, 0], 1.0, [1, 1, int(seed % 3)])
    value = np.linspace(0.0, 1.0, 24).round(1)
    runs = DryRuns(
        total - used,
        used,
        total,
        DomainNodes(rank, leaf, np.zeros(25, dtype=np.int64), np.zeros(0, dtype=np.int32)),
        weights=ScoreWeights(
            binpack=1.0,
            binpack_resources=np.array(weights.binpack_by),
            least_requested=1.0,
            request_resources=np.array(weights.request_by, dtype=np.int64),
            balanced=1.0,
            balanced_resources=np.array(weights.balanced_by, dtype=np.uint8),
        ),
        scores=TopologyScores(Forest(parent, np.ones(24, dtype=np.int32)), value),
    )
    oracle = slow.RescanFill(
        (total - used).tolist(), used.tolist(), total.tolist(), rank.tolist(), leaf.tolist(), weights
    )
    for request in ([4_000, 16 * 2**30, 1], [8_000, 100 * 2**30, 2], [1_000, 2**30, 0]):
        runs.add_shape(np.array(request, dtype=np.int64))
        oracle.shapes.append((request, [1] * n, None))
    oracle.topology = slow.Topology(parent.tolist(), value.tolist(), 1.0, 0.0, 1.0, False, True, NO_RECORD, {}, 900)
    ask = Ask([0, 1, 2], [200] * 3, [0] * 3, [0] * 3, [0, 1, 2], 600, 0, "go-on", order=[0, 1, 2] * 200)
    expected = trial(oracle, ask)
    counts = Counts(
        shapes=np.arange(3, dtype=np.int32),
        left=np.full(3, 200, dtype=np.int64),
        min_available=600,
        after_failure="go-on",
        runs=runs_of([0, 1, 2] * 200),
    )
    runs.ask(counts, update_record=True, total_tasks=900)
    settled = runs.settle(-1)
    assert settled.nodes.tolist() == [position for _, position, _ in expected.placed]
    assert settled.scores.tolist() == [score for _, _, score in expected.placed]
