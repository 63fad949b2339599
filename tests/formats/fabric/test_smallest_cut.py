"""Tests of the smallest cut of a fabric, against every way to divide its switches."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest

from workbench.formats.fabric.ibnetdiscover import read_ibnetdiscover
from workbench.formats.fabric.smallest_cut import Wiring, smallest_cut
from workbench.formats.lint_files import lint_files

ONE_FABRIC = Path(__file__).parents[3] / "datasets" / "one-fabric"


def nodes(leaf: int, number: int) -> list[str]:
    return [f"n{leaf}{i}" for i in range(number)]


#: Two spines; the third leaf has one uplink only.
WEAK_LEAF = Wiring(
    {"l1": nodes(1, 3), "l2": nodes(2, 3), "l3": nodes(3, 2), "s1": (), "s2": ()},
    {("l1", "s1"): 2, ("l1", "s2"): 2, ("l2", "s1"): 2, ("l2", "s2"): 2, ("l3", "s1"): 1},
)
#: Two rails, each a network of its own; every node is on one leaf of both.
RAILS = Wiring(
    {"a1": nodes(1, 4), "b1": nodes(1, 4), "a2": nodes(2, 4), "b2": nodes(2, 4), "sa": (), "sb": ()},
    {("a1", "sa"): 3, ("a2", "sa"): 2, ("b1", "sb"): 1, ("b2", "sb"): 4},
)
#: The cable between two pods counts, not the leaves below, which have more.
PODS = Wiring(
    {**{f"l{i}": nodes(i, 2) for i in range(4)}, "p0": (), "p1": ()},
    {("l0", "p0"): 2, ("l1", "p0"): 3, ("l2", "p1"): 2, ("l3", "p1"): 2, ("p0", "p1"): 1},
)
#: Two islands without a cable between them.
ISLANDS = Wiring({"l1": nodes(1, 1), "l2": nodes(2, 2), "l3": nodes(3, 2)}, {("l1", "l2"): 2})


def by_trying(wiring: Wiring) -> int:
    """Cables of the smallest cut, of all ways to divide the switches that leave every node on one side."""
    switches = sorted(wiring.attached)
    groups = {
        frozenset(switch for switch in switches if node in wiring.attached[switch])
        for some in wiring.attached.values()
        for node in some
    }
    costs = []
    for size in range(1, len(switches)):
        for side in map(set, combinations(switches, size)):
            inside = [group for group in groups if group <= side]
            if inside and len(inside) < len(groups) and all(group <= side or not group & side for group in groups):
                costs.append(sum(n for (a, b), n in wiring.cables.items() if (a in side) != (b in side)))
    return min(costs)


@pytest.mark.parametrize(
    ("wiring", "cables", "words"),
    [
        pytest.param(WEAK_LEAF, 1, "1 cable between 2 nodes on l3 and the other 6 nodes", id="a leaf with one uplink"),
        pytest.param(RAILS, 3, "3 cables between 4 nodes on a", id="two rails count together"),
        pytest.param(PODS, 1, "1 cable between 4 nodes on l", id="two pods"),
        pytest.param(ISLANDS, 0, "0 cables between 2 nodes on l3 and the other 3 nodes", id="islands"),
    ],
)
def test_the_fewest_cables_that_separate_nodes(wiring: Wiring, cables: int, words: str) -> None:
    found = smallest_cut(wiring)
    assert found is not None and found.numbers["cables"] == cables == by_trying(wiring)
    assert words in found.message
    assert smallest_cut(Wiring(dict(reversed(wiring.attached.items())), dict(reversed(wiring.cables.items())))) == found


@pytest.mark.parametrize(
    "wiring",
    [
        Wiring(),
        Wiring({"l1": ["a", "b"]}, {}),
        Wiring({"l1": ["a"], "l2": ["b"]}, {}),
        Wiring({"l1": ["a"], "l2": ["a"]}, {("l1", "l2"): 1}),
        Wiring({f"l{i}": [f"n{i}"] for i in range(65)}, {(f"l{i}", "s"): 1 for i in range(65)}),
    ],
)
def test_nothing_to_cut_or_too_many_groups(wiring: Wiring) -> None:
    assert smallest_cut(wiring) is None


def test_cables_without_a_speed_count() -> None:
    text = (ONE_FABRIC / "ibnetdiscover.out").read_text("utf-8")
    with_speed, without = (read_ibnetdiscover(each, "f").wiring for each in (text, text.replace(" 4xNDR", "")))
    assert with_speed == without and with_speed is not None and with_speed.cables["core", "pod-1"] == 1


def test_the_linter_names_it() -> None:
    linted = lint_files([ONE_FABRIC / "ibnetdiscover.out"])
    (cut,) = [note for note in linted.notes if note.code == "smallest-cut"]
    assert cut.numbers == {"cables": 1, "nodes": 6, "others": 6}
    assert not [note for note in lint_files([ONE_FABRIC / "topology.conf"]).notes if note.code == "smallest-cut"]
