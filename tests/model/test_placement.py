from __future__ import annotations

import dataclasses
import json
import pickle
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.hand_made import document_tree, gang_of, placement_of
from tests.model.fabric import snapshot_on, three_level_tree
from workbench.model.gang import Gang, Role
from workbench.model.gpu_annotation import GPU_ANNOTATION, gpu_annotation
from workbench.model.notice import Notice
from workbench.model.placement import NO_RECORD, NearestMiss, Placement, Refusal
from workbench.model.snapshot import gpu_words
from workbench.model.topology import TOP, VIRTUAL_TOP

SNAPSHOT = snapshot_on(three_level_tree())
WORKER = Role("worker", 2, {"nvidia.com/gpu": 3}, container_gpus=(1, 0, 2))
GANG = Gang("default", "train", (WORKER,), min_available=2)


def placed() -> Placement:
    node = np.array([2, 2], dtype=np.int32)
    return Placement(GANG, SNAPSHOT.topology, "test", {}, node, gpu_words([0b000111, 0b111000]))


def test_pods_see_the_groups_gpus_and_get_their_own_per_container():
    first, second = placed().pods()
    assert (first.name, first.node, first.rank) == ("train-worker-0", SNAPSHOT.topology.node_names[2], 0)
    assert second.gpus == (3, 4, 5)
    assert second.container_gpus == ((3,), (), (4, 5))
    # The Koordinator proposal's example has this form.
    assert json.loads(second.annotations[GPU_ANNOTATION]) == {
        "allocatedGPUs": {"0": ["3"], "2": ["4", "5"]},
        "visibleGPUs": ["0", "1", "2", "3", "4", "5"],
    }


def test_pods_alike_have_annotations_of_their_own():
    ranked = dataclasses.replace(
        placed(),
        gpu_words=None,
        rank=np.array([7, 5], dtype=np.int32),
        annotations=({"shared": "yes"},),
        annotation_group=np.array([0, 0], dtype=np.int32),
    )
    first, second = ranked.pods()
    assert list(first.annotations.items()) == [("shared", "yes"), ("hccl/rankIndex", "7")]
    first.annotations["shared"] = "no"
    assert second.annotations == {"shared": "yes", "hccl/rankIndex": "5"}
    assert ranked.pod(0) == first


def test_a_pod_shows_its_gpus_and_the_annotations_it_will_have():
    (pod,) = dataclasses.replace(
        placed(),
        node=np.array([2, -1], dtype=np.int32),
        rank=np.array([7, 5], dtype=np.int32),
        annotations=({"shared": "yes"},),
        annotation_group=np.array([0, 0], dtype=np.int32),
    ).pods()
    shown = pod._asdict()
    assert list(shown) == ["name", "node", "gpus", "container_gpus", "rank", "annotations"]
    assert list(shown["annotations"]) == ["shared", "hccl/rankIndex", GPU_ANNOTATION]
    assert shown["annotations"] == pod.annotations
    assert repr(pod).startswith("PlacedPod(name='train-worker-0', node='node2', gpus=(0, 1, 2), container_gpus=((0,), ")
    assert "'hccl/rankIndex': '7'" in repr(pod)
    assert pickle.loads(pickle.dumps(pod)) == pod


@given(st.data())
def test_every_pod_is_what_its_own_numbers_say(data: st.DataObject) -> None:
    counts = data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=2))
    n = sum(counts)

    def each(values: st.SearchStrategy[int]) -> list[int]:
        return data.draw(st.lists(values, min_size=n, max_size=n))

    node, group, rank = each(st.integers(-1, 2)), each(st.integers(-1, 1)), each(st.integers(0, 9))
    marks, seen = each(st.sampled_from((0, 1, 6, 1 << 70))), each(st.sampled_from((7, 1 << 70)))
    masks = [mask if at >= 0 else 0 for mask, at in zip(marks, node, strict=True)]
    with_gpus, with_seen, with_group, with_rank = (data.draw(st.booleans()) for _ in range(4))
    roles = tuple(Role(f"r{i}", count, {"cpu": 1}, first_index=i) for i, count in enumerate(counts))
    placement = Placement(
        Gang("default", "train", roles, 0),
        SNAPSHOT.topology,
        "test",
        {},
        np.array(node, dtype=np.int32),
        gpu_words(masks, 2) if with_gpus else None,
        visible_words=gpu_words(seen, 2) if with_seen else None,
        rank=np.array(rank, dtype=np.int32) if with_rank else None,
        annotations=({"a": "0"}, {"b": "1"}),
        annotation_group=np.array(group, dtype=np.int32) if with_group else None,
    )
    placed = [i for i in range(n) if node[i] >= 0]
    # Of many pods neighbours are compared first.
    with patch("workbench.model.placement._MANY", data.draw(st.sampled_from((2, 256)))):
        pods = list(placement.pods())
    assert pods == [placement.pod(i) for i in placed]
    for pod, i in zip(pods, placed, strict=True):
        together = sum(
            1 << bit for bit in range(71) if any(m >> bit & 1 for m, at in zip(masks, node) if at == node[i])
        )
        gpus = tuple(bit for bit in range(71) if masks[i] >> bit & 1) if with_gpus else ()
        visible = tuple(bit for bit in range(71) if (seen[i] if with_seen else together) >> bit & 1)
        expected = dict(placement.annotations[group[i]]) if with_group and group[i] >= 0 else {}
        expected |= {"hccl/rankIndex": str(rank[i])} if with_rank else {}
        expected |= {GPU_ANNOTATION: gpu_annotation((gpus,), visible)} if gpus else {}
        assert (pod.name, pod.node) == (placement.gang.pod(i).name, SNAPSHOT.topology.node_names[node[i]])
        assert (pod.gpus, pod.rank, pod.annotations) == (gpus, rank[i] if with_rank else i, expected)


