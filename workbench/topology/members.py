"""`resolve_members`: find the nodes and child HyperNodes that a HyperNode's members stand for."""

from __future__ import annotations

from workbench.objects.hypernode import HyperNode
from workbench.objects.selectors import NameIndex, Selector, resolve_selector

__all__ = ["ignored_members", "node_count", "resolve_members", "selector_text"]


def resolve_members(hypernode: HyperNode, index: NameIndex) -> tuple[list[int], list[str], list[str]]:
    """Resolve the members of one HyperNode to nodes and child HyperNodes, each listed once.

    Returns
    -------
    nodes : list of int
        Positions in the index.
    unknown : list of str
        Exact names of nodes that the index lacks.
    children : list of str
        Names of the child HyperNodes (`HyperNode.children`).
    """
    names, position = hypernode.node_names, index.position
    nodes = dict.fromkeys(position[name] for name in names if name in position)
    unknown = [name for name in names if name and name not in position]
    for selector in hypernode.node_selectors:
        if selector.pattern is not None:
            nodes.update(dict.fromkeys(index.matching(selector.pattern)))
        elif selector.labels:
            nodes.update(dict.fromkeys(index.holding(selector.labels)))
    return list(nodes), unknown, list(hypernode.children)


def ignored_members(hypernode: HyperNode) -> list[int]:
    """Indices of the members that select HyperNodes by pattern or label, which Volcano accepts and ignores."""
    return [
        i
        for i, member in enumerate(hypernode.members)
        if member.type == "HyperNode" and not member.selector.exact and member.selector != Selector()
    ]


def selector_text(selector: Selector) -> str:
    """A selector that is no exact name in words: ``the pattern 's0.*'`` or ``a label selector``."""
    return f"the pattern {selector.pattern!r}" if selector.pattern is not None else "a label selector"


def node_count(hypernode: HyperNode, index: NameIndex) -> int:
    """The number that Volcano's hypernode controller writes into status.nodeCount.

    Notes
    -----
    Source: docs/reference/volcano-topology.md, section 9. The members' own names, whatever their type and whether they
    exist: a HyperNode of HyperNodes counts its children, not the nodes under them.
    """
    names: set[str] = set()
    for member in hypernode.members:
        names.update(resolve_selector(member.selector, index))
    return len(names)
