"""Arguments that ``DomainNodes`` accepts and refuses, and that it is made once for a topology."""

from __future__ import annotations

from typing import Any

import pytest

from tests.core.test_dry_runs_interface import domains, int32, int64
from tests.fabrics import snapshot
from workbench.errors import InputError


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name_rank": int64([0, 1, 2])}, "name_rank: wrong dtype"),
        ({"name_rank": int32([0, 1, 3])}, "name_rank: entry 2: out of range"),
        ({"leaf": int32([0, 0])}, "leaf: wrong length"),
        ({"leaf": int32([0, 0, 2])}, "leaf: entry 2: out of range"),
        ({"start": int64([0, 2, 1])}, "start: no CSR offsets"),
        ({"start": int64([0, 1, 1])}, "start: no CSR offsets"),
        ({"start": int64([])}, "start: no CSR offsets"),
        ({"start": int64([0, 4, 4]), "members": int32([0, 1, 2, 0])}, "at most 3 nodes per domain"),
        ({"members": int32([0, 3])}, "members: entry 1: out of range"),
        ({"leaves": (int64([0, 1, 2]), int32([0, 0]))}, "leaf_start: wrong length"),
        ({"leaves": (int64([0, 1, 2, 2]), int32([0, 2]))}, "leaves: entry 1: out of range"),
    ],
)
def test_arrays_that_do_not_fit_together_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as refused:
        domains(**changes)
    assert message in str(refused.value)


def test_what_may_still_be_changed_is_copied() -> None:
    leaf, members, holders = int32([0, 0, -1]), int32([0, 1]), int32([0, 0])
    members.flags.writeable = False
    made = domains(leaf=leaf, members=members, leaves=(int64([0, 1, 2, 2]), holders))
    leaf[0] = holders[0] = 7
    assert made.leaf.tolist() == [0, 0, -1] and made.leaves is not None and made.leaves[1].tolist() == [0, 0]
    assert made.members is members
    with pytest.raises(ValueError, match="read-only"):
        made.leaf[0] = 7


def test_a_topology_makes_it_once() -> None:
    topology = snapshot(["a", "b"], [("s0", 1, ["a"], ""), ("s1", 1, ["b"], "")]).topology
    made = topology.domain_nodes
    assert topology.domain_nodes is made
    assert (made.n, made.d, made.leaf.tolist()) == (2, 2, [0, 1])
    for kept, given in ((made.leaf, topology.leaf_of_node), (made.members, topology.member_nodes)):
        assert kept is given
