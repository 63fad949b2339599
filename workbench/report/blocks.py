"""`pack`: layout of a HyperNode topology as nested boxes ("packed blocks"), with nodes as squares.

A tree drawn in the usual way would be a line one pixel high for a data centre; blocks stay legible because a HyperNode
takes just the area that its nodes need. This module computes positions and folding; colours and text are in
`workbench.report.topology_svg`.

    +- s6 ------------------------+
    | +- s4 --------+ +- s5 ----+ |
    | | +- s0 -----+| |  ...    | |
    | | | [] [] [] || |         | |
    | | +----------+| |         | |
    | +-------------+ +---------+ |
    +-----------------------------+
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate

from workbench.model.counted import counted
from workbench.model.topology import Topology

__all__ = ["ASPECT", "LEVEL_PX", "MIN_CELL", "Block", "Layout", "natural_key", "pack", "square_corners"]

#: Desired ratio of a picture's width to its height.
ASPECT = 1.6
#: Ratios of boxes in rows that are taken if any arrangement has one.
NARROWEST, WIDEST = 0.8, 2.6
#: How much empty places count beside the ratio: of any number of boxes, and of a square number, which fills a square.
EMPTY, EMPTY_SQUARE = 3.0, 6.0
#: No square is drawn smaller than this, in pixels.
MIN_CELL = 4.0
#: More squares than this are folded: a browser draws that many with their tool tips at once.
MAX_CELLS = 2000

#: Height of the bar below the label of a box that says how full the domain is.
LEVEL_PX = 4.0

_HEADER = 15.0 + LEVEL_PX + 2.0
_HEADER_FROM = 34.0


@dataclass(frozen=True)
class Block:
    """The box of a HyperNode in a picture of a topology.

    Attributes
    ----------
    domain : int
        Index of the HyperNode; -1: the box around everything, drawn without a frame.
    n_nodes : int
        Number of nodes drawn inside.
    labels : tuple of str
        Labels of the block's squares.
    nodes : tuple of tuple of int
        The nodes of each square.
    blocks : tuple of Block
        The boxes of child HyperNodes inside this one.
    left, top, cell : float
        Upper left corner of the first square, and the side of each, in pixels.
    header : float
        Height in pixels kept free for the box's label and the bar below the label; 0 if no label fits.
    """

    domain: int
    n_nodes: int
    labels: tuple[str, ...] = ()
    nodes: tuple[tuple[int, ...], ...] = ()
    blocks: tuple[Block, ...] = ()
    left: float = 0.0
    top: float = 0.0
    cell: float = 0.0
    x: float = 0.0
    y: float = 0.0
    width: float = 0.0
    height: float = 0.0
    header: float = 0.0


@dataclass(frozen=True)
class Layout:
    """Positions of all boxes and squares in a picture of a topology.

    `top`: the box around everything. `cell`: side of a square in pixels. `nodes_per_cell`: largest number of nodes in
    one square; 1: nothing is folded. `n_cells`: number of squares.
    """

    top: Block
    cell: float
    nodes_per_cell: int
    n_cells: int

    @property
    def width(self) -> float:
        return self.top.width

    @property
    def height(self) -> float:
        return self.top.height

    def blocks(self) -> list[Block]:
        """All boxes of the picture, outer before inner."""
        found, todo = [], [self.top]
        while todo:
            block = todo.pop()
            found.append(block)
            todo.extend(reversed(block.blocks))
        return found


@lru_cache(maxsize=8192)
def natural_key(name: str) -> tuple[tuple[int, int, str], ...]:
    """Sort key of a name under which node2 comes before node10."""
    # Numbers go by their digits: a name may have more of them than int() reads.
    parts = ((digits.lstrip("0"), other) for digits, other in re.findall(r"([0-9]+)|([^0-9]+)", name))
    return tuple((1, 0, other) if other else (0, len(digits), digits) for digits, other in parts)


@dataclass
class _Tree:
    """A HyperNode, its own nodes and its children, before they are given positions."""

    domain: int
    name: str
    nodes: list[int] = field(default_factory=list)
    children: list[_Tree] = field(default_factory=list)
    folded: list[tuple[str, list[int]]] = field(default_factory=list)
    runs: list[tuple[str, tuple[int, ...]]] = field(default_factory=list)

    def all_nodes(self) -> list[int]:
        inner = [node for child in self.children for node in child.all_nodes()]
        return self.nodes + [node for _, nodes in self.folded for node in nodes] + inner

    def n_blocks(self) -> int:
        return 1 + sum(child.n_blocks() for child in self.children)

    def n_cells(self) -> int:
        return len(self.runs) + sum(child.n_cells() for child in self.children)


def pack(topology: Topology, max_cells: int = MAX_CELLS) -> Layout:
    """Compute a picture's layout: a box for every HyperNode and a square for every node.

    A node in several overlapping domains is drawn once, in its home (`Topology.home_of_node`).
    With more than `max_cells` nodes, the innermost domains are folded to one square each until there are at most
    ``max_cells / 4`` boxes; if there are still too many nodes, neighbours inside one box share a square.

    `max_cells`: number of nodes above which domains and nodes are folded. Returns: a layout with siblings in natural
    order of their names and no square below `MIN_CELL` pixels. Same input, same layout.
    """
    tree = _tree_of(topology)
    if topology.n_nodes > max_cells:
        while tree.children and tree.n_blocks() > max_cells / 4:
            _fold_leaves(tree)
    _make_runs(tree, topology, 1)
    n_cells, per_run = tree.n_cells(), 1
    while n_cells > max_cells and per_run < topology.n_nodes:
        # Runs end with their box, so the first guess can leave too many.
        per_run = max(per_run + 1, per_run * n_cells // max_cells)
        _make_runs(tree, topology, per_run)
        n_cells = tree.n_cells()
    cell = _cell_size(n_cells)
    top = _put(_measure(tree, cell), 0.0, 0.0, cell)
    per_cell = max((len(nodes) for nodes in _runs_of(tree)), default=1)
    return Layout(top, cell, per_cell, n_cells)


def _tree_of(topology: Topology) -> _Tree:
    home = topology.home_of_node.tolist()
    trees = [_Tree(j, name) for j, name in enumerate(topology.domain_names)]
    top = _Tree(-1, "")
    keys = [natural_key(name) for name in topology.node_names]
    for node in sorted(range(topology.n_nodes), key=keys.__getitem__):
        (top if home[node] < 0 else trees[home[node]]).nodes.append(node)
    for tree in sorted(trees, key=lambda t: natural_key(t.name)):
        parent = int(topology.parent[tree.domain])
        (top if parent < 0 else trees[parent]).children.append(tree)
    return top


def _fold_leaves(tree: _Tree) -> None:
    kept = []
    for child in tree.children:
        if child.children:
            _fold_leaves(child)
            kept.append(child)
        else:
            nodes = child.all_nodes()
            if nodes:
                tree.folded.append((f"{child.name} ({counted(len(nodes), 'node', form=',')})", nodes))
    tree.children = kept


def _make_runs(tree: _Tree, topology: Topology, per_run: int) -> None:
    names = topology.node_names
    for child in tree.children:
        _make_runs(child, topology, per_run)
    if per_run == 1 and not tree.folded:
        tree.runs = [(names[node], (node,)) for node in tree.nodes]
        return
    items = [(names[node], [node]) for node in tree.nodes] + tree.folded
    tree.runs = []
    for at in range(0, len(items), per_run):
        part = items[at : at + per_run]
        nodes = tuple(node for _, members in part for node in members)
        label = (
            part[0][0]
            if len(part) == 1
            else (f"{part[0][0]} … {part[-1][0]} ({counted(len(nodes), 'node', form=',')})")
        )
        tree.runs.append((label, nodes))


def _runs_of(tree: _Tree) -> list[tuple[int, ...]]:
    return [nodes for _, nodes in tree.runs] + [nodes for child in tree.children for nodes in _runs_of(child)]


def _cell_size(n_cells: int) -> float:
    for most, size in ((16, 64.0), (64, 40.0), (160, 26.0), (400, 18.0), (1000, 12.0)):
        if n_cells <= most:
            return size
    return 9.0


@dataclass
class _Box:
    """A box with its size; what is inside is placed relative to its upper left corner."""

    domain: int
    n_nodes: int
    width: float
    height: float
    header: float
    runs: list[tuple[str, tuple[int, ...]]]
    left: float
    top: float
    boxes: list[tuple[_Box, float, float]]


def _measure(tree: _Tree, cell: float) -> _Box:
    pad = 3.0 if cell < 12 else 5.0 if cell < 30 else 8.0
    if tree.domain < 0:
        pad = 1.0
    inner = [_measure(child, cell) for child in tree.children]
    _, grid_width, grid_height = _grid(len(tree.runs), cell)
    corners, width, height = _shelves(inner, pad)
    down = 0.0
    if tree.runs and inner:
        down = height + pad
        height = down + grid_height
    elif tree.runs:
        height = grid_height
    width = max(width, grid_width)
    if not tree.runs and not inner:
        width, height = 3 * cell, cell
    header = _HEADER if tree.domain >= 0 and width + 2 * pad >= _HEADER_FROM else 0.0
    top = header if header else pad
    return _Box(
        domain=tree.domain,
        n_nodes=sum([len(nodes) for _, nodes in tree.runs]) + sum([box.n_nodes for box in inner]),
        width=width + 2 * pad,
        height=height + top + pad,
        header=header,
        runs=tree.runs,
        left=pad,
        top=down + top,
        boxes=[(box, x + pad, y + top) for box, (x, y) in zip(inner, corners)],
    )


def _put(box: _Box, x: float, y: float, cell: float) -> Block:
    """The box and everything in it in coordinates of the picture: (x, y) is its corner, `cell` a square's side."""
    return Block(
        domain=box.domain,
        n_nodes=box.n_nodes,
        labels=tuple([label for label, _ in box.runs]),
        nodes=tuple([nodes for _, nodes in box.runs]),
        blocks=tuple([_put(inner, dx + x, dy + y, cell) for inner, dx, dy in box.boxes]),
        left=box.left + x,
        top=box.top + y,
        cell=cell,
        x=x,
        y=y,
        width=box.width,
        height=box.height,
        header=box.header,
    )


