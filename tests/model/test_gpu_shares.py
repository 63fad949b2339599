"""Shares of GPUs in a ledger and a snapshot, against sums over the pods."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.hand_made import document_tree, gang_of, placement_of, snapshot_of
from tests.ledger_check import check_ledger
from workbench.errors import InputError
from workbench.evaluate.records import decision_record
from workbench.formats.snapshot_file import parse_snapshot
from workbench.formats.snapshot_record import snapshot_text
from workbench.model.gang import Gang, Role
from workbench.model.gpu_annotation import GPU_ANNOTATION
from workbench.model.gpu_shares import WHOLE_GPU, free_milli, gpu_width, shared_words
from workbench.model.placement import Decision
from workbench.model.running_pod import RunningPod
from workbench.model.snapshot import gpu_words
from workbench.simulate.lost_pods import after_fault, missing_pods, placement_of_running

TOPOLOGY = document_tree()
NODES, GPUS = TOPOLOGY.n_nodes, 4
#: Node 1: its GPU 0 is held whole.
SNAPSHOT = snapshot_of(TOPOLOGY, GPUS, {1: 0b1})

shares = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, GPUS - 1), st.integers(1, WHOLE_GPU)), min_size=1, max_size=4
)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("take"), shares),
        st.tuples(st.just("whole"), st.tuples(st.integers(0, 2), st.integers(0, GPUS - 1))),
        st.tuples(st.just("give back"), st.integers(0, 9)),
        st.tuples(st.just("checkpoint"), st.none()),
        st.tuples(st.just("rollback"), st.integers(0, 5)),
        st.tuples(st.just("copy"), st.sampled_from(["pickle", "deepcopy", "copy"])),
    ),
    max_size=20,
)
COPIES = {"pickle": lambda x: pickle.loads(pickle.dumps(x)), "deepcopy": copy.deepcopy, "copy": copy.copy}


def arrays(some):
    return tuple(np.array(column, dtype=np.int32) for column in zip(*some, strict=True))


def free_of(held):
    """Free thousandths of each GPU, by the sum over those who hold some: a dict of lists, the slow and obvious way."""
    free = np.zeros((NODES, GPUS), dtype=np.int64)
    for node in range(NODES):
        for gpu in range(GPUS):
            free[node, gpu] = WHOLE_GPU - sum(held.get((node, gpu), []))
    return free


@given(steps)
def test_a_ledger_has_what_the_pods_leave(steps):
    ledger = SNAPSHOT.ledger()
    held = {(1, 0): [WHOLE_GPU]}
    taken = []
    marks = [(ledger.checkpoint(), copy.deepcopy(held), list(taken))]
    for kind, argument in steps:
        if kind == "take":
            after = copy.deepcopy(held)
            for node, gpu, milli in argument:
                after.setdefault((node, gpu), []).append(milli)
            if free_of(after).min() < 0:
                before = ledger.gpu_milli_free
                with pytest.raises(InputError, match="not so much left"):
                    ledger.take_shares(*arrays(argument))
                assert np.array_equal(ledger.gpu_milli_free, before)
            else:
                ledger.take_shares(*arrays(argument))
                held = after
                taken.append(argument)
        elif kind == "whole":
            node, gpu = argument
            word = np.array([[1 << gpu]], dtype=np.uint64)
            wholly_free = bool(ledger.gpu_free[node] & word)
            assert wholly_free == (sum(held.get(argument, [])) == 0)
            if wholly_free:
                ledger.take_gpus(np.array([node], dtype=np.int32), word)
                held.setdefault(argument, []).append(WHOLE_GPU)
        elif kind == "give back" and taken:
            gone = taken.pop(argument % len(taken))
            ledger.give_back_shares(*arrays(gone))
            for node, gpu, milli in gone:
                held[node, gpu].remove(milli)
        elif kind == "checkpoint":
            marks.append((ledger.checkpoint(), copy.deepcopy(held), list(taken)))
        elif kind == "rollback":
            del marks[argument + 1 :]
            mark, was, had = marks[-1]
            ledger.rollback(mark)
            held, taken = copy.deepcopy(was), list(had)
        elif kind == "copy":
            ledger = COPIES[argument](ledger)
        assert np.array_equal(ledger.gpu_milli_free, free_of(held))
        check_ledger(ledger)
    assert SNAPSHOT.gpu_shares is None


def test_a_cluster_without_shared_gpus_has_no_array_for_them():
    ledger = SNAPSHOT.ledger()
    ledger.take_gpus(np.array([0], dtype=np.int32), np.array([[0b11]], dtype=np.uint64))
    assert ledger.gpu_shares is None and SNAPSHOT.gpu_shares is None
    assert ledger.gpu_milli_free[0].tolist() == [0, 0, 1000, 1000]


def test_a_shared_gpu_is_no_more_for_pods_that_want_it_whole():
    ledger = SNAPSHOT.ledger()
    ledger.take_shares(*arrays([(0, 2, 1)]))
    assert int(ledger.gpu_free[0, 0]) == 0b1011
    assert ledger.gpu_milli_free[0].tolist() == [1000, 1000, 999, 1000]
    ledger.give_back_shares(*arrays([(0, 2, 1)]))
    assert int(ledger.gpu_free[0, 0]) == 0b1111


@pytest.mark.parametrize(
    ("share", "message"),
    [
        ((NODES, 0, 1), "no such node or GPU"),
        ((0, GPUS, 1), "no such node or GPU"),
        ((-1, 0, 1), "no such node or GPU"),
        ((0, 0, 0), "no share of a GPU"),
        ((0, 0, 1001), "no share of a GPU"),
        ((1, 0, 1), r"node 1, GPU 0"),
    ],
)
def test_what_cannot_be_taken_is_refused(share, message):
    ledger = SNAPSHOT.ledger()
    with pytest.raises(InputError, match=message):
        ledger.take_shares(*arrays([(0, 1, 500), share]))
    assert np.array_equal(ledger.gpu_free, SNAPSHOT.gpu_free)


def test_more_than_is_held_cannot_be_given_back():
    ledger = SNAPSHOT.ledger()
    ledger.take_shares(*arrays([(0, 1, 500)]))
    with pytest.raises(InputError, match="more than was taken"):
        ledger.give_back_shares(*arrays([(0, 1, 501)]))
    assert ledger.gpu_milli_free[0, 1] == 500


def test_of_a_shared_gpu_that_is_unhealthy_nothing_is_free_and_a_rollback_gives_it_back():
    shares = np.zeros((NODES, GPUS), dtype=np.int16)
    shares[2, 0] = 300
    total, free = SNAPSHOT.gpu_total.copy(), SNAPSHOT.gpu_free.copy()
    total[2, 0] &= ~np.uint64(1)
    free[2, 0] &= ~np.uint64(1)
    ledger = dataclasses.replace(SNAPSHOT, gpu_total=total, gpu_free=free, gpu_shares=shares).ledger()
    assert ledger.gpu_milli_free[2].tolist() == [0, 1000, 1000, 1000]
    with pytest.raises(InputError, match="not so much left"):
        ledger.take_shares(*arrays([(2, 0, 100)]))
    mark = ledger.checkpoint()
    ledger.give_back_shares(*arrays([(2, 0, 300)]))
    assert ledger.gpu_milli_free[2].tolist() == [0, 1000, 1000, 1000]
    ledger.rollback(mark)
    assert ledger.gpu_shares[2].tolist() == [300, 0, 0, 0]


def test_a_copy_shares_nothing_with_its_ledger():
    ledger = SNAPSHOT.with_placement(placed(1, 300, [0], [0b1])).ledger()
    other = ledger.copy()
    other.take_shares(*arrays([(0, 0, 100), (2, 3, 1)]))
    assert ledger.gpu_milli_free[0, 0] == 700 and other.gpu_milli_free[0, 0] == 600
    assert ledger.snapshot.gpu_shares[2, 3] == 0


def test_check_finds_a_gpu_that_is_both_shared_and_free():
    ledger = SNAPSHOT.ledger()
    ledger.take_shares(*arrays([(0, 1, 500)]))
    ledger.gpu_free[0, 0] |= np.uint64(0b10)
    with pytest.raises(InputError, match="counts as wholly free"):
        check_ledger(ledger)


def fractions(pods, milli, minimum=None):
    return Gang("default", "f", (Role("w", pods, {"cpu": 1000}, gpu_milli=milli),), minimum or pods)


def placed(pods, milli, nodes, masks):
    return placement_of(fractions(pods, milli), TOPOLOGY, nodes, masks)


def test_a_placement_says_how_much_of_each_gpu_its_pods_hold():
    placement = placed(2, 250, [0, 3], [0b1, 0b100])
    assert placement.gpu_milli.tolist() == [250, 250]
    assert [(pod.gpus, pod.gpu_milli) for pod in placement.pods()] == [((0,), 250), ((2,), 250)]
    # The record of Reserve knows whole GPUs only.
    assert all(GPU_ANNOTATION not in pod.annotations for pod in placement.pods())
    pods = decision_record(Decision(placement.gang, placement))["pods"]
    assert [pod["gpu_milli"] for pod in pods] == [250, 250]
    whole = placement_of(gang_of("w", 1, 2), TOPOLOGY, [0], [0b11])
    assert whole.gpu_milli.tolist() == [1000] and whole.pod(0).gpu_milli == 1000
    assert "gpu_milli" not in decision_record(Decision(whole.gang, whole))["pods"][0]


def test_a_snapshot_follows_pods_that_start_and_end():
    first = SNAPSHOT.with_placement(placed(3, 400, [0, 0, 1], [0b1, 0b1, 0b10]))
    assert first.gpu_milli_free[:2].tolist() == [[200, 1000, 1000, 1000], [0, 600, 1000, 1000]]
    assert [pod.gpu_milli for pod in first.running] == [400, 400, 400]
    assert int(first.gpu_free[0, 0]) == 0b1110
    left = first.without_pods(lambda pod: pod.name == "f-w-0")
    assert left.gpu_milli_free[0].tolist() == [600, 1000, 1000, 1000]
    none = left.without("default/f")
    assert none.gpu_shares is None
    assert np.array_equal(none.gpu_free, SNAPSHOT.gpu_free) and np.array_equal(none.used, SNAPSHOT.used)
    with pytest.raises(InputError, match="not so much left"):
        first.with_placement(placed(1, 201, [0], [0b1]))


def test_what_terminating_pods_share_comes_back():
    first = SNAPSHOT.with_placement(placed(2, 300, [0, 0], [0b1, 0b10]))
    ending, staying = first.running
    other = RunningPod("d", "x", 0, {}, gpu_mask=0b10, gpu_milli=100)
    now = dataclasses.replace(first, running=(dataclasses.replace(ending, terminating=True), staying, other))
    more = now.gpu_shares.copy()
    more[0, 1] += 100
    now = dataclasses.replace(now, gpu_shares=more)
    assert now.after_endings.gpu_milli_free[0].tolist() == [1000, 600, 1000, 1000]
    ledger = now.ledger()
    assert ledger.after_terminations(gone=True).gpu_milli_free[0].tolist() == [1000, 600, 1000, 1000]
    assert ledger.after_terminations(gone=False).gpu_milli_free[0].tolist() == [700, 600, 1000, 1000]
    ledger.take_shares(*arrays([(0, 0, 50), (0, 2, 10)]))
    ledger.give_back_shares(*arrays([(0, 1, 400)]))
    ahead = ledger.after_terminations(gone=True)
    assert ahead.gpu_milli_free[0].tolist() == [950, 1000, 990, 1000]
    assert int(ahead.gpu_free[0, 0]) == 0b1010


@given(st.lists(st.integers(0, 2**130), min_size=1, max_size=5), st.data())
def test_words_and_numbers_agree_on_wide_machines(masks, data):
    total = gpu_words(masks)
    width = gpu_width(total)
    assert width == max(masks).bit_length()
    want = [[1000 * (mask >> gpu & 1) for gpu in range(width)] for mask in masks]
    assert free_milli(total, total, None).tolist() == want
    some = [mask & data.draw(st.integers(0, 2**130)) for mask in masks]
    held = np.array([[mask >> gpu & 1 for gpu in range(width)] for mask in some], dtype=np.int16)
    want_words = np.zeros_like(total)
    narrow = gpu_words(some)
    want_words[:, : narrow.shape[1]] = narrow
    assert np.array_equal(shared_words(held, total), want_words)


def test_a_snapshot_file_keeps_shares():
    snapshot = SNAPSHOT.with_placement(placed(2, 300, [0, 5], [0b1, 0b10]))
    again = parse_snapshot(snapshot_text(snapshot), "s.json")
    assert again.gpu_shares is not None and again.gpu_shares.dtype == np.int16
    assert np.array_equal(again.gpu_shares, snapshot.gpu_shares)
    assert [pod.gpu_milli for pod in again.running] == [300, 300]


@pytest.mark.parametrize("rows", ["[[0,64,5]]", "[[0,-1,5]]", "[[99,0,5]]", "[[0,0,1001]]", "[[0,0]]", "[[0,0,0]]"])
def test_a_snapshot_file_with_other_shares_is_refused(rows):
    text = snapshot_text(SNAPSHOT).replace('"gpu_shares":[]', f'"gpu_shares":{rows}')
    with pytest.raises(InputError, match="gpu_shares"):
        parse_snapshot(text, "s.json")


@pytest.mark.parametrize("array", [np.zeros((NODES, 3), np.int16), np.zeros((NODES, GPUS), np.int64)])
def test_a_snapshot_refuses_other_arrays(array):
    with pytest.raises(InputError, match="gpu_shares"):
        dataclasses.replace(SNAPSHOT, gpu_shares=array)


def test_a_snapshot_refuses_a_shared_gpu_that_is_free():
    array = np.zeros((NODES, GPUS), np.int16)
    array[3, 2] = 5
    with pytest.raises(InputError, match=r"node 3\b"):
        dataclasses.replace(SNAPSHOT, gpu_shares=array)


@pytest.mark.parametrize(("milli", "gpus"), [(1000, 0), (-1, 0), (500, 1)])
def test_a_role_asks_for_a_part_of_a_gpu_or_for_whole_ones(milli, gpus):
    with pytest.raises(InputError, match="no share of a GPU"):
        Role("w", 1, {"nvidia.com/gpu": gpus}, gpu_milli=milli)


def test_a_pod_that_asks_for_a_part_of_a_gpu_only_is_not_best_effort():
    role = Role("w", 1, {}, gpu_milli=1)
    assert not role.best_effort and Gang("d", "j", (role,), 1).shares_gpus
    assert not Gang("d", "j", (dataclasses.replace(role, count=0),), 1).shares_gpus


def test_a_shared_gpu_that_breaks_is_gone_and_does_not_come_back_with_its_pods():
    snapshot = SNAPSHOT.with_placement(placed(2, 300, [0, 0], [0b1000, 0b1]))
    gpus = [0b0111] * NODES
    broken = dataclasses.replace(snapshot, gpu_total=gpu_words(gpus), gpu_free=snapshot.gpu_free & gpu_words(gpus))
    again = parse_snapshot(snapshot_text(broken), "s.json")
    for each in (broken, again):
        left = each.without_pods(lambda pod: pod.gpu_mask == 0b1000)
        assert left.gpu_milli_free[0].tolist()[:3] == [700, 1000, 1000]
        assert int(left.gpu_free[0, 0]) == 0b110


def test_timelines_lose_and_place_again_what_shares_a_gpu():
    snapshot = SNAPSHOT.with_placement(placed(2, 300, [0, 1], [0b1, 0b10]))
    (key,) = {pod.gang for pod in snapshot.running}
    whole = placement_of_running(key, snapshot)
    left = after_fault(whole, whole.node == 1, by_pods=True)
    assert left is not None
    gang = missing_pods(left)
    assert [(role.count, role.gpu_milli, role.requests) for role in gang.roles] == [(1, 300, {"cpu": 1000})]
