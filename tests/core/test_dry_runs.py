"""Behaviour of the ``dry_runs`` kernel against a full rescan of each domain for every pod."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from hypothesis import given

from tests.policies.random_cases import seeds
from tests.profiles import max_examples
from tests.reference import domains as slow
from tests.reference.dry_runs import Ask, Trial, runs_of, shuffled, trial
from workbench.kernels.domains import NO_RECORD, ScoreWeights, TopologyScores
from workbench.kernels.dry_runs import Counts, DryRuns
from workbench.kernels.tiers import Forest, tier_scores

RULES = ("by-minimums", "stop", "go-on")


class Case:
    """A random cluster of overlapping domains, shapes, and what is asked."""

    def __init__(self, seed: int) -> None:
        rng = self.rng = random.Random(seed)
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
        self.roots_meet, self.update_record = rng.random() < 0.5, rng.random() < 0.5
        self.scored = rng.random() < 0.8
        self.record = rng.randint(NO_RECORD, d - 1) if self.scored else NO_RECORD
        self.tasks = [rng.randint(0, 3) for _ in range(d)]
        self.total = rng.randint(1, 20)

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
        allocatable, used = (np.array(a, dtype=np.int64) for a in (self.allocatable, self.used))
        runs = DryRuns(
            allocatable - used,
            used,
            allocatable,
            np.array(self.rank, dtype=np.int32),
            np.array(self.leaf, dtype=np.int32),
            np.cumsum([0, *map(len, self.members)]).astype(np.int64),
            np.array([node for nodes in self.members for node in nodes], dtype=np.int32),
            weights=weights,
            scores=scores if self.scored else None,
            update_record=self.update_record,
            leaves=self.overlap(),
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
            runs=None if ask.order is None else runs_of(ask.order),
            **arrays,
        )
        tasks = np.array(self.tasks, dtype=np.int64)
        runs.ask(counts, record=self.record, tasks_on_leaf=tasks, total_tasks=self.total)

    def slowly(self, domain: int, ask: Ask) -> Trial:
        nodes = self.members[domain] if domain >= 0 else list(range(self.n))
        idle = [[a - u for a, u in zip(*pair, strict=True)] for pair in zip(self.allocatable, self.used, strict=True)]
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
            *([rows[i] for i in nodes] for rows in (idle, self.used, self.allocatable)),
            [self.rank[i] for i in nodes],
            [self.leaf[i] for i in nodes],
            slow.Weights(**self.weights),
            topology,
            [
                (request, [feasible[i] for i in nodes], extra and [extra[i] for i in nodes])
                for request, feasible, extra in self.shapes
            ],
        )
        return trial(fill, ask)


def check(seed: int) -> None:
    case = Case(seed)
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
        chosen = case.rng.randrange(len(domains))
        nodes = case.members[domains[chosen]] if domains[chosen] >= 0 else list(range(case.n))
        expected = answers[chosen]
        settled = runs.settle(domains[chosen])
        assert settled.entries.tolist() == [entry for entry, _, _ in expected.placed]
        assert settled.nodes.tolist() == [nodes[position] for _, position, _ in expected.placed]
        assert settled.scores.tolist() == [score for _, _, score in expected.placed]
        assert settled.left.tolist() == expected.ask.left
        for entry, position, _ in expected.placed:
            request = case.shapes[entry][0]
            case.used[nodes[position]] = [u + q for u, q in zip(case.used[nodes[position]], request, strict=True)]


@max_examples(5600)
@given(seed=seeds)
def test_every_trial_agrees_with_the_full_rescan(seed: int) -> None:
    check(seed)


def test_leaves_that_are_scattered_over_a_domain_count_as_one_group_each() -> None:
    # Nodes of leaf 0 and 1 alternate; the record is leaf 1, where both nodes share the greatest base.
    amounts = np.full((4, 1), 2, dtype=np.int64)
    forest = Forest(np.array([-1, -1], dtype=np.int32), np.array([1, 1], dtype=np.int32))
    runs = DryRuns(
        amounts,
        np.zeros_like(amounts),
        amounts,
        np.arange(4, dtype=np.int32),
        np.array([0, 1, 0, 1], dtype=np.int32),
        np.array([0, 2, 4], dtype=np.int64),
        np.array([0, 2, 1, 3], dtype=np.int32),
        weights=ScoreWeights(),
        scores=TopologyScores(forest, np.zeros(2)),
    )
    shape = runs.add_shape(np.ones(1, dtype=np.int64))
    counts = Counts(shapes=np.array([shape], dtype=np.int32), left=np.array([6], dtype=np.int64), min_available=6)
    runs.ask(counts, record=1, total_tasks=10)
    assert runs.settle(-1).nodes.tolist() == [1, 1, 3, 3, 0, 0]
