from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fabrics import snapshot
from tests.ledger_check import check_ledger
from tests.model.fabric import snapshot_on, three_level_tree
from workbench.model.running_pod import RunningPod

SNAPSHOT = snapshot_on(three_level_tree())

step = st.one_of(
    st.tuples(st.just("take"), st.lists(st.tuples(st.integers(0, 7), st.integers(0, 3)), min_size=1, max_size=5)),
    st.tuples(st.just("checkpoint"), st.none()),
    st.tuples(st.just("rollback"), st.integers(0, 5)),
)


@given(st.lists(step, max_size=15), st.booleans())
def test_any_sequence_of_takes_and_rollbacks_keeps_the_sums_true(steps, totals_first):
    ledger = SNAPSHOT.ledger()
    if totals_first:
        assert ledger.domain_idle.shape == (7, 4)
    marks = [(ledger.checkpoint(), ledger.used.copy(), ledger.gpu_free.copy())]
    for kind, argument in steps:
        if kind == "take":
            nodes = np.array([n for n, _ in argument], dtype=np.int32)
            ledger.take(nodes, np.array([[100, 1 << 20, 1, g] for _, g in argument], dtype=np.int64))
        elif kind == "checkpoint":
            marks.append((ledger.checkpoint(), ledger.used.copy(), ledger.gpu_free.copy()))
        else:
            del marks[argument + 1 :]
            mark, used, free = marks[-1]
            ledger.rollback(mark)
            assert np.array_equal(ledger.used, used)
            assert np.array_equal(ledger.gpu_free, free)
        check_ledger(ledger)
        assert np.array_equal(ledger.domain_idle.sum(axis=1) * 0, np.zeros(7))
    check_ledger(ledger)


def test_domain_totals_follow_the_ancestors_of_the_node():
    ledger = SNAPSHOT.ledger()
    t = SNAPSHOT.topology
    before = ledger.domain_idle.copy()
    ledger.take(np.array([t.node("node0")], dtype=np.int32), np.array([0, 0, 1, 8]))
    changed = {t.domain_names[d] for d in np.flatnonzero((ledger.domain_idle != before).any(axis=1))}
    assert changed == {"s0", "s4", "s6"}


def test_gpus_are_taken_and_given_back_bit_by_bit():
    ledger = SNAPSHOT.ledger()
    node = np.array([3], dtype=np.int32)
    ledger.take(node, np.array([0, 0, 1, 2]), np.array([[0b11]], dtype=np.uint64))
    assert int(ledger.gpu_free[3, 0]) == 0b11111100
    ledger.give_back(node, np.array([0, 0, 1, 2]), np.array([[0b11]], dtype=np.uint64))
    assert int(ledger.gpu_free[3, 0]) == 0xFF
    check_ledger(ledger)


def test_check_finds_a_gpu_that_does_not_exist():
    ledger = SNAPSHOT.ledger()
    words = np.array([[1 << 9]], dtype=np.uint64)
    ledger.take(np.array([0], dtype=np.int32), np.array([0, 0, 0, 0]), words)
    with pytest.raises(AssertionError):
        check_ledger(ledger)


def test_the_snapshot_is_never_changed():
    ledger = SNAPSHOT.ledger()
    ledger.take(np.array([0], dtype=np.int32), np.array([1, 1, 1, 1]))
    assert SNAPSHOT.used.sum() == 0
    # Until then the arrays are its own.
    with pytest.raises(ValueError, match="read-only"):
        SNAPSHOT.ledger().idle[:] = 0


def test_what_ending_pods_hold_can_be_looked_ahead_to_and_promised():
    ending = RunningPod("d", "e", 0, {"cpu": 1000, "nvidia.com/gpu": 1}, gpu_mask=0b1, terminating=True)
    cluster = snapshot(["a", "b"], cpu=1000, used={"a": (1000, 0, 1, 1)}, free_gpus={"a": 0xFE}, running=[ending])
    ledger = cluster.ledger()
    later, now = ledger.after_terminations(gone=True), ledger.after_terminations(gone=False)
    assert [copy.idle[:, 0].tolist() for copy in (ledger, now, later)] == [[0, 1000], [0, 1000], [1000, 1000]]
    assert [int(copy.gpu_free[0, 0]) for copy in (ledger, now, later)] == [0xFE, 0xFE, 0xFF]
    assert now.snapshot is later.snapshot is cluster.after_endings
    assert now.used[0, 0] == later.used[0, 0] == 1000
    ledger.promise(np.array([0], dtype=np.int32), np.array([600, 0, 1, 0]))
    assert ledger.after_terminations(gone=True).idle[0, 0] == 400
    assert ledger.idle[0, 0] == 0
    check_ledger(ledger)


