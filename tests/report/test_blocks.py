from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.hand_made import tree
from workbench.model.topology import DomainSpec, Topology
from workbench.report.blocks import MAX_CELLS, MIN_CELL, Block, Layout, natural_key, pack, square_corners


def flat(n: int) -> Topology:
    return Topology.build([f"n{i}" for i in range(n)], [])


def single_node_leaves(n: int) -> Topology:
    """Every node in a HyperNode of its own, a hundred of these in one above."""
    leaves = [DomainSpec(f"l{i}", 1, [i], f"u{i // 100}") for i in range(n)]
    uppers = [DomainSpec(f"u{u}", 2, range(100 * u, min(n, 100 * u + 100))) for u in range((n + 99) // 100)]
    return Topology.build([f"n{i}" for i in range(n)], [*leaves, *uppers])


CASES = {
    "six thousand nodes, runs ending with their leaves": lambda: tree((25, 12, 10, 2)),
    "the document's tree": lambda: tree((2, 2, 2)),
    "a thousand nodes": lambda: tree((10, 10, 10)),
    "twenty thousand nodes in small leaves": lambda: tree((16, 25, 10, 5)),
    "twenty thousand nodes in large leaves": lambda: tree((64, 8, 8, 5)),
    "twenty thousand nodes in huge leaves": lambda: tree((500, 40)),
    "twenty thousand nodes without a HyperNode": lambda: flat(20_000),
    "twenty thousand leaves of one node": lambda: single_node_leaves(20_000),
    "one node": lambda: flat(1),
}


@cache
def made(name: str) -> Topology:
    return CASES[name]()


@cache
def packed(name: str) -> Layout:
    """A case's layout; the large ones cost most of a second."""
    return pack(made(name))


class Cell(NamedTuple):
    """A square of a picture: the nodes that it stands for, its label, its upper left corner and its side."""

    nodes: tuple[int, ...]
    label: str
    x: float
    y: float
    size: float


def cells_of(block: Block) -> list[Cell]:
    corners = square_corners(len(block.labels), block.left, block.top, block.cell)
    squares = zip(block.nodes, block.labels, corners, strict=False)
    return [Cell(nodes, label, x, y, block.cell) for nodes, label, (x, y) in squares]


def cells(layout: Layout) -> list[Cell]:
    return [cell for block in layout.blocks() for cell in cells_of(block)]


def drawn_nodes(layout: Layout) -> list[int]:
    return sorted(node for cell in cells(layout) for node in cell.nodes)


@pytest.mark.parametrize("name", CASES)
def test_every_node_is_drawn_once_large_enough_and_in_a_sane_frame(name: str) -> None:
    layout = packed(name)
    n_nodes = made(name).n_nodes
    assert drawn_nodes(layout) == list(range(n_nodes))
    assert all(cell.size >= MIN_CELL for cell in cells(layout))
    assert layout.n_cells == len(cells(layout)) <= MAX_CELLS
    if n_nodes > 1:
        # Two equal halves have no arrangement between these two.
        assert 0.75 <= layout.width / layout.height <= 3.1


@pytest.mark.parametrize("name", CASES)
def test_nothing_sticks_out_of_its_block_and_nothing_overlaps(name: str) -> None:
    assert_tidy(packed(name))


def assert_tidy(layout: Layout) -> None:
    for block in layout.blocks():
        inner = [(b.x, b.y, b.width, b.height) for b in block.blocks]
        inner += [(c.x, c.y, c.size, c.size) for c in cells_of(block)]
        for x, y, width, height in inner:
            assert block.x - 0.01 <= x and x + width <= block.x + block.width + 0.01
            assert block.y + block.header - 0.01 <= y and y + height <= block.y + block.height + 0.01
        assert_apart(inner[:200])


def assert_apart(boxes: Sequence[tuple[float, float, float, float]]) -> None:
    for i, (x, y, width, height) in enumerate(boxes):
        for ox, oy, other_width, other_height in boxes[:i]:
            apart_x = x >= ox + other_width - 0.01 or ox >= x + width - 0.01
            apart_y = y >= oy + other_height - 0.01 or oy >= y + height - 0.01
            assert apart_x or apart_y


@st.composite
def anything(draw: st.DrawFn) -> Topology:
    """Overlapping sets without parents: what a broken topology looks like."""
    n = draw(st.integers(0, 12))
    sets = draw(st.lists(st.sets(st.integers(0, max(n - 1, 0))), max_size=5)) if n else []
    specs = [DomainSpec(f"d{i}", 1 + i % 2, sorted(s)) for i, s in enumerate(sets)]
    return Topology.build([f"n{i}" for i in range(n)], specs)


@given(anything(), st.integers(1, 12))
def test_broken_topologies_and_small_budgets_still_give_a_tidy_picture(topology: Topology, budget: int) -> None:
    layout = pack(topology, budget)
    assert drawn_nodes(layout) == list(range(topology.n_nodes))
    assert_tidy(layout)


def test_folded_squares_name_what_they_hold_and_how_many() -> None:
    layout = packed("twenty thousand nodes in small leaves")
    assert layout.nodes_per_cell == 16
    assert cells(layout)[0].label == "s0 (16 nodes)"
    run = cells(packed("twenty thousand nodes without a HyperNode"))[0]
    assert run.label == "n0 … n9 (10 nodes)"


def test_blocks_count_the_nodes_that_they_hold() -> None:
    top = packed("twenty thousand nodes in large leaves").top
    assert top.n_nodes == 64 * 8 * 8 * 5

    def check(block: Block) -> None:
        inside = sum(len(c.nodes) for c in cells_of(block)) + sum(b.n_nodes for b in block.blocks)
        assert block.n_nodes == inside
        for inner in block.blocks:
            check(inner)

    check(top)


def test_siblings_stand_in_natural_order() -> None:
    labels = [cell.label for cell in cells(pack(flat(12)))]
    assert labels == [f"n{i}" for i in range(12)]
    assert sorted(["node10", "node2", "b", "a10b"], key=natural_key) == ["a10b", "b", "node2", "node10"]
    long = ["n" + "9" * 5000, "n" + "0" * 5000 + "8", "n1" + "0" * 5000, "n²", "n9"]
    assert sorted(long, key=natural_key) == [long[1], long[4], long[0], long[2], long[3]]


def test_a_node_of_two_hypernodes_is_drawn_in_the_smaller() -> None:
    topology = Topology.build(["a", "b", "c"], [DomainSpec("large", 1, [0, 1, 2]), DomainSpec("small", 1, [1, 2])])
    blocks = {block.domain: [cell.label for cell in cells_of(block)] for block in pack(topology).blocks()}
    assert blocks[topology.domain("small")] == ["b", "c"]
    assert blocks[topology.domain("large")] == ["a"]


@pytest.mark.parametrize("nodes_each", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("racks", [4, 16])
def test_equal_boxes_fill_their_rows(racks: int, nodes_each: int) -> None:
    layout = pack(tree((nodes_each, racks)))
    (row,) = layout.top.blocks
    rows = Counter(block.y for block in row.blocks)
    assert len(row.blocks) == racks and len(set(rows.values())) == 1, rows
