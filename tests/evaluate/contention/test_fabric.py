"""Capacities and routes of a fabric: three leaves of two nodes under two spines, eight GPUs a node."""

from __future__ import annotations

import numpy as np
import pytest

from tests.reference.cost.tree_fabric import TreeFabric
from workbench.errors import InputError, UnknownNameError
from workbench.evaluate.contention import RoutedFabric, TierLinks
from workbench.model.topology import DomainSpec, Topology

NODES = [f"n{i}" for i in range(6)]
LEAVES = [DomainSpec(f"leaf{i}", 1, (2 * i, 2 * i + 1), f"spine{i // 2}") for i in range(3)]
TREE = Topology.build(NODES, [*LEAVES, DomainSpec("spine0", 2, range(4)), DomainSpec("spine1", 2, (4, 5))])
TIERS = {1: TierLinks(25.0, 4), 2: TierLinks(10.0, 2)}
GPUS = (8,) * 6


def fabric(routes: str = "hashed", rails: int = 1, seed: int = 0) -> RoutedFabric:
    return RoutedFabric(TREE, GPUS, 50.0, TIERS, rails, routes, seed)  # type: ignore[arg-type]


def name(made: RoutedFabric, cable: int) -> str:
    below, _, rail, number = made.cable(cable)
    several = made.routes != "spread" and cable >= made.n_card_cables
    return below + f" rail {rail}" * (made.rails > 1) + f" cable {number}" * several


def way(
    made: RoutedFabric, source: int, target: int, rail: int = 0, job: int = 0, broken: frozenset[int] = frozenset()
):
    """Names of the links from one node to another, in the order of the way."""
    pair = np.array([source]), np.array([target]), np.array([rail])
    links = made.paths(*pair, job, broken)[1]
    up = sorted(int(link) for link in links if link % 2 == 0)
    down = sorted((int(link) for link in links if link % 2), reverse=True)
    return [name(made, link // 2) for link in [*up, *down]]


def test_capacities_are_those_of_the_gpus_below() -> None:
    made = fabric(rails=2)
    of = {name(made, cable): made.cable_gb_s[cable] for cable in range(made.n_cables)}
    assert of["n0 rail 0"] == 8 * 50 / 2
    assert of["leaf1 rail 1 cable 3"] == 16 * 25 / 2 / 4
    assert (of["spine0 rail 0 cable 1"], of["spine1 rail 0 cable 1"]) == (32 * 10 / 2 / 2, 16 * 10 / 2 / 2)
    assert [made.cable(cable).tier for cable in (0, 12, made.n_cables - 1)] == [0, 1, 2]
    spread = fabric("spread")
    assert spread.n_cables == 6 + 3 + 2
    assert spread.cable_gb_s[6] == 16 * 25


def test_flows_cross_what_lies_below_the_first_hypernode_around_both() -> None:
    made = fabric("spread")
    assert way(made, 0, 0) == []
    assert way(made, 0, 1) == ["n0", "n1"]
    assert way(made, 0, 2) == ["n0", "leaf0", "leaf1", "n2"]
    assert way(made, 0, 5) == ["n0", "leaf0", "spine0", "spine1", "leaf2", "n5"]


def test_one_link_per_hypernode_as_in_a_tree() -> None:
    parents = {f"n{i}": f"leaf{i // 2}" for i in range(6)} | {f"leaf{i}": f"spine{i // 2}" for i in range(3)}
    tree = TreeFabric(parents | {"spine0": "core", "spine1": "core"}, {})
    for a in range(6):
        for b in range(6):
            if a != b:
                assert way(fabric("spread"), a, b) == [link[2:] for link in tree.path(f"n{a}", f"n{b}")]


def test_static_routes_follow_the_receiver() -> None:
    assert way(fabric("static"), 0, 5) == [
        "n0",
        "leaf0 cable 1",
        "spine0 cable 1",
        "spine1 cable 1",
        "leaf2 cable 1",
        "n5",
    ]


@pytest.mark.slow
def test_hashed_routes_use_all_cables_alike_and_follow_the_seed() -> None:
    def cables(seed: int) -> list[str]:
        return [way(fabric(seed=seed), 0, 2, job=job)[1] for job in range(400)]

    counts = [cables(0).count(f"leaf0 cable {number}") for number in range(4)]
    assert sum(counts) == 400
    # Four standard deviations around a quarter.
    assert all(abs(count - 100) <= 35 for count in counts)
    assert cables(0) == cables(0) != cables(1)


def test_the_same_cable_goes_up_and_down() -> None:
    for job in range(20):
        _, up, down, _ = way(fabric(), 0, 2, job=job)
        assert up.split()[-1] == down.split()[-1]


def test_broken_cables_are_left_out_where_another_one_is_whole() -> None:
    made = fabric()
    names = {name(made, cable): cable for cable in range(made.n_cables)}
    broken = frozenset({names["leaf0 cable 0"], names["leaf1 cable 1"], names["leaf0 cable 2"]})
    assert {way(made, 0, 2, job=job, broken=broken)[1] for job in range(40)} == {"leaf0 cable 3"}
    every = frozenset(names[f"leaf0 cable {number}"] for number in range(4))
    assert way(made, 0, 2, broken=every)[1].startswith("leaf0")
    assert way(made, 2, 3, broken=every) == ["n2", "n3"]


def test_a_node_outside_every_hypernode_crosses_only_the_other_side() -> None:
    loose = Topology.build(["a", "b", "c"], [DomainSpec("leaf", 1, (0, 1))])
    made = RoutedFabric(loose, (8, 8, 8), 50.0, {1: TierLinks(25.0)}, routes="spread")
    assert way(made, 0, 2) == ["a", "leaf", "c"]
    assert way(made, 2, 1) == ["c", "leaf", "b"]


def test_gpus_are_dealt_out_to_rails_in_runs() -> None:
    made = fabric(rails=4)
    assert made.rail(np.zeros(8, dtype=np.int64), np.arange(8)).tolist() == [0, 0, 1, 1, 2, 2, 3, 3]


def test_bad_fabrics() -> None:
    with pytest.raises(InputError, match=r"a fabric without speeds.*tier 2"):
        RoutedFabric(TREE, GPUS, 50.0, {1: TierLinks(25.0)})
    with pytest.raises(InputError, match="no HyperNode of this tier"):
        RoutedFabric(TREE, GPUS, 50.0, {**TIERS, 7: TierLinks(1.0)})
    with pytest.raises(UnknownNameError):
        fabric("random")
    for wrong in (0.0, float("nan"), float("inf")):
        with pytest.raises(InputError, match="wrong number"):
            RoutedFabric(TREE, GPUS, wrong, TIERS)
        with pytest.raises(InputError, match="wrong number"):
            TierLinks(wrong)
    with pytest.raises(InputError, match="wrong number"):
        TierLinks(1.0, 0)
    with pytest.raises(InputError, match="no such cable"):
        fabric().cable(10_000)
