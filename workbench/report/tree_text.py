"""`topology_tree`: a HyperNode topology as a tree of text, folded to the size of a screen."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from rich.text import Text
from rich.tree import Tree

from workbench.errors import InputError
from workbench.formats.fabric.hostlist import compress_hosts, holds
from workbench.model.counted import counted
from workbench.model.topology import Topology
from workbench.report.blocks import natural_key

__all__ = ["topology_tree"]

#: Lines that a tree takes at most, unless more is asked for; what does not fit is folded from the closest tier up.
MAX_LINES = 60
#: Brothers shown of one HyperNode; of more, the first ones.
MAX_SIBLINGS = 12
_SHOWN_SIBLINGS = 10
#: Characters of a list of nodes.
_MAX_NODES = 60
_MAX_PROBLEMS = 40


def topology_tree(topology: Topology, depth: int | None = None, unfold: Collection[str] = ()) -> list[Any]:
    """Make the tree that `workbench topology show` prints.

    `depth`: number of tiers to show from the top; every HyperNode of these tiers then has a line. By default as many
    tiers as fit into `MAX_LINES` lines, and of more than `MAX_SIBLINGS` HyperNodes inside one only the first few.
    `unfold`: HyperNodes to show whole: everything below them, and each node on a line of its own. Returns: objects that
    rich prints: a tree with siblings in natural order (s2 before s10), then the problems. Raises UnknownNameError: a
    HyperNode in `unfold` does not exist; InputError: a depth below 1.
    """
    if depth is not None and depth < 1:
        raise InputError("nothing to show", source="--depth", got=str(depth), expected="a number of tiers, from 1")
    whole = {topology.domain(name) for name in unfold}
    printer = _Printer(topology, whole, folded=depth is None)
    if depth is None:
        levels = int(topology.forest.depth.max(initial=0)) + 1 if topology.n_domains else 1
        depth = next((d for d in range(levels, 1, -1) if printer.lines(d) <= MAX_LINES), 1)
    problems = [Text(f"{p.code}: {p.message}") for p in topology.problems[:_MAX_PROBLEMS]]
    more = len(topology.problems) - len(problems)
    return [
        printer.tree(depth),
        *problems,
        *([Text(f"… and {more:,} more problems (-o json lists all)")] if more else []),
    ]


class _Printer:
    """Decides which HyperNodes of a tree get a line, once to count the lines and once to print them."""

    def __init__(self, topology: Topology, whole: Collection[int], folded: bool) -> None:
        self.topology = topology
        self.folded = folded
        self.whole = set(whole)
        #: HyperNodes on the way to one that is shown whole.
        self.path: set[int] = set()
        for domain in self.whole:
            while domain >= 0:
                domain = int(topology.parent[domain])
                self.path.add(domain)

    def children(self, domain: int) -> list[int]:
        inner = self.topology.children[domain].tolist()
        return sorted(inner, key=lambda j: natural_key(self.topology.domain_names[j]))

    def shown(self, domain: int, left: int, whole: bool) -> tuple[list[int], list[int]]:
        """Indices of a HyperNode's children that get a line of their own, and of those that do not.

        `left` is the number of levels still to show; `whole` shows all.
        """
        inner = self.children(domain)
        if whole:
            return inner, []
        if left < 1:
            kept = [j for j in inner if j in self.path or j in self.whole]
        elif self.folded and len(inner) > MAX_SIBLINGS:
            kept = [j for i, j in enumerate(inner) if i < _SHOWN_SIBLINGS or j in self.path or j in self.whole]
        else:
            kept = inner
        return kept, [j for j in inner if j not in set(kept)]

    def lines(self, depth: int) -> int:
        """Number of lines of the tree if `depth` tiers are shown, not counting HyperNodes unfolded on request."""
        waiting, count = [(-1, depth)], 1
        while waiting and count <= MAX_LINES:
            domain, left = waiting.pop()
            kept, dropped = self.shown(domain, left, False)
            count += len(kept) + (bool(dropped) and left > 0)
            waiting += [(j, left - 1) for j in kept]
        return count

    def tree(self, depth: int) -> Tree:
        t = self.topology
        root = Tree(Text(repr(t)), guide_style="dim")
        waiting = [(-1, depth, root, -1 in self.whole)]
        while waiting:
            domain, left, branch, whole = waiting.pop()
            kept, dropped = self.shown(domain, left, whole)
            for j in kept:
                below = whole or j in self.whole
                waiting.append((j, left - 1, branch.add(self._label(j, left - 1, below)), below))
            if dropped and left > 0:
                n_nodes = len(np.unique(np.concatenate([t.nodes_of(j) for j in dropped])))
                names = f"{t.domain_names[dropped[0]]} … {t.domain_names[dropped[-1]]}"
                branch.add(
                    Text(f"… and {len(dropped):,} more: {names}, {counted(n_nodes, 'node', form=',')}", style="dim")
                )
            self._add_nodes(branch, domain, whole)
        return root

    def _label(self, domain: int, left: int, whole: bool) -> Text:
        t = self.topology
        tier_name = f" ({t.tier_names[domain]})" if t.tier_names[domain] else ""
        label = Text(t.domain_names[domain], style="bold", no_wrap=True, overflow="ellipsis")
        n = len(t.nodes_of(domain))
        label.append(f"  tier {int(t.tier[domain])}{tier_name}, {counted(n, 'node', form=',')}", style="not bold")
        inner = len(t.children[domain])
        if whole:
            return label
        if not inner:
            label.append(f": {_listed(t, t.nodes_of(domain))}" if n else "", style="not bold dim")
        elif not self.shown(domain, left, False)[0]:
            label.append(f" in {counted(inner, 'HyperNode', form=',')}, folded", style="not bold dim")
        return label

    def _add_nodes(self, branch: Tree, domain: int, whole: bool) -> None:
        """Add the nodes that no child of a HyperNode holds to a branch: a line each if `whole`, else one for all."""
        t = self.topology
        inner = t.children[domain]
        direct = t.direct_nodes_of(domain)
        if whole:
            for node in sorted((t.node_names[i] for i in direct.tolist()), key=natural_key):
                branch.add(Text(node))
        elif len(direct) and (len(inner) or domain < 0):
            home = "in no HyperNode" if domain < 0 else f"directly in {t.domain_names[domain]}"
            branch.add(Text(f"{counted(len(direct), 'node', form=',')} {home}: {_listed(t, direct)}", "dim"))


def _listed(topology: Topology, nodes: Any) -> str:
    """Names of nodes as a Slurm host list if possible, cut to fit a line."""
    names = sorted((topology.node_names[i] for i in nodes.tolist()), key=natural_key)
    text = compress_hosts(names) if all(map(holds, names)) else ", ".join(names)
    if len(text) <= _MAX_NODES:
        return text
    # Cut behind a comma, not inside a name.
    whole, comma, _ = text[: _MAX_NODES - 1].rpartition(",")
    return f"{whole}{comma}…" if whole else f"{text[: _MAX_NODES - 1]}…"
