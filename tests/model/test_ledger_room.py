r"""What a policy asks a ledger: free GPUs per node and per domain, and the pods of a role that each node takes.

::

    tier 2          top
                  /     \
    tier 1      left   right
                /  \      |
    node       a    b     c       d is in no HyperNode
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.fabrics import snapshot
from workbench.model.gang import Role
from workbench.model.labels import NodeFilter, Requirement

DOMAINS = [("left", 1, ["a", "b"], "top"), ("right", 1, ["c"], "top"), ("top", 2, ["a", "b", "c"], None)]


def cluster(**changes):
    return snapshot(["a", "b", "c", "d"], DOMAINS, **changes)


def role(**changes):
    return Role("worker", 4, {"cpu": 16_000, "nvidia.com/gpu": 2}, container_gpus=(2,), **changes)


def by_name(ledger, values):
    topology = ledger.topology
    return {topology.node_names[i]: int(value) for i, value in enumerate(values)}


def free_by_domain(ledger):
    values, topology = ledger.free_gpus_by_domain(), ledger.topology
    found = {name: int(values[topology.domain(name)]) for name in topology.domain_names}
    return found | {"everywhere": int(values[-1])}


class TestFreeGpus:
    def test_an_idle_cluster(self):
        ledger = cluster().ledger()
        assert by_name(ledger, ledger.free_gpus()) == {"a": 8, "b": 8, "c": 8, "d": 8}
        assert free_by_domain(ledger) == {"left": 16, "right": 8, "top": 24, "everywhere": 32}

    def test_gpus_that_pods_hold_by_number_or_by_amount_are_not_free(self):
        # a: three bits are taken; b: five amounts are, nobody knows which bits; c: over-committed.
        used = {"b": (0, 0, 1, 5), "c": (0, 0, 1, 9)}
        ledger = cluster(used=used, free_gpus={"a": 0b11111}).ledger()
        assert by_name(ledger, ledger.free_gpus()) == {"a": 5, "b": 3, "c": 0, "d": 8}
        assert free_by_domain(ledger) == {"left": 8, "right": 0, "top": 8, "everywhere": 16}

    def test_they_follow_what_is_taken_and_rolled_back(self):
        ledger = cluster().ledger()
        mark = ledger.checkpoint()
        node = np.array([ledger.topology.node("c")], dtype=np.int32)
        ledger.take(node, np.array([0, 0, 1, 2]), np.array([[0b11]], dtype=np.uint64))
        assert free_by_domain(ledger) == {"left": 16, "right": 6, "top": 22, "everywhere": 30}
        ledger.rollback(mark)
        assert free_by_domain(ledger) == {"left": 16, "right": 8, "top": 24, "everywhere": 32}

    def test_a_cluster_without_gpus(self):
        ledger = cluster(gpus=0).ledger()
        assert by_name(ledger, ledger.free_gpus()) == {"a": 0, "b": 0, "c": 0, "d": 0}


class TestRoomFor:
    @pytest.mark.parametrize(
        ("changes", "want"),
        [
            ({}, {"a": 4, "b": 4, "c": 4, "d": 4}),
            ({"cpu": 40_000}, {"a": 2, "b": 2, "c": 2, "d": 2}),
            ({"pods": 3}, {"a": 3, "b": 3, "c": 3, "d": 3}),
            ({"free_gpus": {"a": 0b111}}, {"a": 1, "b": 4, "c": 4, "d": 4}),
            ({"used": {"b": (0, 0, 0, 5)}}, {"a": 4, "b": 1, "c": 4, "d": 4}),
            ({"cordoned": ["c"]}, {"a": 4, "b": 4, "c": 0, "d": 4}),
        ],
        ids=["gpus decide", "cpu decides", "pod slots decide", "gpu bits decide", "gpu amounts decide", "cordoned"],
    )
    def test_the_scarcest_thing_decides(self, changes, want):
        ledger = cluster(**changes).ledger()
        assert by_name(ledger, ledger.room_for(role())) == want

    def test_a_selector_excludes_nodes(self):
        ledger = cluster(labels={"b": {"disk": "fast"}}).ledger()
        fast = NodeFilter(required=(Requirement("disk", "In", ("fast",)),))
        assert by_name(ledger, ledger.room_for(role(filter=fast))) == {"a": 0, "b": 4, "c": 0, "d": 0}

    def test_larger_counts_are_given_as_the_limit(self):
        ledger = cluster(free_gpus={"a": 0b11}).ledger()
        assert by_name(ledger, ledger.room_for(role(), at_most=3)) == {"a": 1, "b": 3, "c": 3, "d": 3}

    def test_a_resource_that_no_node_has(self):
        ledger = cluster().ledger()
        strange = Role("worker", 1, {"example.com/fpga": 1})
        assert by_name(ledger, ledger.room_for(strange)) == {"a": 0, "b": 0, "c": 0, "d": 0}

    def test_room_follows_what_is_taken(self):
        ledger = cluster().ledger()
        ledger.take(np.array([0], dtype=np.int32), np.array([60_000, 0, 1, 0]))
        assert by_name(ledger, ledger.room_for(role())) == {"a": 0, "b": 4, "c": 4, "d": 4}
