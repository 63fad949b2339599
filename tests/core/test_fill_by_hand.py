"""Where pods go on the documents' own tree, by hand: order of choice, records, shares of tasks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from workbench.kernels.domain_nodes import DomainNodes
from workbench.kernels.domains import NO_RECORD, ScoreWeights, TopologyScores
from workbench.kernels.dry_run_values import Counts, DomainTotals, Settled
from workbench.kernels.dry_runs import DryRuns
from workbench.kernels.fading import Fading, Rings
from workbench.kernels.tiers import Forest, tier_scores

#                      s6                        tier 3
#             s4                s5               tier 2
#         s0      s1        s2      s3           tier 1
#       n0  n1  n2  n3    n4  n5  n6  n7
PARENT = np.array([4, 4, 5, 5, 6, 6, -1], dtype=np.int32)
TIER = np.array([1, 1, 1, 1, 2, 2, 3], dtype=np.int32)
START = np.array([0, 2, 4, 6, 8, 12, 16, 24], dtype=np.int64)
MEMBERS = np.array([*range(8), *range(8), *range(8)], dtype=np.int32)
LEAF = np.array([0, 0, 1, 1, 2, 2, 3, 3], dtype=np.int32)
SCORES = TopologyScores(Forest(PARENT, TIER), tier_scores(TIER, 1, 3, flat=0.0))


def int64(values: object) -> np.ndarray:
    return np.array(values, dtype=np.int64)


@dataclass
class Document:
    """Eight nodes of eight GPUs, one resource; without a binpack weight only topology and name decide."""

    runs: DryRuns

    @classmethod
    def of(
        cls, idle: list[int], scores: TopologyScores | None = None, weight: float = 0.0, leaf: np.ndarray = LEAF
    ) -> Document:
        total, free = np.full((8, 1), 8, dtype=np.int64), int64(idle).reshape(8, 1)
        d = 7 if scores is None else len(scores.forest)
        weights = ScoreWeights(binpack=weight, binpack_resources=np.ones(1))
        members = (START, MEMBERS) if d == 7 else (np.zeros(d + 1, dtype=np.int64), MEMBERS[:0])
        rank = np.arange(8, dtype=np.int32)
        domains = DomainNodes(rank, leaf, *members)
        return cls(DryRuns(free, total - free, total, domains, weights=weights, scores=scores))

    def place(self, gpus: int, count: int, **asked: Any) -> Settled:
        shape = self.runs.add_shape(int64([gpus]))
        counts = Counts(shapes=np.array([shape], dtype=np.int32), left=int64([count]), min_available=count)
        self.runs.ask(counts, **asked)
        return self.runs.settle(-1)


def on_leaf(*tasks: int) -> np.ndarray:
    return int64([*tasks, 0, 0, 0])


def test_binpack_fills_the_fullest_node_first_and_equal_nodes_by_name() -> None:
    placed = Document.of([8, 8, 4, 8, 4, 8, 8, 8], weight=1.0).place(4, 4)
    assert placed.nodes.tolist() == [2, 4, 0, 0]
    assert placed.scores.tolist() == [100.0, 100.0, 50.0, 100.0]


def test_a_sole_candidate_is_taken_unscored() -> None:
    placed = Document.of([0, 0, 0, 8, 0, 0, 0, 0], weight=1.0).place(4, 5)
    assert (placed.nodes.tolist(), placed.scores.tolist()) == ([3, 3], [0.0, 0.0])


def test_a_soft_job_starts_unscored_then_keeps_to_its_leaf_and_widens() -> None:
    document = Document.of([0, 8, 8, 8, 8, 8, 8, 8], SCORES)
    placed = document.place(8, 4, update_record=True, total_tasks=6)
    # n1 opens s0, whose only other node is full; record s0: n2 and n3 share the greatest base (0.5, nobody in s1 yet);
    # then record s4: LCA of s1 and s4 is s4, n3 alone has 0.5; all others meet in s6.
    assert placed.nodes.tolist() == [1, 2, 3, 4]
    assert placed.scores.tolist() == [0.0, 50.0, 50.0, 0.0]
    assert placed.record == 6
    # Record s6: everything left has base 0 and shares it; n5 has a task of the job beside it.
    more = document.place(8, 1, record=6, update_record=True, tasks_on_leaf=on_leaf(1, 2, 1, 0), total_tasks=6)
    assert more.scores.tolist() == [(0.0 + 1 / 6) * 100.0 * 1.0]


def test_nodes_that_share_the_greatest_base_gain_by_tasks_in_their_leaf() -> None:
    scores = TopologyScores(SCORES.forest, SCORES.value, weight=2.0)
    placed = Document.of([8] * 8, scores).place(8, 5, record=5, tasks_on_leaf=on_leaf(5, 5, 1, 3), total_tasks=10)
    # s3 has more tasks than s2; n5 alone has no equal any more and loses its share; outside s5 five tasks in s0.
    assert placed.nodes.tolist() == [6, 7, 4, 5, 0]
    share = [(0.5 + 0.3) * 200, (0.5 + 4 / 10) * 200, (0.5 + 1 / 10) * 200, 100.0, (0.0 + 5 / 10) * 200]
    assert placed.scores.tolist() == pytest.approx(share)
    assert placed.record == 5


@pytest.mark.parametrize(("roots_meet", "record"), [(False, NO_RECORD), (True, -1)])
def test_another_tree_empties_the_record_in_1_13_and_lifts_it_to_the_top_later(roots_meet: bool, record: int) -> None:
    forest = Forest(np.array([-1, -1], dtype=np.int32), np.array([1, 1], dtype=np.int32))
    scores = TopologyScores(forest, np.ones(2), roots_meet=roots_meet)
    leaf = np.array([0, 1, 1, 1, 1, 1, 1, 1], dtype=np.int32)
    document = Document.of([0, 8, 0, 0, 0, 0, 0, 8], scores, leaf=leaf)
    assert document.place(8, 1, record=0, update_record=True, total_tasks=2).record == record


def test_the_last_node_of_two_sharing_leaves_loses_its_share() -> None:
    # n0 (s0) and n2 (s1) are as far from record s4 and each has a task beside it; when n0 is taken n2 is alone.
    document = Document.of([8, 0, 8, 0, 8, 0, 0, 0], SCORES)
    placed = document.place(8, 2, record=4, tasks_on_leaf=on_leaf(1, 1, 0, 0), total_tasks=4)
    assert placed.scores.tolist() == [75.0, 50.0]


def test_of_equal_totals_the_higher_node_part_wins_before_the_name() -> None:
    # n0: 50 for its leaf + 0; n4: 0 for its leaf + 50 of its own.
    runs = Document.of([8, 0, 0, 0, 8, 0, 0, 0], SCORES).runs
    shape = runs.add_shape(int64([8]), extra=np.array([0.0, 0, 0, 0, 50.0, 0, 0, 0]))
    counts = Counts(shapes=np.array([shape], dtype=np.int32), left=int64([1]), min_available=1)
    runs.ask(counts, record=1, total_tasks=2)
    part, total = runs.node_scores(-1, shape)
    assert (part[[0, 4]].tolist(), total[[0, 4]].tolist()) == ([0.0, 50.0], [50.0, 50.0])
    assert runs.settle(-1).nodes.tolist() == [4]


def test_scores_tell_the_node_part_apart_from_the_gain() -> None:
    rings = Rings.of(int64([0, 1, 2]), np.array([0, 1], dtype=np.int32), np.zeros(2, dtype=np.int32), 1)
    assert rings.around.tolist() == [[0, 2], [1, 2]]
    fading = Fading(rings, np.array([0, 1], dtype=np.int32), np.array([1.0, 0.5]), np.ones(1), 1.0)
    used, whole = int64([[2], [0]]), int64([[4], [4]])
    two = np.array([0, 1], dtype=np.int32)
    totals = DomainTotals(int64([[2], [0], [2]]), int64([[4], [4], [8]]), int64([0, 1, 2]), two)
    domains = DomainNodes(two, two, int64([0, 1, 2]), two)
    runs = DryRuns(whole - used, used, whole, domains, weights=ScoreWeights(), fading=fading, totals=totals)
    shape = runs.add_shape(int64([1]))
    runs.ask(Counts(shapes=np.array([shape], dtype=np.int32), left=int64([1]), min_available=1))
    parts, gains = runs.node_scores(-1, shape)
    assert parts.tolist() == [0.0, 0.0]
    top = 0.5 * 3 / 8
    assert gains.tolist() == [(3 / 4 + top) / 1.5 * 100.0, (1 / 4 + top) / 1.5 * 100.0]