def test_a_snapshot_with_a_placement_and_without_its_gang_is_the_first_snapshot():
    after = SNAPSHOT.with_placement(placed())
    assert after.used[2].tolist() == [0, 0, 2, 6]
    assert int(after.gpu_free[2, 0]) == 0b11000000
    before = after.without("default/train")
    assert np.array_equal(before.used, SNAPSHOT.used)
    assert np.array_equal(before.gpu_free, SNAPSHOT.gpu_free)
    assert before.running == ()


def test_gpu_masks_beyond_one_word_keep_their_bits():
    words = gpu_words([1 << 70, 3])
    assert words.shape == (2, 2)
    assert words.tolist() == [[0, 1 << 6], [3, 0]]


def test_a_refusal_told_later_asks_once_when_it_is_read():
    asked = []

    def why():
        asked.append(1)
        return (Notice("c", "too small", numbers={"count": 3}),), (NearestMiss(1, "s0", 2, 9),)

    refusal = Refusal.deferred(gang_of("a", 9), "p", {}, why, (Notice("careful", "careful"),))
    assert (asked, refusal.warnings, hasattr(refusal, "reason")) == ([], (Notice("careful", "careful"),), False)
    read_back = pickle.loads(pickle.dumps(refusal))
    for each in (refusal, read_back):
        assert each.reasons == (Notice("c", "too small", numbers={"count": 3}),)
        assert each.nearest_misses == (NearestMiss(1, "s0", 2, 9),)
        assert "too small" in repr(each)
    assert asked == [1]


def test_threads_may_read_a_refusal_told_later_at_the_same_time():
    all_asked = threading.Barrier(4, timeout=60)

    def why():
        all_asked.wait()
        return (Notice("c", "too small", numbers={"count": 3}),), (NearestMiss(1, "s0", 2, 9),)

    refusal = Refusal.deferred(gang_of("a", 9), "p", {}, why, ())
    with ThreadPoolExecutor(4) as threads:
        read = list(threads.map(lambda name: getattr(refusal, name), ["reasons", "nearest_misses"] * 2))
    assert read == [(Notice("c", "too small", numbers={"count": 3}),), (NearestMiss(1, "s0", 2, 9),)] * 2
    # Nobody asks again.
    assert refusal.reasons == (Notice("c", "too small", numbers={"count": 3}),)


def test_a_refusal_drops_the_function_that_it_asked():
    class Big:
        pass

    big = Big()
    kept = weakref.ref(big)
    refusal = Refusal.deferred(gang_of("a", 9), "p", {}, lambda big=big: ((), ()), ())
    del big
    assert kept() is not None
    assert refusal.reasons == () and kept() is None


def test_a_refusal_told_later_is_replaced_in_part_like_any_other():
    told = (Notice("c", "too small"),), (NearestMiss(1, "s0", 2, 9),)
    refusal = Refusal.deferred(gang_of("a", 9), "p", {}, lambda: told, ())
    other = dataclasses.replace(refusal, nearest_misses=())
    assert (other.reasons, other.nearest_misses, other.nearest) == (told[0], (), None)


def test_a_refusal_is_frozen_whether_told_or_not():
    for refusal in (Refusal(gang_of("a", 9), "p", {}, ()), Refusal.deferred(gang_of("a", 9), "p", {}, tuple, ())):
        for name in ("reasons", "nearest_misses", "warnings", "gang"):
            with pytest.raises(AttributeError):
                setattr(refusal, name, ())


def test_a_placement_without_a_record_is_not_in_the_virtual_top():
    placement = placement_of(gang_of("j", 1, 1), document_tree(), [0])
    assert (placement.record, placement.has_record, placement.hypernode, placement.tier) == (NO_RECORD, False, "", None)
    inside = dataclasses.replace(placement, record=TOP, has_record=True)
    assert inside.hypernode == VIRTUAL_TOP and inside.tier == 4


def test_the_first_reason_is_known_before_the_others_are_asked_for():
    known, more, asked = Notice("c", "too small"), Notice("d", "too full"), []

    def why():
        asked.append(1)
        return (known, more), ()

    refusal = Refusal.deferred(gang_of("a", 9), "p", {}, why, (), known)
    assert (refusal.first_reason, asked) == (known, [])
    assert (refusal.reasons, asked) == ((known, more), [1])
    assert Refusal(gang_of("a", 9), "p", {}, (more,)).first_reason == more
    assert Refusal.deferred(gang_of("a", 9), "p", {}, why, ()).first_reason == known
    assert Refusal(gang_of("a", 9), "p", {}, ()).first_reason is None


def test_a_refusal_that_somebody_holds_is_settled_before_the_ledger_changes():
    ledger = snapshot_on(three_level_tree()).ledger()
    idle = []

    def refuse():
        def why():
            idle.append(int(ledger.idle[0, 0]))
            return (Notice("c", "too small"),), ()

        refusal = Refusal.deferred(gang_of("a", 9), "p", {}, why, ())
        refusal.settle_before_change(ledger)
        return refusal

    held, before = refuse(), int(ledger.idle[0, 0])
    refuse()
    row = np.zeros(ledger.idle.shape[1], dtype=np.int64)
    row[0] = 7
    ledger.take(np.zeros(1, dtype=np.int32), row)
    assert idle == [before]
    assert held.reasons and idle == [before]
