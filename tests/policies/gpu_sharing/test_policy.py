"""Policies that let pods share GPUs, through the contract that all policies have."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from tests.hand_made import document_tree, gang_of, snapshot_of
from workbench.errors import InputError
from workbench.model.gang import Gang, Role
from workbench.model.placement import Placement, Refusal
from workbench.policies import get_policy, list_policies

NAMES = [entry.name for entry in list_policies() if entry.name.startswith("fgd") or entry.name == "headroom"]


def sharing(name: str, count: int, milli: int, cpu: int = 1000) -> Gang:
    return Gang("default", name, (Role("w", count, {"cpu": cpu}, gpu_milli=milli),), count)


def mixed(name: str) -> Gang:
    roles = (Role("whole", 2, {"cpu": 1000, "nvidia.com/gpu": 2}, (2,)), Role("part", 3, {"cpu": 1000}, gpu_milli=400))
    return Gang("default", name, roles, 5)


def test_all_seven_are_registered() -> None:
    assert len(NAMES) == 7


@pytest.mark.parametrize("name", NAMES)
def test_a_placement_holds_what_it_says_and_gives_it_back(name: str) -> None:
    snapshot = snapshot_of(document_tree(), 4)
    stream = get_policy(name).stream(snapshot)
    before = stream.ledger.gpu_milli_free.copy()
    placed = [stream.place(mixed(f"job-{i}")) for i in range(4)]
    for result in placed:
        assert isinstance(result, Placement)
        assert result.n_placed == 5
        masks = [result.gpu_mask(i) for i in range(5)]
        assert [mask.bit_count() for mask in masks] == [2, 2, 1, 1, 1]
        assert result.gpu_milli.tolist() == [1000, 1000, 400, 400, 400]
    taken = before - stream.ledger.gpu_milli_free
    assert taken.sum() == 4 * (4 * 1000 + 3 * 400)
    assert taken.max() <= 1000
    copied = pickle.loads(pickle.dumps(stream))
    for each in (stream, copied):
        for result in each.held:
            each.give_back(result)
        assert np.array_equal(each.ledger.gpu_milli_free, before)
        assert np.array_equal(each.ledger.used, snapshot.used)


@pytest.mark.parametrize("name", NAMES)
def test_stream_session_and_snapshot_answer_alike(name: str) -> None:
    snapshot = snapshot_of(document_tree(), 4)
    # Else the usual pods are those that run, of which a stream's are none.
    judging = name in ("fgd", "headroom")
    policy = get_policy(name, typical={"1000:300:1": 2, "1000:1000:1": 1}) if judging else get_policy(name)
    gangs = [sharing("a", 2, 600), gang_of("b", 1, 2), sharing("c", 3, 300), gang_of("d", 2, 1), sharing("e", 2, 250)]
    stream = policy.stream(snapshot)
    by_stream = [stream.place(gang) for gang in gangs]
    by_session = [decision.result for decision in policy.schedule(gangs, snapshot)]
    now, one_by_one = snapshot, []
    for gang in gangs:
        (decision,) = policy.schedule([gang], now)
        one_by_one.append(decision.result)
        now = now.with_placement(decision.result)
    for results in (by_session, one_by_one):
        for one, other in zip(results, by_stream, strict=True):
            assert one.node.tolist() == other.node.tolist()
            assert one.gpu_words.tolist() == other.gpu_words.tolist()
    assert np.array_equal(now.gpu_milli_free, stream.ledger.gpu_milli_free)


def test_a_gang_that_does_not_fit_is_refused_with_a_reason_and_changes_nothing() -> None:
    snapshot = snapshot_of(document_tree(), 4)
    ledger = snapshot.ledger()
    result = get_policy("fgd").place(sharing("many", 8 * 4 + 1, 600), ledger)
    assert isinstance(result, Refusal)
    assert result.reasons[0].code == "insufficient"
    assert "8 node(s) without a GPU with 600 thousandths free" in result.reasons[0].message
    assert np.array_equal(ledger.gpu_milli_free, snapshot.gpu_milli_free)


def test_a_share_goes_beside_a_share() -> None:
    snapshot = snapshot_of(document_tree(), 4)
    for name in ("fgd", "fgd-best-fit", "fgd-packing", "fgd-clustering", "headroom"):
        result = get_policy(name).place(sharing("pair", 2, 500), snapshot.ledger())
        assert isinstance(result, Placement)
        assert result.node[0] == result.node[1], name
        assert result.gpu_mask(0) == result.gpu_mask(1), name


def test_typical_pods_decide_where_a_share_goes() -> None:
    # One GPU has 400 left, all others are free. Where pods of 500 are usual, it is useless to them, and a share of 300
    # loses nothing there; where pods of 400 are usual, the share would take their place.
    snapshot = snapshot_of(document_tree(), 2)
    stream = get_policy("fgd").stream(snapshot)
    stream.place(sharing("first", 1, 600))
    ledger = stream.ledger
    beside = {}
    for usual in ("0:500:1", "0:400:1"):
        policy = get_policy("fgd", typical={usual: 1})
        result = policy.place(sharing("share", 1, 300), ledger.copy())
        assert isinstance(result, Placement)
        used = ledger.gpu_milli_free[result.node[0]]
        beside[usual] = used[result.gpu_mask(0).bit_length() - 1] == 400
    assert beside == {"0:500:1": True, "0:400:1": False}


def test_ties_go_by_name_or_by_the_order_of_a_seed() -> None:
    snapshot = snapshot_of(document_tree(), 4)
    chosen = {
        seed: get_policy("fgd-packing", tie_seed=seed).place(sharing("one", 1, 500), snapshot.ledger()).node[0]
        for seed in range(-1, 8)
    }
    assert snapshot.topology.node_names[chosen[-1]] == min(snapshot.topology.node_names)
    assert len(set(chosen.values())) > 1


def test_headroom_lets_pods_wait_in_a_nearly_full_cluster() -> None:
    snapshot = snapshot_of(document_tree(), 1)  # eight nodes with a GPU each
    usual = {"0:1000:1": 9, "0:600:1": 1}
    for reserve, waits in ((0.3, True), (0.0, False)):
        stream = get_policy("headroom", typical=usual, reserve=reserve, limit=100).stream(snapshot)
        for i in range(6):
            assert isinstance(stream.place(gang_of(f"whole-{i}", 1, 1)), Placement)
        result = stream.place(sharing("late", 1, 600))
        assert isinstance(result, Refusal) == waits
        if waits:
            assert "without a GPU with 600 thousandths free" in result.reasons[0].message


def test_explanations_tell_every_node() -> None:
    snapshot = snapshot_of(document_tree(), 4)
    told = get_policy("fgd").explain(sharing("one", 1, 500), snapshot)
    assert len(told.nodes) == 8
    assert all(node.kept for node in told.nodes)


@pytest.mark.parametrize("text", ["1000:500", "a:500:1", "0:500:2", "0:0:1", "0:1001:1"])
def test_wrong_typical_pods_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="no shape of a pod"):
        get_policy("fgd", typical={text: 1})