def test_a_ledger_made_again_is_as_it_was_whatever_happened_since():
    ledger = SNAPSHOT.ledger()
    ledger.take(np.array([3, 3], dtype=np.int32), np.array([0, 0, 1, 2]), np.array([[0b11], [0b100]], dtype=np.uint64))
    ledger.give_back(np.array([3], dtype=np.int32), np.array([0, 0, 1, 2]), np.array([[0b100]], dtype=np.uint64))
    before, again = ledger.copy(), ledger.replay_recipe()
    ledger.take(np.array([0], dtype=np.int32), np.array([1, 1, 1, 1]))
    ledger.commit()
    for _ in range(2):
        made = again()
        assert made.snapshot is SNAPSHOT
        for name in ("used", "idle", "gpu_free"):
            assert np.array_equal(getattr(made, name), getattr(before, name))


def test_a_ledger_made_again_knows_nothing_of_what_became_of_the_arrays_that_were_taken_from_it():
    ledger = SNAPSHOT.ledger()
    nodes, row, words = np.array([3], dtype=np.int32), np.array([0, 0, 1, 2]), np.array([[0b11]], dtype=np.uint64)
    ledger.take(nodes, row, words)
    before, again = ledger.copy(), ledger.replay_recipe()
    nodes[0], row[3], words[0, 0] = 5, 7, 0b1
    made = again()
    for name in ("used", "idle", "gpu_free"):
        assert np.array_equal(getattr(made, name), getattr(before, name))


def test_where_the_steps_are_not_known_or_too_many_no_ledger_is_made_again():
    ending = RunningPod("d", "e", 0, {"cpu": 1000}, terminating=True)
    promised = snapshot(["a"], cpu=1000, used={"a": (1000, 0, 1, 0)}, running=[ending]).ledger()
    assert promised.replay_recipe() is not None
    promised.promise(np.array([0], dtype=np.int32), np.array([600, 0, 1, 0]))
    committed, long = SNAPSHOT.ledger(), SNAPSHOT.ledger()
    committed.commit()
    for _ in range(100):
        long.take(np.array([0], dtype=np.int32), np.array([0, 0, 0, 0]))
    assert [each.replay_recipe() for each in (promised, committed, SNAPSHOT.ledger().copy(), long)] == [None] * 4


def with_an_ending_pod():
    pod = RunningPod(
        "d", "e", 0, {"cpu": 1000, "nvidia.com/gpu": 2}, terminating=True, gpu_mask=0b11, assumed={"cpu": 100}
    )
    return snapshot(["a"], [], gpus=4, used={"a": (1000, 0, 1, 2)}, free_gpus={"a": 0b1100}, running=[pod])


def test_the_gpus_of_pods_that_are_ending_are_free_when_they_are_gone() -> None:
    ledger = with_an_ending_pod().ledger()
    assert ledger.after_terminations(gone=True).gpu_free.tolist() == [[0b1111]]
    # A session looks ahead once for itself, and then for each job.
    session = ledger.after_terminations(gone=False)
    assert session.gpu_free.tolist() == [[0b1100]]
    session.take(np.zeros(1, dtype=np.int32), np.array([[100, 0, 1, 1]]), np.array([[0b100]], dtype=np.uint64))
    assert session.after_terminations(gone=True).gpu_free.tolist() == [[0b1011]]


def test_what_scores_assume_belongs_to_each_copy_alone() -> None:
    ledger = with_an_ending_pod().ledger()
    copies = ledger.copy(), ledger.after_terminations(gone=False)
    for number, copy in enumerate(copies):
        copy.take(np.zeros(1, dtype=np.int32), np.array([[100, 0, 1, 0, 7 + number, 0]]))
        assert copy.copy().assume().tolist() == [[107 + number, 0]]
    assert ledger.assume().tolist() == [[100, 0]]