def square_corners(n: int, left: float, top: float, cell: float) -> list[tuple[float, float]]:
    """Upper left corners (x, y) of the squares of a box, row by row.

    `n`: number of squares. `left`, `top`: upper left corner of the block, in pixels. `cell`: side of a square, in
    pixels.
    """
    return [(x + left, y + top) for x, y in _grid(n, cell)[0]]


@lru_cache(maxsize=256)
def _grid(n: int, cell: float) -> tuple[tuple[tuple[float, float], ...], float, float]:
    """Upper left corners of n squares arranged in rows, and the width and height of the arrangement."""
    if not n:
        return (), 0.0, 0.0
    gap = 1.0 if cell < 10 else 2.0 if cell < 20 else 4.0
    step = cell + gap
    columns = min(range(1, n + 1), key=lambda c: (_badness(c, math.ceil(n / c), n), c))
    rows = math.ceil(n / columns)
    corners = tuple(((i % columns) * step, (i // columns) * step) for i in range(n))
    return corners, columns * step - gap, rows * step - gap


def _badness(columns: int, rows: int, n: int) -> float:
    """How unsuitable a grid is for n squares: its distance from the desired aspect ratio, plus its share of empty
    places.
    """
    return abs(math.log(columns / rows / ASPECT)) + (columns * rows - n) / n


def _shelves(boxes: Sequence[_Box], gap: float) -> tuple[list[tuple[float, float]], float, float]:
    """Arrange boxes in rows, in their order, near to the aspect ratio `ASPECT` and with full rows.

    Of four equal boxes two stand in each row, not three and one. Returns the corner of each box, and the width and
    height of the whole.
    """
    if not boxes:
        return [], 0.0, 0.0
    sizes = [(box.width, box.height) for box in boxes]
    widest = max(width for width, _ in sizes)
    area = sum((width + gap) * (height + gap) for width, height in sizes)
    ideal = math.sqrt(area * ASPECT)
    ends = [end - gap for end in accumulate(width + gap for width, _ in sizes)]
    # Widths at which a first row ends exactly, near the ideal one, are the only ones worth trying.
    tries = sorted({max(widest, end) for end in ends if 0.5 * ideal <= end <= 2.0 * ideal} | {max(widest, ideal)})
    weight = EMPTY_SQUARE if math.isqrt(len(boxes)) ** 2 == len(boxes) else EMPTY
    covered = sum(width * height for width, height in sizes)

    def badness(shelf: tuple[list[tuple[float, float]], float, float]) -> tuple[bool, float]:
        _, width, height = shelf
        ratio, empty = width / height, 1 - covered / (width * height)
        return not NARROWEST <= ratio <= WIDEST, abs(math.log(ratio / ASPECT)) + weight * empty

    return min((_shelve(sizes, gap, limit) for limit in tries), key=badness)


def _shelve(
    sizes: Sequence[tuple[float, float]], gap: float, limit: float
) -> tuple[list[tuple[float, float]], float, float]:
    corners: list[tuple[float, float]] = []
    x = y = row = across = 0.0
    for width, height in sizes:
        if x and x + width > limit + 0.5:
            x, y, row = 0.0, y + row + gap, 0.0
        corners.append((x, y))
        across = max(across, x + width)
        x += width + gap
        row = max(row, height)
    return corners, across, y + row
