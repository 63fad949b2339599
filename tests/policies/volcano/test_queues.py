"""Deserved resources and headroom of queues, against values worked by hand."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fabrics import snapshot
from workbench.model.running_pod import RunningPod
from workbench.model.scheduler_config import PluginOption, SchedulerConfig
from workbench.model.snapshot import Queue
from workbench.policies.volcano.session.queues import QueueHeadroom, Queues, dominant_share, within

CPU, MEMORY, PODS, GPU = range(4)


def queues(requested, given=(), plugin="proportion", *, nodes=10, running=(), **switches):
    """Ten nodes of 10 CPU, 100 bytes of memory, 8 GPUs. `requested`: CPU and memory by queue."""
    cluster = snapshot([f"n{i}" for i in range(nodes)], cpu=10, memory=100, gpus=8, running=running)
    cluster = dataclasses.replace(cluster, queues={queue.name: queue for queue in given})
    config = SchedulerConfig(("allocate",), ((PluginOption(plugin, switches),),))
    rows = {name: np.array([cpu, memory, 5, 0], dtype=np.int64) for name, (cpu, memory) in requested.items()}
    return Queues(config, cluster, rows)


def deserved(found, name, plugin="proportion"):
    return found[name].deserved[plugin].round(6).tolist()[:2]


DEALT = {
    "one queue deserves what it asks for": ({"a": (30, 50)}, (), {"a": [30, 50]}),
    "one queue deserves no more than the cluster": ({"a": (300, 50)}, (), {"a": [100, 50]}),
    "two queues share by weight": ({"a": (100, 0), "b": (100, 0)}, (Queue("a", 3),), {"a": [75, 0], "b": [25, 0]}),
    "what one does not want the others share": (
        {"a": (10, 0), "b": (100, 0), "c": (100, 0)},
        (),
        {"a": [10, 0], "b": [45, 0], "c": [45, 0]},
    ),
    "a capability bounds a queue and the rest goes to the other": (
        {"a": (100, 0), "b": (100, 0)},
        (Queue("a", 9, {"cpu": 20}),),
        {"a": [20, 0], "b": [80, 0]},
    ),
    "a guarantee is given even where nobody asks": (
        {"a": (0, 0), "b": (100, 0)},
        (Queue("a", guarantee={"cpu": 40}),),
        {"a": [40, 0], "b": [60, 0]},
    ),
    "resources are dealt one by one": ({"a": (100, 10), "b": (10, 1000)}, (), {"a": [90, 10], "b": [10, 990]}),
}


@pytest.mark.parametrize(("requested", "given_queues", "want"), DEALT.values(), ids=DEALT.keys())
def test_proportion_deals_the_cluster(requested, given_queues, want):
    found = queues(requested, given_queues)
    assert {name: deserved(found, name) for name in want} == want


def test_capacity_takes_what_a_queue_is_said_to_deserve_within_its_capability():
    given_queues = (Queue("a", deserved={"cpu": 30}, capability={"cpu": 20}), Queue("b", guarantee={"cpu": 5}))
    found = queues({"a": (100, 0), "b": (100, 0)}, given_queues, "capacity")
    assert deserved(found, "a", "capacity") == [20, 0]
    assert deserved(found, "b", "capacity") == [5, 0]
    assert found["a"].real_capability[CPU] == 20
    assert found["b"].real_capability[CPU] == 100


def test_the_smaller_share_comes_first_then_the_name():
    found = queues({"a": (100, 0), "b": (100, 0)})
    assert sorted("ba", key=found.order) == ["a", "b"]
    found.take("a", np.array([1.0, 0, 0, 0]))
    assert sorted("ab", key=found.order) == ["b", "a"]


def test_of_equal_shares_the_older_queue_comes_first():
    ages = (Queue("a"), Queue("b", created="2026-01-02T00:00:00Z"), Queue("c", created="2026-01-01T00:00:00Z"))
    found = queues(dict.fromkeys("abc", (100, 0)), ages)
    assert sorted("abc", key=found.order) == ["c", "b", "a"]


def test_a_higher_priority_comes_before_a_smaller_share():
    found = queues({"a": (100, 0), "b": (100, 0)}, (Queue("b", priority=1),))
    found.take("b", np.array([40.0, 0, 0, 0]))
    assert sorted("ab", key=found.order) == ["b", "a"]


def test_without_its_queue_order_a_plugin_says_nothing():
    found = queues({"a": (100, 0), "b": (100, 0)}, (Queue("b", priority=1),), QueueOrder=False)
    assert sorted("ba", key=found.order) == ["a", "b"]


def test_capacity_puts_a_queue_that_deserves_nothing_behind_those_with_room_and_at_last_behind_full_ones():
    given_queues = (Queue("a"), Queue("b", deserved={"cpu": 10}))
    found = queues({"a": (100, 0), "b": (100, 0)}, given_queues, "capacity")
    assert found["a"].share("capacity") == 1
    assert sorted("ab", key=found.order) == ["b", "a"]
    found.take("b", np.array([10.0, 0, 0, 0]))
    assert sorted("ab", key=found.order) == ["b", "a"]
    found.take("b", np.array([1.0, 0, 0, 0]))
    assert sorted("ab", key=found.order) == ["a", "b"]


def test_a_queue_is_overused_when_it_holds_what_it_deserves_of_every_resource():
    found = queues({"a": (100, 1000), "b": (100, 1000)})
    assert not found.overused("a")
    found.take("a", np.array([50.0, 499.0, 0, 0]))
    assert not found.overused("a")
    found.take("a", np.array([0, 1.0, 0, 0]))
    assert found.overused("a")
    assert not queues({"a": (0, 0)}, plugin="capacity").overused("a")


def test_running_pods_count_for_their_queue():
    running = [RunningPod("d", "r", 0, {"cpu": 7, "unknown": 3}, "d/r", queue="a"), RunningPod("d", "s", 0, {"cpu": 9})]
    found = queues({"b": (100, 0)}, running=running)
    assert found["a"].allocated.tolist() == [7, 0, 0, 0]
    assert deserved(found, "a") == [7, 0]
    assert deserved(found, "b") == [93, 0]


ROWS = np.array([[3, 10, 1, 0], [0, 50, 1, 0]], dtype=np.int64)


def test_a_queue_alone_is_limited_by_the_nodes_only():
    assert queues({"a": (1000, 0)}).room("a", ROWS) is not None  # its memory request is below the cluster's
    assert queues({"a": (1000, 10_000)}, nodes=1).room("a", ROWS).left[:2].tolist() == [np.inf, np.inf]


def test_room_counts_the_resources_that_are_asked_for():
    found = queues({"a": (100, 1000), "b": (100, 1000)}, (Queue("a", capability={"cpu": 10}),))
    room = found.room("a", ROWS)
    assert room.left[:2].round(6).tolist() == [10, 500]
    assert (room.pods(0, 9), room.pods(1, 99)) == (3, 10)
    room.take(0, 3)
    assert (room.pods(0, 9), room.pods(1, 99)) == (0, 9)
    assert found.room("a", ROWS).pods(0, 9) == 3


def test_without_its_allocatable_a_plugin_limits_nothing():
    given_queues = (Queue("a", capability={"cpu": 10}),)
    assert queues({"a": (100, 1000), "b": (1, 1)}, given_queues, Allocatable=False).room("a", ROWS) is None


@given(
    st.lists(st.integers(0, 50), min_size=2, max_size=2),
    st.lists(st.integers(0, 5), min_size=2, max_size=2),
    st.integers(0, 60),
)
def test_room_says_how_many_pods_fit_one_after_another(left, row, wanted):
    room = QueueHeadroom(np.array(left, dtype=np.float64), np.array([row], dtype=np.int64))
    fits = room.pods(0, wanted)
    assert 0 <= fits <= wanted
    asked = np.array(row) > 0

    def holds(pods):
        return within(np.array(row, dtype=np.float64) * pods, room.left)[asked].all()

    assert fits == 0 or holds(fits)
    assert fits == wanted or not holds(fits + 1)
    assert room.takes([wanted]) == (fits == wanted)


def test_shares_of_nothing():
    assert dominant_share(np.array([0.0, 0.0]), np.array([0.0, 4.0])) == 0
    assert dominant_share(np.array([1.0, 0.0]), np.array([0.0, 4.0])) == 1
    assert dominant_share(np.array([1.0, 3.0]), np.array([2.0, 4.0])) == 0.75


def test_rounding_is_no_difference():
    assert within(np.array([3 * 0.1]), np.array([0.3])).all()
    assert not within(np.array([1.2]), np.array([1.0])).all()
